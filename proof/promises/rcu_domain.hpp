7c1631 rcu_domain.hpp - lull::srcu_domain: a domain of | run.sections:srcu_retires
c95f50 C++17 and later. | ctest:headers_g++_c++17
eed352 lull::rcu_domain of lull/rcu is the standard's | explains
6b3cc0 An unlock needs what the lock | explains
e14b0b A section therefore is an object, | cxx:keeping
7f53ba rcu_domain.h says how domains work, what | ctest:cxx_code_g++_c++17
3a8ed6 A deleter runs on its thread | domain.public:call
b94a83 The limits of reclaim.h do not | explains
7b01d4 A struct lull_rcu_domain, and nothing else: | run.sections:srcu_synchronizes
0ab069 @name, which must stay, is for | explains
246133 Throws std::bad_alloc. | run.memory:srcu_memory
be734c Call the deleters that wait. | run.sections:srcu_retires
07f2ce No section is open, no thread | untested: a demand on the caller: the destructor aborts, as rcu_domain.h says
76f37e Wait until every section that had | run.sections:srcu_synchronizes run.sections:srcu_retires
3b1bd3 Not in a section of this | explains
573bc2 Wait until every deleter that was | run.sections:srcu_retires
5e488c Not in a section of it, | explains
6c5b8a Call @d with @p when every | run.sections:srcu_retires
446778 The object needs no base for | run.sections:srcu_retires
101d0a Allocates once. | run.memory:srcu_memory
6ac8a4 Throws std::bad_alloc, or what the move | run.memory:srcu_memory
46aa7e A section: what is retired from | run.sections:srcu_retires
c53ab4 It may be moved, stored, and | run.sections:srcu_section_moves
40e449 In no section. | run.sections:srcu_section_moves
1b1bf4 Begin. | run.sections:srcu_section_moves
3d9ad7 Never blocks. | domain.public:any_context
b5011b End the section that was here | run.sections:srcu_section_swaps
05f7a5 End, before the destructor does; without | run.sections:srcu_section_moves
ee9a07 Derive T from srcu_obj_base<T>, publicly, to | run.sections:srcu_retires run.memory:srcu_memory cxx:keeping
49c162 T may be incomplete there. | run.sections:srcu_retires
2d70e6 Call @d with the object when | run.sections:srcu_retires
8754bb Once for each object. | explains
