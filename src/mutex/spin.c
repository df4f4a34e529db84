/* SPDX-License-Identifier: MIT */
/*
 * spin.c - wait for a lock without sleeping: for how long, and how many threads at a time.
 */
#include "../owner_runs/owner_runs.h"
#include "waiting.h"

/*
 * How long to spin for one owner. An owner that is only believed to run may have gone to sleep: the time
 * wasted then is about that of sleeping and being woken, in a virtual machine. An owner that runs for
 * certain is worth spinning for until the wait is as long as a time slice.
 */
#define BELIEVED_NS 60000u
#define UNKNOWN_NS  25000u
#define CERTAIN_NS  1000000u

/*
 * While nobody sleeps, a thread that spins no longer than this is not counted among those that spin for a lock: it would
 * write to the lock's own cache line twice, while the owner wants that to unlock.
 */
#define UNCOUNTED_NS 1000u

/*
 * A thread that is not counted, and has seen the lock change hands too often, is in a crowd: together they take the line away
 * from the owner for longer than the sections last. It is counted, or sleeps. While nobody sleeps it may see that so often.
 */
#define CHANGES_AWAKE 5

/*
 * An owner that sleeps is believed to run, and spun for in vain. A thread that has done so twice in a row spins for
 * SHORT_NS from then on, and only every eighth time for BELIEVED_NS, until it gets a lock after more than SHORT_NS.
 */
#define SHORT_NS 10000u

static __thread uint32_t in_vain __attribute__((tls_model("initial-exec"))); /* how often in a row */

#define LOOK 64 /* pauses before the clock and the oracle are asked again */

/*
 * Pauses between two looks: one, three, four. Where the owner is another than at the last look threads take turns, and each
 * look takes the line away from them. A thread that is counted looks less often then: it need not be the next.
 */
#define PAUSES	    4
#define PAUSES_MOST 64

/*
 * May one thread more spin for a lock with this @word? While threads sleep for it, one is enough to take it over; and one
 * that an unlock has woken, beside that one, so that it was not woken in vain.
 */
static bool has_room(const struct lull__lock_wait *wait, uint32_t word)
{
	uint32_t spinners = wait->shared ? 0 : (lull__crowd(word) & LULL__SPINNERS) / LULL__SPINNER;
	uint32_t most = lull_load_relaxed(&lull__spinners_max), enough = wait->woken ? 2 : 1;

	if (!wait->shared && (word & LULL__MUTEX_WAITERS) && most > enough)
		most = enough;
	return spinners < most;
}

/*
 * Be counted among those that spin; or take the lock, if it is free: it may be left to those that are counted already.
 * Returns false if there are enough: then sleep. A waiter that was woken was to set WAITERS when it got the lock. Once it is
 * counted, others rely on the count and not on that; so it sets WAITERS now.
 */
static bool may_spin(struct lull__lock_wait *wait)
{
	uint32_t word = lull_load_relaxed(&wait->m->word), known = wait->woken ? LULL__MUTEX_WAITERS : 0;

	do {
		while (!(word & LULL__MUTEX_TID)) {
			if (wait->take(wait, word))
				return true;
			word = lull_load_relaxed(&wait->m->word);
		}
		if (!has_room(wait, word))
			return false;
		if (wait->shared)
			return true;
	} while (!lull_cas_relaxed(&wait->m->word, &word,
				   lull__with_crowd(word | known, lull__crowd(word) + LULL__SPINNER)));
	wait->counted = true;
	wait->woken = false;
	return true;
}

/*
 * Does the waiter have the lock: was it free and could be taken, or has it been handed over?
 *
 * ORDER MTX-2: the lock before what it guards; pairs with MTX-2 in hand_over(); without it the heir does
 * not see the last owner's stores; model/mutex/heir.litmus
 */
bool lull__lock_is_mine(struct lull__lock_wait *wait)
{
	uint32_t word = lull_load_acquire(&wait->m->word);

	if ((word & LULL__MUTEX_TID) == 0)
		return wait->take(wait, word);
	return (word & LULL__MUTEX_TID) == wait->tid;
}

/*
 * Leave those that spin, and look once more: the owner may have left the free lock to this thread. Returns whether the
 * waiter has the lock. If a signal handler has forked: in the child this thread is not counted.
 */
static bool spins_no_more(struct lull__lock_wait *wait)
{
	uint32_t word = lull_load_relaxed(&wait->m->word), crowd;

	do {
		crowd = lull__crowd(word);
	} while ((crowd & LULL__SPINNERS) &&
		 !lull_cas_relaxed(&wait->m->word, &word, lull__with_crowd(word, crowd - LULL__SPINNER)));
	wait->counted = false;
	return lull__lock_is_mine(wait);
}

static uint64_t believed_ns(void)
{
	return in_vain < 2 || in_vain % 8 == 0 ? BELIEVED_NS : SHORT_NS;
}

