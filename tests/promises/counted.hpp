# What counted.hpp promises, and which tests see to it (scripts/promises).
about.1 "counted.hpp - lull::counted<T>: a reference to an object that counts its references, and
    lull::counted_ptr<T>, a shared pointer variable to take one from."
    cxx:counts:references cxx:counts:pointers
about.2 "C++17 and later."
    ctest:headers_g++_c++17 ctest:headers_clang++-14_c++17
explains "The count is in the object."
about.4 "by_refcount is one word, to which all threads write (refcount.h)."
    cxx:counts:references
about.5 "by_percpu_ref is a count for each CPU, as long as the object's owner keeps the first reference
    (percpu_ref.h): many threads may take and drop references all the time."
    cxx:counts:references cxx:counts:storm
about.6 "make_counted() returns the first reference, a counted_owner<T>."
    cxx:counts:references
about.7 "There is one for each object; it may be given to a counted_ptr, which drops it when it gets another one."
    cxx:counts:pointers
about.8 "The last reference ends the object, after a grace period (ref_handoff.h)."
    cxx:counts:tries cxx:counts:storm
about.9 "So a thread that has found one in a read section, in whatever way, may try to take a reference:
    counted<T>::try_get()."
    cxx:counts:tries
explains "Derive T from counted_base<T>, publicly and not virtually."
count.2 "T may be incomplete there."
    cxx:counts:references
count.3 "@Count is by_refcount or by_percpu_ref; the constructor of the second throws std::bad_alloc if there is no
    memory for the counts."
    cxx:scarce:counts cxx:keeping
count.4 "A D is made, and called with the address of the object, when it ends."
    cxx:counts:references
explains "Make objects by make_counted() only."
counted_base.1 "The copy of an object has references of its own."
    cxx:counts:copies
counted.1 "A reference, or none."
    cxx:counts:references
counted.2 "To copy it takes another one."
    cxx:counts:references
counted.3 "With one count for all, the first reference is like any other."
    cxx:counts:simple_first cxx:keeping
reset.1 "Drop the reference."
    cxx:counts:references
try_get.1 "Try to take a reference to @found, which the caller has found in this read section."
    cxx:counts:tries
try_get.2 "Returns none if the object is about to end: then the pointer leads elsewhere by now, or will soon."
    cxx:counts:tries
explains "Any context."
counted_owner.1 "The first reference to an object, or none."
    cxx:counts:references
counted_owner.2 "Movable."
    cxx:counts:references cxx:keeping
counted_owner.3 "When it ends, by_percpu_ref counts in one place, and try_get() fails."
    cxx:counts:tries
counted_owner.4 "Takes over the first reference to an object that nobody has taken over yet."
    cxx:counts:waits_for_the_next
share.1 "Take another reference, for others."
    cxx:counts:references
make_counted.1 "Make a T, and return its first reference."
    cxx:counts:references
make_counted.2 "Throws what new and the constructor throw; then nothing has changed."
    cxx:counts:throws cxx:counts:counts_end cxx:scarce:counts
counted_ptr.1 "A pointer variable that threads share."
    cxx:counts:storm
counted_ptr.2 "Has the first reference to the object that it points to."
    cxx:counts:pointers
get.1 "Find the object, and take a reference to it; none if this points nowhere."
    cxx:counts:pointers cxx:counts:waits_for_the_next
explains "Any context."
exchange.1 "Let this point to @now, and return the first reference to what it pointed to before."
    cxx:counts:pointers
publish.1 "Let this point to @now, or nowhere, and drop the first reference to what it pointed to before."
    cxx:counts:pointers
bool.1 "Does it point to an object?"
    cxx:counts:pointers
explains "Any context."
