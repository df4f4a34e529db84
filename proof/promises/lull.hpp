bed1db lull.hpp - all headers for C++ | ctest:headers_g++_c++17
45c9de Each can be included alone; all | ctest:headers_g++_c++17
57fb92 The first two follow the text | ctest:cxx_saferecl_hp ctest:cxx_saferecl_rcu
a7806b In namespace lull::std_ the same names | saferecl_hp:hazard_pointer_syn_names saferecl_rcu:rcu_syn_names
accb01 The headers for C, all in | ctest:headers_g++_c++17