static uint64_t spin_ns(enum lull__runs runs)
{
	switch (runs) {
	case LULL__RUNS_YES:
		return CERTAIN_NS;
	case LULL__RUNS_BELIEVED:
		return believed_ns();
	case LULL__RUNS_UNKNOWN:
		return UNKNOWN_NS;
	default:
		return 0;
	}
}

/* One wait's spinning: for which owner, and since when. */
struct spin {
	struct lull__sighting sighting;
	uint32_t owner;
	uint64_t since_ns; /* for this owner */
	uint64_t first_ns; /* for any */
	uint64_t last_ns;  /* when the clock was read last */
};

static bool in_crowd(const struct lull__lock_wait *wait)
{
	return !wait->counted && !wait->shared &&
	       wait->changes >= (wait->looked_at & LULL__MUTEX_WAITERS ? LULL__CROWD_CHANGES : CHANGES_AWAKE);
}

/* Be counted, if the thread has spun for long enough. Returns false if enough threads are. */
static bool join_in_time(struct lull__lock_wait *wait, struct spin *spin, uint64_t now_ns)
{
	if (!spin->first_ns)
		spin->first_ns = now_ns;
	return wait->counted || (now_ns - spin->first_ns < UNCOUNTED_NS && !in_crowd(wait)) || may_spin(wait);
}

static bool worth_it(struct lull__lock_wait *wait, struct spin *spin)
{
	uint32_t word = lull_load_relaxed(&wait->m->word), owner = word & LULL__MUTEX_TID;
	enum lull__runs runs;
	uint64_t now_ns;

	if (!owner)
		return !in_crowd(wait) || may_spin(wait);
	lull__lock_saw(wait, owner);
	if (wait->heir && !(word & LULL__MUTEX_HEIR))
		return false; /* HEIR has yet to be set */
	if (lull__oracle_slice_over())
		return false;
	runs = lull__oracle_runs(&spin->sighting, owner);
	if (runs == LULL__RUNS_NO)
		return false;
	now_ns = lull__now_ns();
	spin->last_ns = now_ns;
	if (owner != spin->owner) {
		spin->owner = owner;
		spin->since_ns = now_ns;
	}
	if (!wait->impatient_ns)
		wait->impatient_ns = now_ns + LULL_MUTEX_PATIENCE_MS * 1000000u;
	return now_ns - spin->since_ns < spin_ns(runs) && now_ns < wait->deadline_ns &&
	       (wait->heir || now_ns < wait->impatient_ns) && join_in_time(wait, spin, now_ns);
}

static void pause_a_while(struct lull__lock_wait *wait)
{
	uint32_t word = lull_load_relaxed(&wait->m->word), most = PAUSES;

	if (word & LULL__MUTEX_TID) {
		if (wait->looked_at && ((word ^ wait->looked_at) & LULL__MUTEX_TID)) {
			wait->changes++;
			if (wait->counted)
				most = PAUSES_MOST;
		}
		wait->looked_at = word;
	}
	wait->pauses = wait->pauses * 2 + 1 < most ? wait->pauses * 2 + 1 : most;
	for (uint32_t i = 0; i < wait->pauses; i++)
		lull_cpu_relax();
}

/* Spin for a moment without asking the oracle: most sections are shorter than that takes. */
static bool spin_a_while(struct lull__lock_wait *wait)
{
	for (uint32_t paused = 0; paused < LOOK; paused += wait->pauses) {
		if (lull__lock_is_mine(wait))
			return true;
		if (in_crowd(wait))
			return false;
		pause_a_while(wait);
	}
	return false;
}

/* Remember whether it was worth it. */
static void learn(const struct spin *spin, bool mine)
{
	uint64_t spun_ns = spin->last_ns - spin->since_ns;

	if (mine && spun_ns > SHORT_NS)
		in_vain = 0;
	else if (!mine && spun_ns >= believed_ns())
		in_vain++;
}

/*
 * Spin for the first time. Where others sleep, a thread is counted at once, if there is room: an unlock that sees nobody wakes
 * one of them. Returns whether the waiter has the lock.
 */
static bool spin_first(struct lull__lock_wait *wait)
{
	if (!lull_load_relaxed(&lull__spinners_max))
		return lull__lock_is_mine(wait);
	if (!wait->shared && (lull_load_relaxed(&wait->m->word) & LULL__MUTEX_WAITERS) && may_spin(wait) && !wait->counted)
		return true;
	return spin_a_while(wait);
}

/* Spin as long as it is worth it. Returns whether the waiter has the lock. */
bool lull__lock_spin(struct lull__lock_wait *wait)
{
	struct spin spin = { .owner = 0 };
	bool mine = spin_first(wait);

	if (!wait->counted && (mine || !has_room(wait, lull_load_relaxed(&wait->m->word))))
		return mine;
	while (!mine && worth_it(wait, &spin))
		mine = spin_a_while(wait);
	learn(&spin, mine);
	return wait->counted ? spins_no_more(wait) : mine;
}
