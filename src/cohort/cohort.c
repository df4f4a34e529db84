/* SPDX-License-Identifier: MIT */
/*
 * cohort.c - count what is retired into a cohort, and wait until the count is zero.
 *
 * All is in one word, because the callback that counts last must not touch the cohort after that: the waiter may free
 * it. So the same swap that makes the count zero clears SLEEPS, and tells whether a thread sleeps; waiters sleep on the
 * event of barriers, which is not in the cohort. That event also comes when another thread has to run the callbacks: in
 * another mode, or without a background thread.
 *
 *	last callback				waiter
 *						take the event
 *						swap 1 -> 1, SLEEPS
 *	swap 1, SLEEPS -> 0			sleep while the event is the same
 *						... returns, frees the cohort
 *	count the event, wake all
 *
 * Fork. The child has the queues as they were, but neither the other threads nor the callbacks that they were running,
 * and cannot tell which of these callbacks had counted already. So it counts anew, from its queues. Each count says in
 * which process it was made, and one from before the fork means zero: the child has no way to find a cohort that has
 * nothing in the queues.
 */
#include <errno.h>

#include <lull/cohort.h>

#include "../base/callback.h"
#include "../base/deadline.h"
#include "../base/fault.h"
#include "../base/message.h"
#include "../base/process.h"
#include "../base/registry.h"
#include "../base/wait.h"
#include "../hazptr/slots.h"
#include "../rcu/section.h"
#include "../reclaim/overflow.h"
#include "../reclaim/worker.h"
#include "cohort_life.h"
#include "inside.h"

#define SLEEPS	      UINT64_C(1)
#define ONE	      UINT64_C(2)
#define OBJECTS	      UINT64_C(0x000000fffffffffe)
#define PROCESS_SHIFT 40 /* above it: in which process, as its forks are counted */

#define HELP_NS	     UINT64_C(10000000) /* longest wait for readers between two looks for ready callbacks */
#define NAP_LEAST_NS UINT64_C(20000)	/* between tries to run callbacks that are in vain; doubles up to HELP_NS */

static uint64_t process; /* in its place in the word; another one in a child */

/* The calling thread is in callbacks of these cohorts: one may run another inside (inside.h). */
struct calling {
	struct lull_cohort *cohort;
	struct calling *outer;
};
static __thread struct calling *calling_back __attribute__((tls_model("initial-exec")));

/* ---- the count ---------------------------------------------------------------------------------- */

/* Return what @state, of a cohort's word, means in this process. */
static inline uint64_t in_process(uint64_t state)
{
	uint64_t now = lull_load_relaxed(&process);

	return lull_likely(state >> PROCESS_SHIFT == now >> PROCESS_SHIFT) ? state : now;
}

static void count_one_more(struct lull_cohort *c)
{
	uint64_t state = lull_load_relaxed(&c->state);

	if (LULL__BUSTED(COHORT_NO_OFFSPRING) && lull__self.callback_depth)
		return;
	while (!lull_cas_relaxed(&c->state, &state, in_process(state) + ONE))
		;
	if (lull__self.callback_depth && (state & SLEEPS))
		lull_add_relaxed(&lull__reclaimer.wanted, (uint64_t)1);
}

static void count_one_less(struct lull_cohort *c)
{
	uint64_t state = lull_load_relaxed(&c->state), rest;

	do {
		if (!(in_process(state) & OBJECTS))
			return; /* a child that a signal handler forked in the middle of the call: see cohort.h */
		rest = in_process(state) - ONE;
		if (!(rest & OBJECTS))
			rest &= ~SLEEPS;
		/*
		 * ORDER COH-1: what the callback did before the count without it; pairs with COH-1 in
		 * objects_left(); without it a thread that has waited does not see that, or frees the cohort
		 * too early; model/cohort/count.litmus
		 */
	} while (!lull_cas_release(&c->state, &state, rest));
	/* @c may be something else by now. */
	if (state & SLEEPS && !(rest & OBJECTS))
		lull__hazptr_wake();
}

/* How many objects of @c, a cohort, have not been called, or have not returned? */
static uint64_t objects_left(const void *c)
{
	/*
	 * ORDER COH-1: the count before what the caller does next; pairs with COH-1 in count_one_less();
	 * without it as there; model/cohort/count.litmus
	 */
	return (in_process(lull_load_acquire(&((const struct lull_cohort *)c)->state)) & OBJECTS) / ONE;
}

bool lull_cohort_is_empty(const struct lull_cohort *c)
{
	lull__init(); /* in a child of _Fork() this may be the first use */
	return objects_left(c) <= (LULL__BUSTED(COHORT_ONE_LEFT) ? 1 : 0);
}

