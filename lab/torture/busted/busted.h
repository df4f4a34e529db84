/* SPDX-License-Identifier: MIT */
/*
 * The faults that a build of the library with LULL_BUSTED contains. Each is a mistake that could be made in the core,
 * or in the use of the library: the latter are in the torture itself (enum torture_use_fault), and only named here.
 * `lull torture --busted NAME` switches one on, and has to find it. src/base/fault.h includes this.
 */
#ifndef LULL_BUSTED_H
#define LULL_BUSTED_H

#include <stdbool.h>
#include <stdint.h>

#include <lull/rcu.h>

/* fault(ID, name, flavor that finds it, what it is) */
#define LULL__BUSTED_FAULTS(fault)								\
	fault(NO_HEAVY_FENCE, "no-heavy-fence", "rcu",						\
	      "a grace period looks at the threads without a heavy fence before")		\
	fault(NO_WAIT, "no-wait", "rcu",							\
	      "a grace period does not wait for the readers that it finds")			\
	fault(NO_ACQUIRE, "no-acquire", "rcu",							\
	      "the scan's loads are not ordered: who was outside a scan ago still is")		\
	fault(SKIP_QUIESCENT, "skip-quiescent", "rcu",						\
	      "an online thread is taken for quiescent though it reported nothing")		\
	fault(ONE_RECORD_MISSED, "one-record-missed", "rcu",					\
	      "the scan misses the newest thread's record")					\
	fault(EARLY_CALLBACK, "early-callback", "rcu",						\
	      "deferred calls and frees wait for no grace period")				\
	fault(STALE_COOKIE, "stale-cookie", "rcu",						\
	      "who waits is content with a grace period that began before the unlinking")	\
	fault(NO_RECHECK, "no-recheck", "rcu",							\
	      "a grace period asks to be woken and sleeps, without another look at the reader")	\
	fault(EARLY_BARRIER, "early-barrier", "rcu",						\
	      "a barrier waits for nothing")							\
	fault(CALLBACK_TWICE, "callback-twice", "rcu", "a callback runs twice, now and then")	\
	fault(CALLBACK_LOST, "callback-lost", "rcu", "a callback is lost, now and then")	\
	fault(EXIT_DROPS_QUEUE, "exit-drops-queue", "rcu",					\
	      "what a thread deferred is forgotten when it exits")				\
	fault(FORK_KEEPS_RECORDS, "fork-keeps-records", "rcu",					\
	      "a forked child keeps the records of threads that it has not")			\
	fault(STALL_NOT_TOLD, "stall-not-told", "rcu", "nobody is told of a reader that stalls") \
	fault(HARD_IGNORED, "hard-ignored", "rcu", "nobody looks at the hard limit")		\
	fault(OVERFLOW_LOST, "overflow-lost", "rcu",						\
	      "a callback for which there is no memory is lost")				\
	fault(BAG_LEAKED, "bag-leaked", "rcu",							\
	      "what a thread had for its deferrals is used by nobody after it")			\
	fault(QSBR_SILENT, "qsbr-silent", "rcu-qsbr",						\
	      "a program's online thread never says that it is quiescent")			\
	fault(QSBR_EARLY, "qsbr-early", "rcu-qsbr",						\
	      "a program's online thread says so while it holds something")			\
	fault(ONLINE_WAITS, "online-waits", "rcu-qsbr",						\
	      "an online thread that waits for a grace period holds that up itself")		\
	fault(HAZPTR_NO_FENCE, "hazptr-no-fence", "hazptr",					\
	      "no heavy fence between an unlinking and the look at the slots")			\
	fault(HAZPTR_LISTS_FIRST, "hazptr-lists-first", "hazptr",				\
	      "the lists of holds are looked at before the threads' slots")			\
	fault(HAZPTR_RELAXED_CLEAR, "hazptr-relaxed-clear", "hazptr",				\
	      "a clear is not ordered: a reader's last look at the object comes after it")	\
	fault(HAZPTR_NO_SECOND_LOOK, "hazptr-no-second-look", "hazptr",				\
	      "a reader protects a pointer and does not look whether it is still there")	\
	fault(HAZPTR_NO_RECHECK, "hazptr-no-recheck", "hazptr",					\
	      "a wait asks to be woken and sleeps, without another look at the slot")		\
	fault(HAZPTR_LOST_DETACH, "hazptr-lost-detach", "hazptr",				\
	      "what is detached, to be handed over, is protected no more")			\
	fault(HAZPTR_WRONG_KEY, "hazptr-wrong-key", "hazptr",					\
	      "a scan looks for another address than the one that readers protect")		\
	fault(BRIDGE_SCAN_FIRST, "bridge-scan-first", "bridge",					\
	      "the look at the slots comes first, and the grace period after it")		\
	fault(SHAZPTR_FORGOTTEN_POINTER, "shazptr-forgotten-pointer", "shazptr",		\
	      "a wait forgets what it is for, and waits for wildcards only")			\
	fault(SHAZPTR_IGNORED_WILDCARD, "shazptr-ignored-wildcard", "shazptr",			\
	      "a wildcard is taken for the name of something else")				\
	fault(SHAZPTR_NESTED, "shazptr-nested", "shazptr",					\
	      "an inner acquisition takes the slot, and the outer one has none")		\
	fault(PERCPU_NO_BARRIER, "percpu-no-barrier", "percpu_ref",				\
	      "a kill sums up the counters without a barrier that ends the sequences under way") \
	fault(PERCPU_NO_BIAS, "percpu-no-bias", "percpu_ref",					\
	      "the shared count has no bias while counters are in use")				\
	fault(PERCPU_NO_RESTART, "percpu-no-restart", "percpu_ref",				\
	      "an addition to a CPU's counter is not a restartable sequence")			\
	fault(HANDOFF_NO_CHECK, "handoff-no-check", "percpu_ref",				\
	      "a reference is taken without asking whether there are any left")			\
	fault(KILL_TWICE, "percpu-kill-twice", "percpu_ref", "a program kills a percpu_ref twice") \
	fault(COHORT_COUNTS_FIRST, "cohort-counts-first", "cohort",				\
	      "a callback is counted as returned before it runs")				\
	fault(COHORT_ONE_LEFT, "cohort-one-left", "cohort",					\
	      "a wait for a cohort is content when one member is left")				\
	fault(COHORT_NO_OFFSPRING, "cohort-no-offspring", "cohort",				\
	      "what a callback retires into its cohort is not counted")				\
	fault(COHORT_FORK_FORGETS, "cohort-fork-forgets", "cohort",				\
	      "a forked child does not count anew what waits")					\
	fault(HASH_NO_FUTURE, "hash-no-future", "hash",						\
	      "a lookup does not go on in the table that elements are moved to")		\
	fault(HASH_MOVE_HEAD, "hash-move-head", "hash",						\
	      "a chain is moved from its head: who stands on it is carried past the rest")	\
	fault(HASH_CUT_FIRST, "hash-cut-first", "hash",						\
	      "an element is taken off the old chain before it is on the new one")		\
	fault(HASH_TABLE_AT_ONCE, "hash-table-at-once", "hash",					\
	      "a resize frees the old table without a grace period")				\
	fault(HASH_FREE_AT_ONCE, "hash-free-at-once", "hash",					\
	      "a program frees what it took out without a grace period")			\
	fault(HASH_REPLACE_IN_TWO, "hash-replace-in-two", "hash",				\
	      "a program replaces by removing and inserting")					\
	fault(HASH_NO_COUNT, "hash-no-count", "hash", "some removals are not counted")		\
	fault(MUTEX_NO_WAKE, "mutex-no-wake", "mutex",						\
	      "an unlock that finds waiters wakes none of them")				\
	fault(MUTEX_NO_WAITERS, "mutex-no-waiters", "mutex",					\
	      "a thread that was woken takes the lock and does not say that others may sleep")	\
	fault(MUTEX_HEIR_NOBODY, "mutex-heir-nobody", "mutex",					\
	      "the lock is handed over to a thread that is not there")				\
	fault(OWNER_NO_WAIT, "owner-no-wait", "mutex",						\
	      "a thread exits while a waiter looks at its memory")				\
	fault(DOMAIN_NO_FENCE, "domain-no-fence", "domain",					\
	      "a grace period of a domain sums up without a heavy fence before")		\
	fault(DOMAIN_NO_WAIT, "domain-no-wait", "domain",					\
	      "a grace period of a domain does not wait for open sections")			\
	fault(DOMAIN_ONE_PHASE, "domain-one-phase", "domain",					\
	      "a grace period of a domain does not wait for the phase that is not current")	\
	fault(DOMAIN_EARLY_CALL, "domain-early-call", "domain",					\
	      "callbacks of a domain wait for no grace period")					\
	fault(RWSEM_NO_WAIT, "rwsem-no-wait", "percpu_rwsem",					\
	      "a writer does not wait for the readers that are in")				\
	fault(RWSEM_NO_SUM, "rwsem-no-sum", "percpu_rwsem",					\
	      "a writer forgets the readers that their CPUs have counted")			\
	fault(WILD_HANGS, "wild-hangs", "wild", "a round does not end")			\
	fault(WILD_DIES, "wild-dies", "wild", "a round crashes")				\
	fault(WILD_EXITS, "wild-exits", "wild", "a round exits with another status than 0")	\
	fault(WILD_SAYS, "wild-says", "wild", "a round says something on standard error")	\
	fault(WILD_WRITES_DATA, "wild-writes-data", "wild",					\
	      "somebody writes a message to the program's data file")				\
	fault(WILD_STAYS, "wild-stays", "wild", "SIGTERM does not end the process")		\
	fault(WILD_LEAVES_CHILD, "wild-leaves-child", "wild", "a round leaves a process behind") \
	fault(WILD_LEAKS, "wild-leaks", "wild", "each of many threads leaves memory behind")	\
	fault(WILD_NO_EFFECT, "wild-no-effect", "wild", "calls that are to fail do not")	\
	fault(WILD_ODD_THREAD, "wild-odd-thread", "wild",					\
	      "a thread of the library's, by its name, is SCHED_IDLE")				\
	fault(WILD_STARVES, "wild-starves", "wild", "no cookie of a stream is ever over")

