/* SPDX-License-Identifier: MIT */
/* Grace periods by scanning twice; see fqs.h. */
#include "instruments/rcu/fqs.h"

#include <errno.h>
#include <time.h>

#include <lull/fence.h>

void fqs_init(struct fqs *fqs, uint64_t first_wait_ns, uint64_t next_wait_ns, bool early)
{
	*fqs = (struct fqs){
		.first_wait_ns = first_wait_ns,
		.next_wait_ns = next_wait_ns,
		.early = early,
	};
	pthread_mutex_init(&fqs->lock, NULL);
}

void fqs_register(struct fqs *fqs, struct fqs_thread *self)
{
	pthread_mutex_lock(&fqs->lock);
	*self = (struct fqs_thread){ .next = fqs->threads };
	fqs->threads = self;
	pthread_mutex_unlock(&fqs->lock);
}

void fqs_unregister(struct fqs *fqs, struct fqs_thread *self)
{
	struct fqs_thread **link;

	pthread_mutex_lock(&fqs->lock);
	for (link = &fqs->threads; *link != self; link = &(*link)->next)
		;
	*link = self->next;
	pthread_mutex_unlock(&fqs->lock);
}

/* Full fences: what is read online is between the counter's changes, for a scan that sees them. */
static void change(struct fqs_thread *self)
{
	lull_fence_full();
	lull_store_relaxed(&self->counter, self->counter + 1);
	lull_fence_full();
}

void fqs_online(struct fqs_thread *self)
{
	change(self);
}

void fqs_offline(struct fqs_thread *self)
{
	change(self);
}

void fqs_quiescent(struct fqs *fqs, struct fqs_thread *self)
{
	uint64_t number = lull_load_acquire(&fqs->number);

	lull_fence_full();
	lull_store_release(&self->reported, number);
	lull_fence_full();
}

static bool is_online(uint64_t counter)
{
	return counter & 1;
}

/* Drop the threads that need not be waited for. Return how many are left. */
static unsigned scan(struct fqs *fqs, bool first)
{
	struct fqs_thread *t;
	unsigned left = 0;

	lull_fence_full();
	for (t = fqs->threads; t; t = t->next) {
		uint64_t counter = lull_load_acquire(&t->counter);

		if (!t->is_waited_for)
			continue;
		if (!is_online(counter) || lull_load_acquire(&t->reported) == fqs->number ||
		    (!first && counter != t->snapshot)) {
			t->is_waited_for = false;
			continue;
		}
		if (first)
			t->snapshot = counter;
		left++;
	}
	return left;
}

/* A thread that sleeps is idle, the driver like any other. */
static void wait_idle(struct fqs_thread *self, uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	fqs_offline(self);
	while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
		;
	fqs_online(self);
}

unsigned fqs_synchronize(struct fqs *fqs, struct fqs_thread *self)
{
	struct fqs_thread *t;
	unsigned scans = 0;

	pthread_mutex_lock(&fqs->lock);
	lull_fence_full();
	lull_store_release(&fqs->number, fqs->number + 1);
	for (t = fqs->threads; t; t = t->next)
		t->is_waited_for = true;
	if (fqs->early)
		fqs_quiescent(fqs, self);
	do
		wait_idle(self, scans ? fqs->next_wait_ns : fqs->first_wait_ns);
	while (scan(fqs, scans++ == 0));
	pthread_mutex_unlock(&fqs->lock);
	return scans;
}
