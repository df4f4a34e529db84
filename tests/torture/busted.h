/* SPDX-License-Identifier: MIT */
/*
 * The faults that a build of the library with LULL_BUSTED contains. Each is a mistake that somebody
 * could make in the core; `lull torture --busted NAME` switches one on, and has to find it.
 * src/internal.h includes this.
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
	fault(HAZPTR_NO_FENCE, "hazptr-no-fence", "hazptr",					\
	      "no heavy fence between an unlinking and the look at the slots")			\
	fault(HAZPTR_LISTS_FIRST, "hazptr-lists-first", "hazptr",				\
	      "the lists of holds are looked at before the threads' slots")			\
	fault(HAZPTR_RELAXED_CLEAR, "hazptr-relaxed-clear", "hazptr",				\
	      "a clear is not ordered: a reader's last look at the object comes after it")	\
	fault(BRIDGE_SCAN_FIRST, "bridge-scan-first", "bridge",					\
	      "the look at the slots comes first, and the grace period after it")		\
	fault(SHAZPTR_FORGOTTEN_POINTER, "shazptr-forgotten-pointer", "shazptr",		\
	      "a wait forgets what it is for, and waits for wildcards only")			\
	fault(SHAZPTR_IGNORED_WILDCARD, "shazptr-ignored-wildcard", "shazptr",			\
	      "a wildcard is taken for the name of something else")				\
	fault(PERCPU_NO_BARRIER, "percpu-no-barrier", "percpu_ref",				\
	      "a kill sums up the counters without a barrier that ends the sequences under way") \
	fault(PERCPU_NO_BIAS, "percpu-no-bias", "percpu_ref",					\
	      "the shared count has no bias while counters are in use")				\
	fault(PERCPU_NO_RESTART, "percpu-no-restart", "percpu_ref",				\
	      "an addition to a CPU's counter is not a restartable sequence")			\
	fault(HANDOFF_NO_CHECK, "handoff-no-check", "percpu_ref",				\
	      "a reference is taken without asking whether there are any left")			\
	fault(MUTEX_NO_WAKE, "mutex-no-wake", "mutex",						\
	      "an unlock that finds waiters wakes none of them")				\
	fault(MUTEX_NO_WAITERS, "mutex-no-waiters", "mutex",					\
	      "a thread that was woken takes the lock and does not say that others may sleep")	\
	fault(MUTEX_HEIR_NOBODY, "mutex-heir-nobody", "mutex",					\
	      "the lock is handed over to a thread that is not there")				\
	fault(OWNER_NO_WAIT, "owner-no-wait", "mutex",						\
	      "a thread exits while a waiter looks at its memory")

enum lull__busted {
	LULL__BUSTED_NOTHING,
#define LULL__BUSTED_ENUMERATOR(id, name, flavor, what) LULL__BUSTED_##id,
	LULL__BUSTED_FAULTS(LULL__BUSTED_ENUMERATOR)
};

/* Set before the first thread is made. */
extern enum lull__busted lull__busted;

#define LULL__BUSTED(fault) (lull__busted == LULL__BUSTED_##fault)

/* What a scan is made to believe of @thread, whose word is @word. Under the registry lock. */
uint64_t lull__busted_word(const struct lull__thread *thread, uint64_t word);

/* All sources but rcu.c are compiled with this in the place of lull__rcu_cookie(). */
lull_rcu_cookie lull__busted_cookie(void);

/* As if the thread had been preempted here. */
void lull__busted_linger(void);

#endif
