/* SPDX-License-Identifier: MIT */
/* lull torture: delays, of threads and of stores. See torture.h. */
#include "torture/torture.h"

#include <sched.h>
#include <sys/mman.h>

#include "common/options.h"

void torture_linger(uint64_t *rng)
{
	uint64_t dice = torture_random(rng, 2000);

	if (torture.read_delay_us)
		torture_sleep_us(torture_random(rng, torture.read_delay_us + 1));
	if (dice < 800)
		return;
	else if (dice < 1800)
		torture_spin_ns(torture_random(rng, 4000));
	else if (dice < 1960)
		torture_spin_ns(torture_random(rng, 30000));
	else if (dice < 1990)
		sched_yield();
	else if (dice < 1999)
		torture_sleep_us(torture_random(rng, 200));
	else
		torture_sleep_us(torture_random(rng, 20000));
}

#define COLD_BYTES ((size_t)32 << 20) /* more than fits into the caches */
#define COLD_STORES 48u		      /* about as many as a store buffer holds */

static char *cold;

void torture_read_init(void)
{
	cold = mmap(NULL, COLD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (cold == MAP_FAILED)
		options_fail("out of memory");
	/*
	 * Else each fork makes every store to it a page fault, and a fault empties the store
	 * buffer.
	 */
	madvise(cold, COLD_BYTES, MADV_DONTFORK);
}

void torture_fill_store_buffer(uint64_t *rng)
{
	unsigned i;

	for (i = 0; i < COLD_STORES; i++)
		lull_store_relaxed(&cold[torture_random(rng, COLD_BYTES)], (char)i);
}
