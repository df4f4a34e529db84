/* SPDX-License-Identifier: MIT */
/*
 * worker.c - the background thread: when it wakes up, what it does, when it sleeps.
 */
#include <limits.h>
#include <string.h>

#include "../base/deadline.h"
#include "../base/events.h"
#include "../base/message.h"
#include "../base/own_thread.h"
#include "../base/process.h"
#include "../base/registry.h"
#include "../hazptr/slots.h"
#include "backlog.h"
#include "overflow.h"
#include "partition.h"
#include "pass.h"
#include "reclaim_life.h"
#include "worker.h"

#define BATCH_NAP_NS   600000u	 /* between passes while callbacks come in: they share a pass, and its fence */
#define NAP_BELOW      512u	 /* ... unless a pass finds as many as these */
#define NAP_FROM       4u	 /* ... or fewer than these: then a nap may only make callers wait. So ... */
#define TRY_NAP_MOST   1000u	 /* ... it is tried after 8 such passes, 24, and so on, but for these */
#define FENCE_NS       500000u	 /* a heavy fence interrupts readers: on average no more than one in such a time */
#define SAVED_NS       1000000000u /* ... but after a time without any, those of so long in a row */
#define WANTED_MOST (1u << 20) /* a callback that defers itself for ever must not keep a processor busy */
#define LINKS_SAVED_NS (32768 * (uint64_t)FENCE_NS) /* ... or of so long, where callbacks defer callbacks */
#define IDLE_DOUBLES   5	 /* while parked objects wait it looks for other threads ever more rarely */
#define FUTILE_NAP_NS  20000u	 /* after a pass that took something and reclaimed nothing; doubles ... */
#define FUTILE_MOST    9	 /* ... up to 10 ms */
#define LINGER_DOUBLES 5	 /* a busy owner is checked ever more rarely, down to every linger_ms << 5 */

/* Does a barrier wait for a pass? */
static bool flush_is_wanted(void)
{
	return lull_load_relaxed(&lull__reclaimer.flush_wanted) > lull_load_relaxed(&lull__reclaimer.flush_done);
}

/* Is there work that the background thread can do before its timer runs out? */
static bool something_due(enum lull__pass what)
{
	struct lull__listing *at;
	struct lull__queue *q;
	bool due = false;
	uint64_t process;

	if (lull_load_relaxed(&lull__reclaimer.stop) || flush_is_wanted())
		return true;
	if (lull_load_relaxed(&lull__reclaimer.mode) == LULL_RECLAIM_POLL)
		return false;
	if (lull__overflow_waiting())
		return true;
	process = lull__walk_enter();
	lull__for_each_queue(at, q) {
		due = !lull__queue_is_parked(q) && lull__is_due(q, what);
		if (due)
			break;
	}
	lull__walk_leave(process);
	return due;
}

/*
 * Record how far the owners have reclaimed their own queues. Returns whether any entry waits. *@they_work:
 * has an owner with waiting entries made progress since the last call?
 */
static bool sample_owner_progress(bool *they_work)
{
	struct lull__listing *at;
	struct lull__queue *q;
	bool waits = false;
	uint64_t process;

	*they_work = false;
	process = lull__walk_enter();
	lull__for_each_queue(at, q) {
		uint64_t done = lull_load_relaxed(&q->done);

		if (lull__queue_needs_recheck(q))
			waits = true;
		if (!lull__queue_owner_reclaims(q) || lull__queue_is_empty(q) || lull__queue_is_parked(q))
			continue;
		waits = true;
		if (done != lull_load_relaxed(&q->last_done))
			*they_work = true;
		lull_store_relaxed(&q->last_done, done);
	}
	lull__walk_leave(process);
	return waits;
}

static bool nothing_waits(void)
{
	size_t items, bytes;

	lull__backlog(&items, &bytes);
	return items == 0;
}

