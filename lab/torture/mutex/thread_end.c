/* SPDX-License-Identifier: MIT */
/*
 * lull torture: threads that are cancelled while they have a lock, and threads that exit with a robust one.
 * In C the guard unlocks when its thread is cancelled only where it was compiled with -fexceptions, as this is.
 */
#include "torture/mutex/torture_mutex.h"

#include <errno.h>

/* ---- cancelled ------------------------------------------------------------------------------- */

static void op_leave(struct mutex_op **op)
{
	torture_op_end(*op);
}

static void unlock(void *arg)
{
	struct mutex_lock *l = arg;

	torture_mutex_drop(&l->m, &l->watch);
}

static void visit(struct torturer *t, struct mutex_lock *l)
{
	l->taken++;
	torture_mutex_visit(&l->pair, torture_random(&t->rng, 3000), "lock of a thread that is cancelled");
	t->tally.sections++;
	pthread_testcancel();
}

static void with_guard(struct torturer *t, struct mutex_lock *l)
{
	/* The guard's unlock, too, is within. */
	struct mutex_op *op __attribute__((cleanup(op_leave), unused)) = torture_op_begin(&l->watch);
	LULL_MUTEX_GUARD(&l->m);

	lull_store_relaxed(&l->watch.entries, l->watch.entries + 1);
	visit(t, l);
}

static void with_handler(struct torturer *t, struct mutex_lock *l)
{
	if (!torture_mutex_take(&l->m, &l->watch, &t->rng))
		return;
	pthread_cleanup_push(unlock, l);
	visit(t, l);
	pthread_cleanup_pop(1);
}

static void *until_cancelled(void *arg)
{
	struct torturer *t = arg;

	torture_me = t;
	for (;;) {
		struct mutex_lock *l = torture_mutex_any(&t->rng);

		if (torture_once_in(&t->rng, 2))
			with_guard(t, l);
		else
			with_handler(t, l);
	}
	return NULL;
}

void torture_mutex_cancel(struct torturer *t)
{
	unsigned n = 1 + (unsigned)torture_random(&t->rng, MEET_MOST), i;
	struct torturer made[MEET_MOST], *who[MEET_MOST];

	for (i = 0; i < n; i++) {
		who[i] = &made[i];
		torture_thread_init(who[i], "thread to be cancelled", i, torture_random(&t->rng, UINT64_MAX));
		torture_meet_start(t, i, who[i], until_cancelled);
	}
	torture_linger(&t->rng);
	for (i = 0; i < n; i++)
		pthread_cancel(who[i]->thread);
	torture_meet_join(t, who, n, PTHREAD_CANCELED);
	lull_add_relaxed(&torture_mutexes.cancelled, (uint64_t)n);
}

/* ---- exited ---------------------------------------------------------------------------------- */

struct heirloom {
	struct torturer t;
	struct lull_mutex_robust *m;
	struct mutex_watch *watch;
	uint32_t *died;
};

/* Takes it once, from the one before it that died with it or from the maker, and exits. */
static void *exit_with_it(void *arg)
{
	struct heirloom *h = lull_container_of(arg, struct heirloom, t);
	struct mutex_op *op = torture_op_begin(h->watch);
	int err = lull_mutex_robust_lock(h->m);

	lull_store_relaxed(&h->watch->entries, h->watch->entries + 1);
	torture_op_end(op);
	torture_me = &h->t;
	if (err == -EOWNERDEAD) {
		++*h->died;
		lull_mutex_robust_consistent(h->m);
	} else if (err) {
		torture_fail("a robust lock whose owner has exited gives %d", err);
	}
	return NULL;
}

/* Each of them dies with the lock, so that the others and the maker are told one after the other. */
void torture_mutex_exit(struct torturer *t)
{
	unsigned n = 1 + (unsigned)torture_random(&t->rng, MEET_MOST), i;
	struct lull_mutex_robust m = LULL_MUTEX_ROBUST_INIT;
	struct mutex_watch *watch = torture_meet_watch(t);
	struct torturer *who[MEET_MOST];
	struct heirloom made[MEET_MOST];
	struct mutex_op *op;
	uint32_t died = 0;
	int err;

	torture_watch_set(watch, &(struct mutex_watch){ .word = &m.mutex.word, .heal_us = MUTEX_HEAL_US });
	if (lull_mutex_robust_lock(&m) != 0)
		torture_fail("a robust lock that nobody has cannot be locked");
	for (i = 0; i < n; i++) {
		who[i] = &made[i].t;
		torture_thread_init(who[i], "thread that exits", i, torture_random(&t->rng, UINT64_MAX));
		made[i].m = &m;
		made[i].watch = watch;
		made[i].died = &died;
		torture_meet_start(t, i, who[i], exit_with_it);
	}
	torture_linger(&t->rng);
	op = torture_op_begin(watch);
	lull_mutex_robust_unlock(&m);
	torture_op_end(op);
	torture_meet_join(t, who, n, NULL);
	err = lull_mutex_robust_lock(&m);
	if (err != -EOWNERDEAD || died != n - 1)
		torture_fail("%u threads exited with a robust lock, %u of them learned of the owner before, the next lock "
			     "returns %d", n, died, err);
	if (err == -EOWNERDEAD)
		lull_mutex_robust_consistent(&m);
	lull_mutex_robust_unlock(&m);
	torture_watch_set(watch, &(struct mutex_watch){ .word = NULL });
	lull_add_relaxed(&torture_mutexes.exited, (uint64_t)n);
}
