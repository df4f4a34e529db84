/* SPDX-License-Identifier: MIT */
/*
 * rseq_use.c - find out whether this process may use restartable sequences; end those under way.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lull/fence.h>

#include "../os/os.h"
#include "fence_choice.h"
#include "message.h"
#include "own_thread.h"
#include "rseq_use.h"

/* Reading the area takes only glibc; running sequences takes more (LULL__RSEQ). */
#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 35)
#define AREA 1
#include <sys/rseq.h>
#endif
#endif

#ifdef AREA

const uint32_t *lull__rseq_cpu(void)
{
	const uint32_t *cpu = (const uint32_t *)(const void *)((char *)__builtin_thread_pointer() + __rseq_offset + 4);

	/* A thread that could not be registered has a negative number there. */
	return __rseq_size > 0 && (int)lull_load_relaxed(cpu) >= 0 ? cpu : NULL;
}

#else

const uint32_t *lull__rseq_cpu(void)
{
	return NULL;
}

#endif

#ifdef LULL__RSEQ

/*
 * Does the kernel know of this thread's area? glibc says that it has registered the thread. It also says so
 * after a tool that does not know of rseq has restored the process from a checkpoint: then the kernel
 * accepts our registration, and until then the CPU's number does not change. If the kernel knows the area,
 * a second registration fails.
 */
static bool kernel_knows(void)
{
	char *area = (char *)__builtin_thread_pointer() + __rseq_offset;
	uint32_t length = __rseq_size < 32 ? 32 : __rseq_size;

	if ((int)lull_load_relaxed((uint32_t *)(void *)(area + 4)) < 0)
		return false;
	if (syscall(SYS_rseq, area, length, 0, RSEQ_SIG) != 0)
		return errno != ENOSYS;
	syscall(SYS_rseq, area, length, RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
	return false;
}

static bool ask_for(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

/* Registering ends with a barrier here. */
static bool register_barrier(void)
{
	return ask_for(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ) && ask_for(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ);
}

/* Returns 0 or -errno. */
static int call_rseq_barrier(void)
{
	if (ask_for(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ) || (errno == EPERM && register_barrier()))
		return 0;
	return -errno;
}

bool lull__rseq_usable(void)
{
	int saved = errno;
	bool usable = !lull__fence_full_mode && __rseq_size > 0 && kernel_knows() && register_barrier();

	errno = saved;
	return usable;
}

void lull__rseq_barrier(void)
{
	int saved = errno, refusal, visit;

	/* It worked at the start. A thread switch on each CPU ends the sequences there as well. */
	for (int i = 0; (refusal = call_rseq_barrier()) != 0 && (visit = lull__visit_cpus()) != 0; i++) {
		if (i == LULL__FENCE_AGAIN_MOST || !(lull__fence_short_of(refusal) || lull__fence_short_of(visit)))
			lull__die("membarrier is no longer permitted (%s) and threads cannot be moved either (%s); "
				  "start the program with LULL_FENCE=full", strerror(-refusal), strerror(-visit));
		lull__nap(LULL__FENCE_AGAIN_NS);
	}
	errno = saved;
}

#else

bool lull__rseq_usable(void)
{
	return false;
}

void lull__rseq_barrier(void)
{
}

#endif
