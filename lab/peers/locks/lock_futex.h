/* SPDX-License-Identifier: MIT */
/*
 * Lock: a futex with three states (the last mutex of U. Drepper, "Futexes are tricky"), whose
 * waiters first look LOCK_PAUSES times whether it is free.
 */
#include <lull/atomic.h>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lock_scheme.h"

enum { LOCK_FREE, LOCK_HELD, LOCK_WAITED_FOR };

static struct {
	uint32_t state;
} __attribute__((aligned(BENCH_LOCK_LINE))) lock_shared;

static inline bool lock_try(void)
{
	uint32_t seen = LOCK_FREE;

	return lull_cas_acquire(&lock_shared.state, &seen, (uint32_t)LOCK_HELD);
}

static __attribute__((noinline)) void lock_wait(void)
{
	unsigned i;

	for (i = LOCK_PAUSES; i; i--) {
		lull_cpu_relax();
		if (lull_load_relaxed(&lock_shared.state) == LOCK_FREE && lock_try())
			return;
	}
	/*
	 * A thread that has slept does not know whether others sleep: it takes the lock as one that
	 * is waited for.
	 */
	while (lull_xchg_acquire(&lock_shared.state, (uint32_t)LOCK_WAITED_FOR) != LOCK_FREE)
		syscall(SYS_futex, &lock_shared.state, FUTEX_WAIT_PRIVATE, LOCK_WAITED_FOR, NULL,
			NULL, 0);
}

static inline void lock_acquire(void)
{
	if (lull_unlikely(!lock_try()))
		lock_wait();
}

static inline void lock_release(void)
{
	uint32_t was = lull_xchg_release(&lock_shared.state, (uint32_t)LOCK_FREE);

	if (lull_unlikely(was == LOCK_WAITED_FOR))
		syscall(SYS_futex, &lock_shared.state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static const char *lock_renew(const struct bench_lock_scheme *scheme)
{
	(void)scheme;
	lull_store_relaxed(&lock_shared.state, (uint32_t)LOCK_FREE);
	return NULL;
}

#include "lock_body.h"