enum lull__busted {
	LULL__BUSTED_NOTHING,
#define LULL__BUSTED_ENUMERATOR(id, name, flavor, what) LULL__BUSTED_##id,
	LULL__BUSTED_FAULTS(LULL__BUSTED_ENUMERATOR)
};

/* Set before the first thread is made. */
extern enum lull__busted lull__busted;

#define LULL__BUSTED(fault) (lull__busted == LULL__BUSTED_##fault)

/* Return the word that a scan believes to read of @thread; the true one is @word. Under the registry lock. */
uint64_t lull__busted_word(const struct lull__thread *thread, uint64_t word);

/* All sources but grace_period.c are compiled with this in the place of lull__rcu_cookie(). */
lull_rcu_cookie lull__busted_cookie(void);

/* Delay the thread, as if it had been preempted here. */
void lull__busted_linger(void);

/* The callback of @head, once or otherwise. */
void lull__busted_run(struct lull_rcu_head *head);

/* A thread exits, whose bag this is. */
struct lull__bag;
void lull__busted_drop(struct lull__bag *bag);

/* From the main thread, when the fault is set. */
void lull__busted_begin(void);

/* stall.c is compiled with this in the place of lull__report_stall(). */
struct lull_stall;
void lull__busted_report_stall(const struct lull_stall *stall);

/* resize.c is compiled with this in the place of lull_rcu_free(). */
void lull__busted_free_table(void *table);

/* resize.c calls this in the middle of a move; tests/hash/inside/many.c has its own. */
void lull__busted_pause(void);

#endif
