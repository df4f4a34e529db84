# What rcu (C++) promises, and which tests see to it (scripts/promises).
about.1 "rcu - C++26's <rcu>, in namespace lull, for C++17 and later."
    ctest:cxx_saferecl_rcu cxx:saferecl_rcu:rcu_syn_names
explains "rcu.h explains RCU."
about.3 "Here it follows the text of the standard, [saferecl.rcu]; docs/CXX.md says which test goes with which of
    its sentences."
    ctest:cxx_saferecl_rcu cxx:saferecl
explains "Choices where the text leaves one:"
about.5 "There is one domain, the default one."
    cxx:saferecl_rcu:saferecl_rcu_domain_func_default_domain cxx:saferecl
about.6 "A region of RCU protection is a read section of rcu.h: lock() and unlock() are the same instructions as
    lull_rcu_read_lock() and lull_rcu_read_unlock(), and no deleter runs inside unlock()."
    ctest:cxx_code_g++_c++17 cxx:saferecl_rcu:saferecl_rcu_domain_members_unlock
about.7 "retire() allocates nothing: the base has room for the deleter and for two words."
    cxx:memory:retire_allocates_nothing cxx:saferecl_rcu:saferecl_rcu_base_trivially_copyable
about.8 "rcu_retire() allocates once, by operator new."
    cxx:memory:retire_allocates_nothing
about.9 "A deleter runs on the thread that reclaim.h chooses, by default lull's own; but that of std::default_delete
    for a class with a trivial destructor and no operator delete of its own only frees memory: the thread that
    retires calls it, in its later calls, outside its read sections."
    cxx:saferecl_rcu:only_frees cxx:saferecl_rcu:the_thread_that_retires_frees
about.10 "A specialization of std::default_delete for such a class must do as lull_rcu_call_pure() says."
    untested it is a rule for the program
about.11 "A deleter may retire and synchronize."
    cxx:saferecl_rcu:saferecl_rcu_base_retire_in_a_deleter
about.12 "At the end of the program retired objects may stay."
    cxx:static_order:ends_well
about.13 "rcu_synchronize() and rcu_barrier() are lull_rcu_synchronize() and lull_rcu_barrier(), with their
    contexts."
    cxx:saferecl_rcu:saferecl_rcu_domain_func_synchronize cxx:saferecl_rcu:saferecl_rcu_domain_func_barrier
rcu_domain.1 "Lockable."
    cxx:saferecl_rcu:saferecl_rcu_domain_general_lockable
rcu_domain.2 "Regions may be nested, in each thread."
    cxx:saferecl_rcu:saferecl_rcu_general_nested_locks
lock.1 "Begin a region: what is retired from now on stays until it ends."
    cxx:saferecl_rcu:saferecl_rcu_general_region_ends_first cxx:saferecl_rcu:saferecl_rcu_general_storm
lock.2 "Never blocks."
    cxx:saferecl_rcu:saferecl_rcu_domain_members_lock
try_lock.1 "Do as lock() does."
    cxx:saferecl_rcu:saferecl_rcu_domain_members_try_lock
try_lock.2 "Returns true."
    cxx:saferecl_rcu:saferecl_rcu_domain_members_try_lock
unlock.1 "End the region that began last."
    cxx:saferecl_rcu:saferecl_rcu_general_nested_locks
explains "It is nothing but the address of a variable of the library: a variable of a header would be another one in each
    module whose symbols are hidden."
rcu_default_domain.1 "Return the one domain."
    cxx:saferecl_rcu:saferecl_rcu_domain_func_default_domain
rcu_synchronize.1 "Wait until every region that had begun has ended."
    cxx:saferecl_rcu:saferecl_rcu_domain_func_synchronize
rcu_synchronize.2 "Not in a region."
    cxx:misuse:synchronizes_in_a_region
rcu_barrier.1 "Wait until every deleter that was scheduled before has been called."
    cxx:saferecl_rcu:saferecl_rcu_domain_func_barrier
rcu_barrier.2 "Not in a region, nor in a deleter."
    cxx:misuse:waits_in_a_region cxx:misuse:waits_in_a_deleter
d.1 "Derive T from rcu_obj_base<T>, publicly, to retire its objects."
    cxx:saferecl_rcu:saferecl_rcu_base_retire cxx:saferecl_rcu:saferecl_rcu_base_retire_objects_of_any_shape
    cxx:saferecl
d.2 "T may be incomplete there."
    cxx:saferecl_rcu:saferecl_rcu_base_incomplete_type
d.3 "D is called with the address of the object when it is reclaimed; it is moved into the object and out again."
    cxx:saferecl_rcu:saferecl_rcu_base_deleter_is_a_function_object
    cxx:saferecl_rcu:saferecl_rcu_base_deleter_requirements
retire.1 "Call @d with the object when every region that may have found it has ended."
    cxx:saferecl_rcu:saferecl_rcu_base_retire cxx:saferecl_rcu:saferecl_rcu_general_storm
retire.2 "Once for each object."
    cxx:saferecl_rcu:saferecl_rcu_general_evaluated_once
rcu_retire.1 "Call @d with @p when every region that may have found the object has ended."
    cxx:saferecl_rcu:saferecl_rcu_domain_func_retire cxx:saferecl_rcu:saferecl_rcu_general_region_ends_first
rcu_retire.2 "The object needs no base for that."
    cxx:saferecl_rcu:saferecl_rcu_domain_func_retire
rcu_retire.3 "Throws std::bad_alloc, or what the move of @d throws; then nothing is scheduled."
    cxx:memory:saferecl_rcu_domain_func_retire_without_memory
    cxx:saferecl_rcu:saferecl_rcu_domain_func_retire_throws
rcu_retire.4 "The limits of reclaim.h count the size of the object only with std::default_delete."
    cxx:saferecl_rcu:limits_count_the_size
