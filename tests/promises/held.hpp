# What held.hpp promises, and which tests see to it (scripts/promises).
about.1 "held.hpp - lull::held<T>: one object, kept by a hazard pointer, to be returned, stored and moved."
    cxx:holds:keeps cxx:holds:moves
about.2 "C++17 and later."
    ctest:headers_g++_c++17 ctest:headers_clang++-14_c++17
explains "A held<T> is like a unique_ptr that keeps the object instead of owning it."
about.4 "It is two words: the object, and a hazard pointer of hazptr_pool.h."
    cxx:holds:moves
about.5 "There are as many as there is memory for."
    cxx:holds:many cxx:scarce:holds
about.6 "How an object is retired decides how it may be kept; its base says it, so what does not fit does not
    compile:"
    cxx:keeping
about.7 "hold() finds and keeps at once."
    cxx:holds:keeps cxx:holds:looks_twice
about.8 "keep() is for an object that was found in a read section, on whatever way (bridge.h): one store, no second
    look."
    cxx:holds:keeps_from_section
held.1 "Keeps one object, or nothing."
    cxx:holds:keeps
explains "A held object must not be retired a second time, nor deleted."
reset.1 "Keep nothing from now on."
    cxx:holds:moves
reset.2 "On any thread."
    cxx:holds:moves
hold.1 "Keep the object that @src points to."
    cxx:holds:keeps cxx:holds:looks_twice cxx:holds:storm
hold.2 "Returns one that keeps nothing if @src is a null pointer."
    cxx:holds:keeps
hold.3 "In a section or outside."
    cxx:holds:keeps cxx:sections:holds
hold.4 "Throws std::bad_alloc if there is no memory for a hazard pointer."
    cxx:scarce:holds
explains "Not in signal handlers."
keep.1 "Keep @found, an object that the caller has found in this read section, beyond its end."
    cxx:holds:keeps_from_section
keep.2 "Throws std::bad_alloc if there is no memory for a hazard pointer."
    cxx:scarce:holds
keep.3 "Only in a read section (debug builds check it)."
    cxx:sections:keep_outside
d.1 "Derive T from bridge_obj_base<T>, publicly, if readers find its objects in read sections, or by hazard
    pointers, and some of them keep one for longer."
    cxx:holds:sections_keep cxx:holds:keeps cxx:holds:keeps_from_section
d.2 "T may be incomplete there."
    cxx:holds:keeps
d.3 "D is as for cohort_obj_base."
    cxx:cohorts:deleters
retire.1 "Call @d with the object when every section that may have found it has ended, and then no hazard pointer
    protects it any more."
    cxx:holds:sections_keep cxx:holds:keeps
explains "Once for each object."
retire.3 "Allocates nothing."
    cxx:scarce:retires
d.4 "The same for objects that a cohort waits for."
    cxx:cohorts:waits_for_hold cxx:cohorts:waits_for_section
retire.4 "The same for no cohort."
    cxx:cohorts:retires_alone
