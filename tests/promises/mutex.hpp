# What mutex.hpp promises, and which tests see to it (scripts/promises).
about.1 "mutex.hpp - the locks of mutex.h, mutex_robust.h and cond.h in the shapes of the C++ standard."
    cxx:mutexes:excludes cxx:mutexes:is_a_mutex cxx:mutexes:producers_and_consumers
about.2 "std::lock_guard, std::scoped_lock, std::unique_lock and std::lock take them all."
    cxx:mutexes:excludes cxx:mutexes:three_at_once cxx:mutexes:guards_move cxx:mutexes:guards_refuse
about.3 "This header includes neither <mutex> nor <chrono>: a program that uses their names does."
    ctest:cxx_mutexes
about.4 "A mutex and a condition variable of static storage are initialised before any code runs."
    cxx:mutexes:CONSTANT cxx:mutexes:early_and_late
about.5 "A mutex has no destructor, so destructors of static objects may still lock it."
    cxx:mutexes:early_and_late
about.6 "Contexts are those of the C headers: not in signal handlers, and no call is a cancellation point."
    cxx:mutexes:cancels_nobody
about.7 "Misuse ends the program with one line, where the standard's types may do anything: a second lock by the owner,
    an unlock by another thread, a wait with a mutex that the caller does not hold."
    cxx:misuse:locks_twice cxx:misuse:unlocks_what_it_has_not cxx:misuse:waits_without_the_mutex
mutex.1 "A struct lull_mutex, and nothing else: C code may lock native_handle(), and cast the one to the other."
    cxx:mutexes:is_the_structure
mutex.2 "@flags: LULL_MUTEX_SHARED, for memory that processes share."
    cxx:mutexes:is_the_structure
lock.1 "Waits as long as it takes."
    cxx:mutexes:excludes
lock.2 "Cannot fail."
    cxx:mutexes:excludes
try_lock.1 "Returns false if a thread holds it, also if this thread does; never for another reason."
    cxx:mutexes:excludes cxx:mutexes:guards_move
unlock.1 "Another thread may free the mutex at once."
    cxx:mutexes:goes_with_the_last_unlock
timed_mutex.1 "A mutex that a thread can give up waiting for."
    cxx:mutexes:gives_up
timed_mutex.2 "It is a lull::mutex too, so std::unique_lock<lull::mutex> and conditions take it."
    cxx:mutexes:waits_end cxx:mutexes
timed_mutex.3 "If the mutex is free, no clock is read."
    cxx:mutexes:gets_it_in_time
try_lock_for.1 "Waits for @length at most."
    cxx:mutexes:gives_up
try_lock_for.2 "More than 500 years are for ever."
    cxx:mutexes:durations cxx:mutexes:gets_it_in_time
try_lock_until.1 "Waits until @when at most, on any clock."
    cxx:mutexes:gives_up
try_lock_until.2 "A clock that is set back makes the wait longer."
    cxx:mutexes:gives_up
try_lock_until.3 "One that is set forward does not make it shorter."
    cxx:mutexes:gives_up
explains "Result of an attempt to lock a robust mutex."
robust_status.2 "The first two: the caller holds it."
    cxx:mutexes:reports_a_death cxx:mutexes:is_a_mutex
robust_status.3 "repair what the mutex guards, and call make_consistent()"
    cxx:mutexes:reports_a_death
robust_status.4 "it was not to be had, or not in time"
    cxx:mutexes:is_a_mutex
robust_status.5 "an owner that learned of a death unlocked without make_consistent()"
    cxx:mutexes:reports_a_death
robust_status.6 "this system has no robust mutexes"
    cxx:mutexes:says_what_is_missing
robust_error.1 "Thrown by the lock() of a robust mutex."
    cxx:mutexes:guards_refuse cxx:mutexes:says_what_is_missing
robust_error.2 "The caller does not hold the mutex."
    cxx:mutexes:guards_refuse
robust_mutex.1 "A mutex whose next owner learns that the last one has died: a struct lull_mutex_robust."
    cxx:mutexes:reports_a_death cxx:mutexes:is_a_mutex
robust_mutex.2 "There are three ways to lock it."
    cxx:mutexes:reports_a_death cxx:mutexes:repairs cxx:mutexes:guards_refuse cxx:mutexes
robust_mutex.3 "Without exceptions in the compiler, lock() ends the program where it would throw."
    cxx:misuse:locks_what_has_died
try_acquire.1 "Does not wait."
    cxx:mutexes:is_a_mutex
lock.3 "Lock; if the last owner died, call @repair() and then make_consistent()."
    cxx:mutexes:repairs
lock.4 "If @repair throws, nobody holds the mutex, and it is not recoverable."
    cxx:mutexes:repairs
lock.5 "Throws robust_error if it cannot be locked at all."
    cxx:mutexes:repairs cxx:mutexes:says_what_is_missing
lock.6 "Throws robust_error: owner_died (and from then on not_recoverable), not_recoverable, not_supported."
    cxx:mutexes:guards_refuse cxx:mutexes:reports_a_death cxx:mutexes:says_what_is_missing
make_consistent.1 "Say that what the mutex guards is repaired."
    cxx:mutexes:reports_a_death
make_consistent.2 "Aborts if the lock did not report a death."
    cxx:misuse:says_consistent_for_nothing
condition_variable.1 "A struct lull_cond."
    cxx:mutexes:conditions_of_c
condition_variable.2 "@lock is a std::unique_lock<lull::mutex>, or of another mutex of lull that is not robust, or
    anything else whose mutex() returns a pointer to such a mutex."
    cxx:mutexes:producers_and_consumers cxx:mutexes:waits_end cxx:mutexes:conditions_of_c
    cxx:misuse:waits_without_the_mutex cxx:mutexes
condition_variable.3 "The caller holds it, also when a wait returns or throws."
    cxx:mutexes:waits_end cxx:mutexes:predicates_throw
condition_variable.4 "All that wait at a time use the same mutex."
    test_cond:test_misuse_beside_waiters
condition_variable.5 "All waiters have been notified; they need not have returned."
    cxx:mutexes:goes_when_all_are_told
condition_variable.6 "Aborts if one still sleeps."
    cxx:misuse:destroys_beside_a_sleeper
wait.1 "May return for no reason."
    untested a licence: nothing to test
wait.2 "Waits until @ready() is true."
    cxx:mutexes:producers_and_consumers cxx:mutexes:waits_end_when_told
wait.3 "Throws what that throws."
    cxx:mutexes:predicates_throw
wait_for.1 "The clocks are as in timed_mutex."
    cxx:mutexes:waits_end
wait_for.2 "Without a predicate it may return too early, but not with `timeout`."
    cxx:mutexes:waits_end
wait_for.3 "Returns @ready(), at the end."
    cxx:mutexes:waits_end
