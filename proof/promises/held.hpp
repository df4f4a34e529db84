334951 held.hpp - lull::held<T>: one object, kept | run.holds:keeps run.holds:moves
c95f50 C++17 and later. | ctest:headers_g++_c++17
cd0cf9 A held<T> is like a unique_ptr | explains
6d7b00 It is two words: the object, | run.holds:moves
2d8d37 There are as many as there | run.holds:many run.memory:holds
32a07f How an object is retired decides | cxx:keeping
697714 hold() finds and keeps at once. | run.holds:keeps run.holds:looks_twice
0b58a2 keep() is for an object that | run.holds:keeps_from_section
9c60f4 Keeps one object, or nothing. | run.holds:keeps
cad7f9 A held object must not be | explains
e87be1 Keep nothing from now on. | run.holds:moves
b3c808 On any thread. | run.holds:moves
0dd4dd Keep the object that @src points | run.holds:keeps run.holds:looks_twice run.holds:storm
c6ebca Returns one that keeps nothing if | run.holds:keeps
4b6734 In a section or outside. | run.holds:keeps sections:holds
6b611e Throws std::bad_alloc if there is no | run.memory:holds
e5750d Not in signal handlers. | explains
0fbfff Keep @found, an object that the | run.holds:keeps_from_section
6b611e Throws std::bad_alloc if there is no | run.memory:holds
7d7480 Only in a read section (debug | sections:keep_outside
886483 Derive T from bridge_obj_base<T>, publicly, if | run.holds:sections_keep run.holds:keeps run.holds:keeps_from_section
49c162 T may be incomplete there. | run.holds:keeps
e7ffc8 D is as for cohort_obj_base. | cohorts:deleters
9e11fd Call @d with the object when | run.holds:sections_keep run.holds:keeps
8754bb Once for each object. | explains
8b9dd1 Allocates nothing. | run.memory:retires
9aec26 The same for objects that a | cohorts:waits_for_reader cohorts:waits_for_section
4d5d7a The same for no cohort. | cohorts:retires_alone
