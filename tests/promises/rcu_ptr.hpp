# What rcu_ptr.hpp promises, and which tests see to it (scripts/promises).
about.1 "rcu_ptr.hpp - lull::rcu_ptr<T>: a pointer that readers follow in read sections, and that retires what it
    loses; and lull::rcu_section, the section."
    cxx:sections:publishes
about.2 "C++17 and later."
    ctest:headers_g++_c++17 ctest:headers_clang++-14_c++17
about.3 "An rcu_ptr owns the object that it points to."
    cxx:sections:ends
about.4 "An object that it no longer points to may still be in use, so it is never deleted at once: publish()
    retires it, and exchange() returns a lull::retired<T>, which retires the object when it ends."
    cxx:sections:publishes cxx:sections:exchanges cxx:sections:ends
about.5 "Neither can be forgotten by mistake, as the old value of a raw pointer can, and neither allocates: T has a
    base with retire(), namely rcu_obj_base, rcu_cohort_obj_base, bridge_obj_base or bridge_cohort_obj_base."
    cxx:scarce:retires cxx:keeping
about.6 "For objects that only wait for hazard pointers a section is no protection, so read() does not compile for
    them."
    cxx:keeping
about.7 "lull::rcu_ref<T> has the same functions for a std::atomic<T *> that is there already."
    cxx:sections:refers
about.8 "It owns nothing."
    cxx:sections:refers
explains "Coroutines."
explains "A section belongs to a thread, so no coroutine may be suspended in one: it might go on elsewhere, and
    never."
explains "The compiler cannot see the lifetime of a local variable, but it can see two other things."
about.12 "lull::rcu_read(f) runs f in a section; f cannot be a coroutine."
    cxx:sections:functions cxx:keeping
about.13 "And a promise that derives from lull::no_section_across_await aborts at a co_await in a section, whether
    it would suspend or not."
    cxx:coroutines:section_aborts
about.14 "To keep an object across a suspension, take a lull::held (held.hpp)."
    cxx:coroutines:holds_go_on cxx:coroutines:frames_end
rcu_section.1 "A read section, from here to the end of the block."
    cxx:sections:publishes
rcu_section.2 "Sections may be nested."
    cxx:sections:publishes
rcu_section.3 "Neither moved, copied nor allocated: it begins and ends on one thread."
    cxx:keeping
rcu_read.1 "Run @f in a read section, and return what it returns."
    cxx:sections:functions
rcu_read.2 "An @f that returns a coroutine does not compile."
    cxx:keeping
no_section_across_await.1 "For promise types to derive from: a co_await in a read section aborts with a line that
    says so."
    cxx:coroutines:section_aborts
explains "Deleter with which std::unique_ptr retires an object."
explains "An object that has been unlinked."
retired.2 "Readers may still use it; it is retired when this ends."
    cxx:sections:exchanges
about.15 "Owns the object that it points to."
    cxx:sections:ends
about.16 "Constant-initialised with nullptr."
    cxx:sections:publishes
rcu_ptr.1 "Retire the object; readers that are in their sections may still have it."
    cxx:sections:ends
native_handle.1 "For whatever wants an atomic pointer: lull::hold(), a lull::hazard_pointer."
    cxx:sections:holds
about.17 "The same for an atomic pointer that is there already, and stays the property of its owner."
    cxx:sections:refers
