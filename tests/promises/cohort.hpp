# What cohort.hpp promises, and which tests see to it (scripts/promises).
about.1 "cohort.hpp - lull::cohort: what a plugin or an object has retired is gone when its cohort ends."
    cxx:cohorts:waits_for_hold cxx:cohorts:waits_for_section
about.2 "C++17 and later."
    ctest:headers_g++_c++17 ctest:headers_clang++-14_c++17
explains "cohort.h explains cohorts, and says what holds a wait up."
explains "The names are those of P3427 (synchronous reclamation)."
about.5 "That paper lets the destructor run deleters without a look at hazard pointers; here it waits for the
    readers."
    cxx:cohorts:waits_for_reader
about.6 "No deleter of a cohort's, and none of the code that lull was given to call one, runs any more after
    ~cohort() or wait(): the module that has the code may be unloaded."
    cxx:cohorts:unloads
cohort.1 "Constant-initialised."
    cxx:cohorts:early
cohort.2 "Neither copied nor moved: what is retired into it knows its address."
    cxx:keeping
cohort.3 "Wait as wait() does."
    cxx:cohorts:waits_for_reader cxx:cohorts:unloads
cohort.4 "If the cohort is empty, in any context."
    test_cohort:test_empty
wait.1 "Wait until all that was retired into this has been deleted, also what the deleters retire into it."
    cxx:cohorts:waits_for_reader cxx:cohorts:deleters
wait.2 "Blocks; aborts in a read section and in a deleter."
    test_cohort:test_misuse
wait_ms.1 "Wait in the same way for @timeout_ms at most."
    cxx:cohorts:waits_for_reader cxx:cohorts:waits_for_section
wait_ms.2 "Returns whether the cohort is empty."
    cxx:cohorts:waits_for_reader
empty.1 "Has all that was retired into this been deleted?"
    cxx:cohorts:waits_for_reader
empty.2 "Any context."
    test_cohort:test_empty
d.1 "Derive T from cohort_obj_base<T>, publicly, in place of hazard_pointer_obj_base<T>: hazard pointers protect its
    objects, and a cohort waits for them."
    cxx:cohorts:waits_for_hold cxx:cohorts:waits_for_hazard_pointer cxx:keeping
d.2 "T may be incomplete there."
    cxx:cohorts:waits_for_reader
d.3 "D is called with the address of the object when it is reclaimed; it is moved into the object and out again."
    cxx:cohorts:deleters cxx:keeping
retire_to_cohort.1 "Call @d with the object when no hazard pointer protects it any more; @c waits for that."
    cxx:cohorts:waits_for_hold cxx:cohorts:deleters
retire_to_cohort.2 "Allocates nothing."
    cxx:scarce:retires
retire.1 "The same for no cohort."
    cxx:cohorts:retires_alone
d.4 "The same in place of rcu_obj_base<T>: read sections keep the objects."
    cxx:cohorts:waits_for_section
retire_to_cohort.3 "Call @d with the object when every section that may have found it has ended; @c waits for that."
    cxx:cohorts:waits_for_section
retire.2 "The same for no cohort."
    cxx:cohorts:retires_alone
