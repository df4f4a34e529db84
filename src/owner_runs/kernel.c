/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - the oracle that leaves the question to the kernel, which knows exactly who runs (spin_wait.h).
 *
 * The lock depends on a sleeper being in the kernel's queue, and on being told whether it was woken; on nothing else, and
 * so not on the spin. A thread that spins in the kernel is in the queue from before the spin. That is a sleeper to
 * lull__futex_wake_bits(), which takes it out, and counts it if it is the heir:
 *
 *	waiter							owner
 *	WAITERS in the word
 *	futex_wait(): the word is the same, into the queue
 *	spins							word = 0
 *								futex_wake(): takes the waiter out
 *	woken: 0
 *
 * The waiter may also see the word change before that call, leave the queue by itself, and return -EAGAIN. Then it is as
 * if it had come after the change: the owner's call wakes the next sleeper, if there is one, and that thread sets
 * WAITERS. A waiter whose time is out leaves the queue in the same way, without the flag too. If the owner's call comes
 * first, the kernel returns 0, and this waiter sets WAITERS. So some thread knows of each wake-up that is counted, and
 * model/mutex/wake.c, where a sleeper may get up by itself at any time, stands for this wait too. WAITERS is in the
 * word before the kernel compares it: MTX-3 of sleep_once() orders that, and no other order is needed.
 *
 * An heir that leaves the queue by itself is one that does not sleep: hand_over() passes it over, and it stays the heir.
 * HEIR is the kernel's FUTEX_OWNER_DIED, WAITERS its FUTEX_WAITERS: the spin does not care for either. When the owner of a
 * robust mutex dies the kernel makes the thread id 0, which ends the spin.
 */
#include "owner_runs.h"
#include "spin_wait.h"

/*
 * How often a waiter looks at one owner before it asks the kernel to. That takes about as long as the system call, and
 * is enough for most sections.
 */
#define LOOKS 4

static enum lull__runs kernel_runs(struct lull__sighting *sighting, uint32_t tid)
{
	if (sighting->tid != tid)
		*sighting = (struct lull__sighting){ .tid = tid };
	return sighting->beats++ < LOOKS ? LULL__RUNS_UNKNOWN : LULL__RUNS_NO;
}

const struct lull__oracle lull__oracle_kernel = {
	.name = "kernel",
	.inline_locks = true,
	.when_asked = true,
	.usable = lull__spin_wait_offered,
	.runs = kernel_runs,
	.wait = lull__spin_wait,
};
