/* SPDX-License-Identifier: MIT */
/* lull labelscale: the label, the schemes, and the thread that replaces it; see labelscale.h. */
#include "instruments/labels/labelscale.h"

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
#include <lull/ref_handoff.h>

#include "common/clock.h"
#include "common/options.h"
#include "common/bench.h"
#include "hash_scheme.h"

/* ---- the label ------------------------------------------------------------------------------- */

/* On a cache line of its own. */
struct label {
	struct lull_refcount count;    /* references, for who counts */
	struct lull_percpu_ref percpu; /* likewise; made only for who counts so */
	int allowed;		       /* modes that files may be opened with; asked before and after the open */
	struct label *next_old;
} __attribute__((aligned(BENCH_LINE)));

static struct label *label __attribute__((aligned(BENCH_LINE)));

static struct label *new_label(void)
{
	struct label *l = bench_hash_alloc(1, sizeof(*l));

	lull_refcount_set(&l->count, 1);
	l->allowed = O_RDONLY;
	return l;
}

/* Open @path with the rights of label @l, which stays meanwhile. */
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

/* Labels that no thread can tell to be free; they are free when all threads are gone. */
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

/* The label's memory must be there for who finds no references left, and looks again. */
static void count_down(struct label *l)
{
	if (lull_refcount_dec_and_test(&l->count))
		lull_rcu_free(l);
}

static int refcount_open(const char *path)
{
	struct label *l = lull_ref_handoff_rcu(&label, count);
	int fd = open_with(l, path);

	count_down(l);
	return fd;
}

/* Called by the thread that puts the last reference, or that kills the label. */
static void percpu_ref_release(struct lull_percpu_ref *ref)
{
	struct label *l = lull_container_of(ref, struct label, percpu);

	lull_percpu_ref_exit(ref);
	lull_rcu_free(l);
}

static void percpu_ref_make(struct label *l)
{
	if (lull_percpu_ref_init(&l->percpu, percpu_ref_release, 0) != 0)
		options_fail("out of memory");
}

static void percpu_ref_unmake(struct label *l)
{
	lull_percpu_ref_exit(&l->percpu);
}

static int percpu_ref_open(const char *path)
{
	struct label *l = lull_ref_handoff_rcu_percpu(&label, percpu);
	int fd = open_with(l, path);

	lull_percpu_ref_put(&l->percpu);
	return fd;
}

static void percpu_ref_retire(struct label *old)
{
	lull_percpu_ref_kill(&old->percpu);
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
	{ "none", "no protection, old labels are kept: the limit", none_open, none_retire, NULL, NULL },
	{ "refcount", "a count in the label, taken in an RCU section", refcount_open, count_down, NULL,
	  NULL },
	{ "percpu_ref", "a per-CPU count of the label, taken in an RCU section", percpu_ref_open,
	  percpu_ref_retire, percpu_ref_make, percpu_ref_unmake },
	{ "hazptr", "a hazard pointer over the open", hazptr_open, hazptr_retire, NULL, NULL },
	{ "rcu", "an RCU section over the open: as long as that sleeps, nothing is freed", rcu_open,
	  rcu_retire, NULL, NULL },
	{ "bridge", "found in an RCU section, kept by a hazard pointer over the open", bridge_open,
	  bridge_retire, NULL, NULL },
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
	struct label *l = new_label();

	if (replacer.scheme->make)
		replacer.scheme->make(l);
	replacer.scheme->retire(lull_rcu_replace(label, l));
	replacer.replaced++;
}

static void *replacer_main(void *arg)
{
	uint64_t next = bench_now_ns(), now;
	int err;

	pthread_mutex_lock(&replacer.lock);
	while (!replacer.stop) {
		struct timespec until;

		/* Skip the replacements that were missed: making up for them would be a burst. */
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
 * Hand the published label on to the next scheme, while no file is opened. Labels that this scheme has retired are its
 * own to free, except those that no thread could tell to be free.
 */
void labelscale_use(const struct labelscale_scheme *scheme)
{
	pthread_mutex_lock(&replacer.lock);
	if (replacer.scheme && replacer.scheme->unmake)
		replacer.scheme->unmake(label);
	if (scheme && scheme->make)
		scheme->make(label);
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
	/* The second for what callbacks of the first have retired. */
	lull_rcu_barrier();
	lull_rcu_barrier();
	free(label);
	return replacer.replaced;
}
