/* SPDX-License-Identifier: MIT */
/* lull torture: holds and contexts that one thread sets up and another releases. See torture.h. */
#include "torture/hazptr/torture_hazptr.h"

#include <stdlib.h>

#include "common/options.h"

#define HELD_MOST 4u
#define WAITING_MOST 64u
#define RELEASER_SLEEP_US 300u

/* Detached, until it is released: a forked child goes by this list. */
struct handed {
	struct handed *next, *prev;
	bool is_taken;
	bool has_context;
	struct lull_hazptr_context context;
	unsigned count;
	struct grip grip[HELD_MOST];
};

static struct {
	/*
	 * Held for writing around a fork, for reading while something is detached or released: what
	 * is detached is on the list.
	 */
	pthread_rwlock_t fork;
	pthread_mutex_t lock;
	struct handed list; /* head */
	unsigned waiting;
} hands = {
	.fork = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.list = { .next = &hands.list, .prev = &hands.list },
};

void torture_hand_lock(void)
{
	pthread_rwlock_wrlock(&hands.fork);
	pthread_mutex_lock(&hands.lock);
}

/* The child has another tid, and glibc knows who holds a lock for writing by that. */
void torture_hand_unlock(void)
{
	pthread_mutex_unlock(&hands.lock);
	if (torture.in_child)
		pthread_rwlock_init(&hands.fork, NULL);
	else
		pthread_rwlock_unlock(&hands.fork);
}

void torture_hand_enter(void)
{
	pthread_rwlock_rdlock(&hands.fork);
}

void torture_hand_leave(void)
{
	pthread_rwlock_unlock(&hands.fork);
}

static void take_grips(struct handed *h, struct torturer *t)
{
	struct lull_hazptr_context *ctx = h->has_context ? &h->context : NULL;
	unsigned n = 1 + (unsigned)torture_random(&t->rng, HELD_MOST);

	for (h->count = 0; n; n--)
		if (torture_grip(&h->grip[h->count], ctx, &t->rng))
			h->count++;
}

static void detach(struct handed *h)
{
	unsigned i;

	if (h->has_context)
		lull_hazptr_context_detach(&h->context);
	for (i = 0; i < h->count; i++)
		if (!h->grip[i].ctx)
			lull_hazptr_detach(&h->grip[i].hold);
}

static void append(struct handed *h)
{
	pthread_mutex_lock(&hands.lock);
	h->next = &hands.list;
	h->prev = hands.list.prev;
	h->prev->next = h->next->prev = h;
	lull_store_relaxed(&hands.waiting, hands.waiting + 1);
	pthread_mutex_unlock(&hands.lock);
}

void torture_hand_over(struct torturer *t)
{
	struct handed *h;

	/* Racy, but the exact number does not matter. */
	if (lull_load_relaxed(&hands.waiting) >= WAITING_MOST)
		return;
	h = options_alloc(1, sizeof(*h));
	h->has_context = torture_once_in(&t->rng, 3);
	if (h->has_context)
		lull_hazptr_context_init(&h->context);
	take_grips(h, t);
	torture_linger(&t->rng);
	torture_hand_enter();
	detach(h);
	append(h);
	torture_hand_leave();
}

static struct handed *take(void)
{
	struct handed *h;

	pthread_mutex_lock(&hands.lock);
	for (h = hands.list.next; h != &hands.list && h->is_taken; h = h->next)
		;
	if (h == &hands.list)
		h = NULL;
	else
		h->is_taken = true;
	pthread_mutex_unlock(&hands.lock);
	return h;
}

/* The list is the caller's, by hands.lock or in a child. */
static void unlink_handed(struct handed *h)
{
	h->prev->next = h->next;
	h->next->prev = h->prev;
	lull_store_relaxed(&hands.waiting, hands.waiting - 1);
}

static void release(struct handed *h, struct torturer *t)
{
	struct grip more;
	unsigned i;

	/* A thread that takes a context over may also use it. */
	if (h->has_context && torture_once_in(&t->rng, 2) && torture_grip(&more, &h->context, &t->rng))
		torture_grip_end(&more, &t->tally, &t->rng, "context that was handed over");
	for (i = 0; i < h->count; i++)
		torture_grip_end(&h->grip[i], &t->tally, &t->rng, "object that was handed over");
	if (h->has_context)
		lull_hazptr_context_cleanup(&h->context);
}

bool torture_hand_take(struct torturer *t)
{
	struct handed *h = take();

	if (!h)
		return false;
	torture_linger(&t->rng);
	torture_hand_enter();
	release(h, t);
	pthread_mutex_lock(&hands.lock);
	unlink_handed(h);
	pthread_mutex_unlock(&hands.lock);
	torture_hand_leave();
	free(h);
	lull_add_relaxed(&torture.handed, (uint64_t)1);
	return true;
}

void torture_hand_inherit(struct torturer *t)
{
	while (hands.list.next != &hands.list) {
		struct handed *h = hands.list.next;

		release(h, t);
		unlink_handed(h);
		free(h);
	}
}

/* ---- the thread that releases ---------------------------------------------------------------- */

void *torture_releaser(void *arg)
{
	struct torturer *t = arg;

	torture_me = t;
	lull_thread_register();
	while (!lull_load_acquire(&torture.over)) {
		torture_doing("releasing what was handed over");
		if (!torture_hand_take(t))
			torture_sleep_us(RELEASER_SLEEP_US);
		lull_store_relaxed(&t->work, t->work + 1);
	}
	while (torture_hand_take(t))
		;
	return NULL;
}

void torture_hand_settle(void)
{
	while (lull_load_acquire(&hands.waiting))
		torture_sleep_us(RELEASER_SLEEP_US);
}
