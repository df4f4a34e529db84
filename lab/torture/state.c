/* SPDX-License-Identifier: MIT */
/* lull torture: the state of the run, and small things that all parts use. See torture.h. */
#include "torture/torture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"

struct torture torture;
__thread struct torturer *torture_me;

bool torture_stopped(void)
{
	return lull_load_acquire(&torture.stop);
}

void torture_doing(const char *what)
{
	lull_store_relaxed(&torture_me->doing, what);
}

void torture_wait_begin(void)
{
	static uint64_t waits;

	lull_store_relaxed(&torture_me->waits, lull_add_relaxed(&waits, (uint64_t)1) + 1);
}

void torture_wait_end(void)
{
	lull_store_relaxed(&torture_me->waits, (uint64_t)0);
}

uint64_t torture_random(uint64_t *rng, uint64_t n)
{
	return n ? (bench_random(rng) >> 16) % n : 0;
}

bool torture_once_in(uint64_t *rng, uint64_t n)
{
	return torture_random(rng, n) == 0;
}

void torture_spin_ns(uint64_t ns)
{
	uint64_t until = bench_now_ns() + ns;

	while (bench_now_ns() < until)
		lull_cpu_relax();
}

void torture_sleep_us(uint64_t us)
{
	struct timespec ts = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };

	/* A signal may cut it short; no caller depends on the length. */
	nanosleep(&ts, NULL);
}

void torture_thread_init(struct torturer *t, const char *role, unsigned index, uint64_t seed)
{
	memset(t, 0, sizeof(*t));
	t->role = role;
	t->index = index;
	t->doing = "starting";
	t->rng = (seed ^ 0x9e3779b97f4a7c15u) | 1;
	t->handler_rng = (seed * 0xbf58476d1ce4e5b9u) | 1;
}

void torture_timer_start(struct torturer *t, uint64_t most_us)
{
	uint64_t ns = 20000 + torture_random(&t->rng, most_us * 1000);
	struct itimerspec often = { { 0, (long)ns }, { 0, (long)ns } };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };

	if (torture.without[PART_SIGNALS])
		return;
	/* glibc names this member only in later versions. */
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &t->timer) != 0)
		return;
	lull_store_release(&t->has_timer, 1u);
	timer_settime(t->timer, 0, &often, NULL);
}

void torture_timer_stop(struct torturer *t)
{
	if (lull_xchg_acquire(&t->has_timer, 0u))
		timer_delete(t->timer);
}

void torture_rest(struct torturer *t)
{
	lull_store_relaxed(&t->rests, 1u);
	torture_sleep_us(500);
	lull_store_relaxed(&t->rests, 0u);
}

void torture_update_delay(struct torturer *t)
{
	if (torture.update_delay_us)
		torture_sleep_us(torture_random(&t->rng, torture.update_delay_us + 1));
}

void torture_die_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
}
