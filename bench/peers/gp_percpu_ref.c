/* SPDX-License-Identifier: MIT */
/*
 * Ending a percpu_ref: from kill to its confirmation, while a reader gets and puts references. And
 * a bare membarrier(2) of the kind that it needs, with the same reader: what there is to be had.
 */
#include <linux/membarrier.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <lull/percpu_ref.h>
#include <lull/thread.h>

#include "gp.h"

/* Static: a reader may look at it at any time, it finds it dead or alive. */
static struct {
	struct lull_percpu_ref ref;
} shared __attribute__((aligned(128)));

static struct {
	uint64_t at_ns;
	sem_t confirmed, released;
} event __attribute__((aligned(128)));

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void confirm(struct lull_percpu_ref *ref)
{
	(void)ref;
	event.at_ns = now_ns();
	sem_post(&event.confirmed);
}

static void release(struct lull_percpu_ref *ref)
{
	(void)ref;
	sem_post(&event.released);
}

static void await(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		;
}

static void make(void)
{
	sem_init(&event.confirmed, 0, 0);
	sem_init(&event.released, 0, 0);
	if (lull_percpu_ref_init(&shared.ref, release, LULL_PERCPU_REF_ALLOW_REINIT) != 0)
		abort();
}

/* For threads of each kind; a reader may come first. */
static void thread_enter(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	lull_thread_register();
	pthread_once(&once, make);
}

static void thread_leave(void)
{
}

static void reader(const uint32_t *stop, uint64_t hold_ns)
{
	struct timespec ts = { 0, (long)hold_ns };

	while (!lull_load_relaxed(stop)) {
		if (!lull_percpu_ref_tryget_live(&shared.ref))
			continue;
		if (hold_ns >= BENCH_GP_SLEEP_NS)
			nanosleep(&ts, NULL);
		else if (hold_ns)
			bench_ref_delay(hold_ns);
		lull_percpu_ref_put(&shared.ref);
	}
}

/* The reader may hold a reference meanwhile: released, and alive again, outside the time. */
static unsigned kill_it(uint64_t *ns, unsigned most, uint64_t deadline_ns)
{
	uint64_t before = 0;
	unsigned n;

	for (n = 0; n < most && before < deadline_ns; n++) {
		before = now_ns();
		lull_percpu_ref_kill_and_confirm(&shared.ref, confirm);
		await(&event.confirmed);
		ns[n] = event.at_ns - before;
		await(&event.released);
		lull_percpu_ref_reinit(&shared.ref);
	}
	return n;
}

static int barrier_command(void)
{
#ifdef MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ
	if (lull_percpu_ref_per_cpu())
		return MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ;
#endif
	return MEMBARRIER_CMD_PRIVATE_EXPEDITED;
}

/* None at all where the system refuses. */
static unsigned bare(uint64_t *ns, unsigned most, uint64_t deadline_ns)
{
	int command = barrier_command();
	uint64_t before, after = 0;
	unsigned n;

	if (command == MEMBARRIER_CMD_PRIVATE_EXPEDITED)
		syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	for (n = 0; n < most && after < deadline_ns; n++) {
		before = now_ns();
		if (syscall(SYS_membarrier, command, 0, 0) != 0)
			return 0;
		after = now_ns();
		ns[n] = after - before;
	}
	return n;
}

const struct bench_gp_scheme bench_gp_percpu_ref = {
	.name = "percpu_ref",
	.what = "lull percpu_ref, killed",
	.thread_enter = thread_enter,
	.thread_leave = thread_leave,
	.sleeper_enter = thread_enter,
	.sleeper_leave = thread_leave,
	.read = reader,
	.kill = kill_it,
};

const struct bench_gp_scheme bench_gp_membarrier = {
	.name = "membarrier",
	.what = "a bare membarrier",
	.thread_enter = thread_enter,
	.thread_leave = thread_leave,
	.sleeper_enter = thread_enter,
	.sleeper_leave = thread_leave,
	.read = reader,
	.kill = bare,
};
