/* SPDX-License-Identifier: MIT */
/*
 * sleepers.h - threads that wait for a condition, each of which goes when it has been told once.
 */
#ifndef LULL_TEST_MUTEX_SLEEPERS_H
#define LULL_TEST_MUTEX_SLEEPERS_H

#include "mutex/support.h"

enum { SLEEPERS_MOST = 300 };

/* Where they wait; processes may share it. */
struct place {
	struct lull_mutex lock;
	struct lull_cond cond;
	int may_go, back; /* under the lock */
	uint32_t flags;
};

static struct place *place;

static struct {
	uint32_t tid;
	pthread_t thread;
} sleepers[SLEEPERS_MOST];

static inline void make_place(uint32_t flags)
{
	if (!place)
		place = (struct place *)shared_memory(sizeof(*place));
	place->may_go = place->back = 0;
	place->flags = flags;
	lull_mutex_init(&place->lock, flags);
	lull_cond_init(&place->cond, flags);
}

static inline void *sleeps_until_told(void *tid)
{
	lull_mutex_lock(&place->lock);
	lull_store_release((uint32_t *)tid, my_tid());
	while (!place->may_go)
		lull_cond_wait(&place->cond, &place->lock);
	place->may_go--;
	lull_store_release(&place->back, place->back + 1);
	lull_mutex_unlock(&place->lock);
	return NULL;
}

static inline void await_all_asleep(int number)
{
	for (int i = 0; i < number; i++)
		AWAIT(sleeps(&sleepers[i].tid));
	lull_mutex_lock(&place->lock); /* a waiter for the condition has unlocked it */
	lull_mutex_unlock(&place->lock);
}

static inline void start_sleepers(int number)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	for (int i = 0; i < number; i++) {
		sleepers[i].tid = 0;
		assert_int_equal(pthread_create(&sleepers[i].thread, &attr, sleeps_until_told, &sleepers[i].tid), 0);
	}
	pthread_attr_destroy(&attr);
	await_all_asleep(number);
}

static inline void tell(int number)
{
	lull_mutex_lock(&place->lock);
	place->may_go += number;
	lull_mutex_unlock(&place->lock);
}

static inline void await_back(int number)
{
	AWAIT(lull_load_acquire(&place->back) >= number); /* or a wake-up is lost */
}

static inline void join_sleepers(int number)
{
	await_back(number);
	for (int i = 0; i < number; i++)
		join_thread(sleepers[i].thread);
}

static inline void leave_place(void)
{
	assert_int_equal(place->cond.waiters, place->flags);
	lull_cond_destroy(&place->cond);
	lull_mutex_destroy(&place->lock);
}

#endif /* LULL_TEST_MUTEX_SLEEPERS_H */
