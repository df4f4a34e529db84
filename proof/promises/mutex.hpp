edf1cf mutex.hpp - the locks of mutex.h, | run.mutexes:excludes run.mutexes:is_a_mutex run.mutexes:producers_and_consumers
2532af std::lock_guard, std::scoped_lock, std::unique_lock and std::lock take | run.mutexes:excludes run.mutexes:three_at_once run.mutexes:guards_move run.mutexes:guards_refuse
d0edff This header includes neither <mutex> nor | ctest:cxx_mutexes
839edb A mutex and a condition variable | run.mutexes:early_and_late
1567ff A mutex has no destructor, so | run.mutexes:early_and_late
e37d15 Contexts are those of the C | run.mutexes:cancels_nobody
113e51 Misuse ends the program with one | misuse:locks_twice misuse:unlocks_what_it_has_not misuse:waits_without_the_mutex
853563 A struct lull_mutex, and nothing else: | run.mutexes:is_the_structure
717291 @flags: LULL_MUTEX_SHARED, for memory that processes | run.mutexes:is_the_structure
30f80f Waits as long as it takes. | run.mutexes:excludes
cc4528 Cannot fail. | run.mutexes:excludes
5ad31e Returns false if a thread holds | run.mutexes:excludes run.mutexes:guards_move
40f8f9 Another thread may free the mutex | run.mutexes:goes_with_the_last_unlock
808f55 A mutex that a thread can | run.mutexes:gives_up
15b83d It is a lull::mutex too, so | run.mutexes:waits_end cxx:mutexes
370026 If the mutex is free, no | run.mutexes:gets_it_in_time
91d196 Waits for @length at most. | run.mutexes:gives_up
6d28e9 More than 500 years are for | run.mutexes:durations run.mutexes:gets_it_in_time
fa6e87 Waits until @when at most, on | run.mutexes:gives_up
a6d312 A clock that is set back | run.mutexes:gives_up
7b192a One that is set forward does | run.mutexes:gives_up
809571 Result of an attempt to lock | explains
89fef8 The first two: the caller holds | run.mutexes:reports_a_death run.mutexes:is_a_mutex
55fe02 repair what the mutex guards, and | run.mutexes:reports_a_death
7da229 it was not to be had, | run.mutexes:is_a_mutex
6f2e00 an owner that learned of a | run.mutexes:reports_a_death
98b493 this system has no robust mutexes | run.mutexes:says_what_is_missing
551698 Thrown by the lock() of a | run.mutexes:guards_refuse run.mutexes:says_what_is_missing
162940 The caller does not hold the | run.mutexes:guards_refuse
033612 A mutex whose next owner learns | run.mutexes:reports_a_death run.mutexes:is_a_mutex
b42caa There are three ways to lock | run.mutexes:reports_a_death run.mutexes:repairs run.mutexes:guards_refuse cxx:mutexes
8a4286 Without exceptions in the compiler, lock() | misuse:locks_what_has_died
8652f1 Does not wait. | run.mutexes:is_a_mutex
a4bb6f Lock; if the last owner died, | run.mutexes:repairs
5b5bdf If @repair throws, nobody holds the | run.mutexes:repairs
55c726 Throws robust_error if it cannot be | run.mutexes:repairs run.mutexes:says_what_is_missing
e20079 Throws robust_error: owner_died (and from then | run.mutexes:guards_refuse run.mutexes:reports_a_death run.mutexes:says_what_is_missing
5f2e75 Say that what the mutex guards | run.mutexes:reports_a_death
c4d99a Aborts if the lock did not | misuse:says_consistent_for_nothing
8f0df2 A struct lull_cond. | run.mutexes:conditions_of_c
4d4385 @lock is a std::unique_lock<lull::mutex>, or of | run.mutexes:producers_and_consumers run.mutexes:waits_end run.mutexes:conditions_of_c misuse:waits_without_the_mutex cxx:mutexes
0afd77 The caller holds it, also when | run.mutexes:waits_end run.mutexes:predicates_throw
136539 All that sleep at a time | mutex.public.aborts:beside_waiters
8bf969 All waiters have been notified; they | run.mutexes:goes_when_all_are_told
3fb357 Aborts if one still sleeps. | misuse:destroys_beside_a_sleeper
5dab8f May return for no reason. | untested: a licence: nothing to test
ea294a With a robust mutex; the condition | run.mutexes:robust_waits
0e5189 Returns locked or owner_died, with the | run.mutexes:robust_waits
4a2e4d Waits until @ready() is true. | run.mutexes:producers_and_consumers run.mutexes:waits_end_when_told
8a402e Throws what that throws. | run.mutexes:predicates_throw
4685e2 The clocks are as in timed_mutex. | run.mutexes:waits_end
0f0213 Without a predicate it may return | run.mutexes:waits_end
08763a Returns @ready(), at the end. | run.mutexes:waits_end
bb63ea For clang's -Wthread-safety. | explains
da45cc The body of what locks is | explains
