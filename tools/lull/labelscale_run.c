/* SPDX-License-Identifier: MIT */
/* lull labelscale: the label, the schemes, and the thread that replaces it; see labelscale.h. */
#include "labelscale.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lull/bridge.h>
#include <lull/hazptr.h>
#include <lull/rcu.h>

#include "bench.h"
#include "hash.h"
#include "options.h"

/* ---- the label ------------------------------------------------------------------------------- */

/* On a cache line of its own. */
struct label {
	uint64_t count; /* references, for who counts */
	int allowed;	/* what files may be opened for; asked before and after the open */
	struct label *next_old;
} __attribute__((aligned(BENCH_LINE)));

static struct label *label __attribute__((aligned(BENCH_LINE)));

static struct label *new_label(void)
{
	struct label *l = bench_hash_alloc(1, sizeof(*l));

	l->count = 1;
	l->allowed = O_RDONLY;
	return l;
}

/* Under this label, which stays meanwhile. */
static int open_with(const struct label *l, const char *path)
{
	int fd = open(path, l->allowed | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && l->allowed != O_RDONLY) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* ---- schemes --------------------------------------------------------------------------------- */

/* Labels that nobody can tell to be free; they are, when all threads are gone. */
static struct label *old_labels;

static int none_open(const char *path)
{
	return open_with(lull_load_acquire(&label), path);
}

static void none_retire(struct label *old)
{
	old->next_old = old_labels;
	old_labels = old;
}

/*
 * A count of 0 never rises again, so who finds 0 was too late, and the label has been replaced. The
 * section is for the label's memory while the count may turn out to be 0.
 */
static bool count_up(struct label *l)
{
	uint64_t count = lull_load_relaxed(&l->count);

	while (count && !lull_cas_relaxed(&l->count, &count, count + 1))
		;
	return count;
}

static void count_down(struct label *l)
{
	/* All use of the label before the last one's look at the count, which frees it. */
	if (lull_add_acq_rel(&l->count, (uint64_t)-1) == 1)
		lull_rcu_free(l);
}

static int refcount_open(const char *path)
{
	struct label *l;
	int fd;

	lull_rcu_read_lock();
	do {
		l = lull_rcu_dereference(label);
	} while (!count_up(l));
	lull_rcu_read_unlock();
	fd = open_with(l, path);
	count_down(l);
	return fd;
}

static int hazptr_open(const char *path)
{
	struct lull_hazptr_hold hold;
	struct label *l = lull_hazptr_acquire(&hold, &label);
	int fd = open_with(l, path);

	lull_hazptr_release(&hold, l);
	return fd;
}

static void hazptr_retire(struct label *old)
{
	lull_hazptr_retire(old);
}

/* A grace period cannot end while an open of it sleeps. */
static int rcu_open(const char *path)
{
	int fd;

	lull_rcu_read_lock();
	fd = open_with(lull_rcu_dereference(label), path);
	lull_rcu_read_unlock();
	return fd;
}

static void rcu_retire(struct label *old)
{
	lull_rcu_free(old);
}

static int bridge_open(const char *path)
{
	struct lull_hazptr_hold hold;
	struct label *l;
	int fd;

	lull_rcu_read_lock();
	l = lull_hazptr_acquire_rcu(&hold, lull_rcu_dereference(label));
	lull_rcu_read_unlock();
	fd = open_with(l, path);
	lull_hazptr_release(&hold, l);
	return fd;
}

static void bridge_retire(struct label *old)
{
	lull_rcu_free_hazptr(old);
}

const struct labelscale_scheme labelscale_schemes[LABELSCALE_SCHEMES] = {
	{ "none", "no protection, old labels are kept: the limit", none_open, none_retire },
	{ "refcount", "a count in the label, taken in an RCU section", refcount_open, count_down },
	{ "hazptr", "a hazard pointer over the open", hazptr_open, hazptr_retire },
	{ "rcu", "an RCU section over the open: as long as that sleeps, nothing is freed", rcu_open,
	  rcu_retire },
	{ "bridge", "found in an RCU section, kept by a hazard pointer over the open", bridge_open,
	  bridge_retire },
};

/* ---- who replaces it ------------------------------------------------------------------------- */

/* One thread from the beginning to the end; it replaces while a slice runs. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	const struct labelscale_scheme *scheme; /* of the slice that runs, or NULL */
	uint64_t period_ns;			/* 0: never */
	uint64_t replaced;
	bool stop;
} replacer = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Under the lock. */
static void replace_label(void)
{
	replacer.scheme->retire(lull_rcu_replace(label, new_label()));
	replacer.replaced++;
}

static void *replacer_main(void *arg)
{
	uint64_t next = bench_now_ns(), now;
	int err;

	pthread_mutex_lock(&replacer.lock);
	while (!replacer.stop) {
		struct timespec until;

		/* What was missed is not made up for all at once. */
		now = bench_now_ns();
		next = next + replacer.period_ns > now ? next + replacer.period_ns : now;
		until.tv_sec = (time_t)(next / 1000000000);
		until.tv_nsec = (long)(next % 1000000000);
		do {
			err = pthread_cond_timedwait(&replacer.wake, &replacer.lock, &until);
		} while (err != ETIMEDOUT && !replacer.stop);
		if (replacer.scheme)
			replace_label();
	}
	pthread_mutex_unlock(&replacer.lock);
	return arg;
}

void labelscale_begin(unsigned replace_per_second)
{
	pthread_condattr_t attr;
	int err;

	label = new_label();
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&replacer.wake, &attr);
	pthread_condattr_destroy(&attr);
	if (!replace_per_second)
		return;
	replacer.period_ns = 1000000000 / replace_per_second;
	err = pthread_create(&replacer.thread, NULL, replacer_main, NULL);
	if (err)
		options_bad("cannot make a thread: %s", strerror(err));
}

/*
 * The label that is there suits any scheme, so nothing happens to it between slices. What this one
 * has retired is its own business, except for those that nobody could free.
 */
void labelscale_use(const struct labelscale_scheme *scheme)
{
	pthread_mutex_lock(&replacer.lock);
	replacer.scheme = scheme;
	while (!scheme && old_labels) {
		struct label *next = old_labels->next_old;

		free(old_labels);
		old_labels = next;
	}
	pthread_mutex_unlock(&replacer.lock);
}

uint64_t labelscale_end(void)
{
	pthread_mutex_lock(&replacer.lock);
	replacer.stop = true;
	pthread_cond_signal(&replacer.wake);
	pthread_mutex_unlock(&replacer.lock);
	if (replacer.period_ns)
		pthread_join(replacer.thread, NULL);
	pthread_cond_destroy(&replacer.wake);
	lull_hazptr_barrier();
	lull_rcu_barrier();
	free(label);
	return replacer.replaced;
}