void lull_cohort_init(struct lull_cohort *c)
{
	lull_store_relaxed(&c->state, UINT64_C(0));
}

/* ---- retire ------------------------------------------------------------------------------------- */

static void run_member(struct lull_head *head)
{
	struct lull_cohort_head *mine = lull_container_of(head, struct lull_cohort_head, head);
	struct lull_cohort *c = mine->cohort;
	struct calling calling = { c, calling_back };

	LULL__CHECK(calls_back, c);
	if (LULL__BUSTED(COHORT_COUNTS_FIRST)) {
		count_one_less(c);
		mine->func(mine);
		return;
	}
	calling_back = &calling;
	mine->func(mine);
	lull__tsan_release(LULL__TSAN_DEFERRED);
	calling_back = calling.outer;
	LULL__CHECK(calls_back, calling.outer ? calling.outer->cohort : NULL);
	count_one_less(c);
}

#ifdef LULL_DEBUG
/* Let the kernel read the pointer at @from. NULL: there is no such memory. */
static const void *peek_pointer(uintptr_t from)
{
	union {
		uint32_t half[sizeof(void *) / sizeof(uint32_t)];
		const void *pointer;
	} got = { .pointer = NULL };

	for (size_t i = 0; i < sizeof(got) / sizeof(uint32_t); i++)
		if (!lull__peek((const uint32_t *)from + i, &got.half[i]))
			return NULL;
	return got.pointer;
}

bool lull__cohort_has(const void *cohort, uintptr_t addr)
{
	const struct lull_cohort_head *mine = lull_container_of((struct lull_head *)addr, struct lull_cohort_head, head);

	return peek_pointer((uintptr_t)&mine->head.func) == (const void *)(uintptr_t)run_member &&
	       peek_pointer((uintptr_t)&mine->cohort) == cohort;
}
#endif

/* Count @head, before it is in a queue. */
static struct lull_head *count_in(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func)
{
	head->func = func;
	head->cohort = c;
	lull__init(); /* a child of _Fork() must not find out between the count and the queue */
	count_one_more(c);
	return &head->head;
}

void lull_cohort_call_rcu_sized(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func,
				size_t bytes)
{
	lull_rcu_call_sized(count_in(c, head, func), run_member, bytes);
}

void lull_cohort_call_hazptr_sized(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func,
				   size_t bytes)
{
	lull_hazptr_call_sized(count_in(c, head, func), run_member, bytes);
}

void lull_cohort_call_rcu_hazptr_sized(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func,
				       size_t bytes)
{
	lull_rcu_call_hazptr_sized(count_in(c, head, func), run_member, bytes);
}

void lull_cohort_call_rcu(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func)
{
	lull_cohort_call_rcu_sized(c, head, func, sizeof(*head));
}

void lull_cohort_call_hazptr(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func)
{
	lull_cohort_call_hazptr_sized(c, head, func, sizeof(*head));
}

void lull_cohort_call_rcu_hazptr(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func)
{
	lull_cohort_call_rcu_hazptr_sized(c, head, func, sizeof(*head));
}

/* ---- wait --------------------------------------------------------------------------------------- */

/* Will no background thread run the callbacks, or not all of them? Or does it wait for this thread? */
static bool must_help(void)
{
	return lull__self.callback_depth || lull_load_relaxed(&lull__reclaimer.mode) != LULL_RECLAIM_THREAD ||
	       !lull__start_worker();
}

static bool is_member(const void *item, const void *c)
{
	const struct lull_head *head = (const struct lull_head *)item;

	return head->func == run_member && lull_container_of(head, struct lull_cohort_head, head)->cohort == c;
}

/* Run what is ready; in a callback only members of @c. */
static bool run_ready(const struct lull_cohort *c)
{
	struct lull__members members = { is_member, objects_left, c };

	return lull__self.callback_depth ? lull__cohort_run_inside(&members) : lull_reclaim_poll(SIZE_MAX, 0) != 0;
}

/* The same, and if that is nothing once more after a moment's wait for readers. */
static bool help_out(const struct lull_cohort *c, uint64_t deadline_ns)
{
	struct lull__opened opened;

	LULL__CHECK_WAITS(LULL__NEVER, .kind = LULL__AWAITS_LATER);
	if (run_ready(c))
		return true;
	lull__cohort_open(&opened);
	lull__rcu_wait_until(lull__rcu_cookie(), lull__earlier(deadline_ns, lull__now_ns() + HELP_NS), NULL);
	lull__cohort_close(&opened);
	return run_ready(c);
}

