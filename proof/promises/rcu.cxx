34bfd7 rcu - C++26's <rcu>, in namespace | ctest:cxx_saferecl_rcu saferecl_rcu:rcu_syn_names
ee0f03 rcu.h explains RCU. | explains
a6dfc6 Here it follows the text of | ctest:cxx_saferecl_rcu cxx:saferecl
132d0b Choices where the text leaves one: | explains
fb2d29 There is one domain, the default | saferecl_rcu:saferecl_rcu_domain_func_default_domain cxx:saferecl
53c62b A region of RCU protection is | ctest:cxx_code_g++_c++17 saferecl_rcu:saferecl_rcu_domain_members_unlock
b0f199 retire() allocates nothing: the base has | run.memory:retire_allocates_nothing saferecl_rcu:saferecl_rcu_base_trivially_copyable
17c042 rcu_retire() allocates once, by operator new. | run.memory:retire_allocates_nothing
87b899 A deleter runs on the thread | saferecl_rcu:only_frees saferecl_rcu:the_thread_that_retires_frees
306b4c A specialization of std::default_delete for such | untested: it is a rule for the program
2ac412 A deleter may retire and synchronize. | saferecl_rcu:saferecl_rcu_base_retire_in_a_deleter
6653c1 At the end of the program | static_order:ends_well
cf8275 rcu_synchronize() and rcu_barrier() are lull_rcu_synchronize() and | saferecl_rcu:saferecl_rcu_domain_func_synchronize saferecl_rcu:saferecl_rcu_domain_func_barrier
267ec6 Lockable. | saferecl_rcu:saferecl_rcu_domain_general_lockable
addfcf Regions may be nested, in each | saferecl_rcu:saferecl_rcu_general_nested_locks
285807 Begin a region: what is retired | saferecl_rcu:saferecl_rcu_general_region_ends_first saferecl_rcu:saferecl_rcu_general_storm
3d9ad7 Never blocks. | saferecl_rcu:saferecl_rcu_domain_members_lock
1677cb Do as lock() does. | saferecl_rcu:saferecl_rcu_domain_members_try_lock
775ffa Returns true. | saferecl_rcu:saferecl_rcu_domain_members_try_lock
8e68c0 End the region that began last. | saferecl_rcu:saferecl_rcu_general_nested_locks
238b6c Return the one domain. | saferecl_rcu:saferecl_rcu_domain_func_default_domain
6087f9 It is nothing but the address | explains
3b9db5 Wait until every region that had | saferecl_rcu:saferecl_rcu_domain_func_synchronize
ebce30 Not in a region. | misuse:synchronizes_in_a_region
573bc2 Wait until every deleter that was | saferecl_rcu:saferecl_rcu_domain_func_barrier
b8ca2e Not in a region, nor in | misuse:waits_in_a_region misuse:waits_in_a_deleter
3a6d1b Derive T from rcu_obj_base<T>, publicly, to | saferecl_rcu:saferecl_rcu_base_retire saferecl_rcu:saferecl_rcu_base_retire_objects_of_any_shape cxx:saferecl
49c162 T may be incomplete there. | saferecl_rcu:saferecl_rcu_base_incomplete_type
20eb11 D is called with the address | saferecl_rcu:saferecl_rcu_base_deleter_is_a_function_object saferecl_rcu:saferecl_rcu_base_deleter_requirements
8b34d9 Call @d with the object when | saferecl_rcu:saferecl_rcu_base_retire saferecl_rcu:saferecl_rcu_general_storm
8754bb Once for each object. | saferecl_rcu:saferecl_rcu_general_evaluated_once
98e0ee Call @d with @p when every | saferecl_rcu:saferecl_rcu_domain_func_retire saferecl_rcu:saferecl_rcu_general_region_ends_first
446778 The object needs no base for | saferecl_rcu:saferecl_rcu_domain_func_retire
6ac8a4 Throws std::bad_alloc, or what the move | run.memory:saferecl_rcu_domain_func_retire_without_memory saferecl_rcu:saferecl_rcu_domain_func_retire_throws
b409e8 The limits of reclaim.h count the | saferecl_rcu:limits_count_the_size
