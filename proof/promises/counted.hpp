cfd15a counted.hpp - lull::counted<T>: a reference to | run.counts:references run.counts:pointers
c95f50 C++17 and later. | ctest:headers_g++_c++17
8cead6 The count is in the object. | explains
511b5c by_refcount is one word, to which | run.counts:references
fb8ac1 by_percpu_ref is a count for each | run.counts:references run.counts:storm
349e4b make_counted() returns the first reference, a | run.counts:references
f00dc5 There is one for each object; | run.counts:pointers
385403 The last reference ends the object, | run.counts:tries run.counts:storm
7ebf3b So a thread that has found | run.counts:tries
e21ae3 Derive T from counted_base<T>, publicly and | explains
49c162 T may be incomplete there. | run.counts:references
1d6f3a @Count is by_refcount or by_percpu_ref; the | run.memory:counts cxx:keeping
234138 A D is made, and called | run.counts:references
acfa18 Make objects by make_counted() only. | explains
d2af9d The copy of an object has | run.counts:copies
e95b1b A reference, or none. | run.counts:references
5442dc To copy it takes another one. | run.counts:references
06826c With one count for all, the | run.counts:simple_first cxx:keeping
43fe5d Drop the reference. | run.counts:references
b990cb Try to take a reference to | run.counts:tries
51efbd Returns none if the object is | run.counts:tries
a261f8 Any context. | explains
4c97ff The first reference to an object, | run.counts:references
be57f6 Movable. | run.counts:references cxx:keeping
86e310 When it ends, by_percpu_ref counts in | run.counts:tries
3c25da Takes over the first reference to | run.counts:waits_for_the_next
d1afa3 Take another reference, for others. | run.counts:references
669ea0 Make a T, and return its | run.counts:references
61b564 Throws what new and the constructor | run.counts:constructors_throw run.counts:counts_end run.memory:counts
63c659 A pointer variable that threads share. | run.counts:storm
bab544 Has the first reference to the | run.counts:pointers
09bcff Find the object, and take a | run.counts:pointers run.counts:waits_for_the_next
a261f8 Any context. | explains
30420b Let this point to @now, and | run.counts:pointers
17d325 Let this point to @now, or | run.counts:pointers
3e7ebf Does it point to an object? | run.counts:pointers
a261f8 Any context. | explains