/*
 * Say that the thread is awake. Not a plain store: poll and configure may have set `sleep` meanwhile. Under POLL ASLEEP
 * says that the program is to be notified.
 */
static void get_up(uint32_t from)
{
	if (from != ASLEEP || lull_load_relaxed(&lull__reclaimer.mode) != LULL_RECLAIM_POLL)
		lull_cas_relaxed(&lull__reclaimer.sleep, &from, (uint32_t)AWAKE);
}

/*
 * End the thread, which nothing has woken for long, unless something comes at this moment. It stays for objects
 * that are parked, because the reader that clears its slot starts no thread; but not when no thread is left that
 * could clear one: then the process is to end.
 */
static bool let_go(void)
{
	uint32_t asleep = ASLEEP;
	sigset_t saved;
	bool ends, polled;

	lull__config_enter(&saved);
	polled = lull_load_relaxed(&lull__reclaimer.mode) == LULL_RECLAIM_POLL; /* then the program does the work */
	/*
	 * REC-13: one swap decides. Either a deferral has made `sleep` AWAKE, and this thread stays, or the
	 * deferral finds GONE there, and starts another one, under this lock and so after `thread` is NO_THREAD.
	 */
	ends = !lull_load_relaxed(&lull__reclaimer.stop) && !lull__own_threads_stay() &&
	       (polled || ((nothing_waits() || lull__is_last_thread()) &&
			   lull_cas_relaxed(&lull__reclaimer.sleep, &asleep, (uint32_t)GONE)));
	if (ends) {
		lull_store_relaxed(&lull__reclaimer.thread, (uint32_t)NO_THREAD);
		pthread_detach(pthread_self());
	}
	lull__config_leave(&saved);
	return ends;
}

/* A callback, or the program's hook, may have left the thread in a section, or with something protected. */
static bool is_reader(void)
{
	return lull__self.rcu >= LULL__RCU_STEP || lull__record_holds_shazptr() || lull__hazptr_any_set(&lull__self.hazptr);
}

/* Sleep at @depth. The thread holds up no grace period, and makes none more expensive. */
static void sleep_until(uint32_t depth, uint64_t until_ns)
{
	bool rests = !is_reader();

	if (rests)
		lull__thread_rest();
	lull__futex_wait(&lull__reclaimer.sleep, depth, until_ns);
	if (rests)
		lull__thread_rise();
}

/*
 * Sleep as deep as @depth until there is something to do, until @until_ns at the latest. Returns true if the
 * thread is to end.
 */
static bool go_to_sleep(uint32_t depth, uint64_t until_ns)
{
	bool ends = false;

	lull_store_relaxed(&lull__reclaimer.sleep, depth);
	if (depth <= DOZING) {
		/*
		 * Make no fence: an entry that comes at this moment may wait for the end of the nap.
		 */
		if (depth == DOZING ? !something_due(PASS_CALLS) : !flush_is_wanted())
			sleep_until(depth, until_ns);
		get_up(depth);
		return false;
	}
	if (depth == ASLEEP)
		lull__queues_heed();
	/*
	 * ORDER REC-2: `sleep`, and `heed` in all queues, before the last check of the queues; pairs with REC-2 in
	 * lull__notify() and defer(); without it as there; model/reclaim/sleep.tpl
	 */
	lull_fence_heavy();
	if (!something_due(depth == ASLEEP ? PASS_ALL : PASS_CALLS)) {
		sleep_until(depth, until_ns);
		lull_add_relaxed(&lull__reclaimer.wakeups, (uint64_t)1);
		lull__event_count(&lull__page()->wakeups, 1);
		ends = depth == ASLEEP && lull__is_past(until_ns) && let_go();
	}
	if (!ends)
		get_up(depth);
	return ends;
}

