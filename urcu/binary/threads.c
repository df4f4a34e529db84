/* SPDX-License-Identifier: MIT */
/*
 * threads.c - the threads that a flavor knows: they register, exit and fork.
 */
#include <limits.h>

#include "../../src/base/events.h"
#include "../../src/base/message.h"
#include "../../src/base/process.h"
#include "domain.h"

__thread bool lull__urcu_exiting __attribute__((tls_model("initial-exec")));
__thread bool lull__urcu_leaving __attribute__((tls_model("initial-exec")));
static __thread uintptr_t round_now __attribute__((tls_model("initial-exec"))); /* of destructors; 0: none yet */
static pthread_key_t exit_key;
static uint32_t threads; /* of all flavors, for lull top */

#ifdef LULL__TSAN /* it ends the thread in the last one, and nothing may run in that any more */
#define LAST_ROUND (PTHREAD_DESTRUCTOR_ITERATIONS - 1)
#else
#define LAST_ROUND PTHREAD_DESTRUCTOR_ITERATIONS
#endif

/* ---- threads come and go -------------------------------------------------------------------------- */

/* Threads that only wait need no registration to the end. In later rounds they are not registered again. */
static void leave_enrolled(void)
{
	lull__urcu_leaving = true;
	for (struct urcu_domain *const *d = lull__urcu_domains; *d; d++) {
		const struct urcu_record *record = (*d)->record();

		if (record && record->registered && record->enrolled && !(*record->word & URCU_NEST_MASK))
			(*d)->leave();
	}
}

/*
 * End the registrations that a thread leaves behind, in the last round of destructors: those of the program may still
 * read in the rounds before. Registering meanwhile does not begin the rounds anew, since there will be no more rounds.
 */
static void thread_exit(void *round)
{
	uintptr_t next = (uintptr_t)round + 1;

	if (!lull__urcu_leaving)
		leave_enrolled();
	round_now = next;
	if (next <= LAST_ROUND && pthread_setspecific(exit_key, (const void *)next) == 0)
		return;
	lull__urcu_exiting = true;
	for (struct urcu_domain *const *d = lull__urcu_domains; *d; d++) {
		const struct urcu_record *record = (*d)->record();

		if (!record || !record->registered)
			continue;
		if ((*d)->readers != URCU_ONLINE && (*record->word & URCU_NEST_MASK))
			lull__say("%s exits in a read section of liburcu-%s; the section ends here",
				  lull__thread_words(record->tid).text, (*d)->name);
		(*d)->leave();
	}
}

void lull__urcu_life_init(void)
{
	if (pthread_key_create(&exit_key, thread_exit) != 0)
		lull__die("no pthread key left to notice the exit of threads");
	for (struct urcu_domain *const *d = lull__urcu_domains; *d; d++) {
		(*d)->list.next = (*d)->list.prev = &(*d)->list;
		if ((*d)->has_light)
			lull_store_relaxed((*d)->has_light, !lull__fence_full_mode);
	}
}

void lull__urcu_init(void)
{
	lull__init();
}

void lull__urcu_hold_signals(struct urcu_domain *d, struct urcu_hold *hold)
{
	const struct urcu_record *own = d->record();

	hold->masked = d->readers != URCU_ONLINE && (!own || !own->registered);
	if (hold->masked)
		lull__block_signals(&hold->saved);
}

void lull__urcu_release_signals(const struct urcu_hold *hold)
{
	if (hold->masked)
		lull__restore_signals(&hold->saved);
}

/* Behind a change of the count. */
static void count_threads(uint32_t more)
{
	lull__event_threads(lull_add_relaxed(&threads, more) + more);
}

/* Let the calling thread, whose @record is in the list, have sections. Without the lock: a scan of its own may have that. */
static void count_reader(struct urcu_domain *d, struct urcu_record *record)
{
	lull_add_relaxed(&d->count, 1u);
	/*
	 * ORDER URCU-10: the count before the loads of the thread's sections; pairs with URCU-10 in urcu_begin(),
	 * urcu_is_needless(); without it a grace period that knows of no thread misses one that found the object;
	 * model/urcu/nobody.litmus
	 */
	lull_fence_full();
	record->enrolled = false;
	if (record->slow && d->readers != URCU_FULL && !lull__fence_full_mode && !lull__urcu_exiting) {
		lull_store_relaxed(record->slow, 0u);
		lull_store_relaxed(record->outside, 0ul);
		if (!(*record->word & URCU_NEST_MASK))
			lull_store_relaxed(record->word, 0ul);
	}
}

