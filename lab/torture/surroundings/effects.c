/* SPDX-License-Identifier: MIT */
/* lull torture --flavor wild: whether the conditions of a round took effect. See surroundings.h. */
#include "torture/surroundings/surroundings.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lull/fence.h>

#include "common/clock.h"

#define FAILING                                                                                                 \
	(WILD_BIT(WILD_FAIL_MALLOC) | WILD_BIT(WILD_FAIL_THREADS) | WILD_BIT(WILD_FAIL_MMAP) |                   \
	 WILD_BIT(WILD_FAIL_MEMBARRIER))

static uint64_t effects[NR_WILD];

void wild_took_effect(enum wild_condition c, uint64_t n)
{
	if (wild_has(c))
		lull_add_relaxed(&effects[c], n);
}

static void check_limits(void)
{
	struct rlimit limit;
	cpu_set_t set;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == 0)
		wild_took_effect(WILD_FSIZE, 1);
	if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1)
		wild_took_effect(WILD_ONE_CPU, 1);
	if (getpriority(PRIO_PROCESS, 0) == 19)
		wild_took_effect(WILD_NICE, 1);
	if (sched_getscheduler(0) == SCHED_IDLE)
		wild_took_effect(WILD_IDLE, 1);
	if (syscall(SYS_membarrier, 0, 0, 0) < 0) {
		wild_took_effect(WILD_NO_MEMBARRIER, 1);
		wild_took_effect(WILD_LOST_MEMBARRIER, 1);
	}
	if (syscall(SYS_memfd_create, "x", 0u) < 0 && errno == EPERM)
		wild_took_effect(WILD_NO_MEMFD, 1);
	if (syscall(SYS_sched_setaffinity, 0, sizeof(set), &set) < 0 && errno == EPERM)
		wild_took_effect(WILD_NO_AFFINITY, 1);
	if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0 && errno == EPERM)
		wild_took_effect(WILD_NO_OPENAT, 1);
}

static void check_stderr(void)
{
	struct pollfd error = { .fd = STDERR_FILENO, .events = POLLOUT };

	if (poll(&error, 1, 0) == 0)
		wild_took_effect(WILD_STDERR_FULL, 1);
	else if (error.revents & POLLERR)
		wild_took_effect(WILD_STDERR_DEAD, 1);
	if (lull_fence_strategy() == LULL_FENCE_FULL && getenv("LULL_FENCE") && strcmp(getenv("LULL_FENCE"), "full") == 0)
		wild_took_effect(WILD_FULL_FENCE, 1);
	if (getenv("LULL_STATS") && strcmp(getenv("LULL_STATS"), "of") == 0)
		wild_took_effect(WILD_TYPO, 1);
}

/* ---- calls that fail ------------------------------------------------------------------------- */

/* Find a function of the preloaded library; false: it is not there. ISO C has no conversion, hence memcpy(). */
static bool find(void *function, const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	memcpy(function, &found, sizeof(found));
	return found;
}

/* An error of membarrier may have been a passing one, so it is not given up for good. */
static void check_membarrier_again(void)
{
	uint64_t (*succeeded)(const char *), before, since_ns = bench_now_ns();
	void (*relent)(void);

	if (!wild_has(WILD_FAIL_MEMBARRIER) || lull_fence_strategy() != LULL_FENCE_MEMBARRIER ||
	    !find(&succeeded, "lull_wild_succeeded") || !find(&relent, "lull_wild_relent"))
		return;
	relent();
	before = succeeded("membarrier");
	while (succeeded("membarrier") == before && !wild_is_overdue(since_ns)) {
		lull_fence_heavy();
		torture_sleep_us(1000);
	}
	if (succeeded("membarrier") == before)
		torture_fail("membarrier failed for a while, and the library does not try it again");
}

static void check_failed_calls(void)
{
	static const struct {
		enum wild_condition c;
		const char *name;
	} calls[] = {
		{ WILD_FAIL_MALLOC, "malloc" },
		{ WILD_FAIL_THREADS, "threads" },
		{ WILD_FAIL_MMAP, "mmap" },
		{ WILD_FAIL_MEMBARRIER, "membarrier" },
	};
	uint64_t (*failed)(const char *);
	unsigned i;

	if (!(wild_on & FAILING) || !find(&failed, "lull_wild_failed"))
		return;
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		wild_took_effect(calls[i].c, failed(calls[i].name));
}

void wild_check_effects(void)
{
	unsigned i;

	check_limits();
	check_stderr();
	check_failed_calls();
	check_membarrier_again();
	/* The round's next step. */
	for (i = WILD_END_MAIN_EXITS; i <= WILD_END_CONTEXT; i++)
		wild_took_effect((enum wild_condition)i, 1);
	for (i = 0; i < NR_WILD; i++)
		if (effects[i])
			printf("effect %s %llu\n", wild_row((enum wild_condition)i)->name, (unsigned long long)effects[i]);
}