/* Make a pass on behalf of all barriers up to @ticket. */
static size_t flush_for(uint64_t ticket)
{
	size_t count = lull__pass(PASS_ALL);

	/*
	 * ORDER REC-7: the pass before its ticket; pairs with REC-7 in flush_there(); without it a
	 * barrier returns before it sees what callbacks did; model/reclaim/flush.litmus
	 */
	lull_store_release(&lull__reclaimer.flush_done, ticket);
	lull_add_release(&lull__reclaimer.flush_event, 1u);
	lull__futex_wake(&lull__reclaimer.flush_event, INT_MAX);
	return count;
}

/* Make one round: reclaim what is due now. Returns how many items were reclaimed. */
static size_t round_of(bool look_for_abandoned)
{
	uint64_t ticket = lull_load_acquire(&lull__reclaimer.flush_wanted); /* REC-7: before the queues */

	if (ticket > lull_load_relaxed(&lull__reclaimer.flush_done))
		return flush_for(ticket);
	if (lull_load_relaxed(&lull__reclaimer.mode) == LULL_RECLAIM_POLL)
		return 0; /* from now on the program reclaims */
	return lull__pass(look_for_abandoned ? PASS_ABANDONED : PASS_CALLS);
}

/*
 * Return how long to nap after @futile passes in vain: a reader may protect the same objects again and
 * again.
 */
static uint64_t futile_nap_ns(uint32_t futile)
{
	return (uint64_t)FUTILE_NAP_NS << (futile < FUTILE_MOST ? futile : FUTILE_MOST);
}

/* State of the thread between two rounds. */
struct rounds {
	uint64_t look_at_ns; /* when to look for abandoned entries, if any wait */
	uint32_t doubled, futile;
	uint32_t quick, left; /* passes without a nap after the last one in vain, and those still to come */
	bool napped; /* before this round */
	uint64_t paid_ns; /* heavy fences that were made take up the time until then, FENCE_NS each */
	uint64_t links_paid_ns; /* ... and these, of passes that followed at once because callbacks had deferred */
	uint64_t from_callbacks; /* deferred by callbacks before this round */
	uint64_t wanted;	 /* ... that threads wait for */
	uint32_t wanted_free;	 /* rounds for such that are still free */
	uint32_t idle; /* how often in a row it has slept to the end while parked objects wait */
	bool waits;
};

/* Note at @now_ns what the owners of queues do, and when to look for what they have abandoned. */
static void look_around(struct rounds *r, uint64_t now_ns)
{
	uint64_t linger_ns = lull_load_relaxed(&lull__reclaimer.config.linger_ms) * (uint64_t)1000000;
	bool they_work;

	/* The last: linger_ms has become shorter. */
	if (!r->waits || now_ns >= r->look_at_ns || r->look_at_ns - now_ns > linger_ns << r->doubled) {
		r->waits = sample_owner_progress(&they_work);
		r->doubled = they_work && r->doubled < LINGER_DOUBLES ? r->doubled + 1 : 0;
		r->look_at_ns = now_ns + (linger_ns << r->doubled);
	}
	if (lull_load_relaxed(&lull__reclaimer.mode) == LULL_RECLAIM_POLL)
		r->waits = false; /* no timer then */
	else if (lull__is_to_sweep())
		r->waits = true;
	else if (nothing_waits())
		r->waits = false;
}

/* Take FENCE_NS of the time until *paid_ns, of which @saved_ns can be saved up. Returns false if there is none left. */
static bool pay_fence(uint64_t *paid_ns, uint64_t saved_ns, uint64_t now_ns)
{
	bool can_pay;

	if (*paid_ns + saved_ns < now_ns)
		*paid_ns = now_ns - saved_ns;
	can_pay = *paid_ns < now_ns;
	if (*paid_ns < now_ns + BATCH_NAP_NS) /* fences of barriers count too, but two naps make up for all of them */
		*paid_ns += FENCE_NS;
	return can_pay;
}

/*
 * After a round that reclaimed @count items: have callbacks deferred others, which are due at once? A chain of these
 * would wait for a nap with each link. @can_pay: for the fence of the next round. If a thread waits for the chain,
 * WANTED_MOST links are free, until the reclaimer has slept.
 */
