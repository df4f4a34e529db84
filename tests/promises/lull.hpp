# What lull.hpp promises, and which tests see to it (scripts/promises).
about.1 "lull.hpp - all headers for C++ at once. Each can be included alone; all need C++17."
    ctest:headers_g++_c++17
about.2 "The first two follow the text of the standard, in namespace lull."
    ctest:cxx_saferecl_hp ctest:cxx_saferecl_rcu
about.3 "In namespace lull::std_ the same names are std's own where the standard library has them, and lull's
    elsewhere."
    cxx:saferecl_hp:hazard_pointer_syn_names cxx:saferecl_rcu:rcu_syn_names
about.4 "The headers for C, all in lull/lull.h, can be used beside these."
    ctest:headers_g++_c++17
