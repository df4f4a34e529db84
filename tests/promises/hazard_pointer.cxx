# What hazard_pointer (C++) promises, and which tests see to it (scripts/promises).
about.1 "hazard_pointer - C++26's <hazard_pointer>, with the batches of C++29, in namespace lull, for C++17 and
    later."
    ctest:cxx_saferecl_hp cxx:saferecl_hp:hazard_pointer_syn_names
explains "hazptr.h explains hazard pointers."
about.3 "Here they follow the text of the standard, [saferecl.hp]; docs/CXX.md says which test goes with which of
    its sentences."
    ctest:cxx_saferecl_hp cxx:saferecl
explains "Choices where the text leaves one:"
about.5 "A hazard_pointer is one word: the address of a slot of hazptr_pool.h."
    cxx:saferecl_hp:hazard_pointer_syn_names
about.6 "There are as many as there is memory for."
    cxx:saferecl_hp:saferecl_hp_holder_nonmem_make cxx:memory:saferecl_hp_holder_nonmem_make_without_memory
about.7 "It may be moved to another thread, used there, and end there."
    cxx:saferecl_hp:saferecl_hp_holder_moved_between_threads
about.8 "protect() and reset_protection() are the same instructions as lull_hazptr_protect() and
    lull_hazptr_clear()."
    ctest:cxx_code_g++_c++17
about.9 "retire() allocates nothing: the base has room for the deleter and for two words."
    cxx:memory:retire_allocates_nothing cxx:saferecl_hp:saferecl_hp_base_special_members
about.10 "The deleter runs on the thread that reclaim.h chooses, by default lull's own, never inside retire()."
    cxx:saferecl_hp:saferecl_hp_base_retire_with_a_lock_held
about.18 "But that of std::default_delete for a class with a trivial destructor and no operator delete of its own only frees
    memory: the thread that retires calls it, in its later calls, outside its read sections."
    cxx:saferecl_hp:only_frees cxx:saferecl_hp:the_thread_that_retires_frees
    cxx:saferecl_hp:plain_ones_are_read_while_they_go test_pure:test_hazptr_not_in_section
explains "A specialization of std::default_delete for such a class must do as lull_rcu_call_pure() says."
about.11 "A deleter may retire, protect and synchronize."
    cxx:saferecl_hp:saferecl_hp_base_retire_in_a_deleter
explains "How many retired objects can wait says hazptr.h at lull_hazptr_call() and, for those that are only freed, at
    lull_hazptr_call_pure_sized()."
about.13 "lull_hazptr_barrier() waits until they are reclaimed; lull_hazptr_synchronize() knows an object by the
    address of its base."
    cxx:saferecl_hp:saferecl_hp_general_epochs cxx:saferecl_hp:synchronize_knows_the_base
about.14 "At the end of the program retired objects may stay, and so does what a hazard_pointer of static storage
    protects."
    cxx:static_order:ends_well
about.15 "Marked pointers, as in Harris's lists: protect() wants the address of an object."
    cxx:saferecl_hp:saferecl_hp_holder_mem_reset_protection_of_a_marked_pointer
about.16 "So protect what the pointer leads to without its mark, then look again whether the pointer is still the
    same."
    cxx:saferecl_hp:saferecl_hp_holder_mem_reset_protection_of_a_marked_pointer
about.17 "Not in signal handlers."
    untested it promises nothing
explains "After fork: hazptr_pool.h."
d.1 "Derive T from hazard_pointer_obj_base<T>, publicly, to protect its objects by hazard pointers."
    cxx:saferecl_hp:saferecl_hp_general_owner_protects
    cxx:saferecl_hp:saferecl_hp_base_retire_reclaims_objects_of_any_shape cxx:saferecl
d.2 "T may be incomplete there."
    cxx:saferecl_hp:saferecl_hp_base_incomplete_type
d.3 "D is called with the address of the object when it is reclaimed; it is moved into the object and out again."
    cxx:saferecl_hp:saferecl_hp_base_deleter_is_a_function_object
    cxx:saferecl_hp:saferecl_hp_base_deleter_requirements
retire.1 "Call @d with the object when no hazard pointer protects it any more."
    cxx:saferecl_hp:saferecl_hp_general_owner_protects cxx:saferecl_hp:saferecl_hp_general_coherence
retire.2 "Once for each object."
    cxx:saferecl_hp:saferecl_hp_general_reclaimed_once
retire.3 "Allocates nothing."
    cxx:memory:retire_allocates_nothing
hazard_pointer.1 "Empty, or the owner of one hazard pointer."
    cxx:saferecl_hp:saferecl_hp_holder_mem_empty
hazard_pointer.2 "Movable."
    cxx:saferecl_hp:saferecl_hp_holder_ctor_move cxx:saferecl_hp:saferecl_hp_holder_ctor_move_assignment
    cxx:saferecl
hazard_pointer.3 "Any call for an empty one is a misuse, except empty()."
    cxx:misuse:protects_with_an_empty_one
protect.1 "Protect the object that @src points to."
    cxx:saferecl_hp:saferecl_hp_holder_mem_protect
protect.2 "Returns it, or a null pointer if @src is one."
    cxx:saferecl_hp:saferecl_hp_holder_mem_protect
protect.3 "It stays until this hazard pointer protects another object, or ends."
    cxx:saferecl_hp:saferecl_hp_holder_mem_protect
    cxx:saferecl_hp:saferecl_hp_holder_ctor_destructor_ends_the_epoch
try_protect.1 "Protect @ptr, and look whether @src still points there."
    cxx:saferecl_hp:saferecl_hp_holder_mem_try_protect
try_protect.2 "If not, stop protecting, return false, and leave what @src points to now in @ptr."
    cxx:saferecl_hp:saferecl_hp_holder_mem_try_protect
reset_protection.1 "Protect @ptr from now on: an object that nobody has retired yet."
    cxx:saferecl_hp:saferecl_hp_holder_mem_reset_protection
explains "See about marked pointers above."
reset_protection.3 "Protect nothing from now on."
    cxx:saferecl_hp:saferecl_hp_holder_mem_reset_protection
make_hazard_pointer.1 "Make a hazard pointer that protects nothing."
    cxx:saferecl_hp:saferecl_hp_general_unassociated_upon_creation
make_hazard_pointer.2 "Throws std::bad_alloc if there is no memory for it."
    cxx:memory:saferecl_hp_holder_nonmem_make_without_memory
make_hazard_pointer_batch.1 "Make a hazard pointer for each of the @count elements from @first on that is empty."
    cxx:saferecl_hp:saferecl_hp_holder_nonmem_make_batch
make_hazard_pointer_batch.2 "If there is no memory for all, throws std::bad_alloc and leaves all as they were."
    cxx:memory:saferecl_hp_holder_nonmem_make_batch_without_memory
clear_hazard_pointer_batch.1 "End the hazard pointers of the @count elements from @first on; all are empty then."
    cxx:saferecl_hp:saferecl_hp_holder_nonmem_clear_batch
explains "Objects of a derived class are further apart."
make_hazard_pointer_batch.3 "The same for all elements of a std::span<hazard_pointer>."
    cxx:saferecl_hp:saferecl_hp_holder_nonmem_make_batch cxx:saferecl_hp:saferecl_hp_holder_nonmem_clear_batch
