/* SPDX-License-Identifier: MIT */
/* lull torture: where threads stay while a pause is on, and the rounds in between. See torture.h. */
#include "torture/torture.h"

#include <errno.h>
#include <time.h>

#include <lull/reclaim.h>

#define PARK_NS 20000000

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned parked;
} park = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

void torture_pause_point(void)
{
	if (!lull_load_acquire(&torture.pausing))
		return;
	pthread_mutex_lock(&park.lock);
	park.parked++;
	lull_store_relaxed(&torture_me->rests, 1u);
	pthread_cond_broadcast(&park.changed);
	while (lull_load_relaxed(&torture.pausing) && !torture_stopped())
		pthread_cond_wait(&park.changed, &park.lock);
	lull_store_relaxed(&torture_me->rests, 0u);
	park.parked--;
	pthread_mutex_unlock(&park.lock);
}

/* Run callbacks where the library leaves that to the program: a waiter may wait for one. */
void torture_poll_callbacks(void)
{
	lull_reclaim_poll(100, 1000000);
}

bool torture_park_all(void)
{
	bool all = false;

	pthread_mutex_lock(&park.lock);
	lull_store_release(&torture.pausing, 1u);
	while (!torture_stopped() && !all) {
		struct timespec soon;

		/* Wake up now and then: a failure is not signalled here. */
		clock_gettime(CLOCK_REALTIME, &soon);
		soon.tv_nsec += PARK_NS;
		soon.tv_sec += soon.tv_nsec / 1000000000;
		soon.tv_nsec %= 1000000000;
		all = park.parked == torture.nr_threads;
		if (!all && pthread_cond_timedwait(&park.changed, &park.lock, &soon) == ETIMEDOUT) {
			pthread_mutex_unlock(&park.lock);
			torture_poll_callbacks();
			pthread_mutex_lock(&park.lock);
		}
	}
	pthread_mutex_unlock(&park.lock);
	return all;
}

void torture_unpark(void)
{
	pthread_mutex_lock(&park.lock);
	lull_store_release(&torture.pausing, 0u);
	pthread_cond_broadcast(&park.changed);
	pthread_mutex_unlock(&park.lock);
}

void *torture_rounds(struct torturer *t, const uint32_t *active, void (*round)(struct torturer *t))
{
	torture_me = t;
	lull_thread_register();
	torture_timer_start(t, TORTURE_SIGNAL_US);
	while (!torture_stopped()) {
		torture_pause_point();
		if (t->index >= lull_load_relaxed(active)) {
			torture_rest(t);
			continue;
		}
		round(t);
		if (active == &torture.active_updaters)
			torture_update_delay(t);
		lull_store_relaxed(&t->work, t->work + 1);
	}
	return NULL;
}
