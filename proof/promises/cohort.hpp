926b6b cohort.hpp - lull::cohort: what a plugin | cohorts:waits_for_reader cohorts:waits_for_section
c95f50 C++17 and later. | ctest:headers_g++_c++17
ccb39f cohort.h explains cohorts, and says what | explains
3e8ae3 The names are those of P3427 | explains
98a03c That paper lets the destructor run | cohorts:waits_for_reader
67adae A class may have a cohort | cohorts:in_deleters
1b421f No deleter of a cohort's, and | cohorts:unloads
df9ea5 Constant-initialised. | cohorts:early
9cfe25 Neither copied nor moved: what is | cxx:keeping
5bdf12 Wait as wait() does. | cohorts:waits_for_reader cohorts:unloads
217375 If the cohort is empty, in | cohort.public:empty
724e33 Wait until all that was retired | cohorts:waits_for_reader cohorts:deleters
4d19c7 Blocks; aborts in a read section, | cohort.public:misuse cohort.hostile.inside:misuse
0c4913 Wait in the same way for | cohorts:waits_for_reader cohorts:waits_for_section
e61f1b Returns whether the cohort is empty. | cohorts:waits_for_reader
72556a Has all that was retired into | cohorts:waits_for_reader
a261f8 Any context. | cohort.public:empty
edd76d Derive T from cohort_obj_base<T>, publicly, in | cohorts:waits_for_reader cohorts:waits_for_hazard_pointer cxx:keeping
49c162 T may be incomplete there. | cohorts:waits_for_reader
20eb11 D is called with the address | cohorts:deleters cxx:keeping
2ee5f8 Call @d with the object when | cohorts:waits_for_reader cohorts:deleters
8b9dd1 Allocates nothing. | run.memory:retires
4d5d7a The same for no cohort. | cohorts:retires_alone
f820e7 The same in place of rcu_obj_base<T>: | cohorts:waits_for_section
5d6637 Call @d with the object when | cohorts:waits_for_section
4d5d7a The same for no cohort. | cohorts:retires_alone
