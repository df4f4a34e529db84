/* SPDX-License-Identifier: MIT */
/* lull torture --flavor wild: what a round's program finds when it begins. See surroundings.h. */
#include "torture/surroundings/surroundings.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/cpus.h"
#include "common/options.h"

#define PRELOAD "liblull-wild-failing.so"

/* Beside lull-lab where it was built; else where it is installed. */
const char *wild_preload_path(void)
{
	static char path[PATH_MAX + 128];
	static const char *const folders[] = { ".", WILD_LIBRARY_FROM_BIN };
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	unsigned i;

	if (len < 0)
		return NULL;
	self[len] = '\0';
	dirname(self);
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s/" PRELOAD, self, folders[i]);
		if (access(path, R_OK) == 0)
			return path;
	}
	return NULL;
}

static _Noreturn void cannot(enum wild_condition c)
{
	printf("failure: cannot set up condition %s: %s\n", wild_row(c)->name, strerror(errno));
	fflush(stdout);
	_exit(EXIT_FAILURE);
}

static void surround_limits(wild_set set, uint64_t *rng)
{
	static const long memfd[] = { SYS_memfd_create }, affinity[] = { SYS_sched_setaffinity };
	const struct rlimit none = { 0, 0 };
	const struct sched_param zero = { 0 };

	if ((set & WILD_BIT(WILD_FSIZE)) && setrlimit(RLIMIT_FSIZE, &none) != 0)
		cannot(WILD_FSIZE);
	if ((set & WILD_BIT(WILD_ONE_CPU)) && bench_pin((unsigned)torture_random(rng, bench_cpus())) < 0)
		cannot(WILD_ONE_CPU);
	if ((set & WILD_BIT(WILD_NICE)) && setpriority(PRIO_PROCESS, 0, 19) != 0)
		cannot(WILD_NICE);
	if ((set & WILD_BIT(WILD_IDLE)) && sched_setscheduler(0, SCHED_IDLE, &zero) != 0)
		cannot(WILD_IDLE);
	if ((set & WILD_BIT(WILD_NO_MEMBARRIER)) && !wild_forbid_membarrier(torture_once_in(rng, 2) ? EPERM : ENOSYS))
		cannot(WILD_NO_MEMBARRIER);
	if ((set & WILD_BIT(WILD_NO_MEMFD)) && !wild_forbid(memfd, 1, EPERM))
		cannot(WILD_NO_MEMFD);
	if ((set & WILD_BIT(WILD_NO_AFFINITY)) && !wild_forbid(affinity, 1, EPERM))
		cannot(WILD_NO_AFFINITY);
}

static void fail_one_in(char *text, size_t size, const char *name, uint64_t n)
{
	size_t len = strlen(text);

	snprintf(text + len, size - len, "%s:%llu,", name, (unsigned long long)n);
}

static void surround_environment(wild_set set, uint64_t seed, uint64_t *rng)
{
	char text[128] = "", number[24];

	if (set & WILD_BIT(WILD_FULL_FENCE))
		setenv("LULL_FENCE", "full", 1);
	/* Misspell LULL_STATS: lull-lab itself refuses the other variables before the library sees them. */
	if (set & WILD_BIT(WILD_TYPO))
		setenv("LULL_STATS", "of", 1);
	if (set & WILD_BIT(WILD_FAIL_MALLOC))
		fail_one_in(text, sizeof(text), "malloc", 1 + torture_random(rng, 8));
	if (set & WILD_BIT(WILD_FAIL_THREADS))
		fail_one_in(text, sizeof(text), "threads", 2 + torture_random(rng, 3));
	if (set & WILD_BIT(WILD_FAIL_MMAP))
		fail_one_in(text, sizeof(text), "mmap", 1 + torture_random(rng, 3));
	if (set & WILD_BIT(WILD_FAIL_MEMBARRIER))
		fail_one_in(text, sizeof(text), "membarrier", 1 + torture_random(rng, 16));
	if (!*text || torture.use_fault == FAULT_NO_EFFECT)
		return;
	snprintf(number, sizeof(number), "%llu", (unsigned long long)seed);
	setenv("LD_PRELOAD", wild_preload_path(), 1);
	setenv("LULL_WILD_FAIL", text, 1);
	setenv("LULL_WILD_SEED", number, 1);
}

/* Fill the pipe to the last byte: the next write waits. */
static void fill(int fd)
{
	static const char some[4096];

	if (fcntl(fd, F_SETFL, O_WRONLY | O_NONBLOCK) != 0)
		cannot(WILD_STDERR_FULL);
	while (write(fd, some, sizeof(some)) > 0 || write(fd, some, 1) > 0)
		;
	if (errno != EAGAIN || fcntl(fd, F_SETFL, O_WRONLY) != 0)
		cannot(WILD_STDERR_FULL);
}

void wild_surround(wild_set set, uint64_t seed, const int err[2])
{
	uint64_t rng = seed | 1;

	bench_random(&rng);
	surround_environment(set, seed, &rng);
	if (set & WILD_BIT(WILD_STDERR_FULL))
		fill(err[1]);
	/* The supervisor sees to it that a dead reader is dead. */
	if (set & WILD_BIT(WILD_STDERR_CLOSED))
		close(STDERR_FILENO);
	else
		dup2(err[1], STDERR_FILENO);
	surround_limits(set, &rng);
}
