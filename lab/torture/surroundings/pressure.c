/* SPDX-License-Identifier: MIT */
/* lull torture --flavor wild: threads and memory that are not to be had for a while. See surroundings.h. */
#include "torture/surroundings/surroundings.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define NOBODY 61000u /* the first of some users who have no processes */
#define NOBODIES 1000u
#define MORE_BYTES ((size_t)8 << 20) /* more than is left */

static struct rlimit processes, space;

/* Become another user, because root has no limit of processes. This also drops the signal at the parent's death. */
void wild_become_limited(void)
{
	uid_t user = NOBODY + (uid_t)(torture.seed % NOBODIES);

	if (!wild_has(WILD_NO_THREADS) || geteuid() != 0)
		return;
	if (setresuid(user, user, user) != 0)
		torture_fail("cannot become user %u: %s", user, strerror(errno));
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void *nothing(void *unused)
{
	return unused;
}

static void press_threads(bool on)
{
	struct rlimit none;
	pthread_t thread;

	if (!on) {
		setrlimit(RLIMIT_NPROC, &processes);
		return;
	}
	getrlimit(RLIMIT_NPROC, &processes);
	none = processes;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NPROC, &none);
	if (pthread_create(&thread, NULL, nothing, NULL) == 0)
		pthread_join(thread, NULL);
	else
		wild_took_effect(WILD_NO_THREADS, 1);
}

static rlim_t address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (file && fscanf(file, "%llu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void press_memory(bool on)
{
	struct rlimit none;
	void *more;

	if (!on) {
		setrlimit(RLIMIT_AS, &space);
		return;
	}
	torture_grow_stack();
	getrlimit(RLIMIT_AS, &space);
	none = space;
	none.rlim_cur = address_space();
	if (!none.rlim_cur || setrlimit(RLIMIT_AS, &none) != 0)
		return;
	more = mmap(NULL, MORE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (more != MAP_FAILED)
		munmap(more, MORE_BYTES);
	else
		wild_took_effect(WILD_NO_MEMORY, 1);
}

void wild_press(bool on)
{
	static bool is_on;

	if (on == is_on)
		return;
	is_on = on;
	if (wild_has(WILD_NO_THREADS))
		press_threads(on);
	if (wild_has(WILD_NO_MEMORY))
		press_memory(on);
}
