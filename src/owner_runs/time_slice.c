/* SPDX-License-Identifier: MIT */
/*
 * time_slice.c - the time-slice extension of restartable sequences. Ideas: T. Gleixner's extension (Linux
 * 7.0), schedctl of Solaris.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lull/detail/rseq.h>

#include "time_slice.h"

/* Numbers that headers older than the extension do not have. They are the same on all processors. */
#define AUXV_RSEQ_FEATURE_SIZE 27
#define FEATURE_SIZE	       33 /* of an area that has it */
#define OFFSET_CTRL	       28 /* in the area: u8 request, u8 granted, u16 zero */
#define PRCTL_SLICE	       79
#define PRCTL_SLICE_GET	       1ul
#define PRCTL_SLICE_SET	       2ul
#define SYS_SLICE_YIELD	       471

#ifdef LULL__RSEQ

struct ctrl {
	uint8_t request; /* by this thread; the kernel clears it when it grants */
	uint8_t granted; /* by the kernel */
};

static __thread struct {
	struct ctrl *ctrl; /* NULL: off */
	uint32_t depth;
} slice __attribute__((tls_model("initial-exec")));

/*
 * Find the control word in the C library's area of this thread. Returns NULL if the area does not have the
 * extension: a new kernel also accepts the area of an old C library, which is too small for it.
 */
static struct ctrl *find_ctrl(void)
{
	char *area = (char *)__builtin_thread_pointer() + __rseq_offset;

	if (getauxval(AUXV_RSEQ_FEATURE_SIZE) < FEATURE_SIZE || __rseq_size < FEATURE_SIZE)
		return NULL;
	return (struct ctrl *)(void *)(area + OFFSET_CTRL);
}

static bool set(unsigned long on)
{
	return prctl(PRCTL_SLICE, PRCTL_SLICE_SET, on, 0ul, 0ul) == 0;
}

bool lull__slice_offered(void)
{
	int saved = errno, was_on;
	bool offered = false;

	/* The kernel says "off" also if the extension cannot be turned on. */
	if (find_ctrl() && (was_on = prctl(PRCTL_SLICE, PRCTL_SLICE_GET, 0ul, 0ul, 0ul)) >= 0) {
		offered = was_on || set(1);
		if (offered && !was_on)
			set(0);
	}
	errno = saved;
	return offered;
}

bool lull__slice_enable(void)
{
	struct ctrl *ctrl = find_ctrl();
	int saved = errno;

	slice.ctrl = ctrl && set(1) ? ctrl : NULL;
	errno = saved;
	return slice.ctrl != NULL;
}

/*
 * Ask for more time. The kernel reads the area when it is about to preempt this thread, so only the
 * compiler has to keep program order.
 */
void lull__slice_begin(void)
{
	if (!slice.ctrl || slice.depth++)
		return;
	lull_store_relaxed(&slice.ctrl->request, (uint8_t)1);
	lull_compiler_barrier();
}

void lull__slice_end(void)
{
	int saved;

	/* No depth: the section began before it was turned on. */
	if (!slice.depth || --slice.depth || !slice.ctrl)
		return;
	lull_compiler_barrier();
	lull_store_relaxed(&slice.ctrl->request, (uint8_t)0);
	lull_compiler_barrier(); /* nothing is granted from here on */
	if (lull_load_relaxed(&slice.ctrl->granted)) {
		saved = errno;
		syscall(SYS_SLICE_YIELD);
		errno = saved;
	}
}

bool lull__slice_granted(void)
{
	return slice.ctrl && lull_load_relaxed(&slice.ctrl->granted);
}

#else

bool lull__slice_offered(void)
{
	return false;
}

bool lull__slice_enable(void)
{
	return false;
}

void lull__slice_begin(void)
{
}

void lull__slice_end(void)
{
}

bool lull__slice_granted(void)
{
	return false;
}

#endif
