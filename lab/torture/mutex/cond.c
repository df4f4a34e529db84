/* SPDX-License-Identifier: MIT */
/* lull torture: tokens that threads wait for with a condition variable. See torture_mutex.h. */
#include "torture/mutex/torture_mutex.h"

#include <errno.h>

#define TOKENS 3u

static struct {
	struct lull_mutex m;
	struct lull_cond c;
	struct mutex_watch watch;
	uint32_t left; /* written under the lock, read by the watcher */
	const struct torturer *holder[TOKENS]; /* NULL: it is there */
} tokens __attribute__((aligned(TORTURE_LINE)));

void torture_token_init(void)
{
	tokens.left = TOKENS;
	tokens.watch.word = &tokens.m.word;
	tokens.watch.ready = &tokens.left;
}

void torture_mutex_announce(struct lull_cond *c, struct lull_mutex *m, bool all, bool held)
{
	if (!held)
		lull_mutex_unlock(m);
	if (all)
		lull_cond_broadcast(c);
	else
		lull_cond_signal(c);
	if (held)
		lull_mutex_unlock(m);
}

/* Wait for a token. The lock is held before and after. False: there was none in time. */
static bool wait_for_one(uint64_t *rng)
{
	bool patient = torture_once_in(rng, 2);
	uint64_t deadline_ns = torture_mutex_deadline(rng);
	int err = 0;

	while (!tokens.left && !err) {
		if (patient)
			lull_cond_wait(&tokens.c, &tokens.m);
		else
			err = lull_cond_timedwait(&tokens.c, &tokens.m, deadline_ns);
	}
	return tokens.left > 0;
}

/* Which one it is. */
static unsigned take_one(const struct torturer *who)
{
	unsigned i = 0;

	while (i < TOKENS - 1 && tokens.holder[i])
		i++;
	if (tokens.holder[i])
		torture_fail("%u tokens should be left, and somebody has each of them", tokens.left);
	tokens.holder[i] = who;
	lull_store_relaxed(&tokens.left, tokens.left - 1);
	return i;
}

static bool get(struct torturer *t, unsigned *which)
{
	struct mutex_op *op = torture_op_begin(&tokens.watch);
	bool got;

	lull_mutex_lock(&tokens.m);
	lull_store_relaxed(&tokens.watch.entries, tokens.watch.entries + 1);
	got = wait_for_one(&t->rng);
	if (got)
		*which = take_one(t);
	lull_mutex_unlock(&tokens.m);
	torture_op_end(op);
	lull_add_relaxed(got ? &torture_mutexes.tokens : &torture_mutexes.tokens_late, (uint64_t)1);
	return got;
}

static void put(struct torturer *t, unsigned which)
{
	struct mutex_op *op = torture_op_begin(&tokens.watch);

	lull_mutex_lock(&tokens.m);
	lull_store_relaxed(&tokens.watch.entries, tokens.watch.entries + 1);
	if (tokens.holder[which] != t)
		torture_fail("a token that one thread had was given to another");
	tokens.holder[which] = NULL;
	lull_store_relaxed(&tokens.left, tokens.left + 1);
	torture_mutex_announce(&tokens.c, &tokens.m, torture_once_in(&t->rng, 4), torture_once_in(&t->rng, 2));
	torture_op_end(op);
}

void torture_token_use(struct torturer *t)
{
	unsigned which = 0;

	if (!get(t, &which))
		return;
	torture_linger(&t->rng);
	put(t, which);
	t->tally.sections++;
}

void torture_token_check(const char *when)
{
	unsigned i;

	for (i = 0; i < TOKENS; i++)
		if (tokens.holder[i])
			torture_fail("%s: somebody still has token %u", when, i);
	if (tokens.left != TOKENS)
		torture_fail("%s: %u tokens are left of %u", when, tokens.left, TOKENS);
	lull_cond_destroy(&tokens.c);
	lull_mutex_destroy(&tokens.m);
}
