/* SPDX-License-Identifier: MIT */
/*
 * lull torture: the limits of what may be deferred, met on purpose. In a pause, when nothing waits: a
 * flood behind a reader that stalls, which has to stay within the hard limit, and deferrals when malloc()
 * has nothing left, none of which may be lost or come early. See torture.h.
 */
#include "torture/flavors.h"
#include "torture/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <lull/reclaim.h>

#include "common/options.h"

#define BATCH 64u	   /* deferrals of one kind by one thread, between two times that it tells of them */
#define KINDS 2u	   /* that it defers */
#define HOLD_US 20000u	   /* the reader's stall */
#define EATEN_BYTES 1000u  /* of each callback's object: no room for what the library needs is left between */
#define FREES 20u
#define STACK_BYTES ((size_t)256 << 10)

static uint32_t ran;
static struct {
	uint32_t peak;
	uint64_t floods, squeezes, without;
} limit;

void torture_limit_init(void)
{
	struct lull_reclaim_config config;

	if (!torture.hard_items)
		return;
	lull_reclaim_default_config(&config);
	config.on_hard = LULL_RECLAIM_HELP;
	config.soft_items = torture.hard_items / 2;
	config.hard_items = torture.hard_items;
	config.soft_wait_us = 0; /* else a flood is held back before it meets the hard limit */
	if (lull_reclaim_configure(&config) != 0)
		torture_fail("lull_reclaim_configure() refuses a configuration that is in order");
}

static void drop_called(struct lull_rcu_head *head)
{
	struct torture_drop *d = lull_container_of(head, struct torture_drop, head);

	if (!torture_drop_ran(d))
		return;
	lull_add_relaxed(&ran, 1u);
	torture_drop_free(d);
}

static void check_all_ran(uint32_t posted, const char *what)
{
	torture.flavor->barrier();
	if (lull_load_relaxed(&ran) != posted)
		torture_fail("%s: %u callbacks of %u have run after a barrier", what, lull_load_relaxed(&ran), posted);
}

/* ---- the hard limit -------------------------------------------------------------------------- */

static void *hold_section(void *arg)
{
	uint32_t *holds = arg;

	lull_rcu_read_lock();
	lull_store_release(holds, 1u);
	torture_sleep_us(HOLD_US);
	lull_rcu_read_unlock();
	return NULL;
}

static void meet_hard(void)
{
	uint32_t slack = BATCH * KINDS;
	uint32_t holds = 0, posted = torture.hard_items + 3 * slack, i;
	uint32_t waiting, peak = 0;
	pthread_t holder;

	lull_store_relaxed(&ran, 0u);
	if (pthread_create(&holder, NULL, hold_section, &holds) != 0)
		options_fail("cannot make a thread");
	while (!lull_load_acquire(&holds))
		torture_sleep_us(10);
	for (i = 0; i < posted; i++) {
		struct torture_drop *d = malloc(sizeof(*d));

		if (!d)
			options_fail("out of memory");
		torture_drop_defer(d, drop_called);
		/* Count here: the library's own count is a moment late. */
		waiting = i + 1 - lull_load_relaxed(&ran);
		peak = waiting > peak ? waiting : peak;
	}
	pthread_join(holder, NULL);
	limit.peak = peak > limit.peak ? peak : limit.peak;
	if (peak > torture.hard_items + slack)
		torture_fail("%u objects waited at a time, and the hard limit is %u, with %u that nobody has looked at yet",
			     peak, torture.hard_items, slack);
	check_all_ran(posted, "flood over the hard limit");
	limit.floods++;
}

/* ---- no memory ------------------------------------------------------------------------------- */

void torture_grow_stack(void)
{
	volatile char room[STACK_BYTES];
	size_t i;

	for (i = 0; i < sizeof(room); i += 1024)
		room[i] = 0;
}

static rlim_t address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (!file || fscanf(file, "%llu", &pages) != 1)
		options_fail("cannot read /proc/self/statm");
	fclose(file);
	return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Allocate as many as there is memory for. */
static struct torture_drop *eat(void)
{
	struct torture_drop *all = NULL, *d;

	while ((d = calloc(1, sizeof(*d) + EATEN_BYTES))) {
		d->next = all;
		all = d;
	}
	return all;
}

/*
 * All in one read section, so that nothing that waits for a grace period may run in it. With hazard
 * pointers alone it may. Returns how many callbacks it will be.
 */
static uint32_t defer_without_memory(void)
{
	bool waits = torture.flavor != &torture_hazptr;
	struct torture_drop *all = eat(), *next;
	uint32_t posted = 0, before;

	lull_rcu_read_lock();
	before = lull_load_relaxed(&ran);
	for (; all; all = next, posted++) {
		next = all->next;
		torture_drop_defer(all, drop_called);
	}
	torture_sleep_us(1000);
	if (waits && lull_load_relaxed(&ran) != before)
		torture_fail("without memory: a callback ran in the section that it was deferred in");
	lull_rcu_read_unlock();
	return posted;
}

static void meet_no_memory(void)
{
	struct rlimit all, squeezed;
	void *block[FREES];
	uint32_t posted, i;

	for (i = 0; i < FREES; i++)
		block[i] = options_alloc(1, 100);
	lull_store_relaxed(&ran, 0u);
	torture_grow_stack();
	getrlimit(RLIMIT_AS, &all);
	squeezed = all;
	squeezed.rlim_cur = address_space() + ((rlim_t)torture.memory_mib << 20);
	if (squeezed.rlim_cur > all.rlim_max || setrlimit(RLIMIT_AS, &squeezed) != 0)
		options_fail("cannot limit the address space");
	posted = defer_without_memory();
	for (i = 0; i < FREES; i++)
		torture.flavor->free(block[i]);
	setrlimit(RLIMIT_AS, &all);
	check_all_ran(posted, "without memory");
	limit.squeezes++;
	limit.without += posted;
}

/* ---- both ------------------------------------------------------------------------------------ */

void torture_limit_meet(void)
{
	if (!torture.flavor->call)
		return;
	if (torture.hard_items)
		meet_hard();
	if (torture.memory_mib)
		meet_no_memory();
	if (torture.hard_items || torture.memory_mib)
		torture_settle("after the limits were met");
}

void torture_limit_report(void)
{
	if (torture.hard_items)
		printf("%-24s %u objects, %llu floods behind a reader that stalls, at most %u waited\n", "Hard limit:",
		       torture.hard_items, (unsigned long long)limit.floods, limit.peak);
	if (torture.memory_mib)
		printf("%-24s %llu times all was used up, %llu callbacks deferred while there was none\n", "Memory:",
		       (unsigned long long)limit.squeezes, (unsigned long long)limit.without);
}