static bool callbacks_follow(struct rounds *r, size_t count, bool can_pay, uint64_t now_ns)
{
	if (!count || lull_load_relaxed(&lull__reclaimer.from_callbacks) == r->from_callbacks)
		return false;
	if (lull_load_relaxed(&lull__reclaimer.wanted) != r->wanted && r->wanted_free) {
		r->wanted_free--;
		return true;
	}
	return can_pay || pay_fence(&r->links_paid_ns, LINKS_SAVED_NS, now_ns);
}

/*
 * After a round that reclaimed @count items, not many: is the next batch worth waiting for? Only a nap tells a thread
 * that waits for each callback before it defers the next one from many that do not. Without @can_pay there is a nap in
 * any case.
 */
static bool shall_nap(struct rounds *r, size_t count, bool can_pay)
{
	if (count >= NAP_FROM)
		r->quick = r->left = 0;
	else if (r->napped)
		r->left = r->quick += r->quick < TRY_NAP_MOST ? r->quick + 8 : 0;
	r->napped = r->left == 0 || !can_pay;
	r->left -= !r->napped;
	return r->napped;
}

/*
 * Rest after a round that reclaimed @count items, as long and as deep as may be. Returns true if the thread is
 * to end.
 */
static bool rest(struct rounds *r, size_t count)
{
	bool polled = lull_load_relaxed(&lull__reclaimer.mode) == LULL_RECLAIM_POLL, ends;
	uint32_t seen_futile = r->futile;
	uint64_t until_ns, now_ns = lull__now_ns();
	bool can_pay = polled || pay_fence(&r->paid_ns, SAVED_NS, now_ns);

	r->futile = lull_load_relaxed(&lull__reclaimer.futile);
	if (count >= NAP_BELOW || (count && can_pay && lull__over_soft(false)) || callbacks_follow(r, count, can_pay, now_ns))
		return false;
	if (r->futile > seen_futile && !polled)
		return go_to_sleep(NAPPING, now_ns + futile_nap_ns(r->futile));
	if (count && !polled)
		return go_to_sleep(shall_nap(r, count, can_pay) ? NAPPING : DOZING, now_ns + BATCH_NAP_NS);
	r->napped = false;
	if (r->waits && now_ns >= r->look_at_ns)
		return false;
	if (!can_pay)
		return go_to_sleep(DOZING, now_ns + BATCH_NAP_NS); /* a deeper sleep takes a fence, too */
	if (r->waits)
		return go_to_sleep(LINGERING, r->look_at_ns);
	r->wanted_free = WANTED_MOST;
	until_ns = lull__idle_end_ns(now_ns, r->idle);
	ends = go_to_sleep(ASLEEP, until_ns);
	if (nothing_waits() || !lull__is_past(until_ns))
		r->idle = 0; /* the thread that woke it may be the last one besides lull's, and about to end */
	else if (r->idle < IDLE_DOUBLES)
		r->idle++;
	return ends;
}

static void worker(void)
{
	struct rounds r = { .wanted_free = WANTED_MOST };

	lull__ensure_registered();
	lull_store_relaxed(&lull__reclaimer.tid, lull__self.tid);
	while (!lull_load_relaxed(&lull__reclaimer.stop)) {
		uint64_t now_ns = lull__now_ns();
		size_t count;

		r.from_callbacks = lull_load_relaxed(&lull__reclaimer.from_callbacks);
		r.wanted = lull_load_relaxed(&lull__reclaimer.wanted);
		count = round_of(r.waits && now_ns >= r.look_at_ns);

		look_around(&r, now_ns);
		if (rest(&r, count)) {
			lull__leave_bag(); /* let_go() has decided that what is parked in it needs no other thread */
			return;
		}
	}
}

const struct lull__own_thread lull__reclaimer_thread = { "lull-reclaim", worker };
