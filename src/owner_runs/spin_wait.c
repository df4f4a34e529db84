/* SPDX-License-Identifier: MIT */
/*
 * spin_wait.c - the system call futex_wait() with FUTEX2_SPIN. Idea: FUTEX_SPIN (A. Almeida, 2024).
 */
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../os/os.h"
#include "spin_wait.h"

/* Numbers that headers older than the call, or than the flag, do not have. */
#define SYS_WAIT     455 /* but on alpha and MIPS: there this is another call, or none, and the answer is no */
#define SIZE_U32     0x02u
#define SPIN	     0x10u
#define PRIVATE	     0x80u
#define EVERY_BITSET 0xffffffffu

/* A point in time as this call wants it, also where the C library's structure has 32 bits. */
struct moment {
	int64_t sec, nsec;
};

/* Return 0 or -errno. */
static int wait_spinning(uint32_t *word, uint32_t value, uint32_t bitset, uint64_t deadline_ns, bool shared)
{
	struct moment deadline = {
		.sec = (int64_t)(deadline_ns / 1000000000u),
		.nsec = (int64_t)(deadline_ns % 1000000000u),
	};
	int saved = errno, result = 0;

	if (syscall(SYS_WAIT, word, (unsigned long)value, (unsigned long)bitset, SIZE_U32 | SPIN | (shared ? 0 : PRIVATE),
		    deadline_ns == LULL__NEVER ? NULL : &deadline, CLOCK_MONOTONIC) != 0)
		result = -errno;
	errno = saved;
	return result;
}

/*
 * Let the calling thread wait for itself: only a kernel that looks for an owner sees the deadlock. Others refuse the
 * call or the flag. If the flag meant something else to a kernel, it would find that the time was up before the call.
 */
bool lull__spin_wait_offered(void)
{
	uint32_t word = lull__gettid();

	return wait_spinning(&word, word, EVERY_BITSET, 0, false) == -EDEADLK;
}

/*
 * Take any result that would not end a plain wait for a refusal. The owner may have exited (ESRCH) or be of another
 * process (EPERM), as in a forked child whose lock a thread of the parent has; or a filter forbids the call by an error
 * of its own choice. A plain wait copes with all of that.
 */
int lull__spin_wait(uint32_t *word, uint32_t value, uint32_t bitset, uint64_t deadline_ns, bool shared)
{
	int err = wait_spinning(word, value, bitset, deadline_ns, shared);

	if (err == 0 || err == -EAGAIN || err == -EINTR || (err == -ETIMEDOUT && deadline_ns != LULL__NEVER))
		return err;
	return lull__futex_wait_bits(word, value, bitset, deadline_ns, shared);
}
