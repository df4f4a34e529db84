/* SPDX-License-Identifier: MIT */
/* lull torture: threads that are registered and sleep, and threads that come, use, and go. See torture.h. */
#include "torture/run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <lull/reclaim.h>

#include "common/clock.h"
#include "common/options.h"

#define STACK_BYTES 65536u /* enough for a sanitizer's thread and the static TLS */
#define MAPS_EACH 2u	   /* a stack and its guard page */
#define SPARE 200u	   /* threads and mappings that the run has besides */

#if defined(LULL__TSAN) || defined(__SANITIZE_ADDRESS__)
#define RSS_TELLS_NOTHING true /* freed memory is kept */
#else
#define RSS_TELLS_NOTHING false
#endif

/* ---- how many there can be ------------------------------------------------------------------- */

/* UINT64_MAX where the file is not there. */
static uint64_t limit_in(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned long long n;
	bool got;

	if (!file)
		return UINT64_MAX;
	got = fscanf(file, "%llu", &n) == 1;
	fclose(file);
	return got ? n : UINT64_MAX;
}

static void check_limit(uint64_t limit, const char *what)
{
	if (torture.sleepers + SPARE > limit)
		options_bad("--sleepers %u: the system allows only %llu threads in all (%s)", torture.sleepers,
			    (unsigned long long)limit, what);
}

void torture_crowd_check(void)
{
	struct rlimit processes;

	if (!torture.sleepers)
		return;
	if (getrlimit(RLIMIT_NPROC, &processes) == 0 && processes.rlim_cur != RLIM_INFINITY && geteuid() != 0)
		check_limit(processes.rlim_cur, "ulimit -u");
	check_limit(limit_in("/proc/sys/kernel/threads-max"), "/proc/sys/kernel/threads-max");
	check_limit(limit_in("/proc/sys/kernel/pid_max"), "/proc/sys/kernel/pid_max");
	check_limit(limit_in("/proc/sys/vm/max_map_count") / MAPS_EACH, "half of /proc/sys/vm/max_map_count");
}

/* ---- sleepers -------------------------------------------------------------------------------- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned asleep;
	bool over;
	pthread_t *thread;
} crowd = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* Some have used the library before they sleep, some have left something to be reclaimed. */
static void *sleeper(void *arg)
{
	struct torturer self;

	torture_thread_init(&self, "sleeper", 0, (uintptr_t)arg + torture.seed);
	torture_me = &self;
	lull_thread_register();
	if (torture_once_in(&self.rng, 4))
		torture.flavor->use_shortly(&self, "thread that will sleep");
	if (torture_once_in(&self.rng, 4))
		torture_leave_debris(&self.rng);
	pthread_mutex_lock(&crowd.lock);
	crowd.asleep++;
	pthread_cond_broadcast(&crowd.changed);
	while (!crowd.over)
		pthread_cond_wait(&crowd.changed, &crowd.lock);
	pthread_mutex_unlock(&crowd.lock);
	torture_me = NULL;
	return NULL;
}

void torture_sleepers_start(void)
{
	pthread_attr_t attr;
	unsigned i;

	if (!torture.sleepers)
		return;
	crowd.thread = options_alloc(torture.sleepers, sizeof(*crowd.thread));
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (i = 0; i < torture.sleepers; i++) {
		int err = pthread_create(&crowd.thread[i], &attr, sleeper, (void *)(uintptr_t)i);

		if (err)
			options_bad("--sleepers %u: only %u can be made here (%s)", torture.sleepers, i,
				    strerror(err));
	}
	pthread_attr_destroy(&attr);
	pthread_mutex_lock(&crowd.lock);
	while (crowd.asleep < torture.sleepers)
		pthread_cond_wait(&crowd.changed, &crowd.lock);
	pthread_mutex_unlock(&crowd.lock);
	if (lull_thread_count() < torture.sleepers)
		torture_fail("%u threads were registered, and %u are", torture.sleepers, lull_thread_count());
}

void torture_sleepers_stop(void)
{
	unsigned i;

	if (!torture.sleepers)
		return;
	pthread_mutex_lock(&crowd.lock);
	crowd.over = true;
	pthread_cond_broadcast(&crowd.changed);
	pthread_mutex_unlock(&crowd.lock);
	for (i = 0; i < torture.sleepers; i++)
		pthread_join(crowd.thread[i], NULL);
	free(crowd.thread);
	printf("%-24s %u threads slept all the time\n", "Sleepers:", torture.sleepers);
	if (lull_thread_count() >= torture.sleepers)
		torture_fail("%u threads have exited, and %u are registered", torture.sleepers, lull_thread_count());
}

/* ---- short-lived threads --------------------------------------------------------------------- */

#define AT_ONCE 4u
#define POLL_EACH 100u
#define SPARE_BYTES ((size_t)8 << 20) /* malloc's own, whatever it does */
#define LEAK_BYTES 256u		      /* of each thread: less than anything that the library has for one */

static size_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%*u %llu", &pages) != 1)
		pages = 0;
	fclose(file);
	return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Live without the delays of the other short-lived threads: there are many of these. */
static void *short_life(void *arg)
{
	struct torturer *t = arg;

	torture_me = t;
	if (torture_once_in(&t->rng, 2))
		torture.flavor->use_shortly(t, "short-lived thread");
	torture_leave_debris(&t->rng);
	if (torture_once_in(&t->rng, 2))
		lull_thread_unregister();
	return NULL;
}

static void come_and_go(unsigned count, uint64_t *rng)
{
	struct torturer made[AT_ONCE];
	unsigned n, i;

	while (count) {
		n = count < AT_ONCE ? count : AT_ONCE;
		count -= n;
		for (i = 0; i < n; i++) {
			torture_thread_init(&made[i], "short-lived thread", i, torture_random(rng, UINT64_MAX));
			if (pthread_create(&made[i].thread, NULL, short_life, &made[i]) != 0)
				options_fail("cannot make a thread");
		}
		for (i = 0; i < n; i++)
			pthread_join(made[i].thread, NULL);
		/* Run the callbacks where the library leaves that to the program. */
		if (count % POLL_EACH < AT_ONCE)
			lull_reclaim_poll(SIZE_MAX, 0);
	}
}

/* A tenth goes ahead, so that what is kept for the next thread is there. */
void torture_short_lived(uint64_t *rng)
{
	unsigned first = torture.short_lived / 10, registered;
	size_t before, after;

	come_and_go(first, rng);
	if (torture.flavor->barrier)
		torture.flavor->barrier();
	registered = lull_thread_count();
	before = resident_bytes();
	come_and_go(torture.short_lived - first, rng);
	if (torture.flavor->barrier)
		torture.flavor->barrier();
	torture_debris_check("after the short-lived threads");
	after = resident_bytes();
	torture.churned += torture.short_lived;
	printf("%-24s %u in %.1f s; registered %u before and %u after; memory %zu kB before and %zu kB after\n",
	       "Short-lived threads:", torture.short_lived, (double)(bench_now_ns() - torture.began_ns) / 1e9,
	       registered, lull_thread_count(), before / 1024, after / 1024);
	fflush(stdout);
	if (lull_thread_count() > registered)
		torture_fail("%u short-lived threads have exited, and %u more are registered than before",
			     torture.short_lived, lull_thread_count() - registered);
	if (!RSS_TELLS_NOTHING && after > before + SPARE_BYTES + (size_t)torture.short_lived * LEAK_BYTES)
		torture_fail("%u short-lived threads have left %zu kB of memory behind", torture.short_lived,
			     (after - before) / 1024);
}
