f29494 hazard_pointer - C++26's <hazard_pointer>, with the | ctest:cxx_saferecl_hp saferecl_hp:hazard_pointer_syn_names
37bf3a hazptr.h explains hazard pointers. | explains
a281e3 Here they follow the text of | ctest:cxx_saferecl_hp cxx:saferecl
132d0b Choices where the text leaves one: | explains
7944d3 A hazard_pointer is one word: the | saferecl_hp:hazard_pointer_syn_names
2d8d37 There are as many as there | saferecl_hp:saferecl_hp_holder_nonmem_make run.memory:saferecl_hp_holder_nonmem_make_without_memory
23d9cf It may be moved to another | saferecl_hp:saferecl_hp_holder_moved_between_threads
4f3f5f protect() and reset_protection() are the same | ctest:cxx_code_g++_c++17
b0f199 retire() allocates nothing: the base has | run.memory:retire_allocates_nothing saferecl_hp:saferecl_hp_base_special_members
fb228d The deleter runs on the thread | saferecl_hp:saferecl_hp_base_retire_with_a_lock_held
1bc6fd But that of std::default_delete for a | saferecl_hp:only_frees saferecl_hp:the_thread_that_retires_frees saferecl_hp:plain_ones_are_read_while_they_go reclaim.public.pure:hazptr_not_in_section
306b4c A specialization of std::default_delete for such | explains
39b080 A deleter may retire, protect and | saferecl_hp:saferecl_hp_base_retire_in_a_deleter
fffda9 How many retired objects can wait | explains
811056 lull_hazptr_barrier() waits until they are reclaimed; | saferecl_hp:saferecl_hp_general_epochs saferecl_hp:synchronize_knows_the_base
22bb3f At the end of the program | static_order:ends_well
52db36 Marked pointers, as in Harris's lists: | saferecl_hp:saferecl_hp_holder_mem_reset_protection_of_a_marked_pointer
428172 So protect what the pointer leads | saferecl_hp:saferecl_hp_holder_mem_reset_protection_of_a_marked_pointer
778198 Beyond the standard's text, protect() and | saferecl_hp:protect_by_function saferecl_hp:try_protect_by_function
4966f5 They call it after the hazard | saferecl_hp:protect_by_function
400dd3 It looks at the source anew | explains
e5750d Not in signal handlers. | untested: it promises nothing
0472f9 After fork: hazptr_pool.h. | explains
023895 Derive T from hazard_pointer_obj_base<T>, publicly, to | saferecl_hp:saferecl_hp_general_owner_protects saferecl_hp:saferecl_hp_base_retire_reclaims_objects_of_any_shape cxx:saferecl
49c162 T may be incomplete there. | saferecl_hp:saferecl_hp_base_incomplete_type
20eb11 D is called with the address | saferecl_hp:saferecl_hp_base_deleter_is_a_function_object saferecl_hp:saferecl_hp_base_deleter_requirements
167acc Call @d with the object when | saferecl_hp:saferecl_hp_general_owner_protects saferecl_hp:saferecl_hp_general_coherence
8754bb Once for each object. | saferecl_hp:saferecl_hp_general_reclaimed_once
8b9dd1 Allocates nothing. | run.memory:retire_allocates_nothing
467f5e Empty, or the owner of one | saferecl_hp:saferecl_hp_holder_mem_empty
be57f6 Movable. | saferecl_hp:saferecl_hp_holder_ctor_move saferecl_hp:saferecl_hp_holder_ctor_move_assignment cxx:saferecl
f833e6 Any call for an empty one | misuse:protects_with_an_empty_one
a296bc Protect the object that @src points | saferecl_hp:saferecl_hp_holder_mem_protect
19505e Returns it, or a null pointer | saferecl_hp:saferecl_hp_holder_mem_protect
9f193f It stays until this hazard pointer | saferecl_hp:saferecl_hp_holder_mem_protect saferecl_hp:saferecl_hp_holder_ctor_destructor_ends_the_epoch
cac334 Protect where @load() leads to. | saferecl_hp:protect_by_function
808d06 Returns it, or a null pointer | saferecl_hp:protect_by_function
eb3f77 Calls @load() at least twice. | saferecl_hp:protect_by_function
130cb0 Protect @ptr, and look whether @src | saferecl_hp:saferecl_hp_holder_mem_try_protect
7346e1 If not, stop protecting, return false, | saferecl_hp:saferecl_hp_holder_mem_try_protect
35552f Protect @ptr, as try_protect() above does, | saferecl_hp:try_protect_by_function
6e9228 If @load() throws, @ptr stays protected. | saferecl_hp:try_protect_by_function
2cbc82 Protect @ptr from now on: an | saferecl_hp:saferecl_hp_holder_mem_reset_protection
0e5ce6 See about marked pointers above. | explains
a1f928 Protect nothing from now on. | saferecl_hp:saferecl_hp_holder_mem_reset_protection
e49875 Make a hazard pointer that protects | saferecl_hp:saferecl_hp_general_unassociated_upon_creation
64a87c Throws std::bad_alloc if there is no | run.memory:saferecl_hp_holder_nonmem_make_without_memory
46c9f1 Make a hazard pointer for each | saferecl_hp:saferecl_hp_holder_nonmem_make_batch
16d244 If there is no memory for | run.memory:saferecl_hp_holder_nonmem_make_batch_without_memory
977592 End the hazard pointers of the | saferecl_hp:saferecl_hp_holder_nonmem_clear_batch
f78390 Objects of a derived class are | explains
96c616 The same for all elements of | saferecl_hp:saferecl_hp_holder_nonmem_make_batch saferecl_hp:saferecl_hp_holder_nonmem_clear_batch
