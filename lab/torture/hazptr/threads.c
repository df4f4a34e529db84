/* SPDX-License-Identifier: MIT */
/* lull torture: short-lived threads and forked children of hazptr and bridge. See torture.h. */
#include "torture/hazptr/torture_hazptr.h"

#include <unistd.h>

#define DROPPED_MOST 4u
#define HELD_MOST 12u /* more than the thread's slots */

/* ---- short-lived threads --------------------------------------------------------------------- */

void torture_keep_live(struct torturer *t)
{
	if (torture_once_in(&t->rng, 4))
		torture_hand_over(t);
	if (torture_once_in(&t->rng, 4))
		torture_hand_take(t);
	if (torture_is_bridge() && !torture.without[PART_ONLINE] && torture_once_in(&t->rng, 4))
		torture_churn_online(t);
}

/* Leave slots in use at the thread's exit: the library empties them, and says so. */
void torture_keep_die(struct torturer *t)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	unsigned n = 1 + (unsigned)torture_random(&t->rng, DROPPED_MOST);

	if (!torture_once_in(&t->rng, 16))
		return;
	while (n--) {
		struct lull_hazptr *h = lull_hazptr_alloc(ctx);

		if (h)
			lull_hazptr_protect(h, torture.slot[0].element, head);
	}
	lull_add_relaxed(&torture.dropped, (uint64_t)1);
}

/* ---- forked children ------------------------------------------------------------------------- */

struct element *torture_keep_begin(struct torture_use *use, struct element **where)
{
	use->h = lull_hazptr_alloc(lull_hazptr_thread_context());
	return use->h ? lull_hazptr_protect(use->h, *where, head) : NULL;
}

void torture_keep_end(struct torture_use *use)
{
	if (use->h)
		lull_hazptr_free(lull_hazptr_thread_context(), use->h);
}

/*
 * Fork with the locks that callbacks take: the parent's callbacks run in the child, too, where no other thread would
 * release them.
 */
static pid_t fork_with_locks(void)
{
	unsigned i;
	pid_t pid;

	torture_hand_lock();
	for (i = 0; i < TORTURE_SLOTS; i++)
		pthread_mutex_lock(&torture.slot[i].update);
	torture_pool_lock();
	pid = fork();
	torture.in_child = pid == 0;
	torture_pool_unlock();
	for (i = 0; i < TORTURE_SLOTS; i++)
		pthread_mutex_unlock(&torture.slot[i].update);
	torture_hand_unlock();
	return pid;
}

/* The child holds what the forking thread held, whatever by. */
pid_t torture_keep_fork(struct torturer *t)
{
	struct grip grip[HELD_MOST];
	struct lull_hazptr_context stack;
	unsigned n = (unsigned)torture_random(&t->rng, HELD_MOST + 1), count = 0, i;
	pid_t pid;

	lull_hazptr_context_init(&stack);
	torture_leave_debris(&t->rng);
	while (n--) {
		uint64_t how = torture_random(&t->rng, 3);
		struct grip *g = &grip[count];

		count += torture_grip(g, how == 0 ? &stack : how == 1 ? lull_hazptr_thread_context() : NULL,
				      &t->rng);
	}
	pid = fork_with_locks();
	torture_linger(&t->rng);
	for (i = count; i; i--)
		torture_grip_end(&grip[i - 1], &t->tally, &t->rng, "object held around a fork");
	lull_hazptr_context_cleanup(&stack);
	return pid;
}

/* Release what belongs to no thread. The other threads' slots are gone in the child, so then nothing is held. */
void torture_keep_child(struct torturer *t)
{
	torture_hand_inherit(t);
	lull_hazptr_synchronize_range(torture.elements, torture.nr_elements * sizeof(*torture.elements));
	lull_hazptr_barrier();
}
