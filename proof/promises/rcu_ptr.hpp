d533eb rcu_ptr.hpp - lull::rcu_ptr<T>: a pointer that | sections:publishes
c95f50 C++17 and later. | ctest:headers_g++_c++17
70ace2 An rcu_ptr owns the object that | sections:ends
c2dfd6 An object that it no longer | sections:publishes sections:exchanges sections:ends
13c00c Neither can be forgotten by mistake, | run.memory:retires cxx:keeping
9b5341 For objects that only wait for | cxx:keeping
71b1e7 lull::rcu_ref<T> has the same functions for | sections:refers
a6fa93 It owns nothing. | sections:refers
96789f Coroutines. | explains
29cae1 A section belongs to a thread, | explains
17be23 The compiler cannot see the lifetime | explains
693f69 lull::rcu_read(f) runs f in a section; | sections:functions cxx:keeping
6107f3 And a promise that derives from | coroutines:suspends_in_a_section coroutines:awaits_in_a_section coroutines:suspends_online_in_a_section
990d6e To keep an object across a | coroutines:holds_go_on coroutines:frames_end
8c6474 A read section, from here to | sections:publishes
51ec36 Sections may be nested. | sections:publishes
7feeb5 Neither moved, copied nor allocated: it | cxx:keeping
8df165 Run @f in a read section, | sections:functions
875c6c An @f that returns a coroutine | cxx:keeping
014104 For promise types to derive from: | coroutines:suspends_in_a_section coroutines:awaits_in_a_section coroutines:suspends_online_in_a_section
0b3ce0 Deleter with which std::unique_ptr retires an | explains
fbb32d An object that has been unlinked. | explains
c2e79b Readers may still use it; it | sections:exchanges
ba99a2 Owns the object that it points | sections:ends
489790 Constant-initialised with nullptr. | sections:publishes
945aeb Retire the object; readers that are | sections:ends
a473f6 For whatever wants an atomic pointer: | sections:holds
60700c The same for an atomic pointer | sections:refers