/* Say that this thread is about to sleep. Returns false if there is nothing to sleep for. */
static bool set_sleeps(struct lull_cohort *c)
{
	uint64_t state = lull_load_relaxed(&c->state), next;

	do {
		next = in_process(state) | SLEEPS;
		if (!(next & OBJECTS))
			return false;
	} while (!lull_cas_relaxed(&c->state, &state, next));
	return true;
}

/* Returns false if @deadline_ns is past. */
static bool await_objects(struct lull_cohort *c, uint64_t deadline_ns)
{
	struct lull__opened opened;
	struct lull__wait wait;
	uint64_t nap_ns = 0;
	bool in_time = true;

	lull__wait_begin(&wait, LULL_WAIT_HAZPTR_BARRIER, 0);
	while (in_time && !lull_cohort_is_empty(c)) {
		/* HAZ-9: load the event before the count, and before must_help() looks which thread runs callbacks. */
		uint32_t event = lull_load_acquire(&lull__hazptr.event);
		uint64_t again_ns = LULL__NEVER;

		if (must_help()) {
			nap_ns = help_out(c, deadline_ns) ? 0 : lull__earlier(2 * nap_ns + NAP_LEAST_NS, HELP_NS);
			again_ns = lull__now_ns() + nap_ns;
		}
		LULL__CHECK_WAITS(deadline_ns, .kind = LULL__AWAITS_COHORT, .what = c);
		again_ns = LULL__CHECK_CIRCLE(again_ns);
		if (!set_sleeps(c))
			continue;
		lull__cohort_open(&opened);
		in_time = lull__wait_sleep(&wait, &lull__hazptr.event, event, deadline_ns, again_ns, lull__blame_parked, NULL, NULL);
		lull__cohort_close(&opened);
	}
	lull__wait_end(&wait);
	LULL__CHECK_WAITS(deadline_ns, .kind = LULL__AWAITS_NOTHING);
	return in_time;
}

static void no_wait_for_itself(const char *call, const struct lull_cohort *c)
{
	if (lull__self.callback_depth & LULL__IN_THREAD_START)
		lull__die("%s in thread_start would wait for itself for ever", call);
	for (const struct calling *calling = calling_back; calling; calling = calling->outer)
		if (calling->cohort == c)
			lull__die("%s in a callback of the same cohort would wait for itself for ever", call);
}

static int await_empty(const char *call, struct lull_cohort *c, uint64_t deadline_ns)
{
	bool online = lull__self.state & LULL__STATE_ONLINE, in_time;

	lull__rcu_no_section(call);
	no_wait_for_itself(call, c);
	if (lull_cohort_is_empty(c))
		return 0;
	lull__ensure_known();
	if (online)
		lull_rcu_offline();
	in_time = await_objects(c, deadline_ns);
	if (online)
		lull_rcu_online();
	return in_time ? 0 : -ETIMEDOUT;
}

void lull_cohort_wait(struct lull_cohort *c)
{
	await_empty("lull_cohort_wait", c, LULL__NEVER);
}

int lull_cohort_wait_timeout(struct lull_cohort *c, uint64_t timeout_ms)
{
	return await_empty("lull_cohort_wait_timeout", c, lull__deadline_in_ms(timeout_ms));
}

void lull_cohort_destroy(struct lull_cohort *c)
{
	if (!lull_cohort_is_empty(c))
		await_empty("lull_cohort_destroy", c, LULL__NEVER);
}

/* ---- fork --------------------------------------------------------------------------------------- */

/* Count @head anew in a child, if it is a cohort's. */
static void count_anew(struct lull_head *head)
{
	if (head && head->func == run_member)
		count_one_more(lull_container_of(head, struct lull_cohort_head, head)->cohort);
}

static void count_queue(const struct lull__queue *q)
{
	const struct lull__chunk *chunk = q->head;

	for (uint64_t at = q->get; at < q->put; at++) {
		if (at >= chunk->first + LULL__CHUNK_ITEMS)
			chunk = chunk->next;
		count_anew((struct lull_head *)chunk->entry[at % LULL__CHUNK_ITEMS].item);
	}
}

/* Run after the queues have been repaired. */
void lull__cohort_fork_child(uint32_t old_tid)
{
	struct lull__bag *bag;

	(void)old_tid;
	process += UINT64_C(1) << PROCESS_SHIFT;
	lull__cohort_inside_fork_child();
	if (LULL__BUSTED(COHORT_FORK_FORGETS))
		return;
	lull__for_each_bag(bag)
		for (uint32_t kind = 0; kind < LULL__KINDS; kind++)
			if (lull__kind_is_call(kind))
				count_queue(&bag->queue[kind]);
	lull__overflow_each(count_anew);
	for (struct calling *calling = calling_back; calling; calling = calling->outer) /* they go on */
		count_one_more(calling->cohort);
}