bool lull__urcu_register(struct urcu_domain *d, struct urcu_record *record, bool reads)
{
	sigset_t saved;
	bool noticed;

	lull__urcu_init();
	if (d->only_light && lull__fence_full_mode)
		lull__die("liburcu-%s needs membarrier(2), which this process cannot have, or must not (LULL_FENCE)",
			  d->name);
	lull__block_signals(&saved);
	if (record->registered && record->enrolled && reads) {
		/* In a handler, perhaps, amid a scan of this thread's. */
		count_reader(d, record);
		lull__restore_signals(&saved);
		return true;
	}
	lull__lock(&d->registry);
	if (!record->registered) {
		record->registered = true;
		record->enrolled = !reads;
		record->tid = lull__gettid();
		/* THR-1: behind a scan, or seen by it. */
		record->next = &d->list;
		record->prev = d->list.prev;
		record->prev->next = record;
		record->next->prev = record;
		d->linked++;
		count_threads(1);
		if (reads)
			count_reader(d, record);
		/* There may be no memory for the value. */
		pthread_setspecific(exit_key, (const void *)(round_now ? round_now : 1));
	}
	noticed = pthread_getspecific(exit_key) != NULL;
	lull__unlock(&d->registry);
	lull__restore_signals(&saved);
	return noticed;
}

void lull__urcu_unregister(struct urcu_domain *d, struct urcu_record *record)
{
	sigset_t saved;

	lull__urcu_init();
	lull__block_signals(&saved);
	lull__lock(&d->registry);
	if (record->registered) {
		record->registered = false;
		record->next->prev = record->prev;
		record->prev->next = record->next;
		/*
		 * ORDER URCU-11: the thread's loads before the count; pairs with URCU-11 in urcu_begin(),
		 * count_others(); without it an object is freed that the last thread still looks at; model/urcu/gone.litmus
		 */
		if (!record->enrolled)
			lull_sub_release(&d->count, 1u);
		d->linked--;
		count_threads(UINT32_MAX);
		if (record->slow) {
			lull_store_relaxed(record->slow, URCU_SLOW_MODE);
			lull_store_relaxed(record->outside, URCU_OUTSIDE);
		}
		lull_store_relaxed(record->word, record->slow ? URCU_OUTSIDE : 0ul); /* THR-2 */
	}
	lull__unlock(&d->registry);
	lull__restore_signals(&saved);
}

/* ---- fork -------------------------------------------------------------------------------------------- */

/* Begin anew in the child, with the records of the thread that forked. Its sections go on. */
static void domain_fork_child(struct urcu_domain *d)
{
	struct urcu_record *own = d->record();

	d->leader.word = d->registry.word = 0;
	d->list.next = d->list.prev = &d->list;
	threads -= d->linked;
	d->count = d->linked = 0;
	if (d->futex)
		lull_store_relaxed(d->futex, 0u);
	lull_store_relaxed(d->ctr, lull__urcu_word(d, d->started)); /* the parent may have been about to */
	d->number = lull__urcu_word(d, d->started);
	if (!own || !own->registered)
		return;
	own->next = own->prev = &d->list;
	d->list.next = d->list.prev = own;
	own->tid = lull__gettid();
	threads++;
	d->linked = 1;
	d->count = !own->enrolled;
}

void lull__urcu_fork_child(uint32_t old_tid)
{
	(void)old_tid;
	lull__urcu_look_no_more();
	lull__urcu_bp_fork_child();
	for (struct urcu_domain *const *d = lull__urcu_domains; *d; d++) {
		domain_fork_child(*d);
		lull__workers_fork_child(&(*d)->workers);
	}
}

struct urcu_domain *const lull__urcu_domains[] = {
	&lull__urcu_memb, &lull__urcu_mb, &lull__urcu_bp, &lull__urcu_qsbr,
#if LULL_URCU_VERSION < 14
	&lull__urcu_signal,
#endif
	NULL,
};
