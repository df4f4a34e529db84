/* SPDX-License-Identifier: MIT */
/* lull torture --flavor wild: stalled readers, floods, and a stream of cookies beside the mix. See surroundings.h. */
#include "torture/surroundings/surroundings.h"

#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

#include <lull/hazptr.h>
#include <lull/reclaim.h>
#include <lull/shazptr.h>

#include "common/clock.h"

#define STALL_US 120000u
#define FLOODERS 4u
#define FLOOD_BYTES 256u
#define FLOOD_US 400000u
#define FLOOD_MOST ((size_t)64 << 20)
#define OVERLAPS 4u /* readers, one of whom is always inside */
#define COOKIES 200u
#define OVER_LEAST 5u /* one behind the other */
#define THREADS_MOST 16u

static struct {
	pthread_t thread[THREADS_MOST];
	unsigned count;
} load;

static bool start(void *(*run)(void *), void *arg)
{
	if (load.count < THREADS_MOST && pthread_create(&load.thread[load.count], NULL, run, arg) == 0) {
		load.count++;
		return true;
	}
	return false;
}

static void join_all(void)
{
	while (load.count)
		pthread_join(load.thread[--load.count], NULL);
}

/* ---- readers that stall ---------------------------------------------------------------------- */

static const char place;
static const char *placed = &place;
static uint32_t stalling;

static void *staller(void *unused)
{
	struct lull_shazptr_guard guard = lull_shazptr_acquire(&place);
	struct lull_hazptr_hold hold;
	const char *held = lull_hazptr_acquire(&hold, &placed);

	lull_rcu_read_lock();
	lull_store_release(&stalling, 1u);
	torture_sleep_us(STALL_US);
	lull_rcu_read_unlock();
	lull_hazptr_release(&hold, held);
	lull_shazptr_clear(guard);
	wild_took_effect(WILD_STALL, 1);
	return unused;
}

static void await_staller(void)
{
	while (!lull_load_acquire(&stalling))
		torture_sleep_us(100);
}

static void *waits_for_section(void *unused)
{
	await_staller();
	lull_rcu_synchronize();
	return unused;
}

static void *waits_for_hold(void *unused)
{
	await_staller();
	lull_hazptr_synchronize(&place);
	return unused;
}

static void *waits_for_guard(void *unused)
{
	await_staller();
	lull_shazptr_synchronize(&place);
	return unused;
}

static void start_stall(void)
{
	if (!start(staller, NULL))
		return;
	start(waits_for_section, NULL);
	start(waits_for_hold, NULL);
	start(waits_for_guard, NULL);
}

/* ---- floods ---------------------------------------------------------------------------------- */

static void *flooder(void *unused)
{
	uint64_t until_ns = bench_now_ns() + FLOOD_US * UINT64_C(1000), rng = 1;

	while (!torture_failed() && bench_now_ns() < until_ns)
		wild_post(&rng, FLOOD_BYTES);
	return unused;
}

static void start_floods(void)
{
	unsigned i;

	lull_reclaim_reset_peak();
	for (i = 0; i < FLOODERS; i++)
		if (start(flooder, NULL))
			wild_took_effect(WILD_FLOOD, 1);
}

static void check_floods(void)
{
	struct lull_reclaim_counts counts;

	lull_reclaim_stats(&counts);
	if (counts.peak_bytes > FLOOD_MOST)
		torture_fail("a flood while nobody stalls made %zu kB wait, more than %zu", counts.peak_bytes / 1024,
			     FLOOD_MOST / 1024);
}

/* ---- cookies --------------------------------------------------------------------------------- */

static uint32_t streaming = 1;

static void *overlapping(void *arg)
{
	bool for_ever = torture.use_fault == FAULT_STARVES && arg == NULL;

	do {
		lull_rcu_read_lock();
		do
			torture_sleep_us(1000);
		while (for_ever && lull_load_acquire(&streaming));
		lull_rcu_read_unlock();
	} while (lull_load_acquire(&streaming) && !torture_failed());
	return NULL;
}

/* A cookie for each object, and the oldest is polled: it must come home although others follow it. */
static void stream(void)
{
	lull_rcu_cookie oldest = lull_rcu_gp_start();
	uint64_t since_ns = bench_now_ns();
	unsigned started = 1, over = 0;

	while (over < OVER_LEAST || started < COOKIES) {
		lull_rcu_cookie newest;

		torture_sleep_us(1000);
		newest = lull_rcu_gp_start();
		started++;
		if (lull_rcu_gp_poll(oldest)) {
			over++;
			oldest = newest;
		}
		if (wild_is_overdue(since_ns)) {
			torture_fail("of %u cookies %u are over, while each reader leaves after a millisecond", started,
				     over);
			break;
		}
	}
	wild_took_effect(WILD_COOKIES, over);
	lull_store_release(&streaming, 0u);
}

/* Run the streams while nothing else is at work: a thread that waits for a grace period helps those that poll. */
void wild_cookies(void)
{
	static char not_first;
	unsigned i;

	if (!wild_has(WILD_COOKIES))
		return;
	lull_hazptr_barrier();
	for (i = 0; i < OVERLAPS; i++)
		start(overlapping, i ? &not_first : NULL);
	stream();
	join_all();
}

/* ---- threads that only free, that only sleep, and an object that only waits ---------------------------- */

#define IDLE_FREERS 4u
#define CROWD 5000u
#define CROWD_STACK ((size_t)64 << 10)
#define BIG ((size_t)32 << 20)

static struct {
	pthread_t thread[CROWD];
	unsigned count;
	struct lull_hazptr_hold hold;
	void *big;
	sem_t end; /* of the crowd: one for each, or 5000 alarm clocks would be the load */
} still;

static uint32_t may_end;

static void *only_frees(void *unused)
{
	const struct sched_param zero = { 0 };

	if (sched_setscheduler(0, SCHED_IDLE, &zero) == 0)
		wild_took_effect(WILD_IDLE_FREES, 1);
	while (!lull_load_acquire(&may_end) && !torture_failed())
		lull_rcu_free(malloc(FLOOD_BYTES));
	return unused;
}

static void *only_sleeps(void *unused)
{
	lull_rcu_free(malloc(1));
	wild_took_effect(WILD_CROWD, 1);
	while (sem_wait(&still.end) != 0)
		; /* a signal */
	return unused;
}

static void start_crowd(void)
{
	unsigned most = TORTURE_HAS_SANITIZER ? CROWD / 20 : CROWD;
	pthread_attr_t attr;

	sem_init(&still.end, 0, 0);
	pthread_attr_init(&attr);
	if (!TORTURE_HAS_SANITIZER)
		pthread_attr_setstacksize(&attr, CROWD_STACK);
	while (still.count < most && pthread_create(&still.thread[still.count], &attr, only_sleeps, NULL) == 0)
		still.count++;
	pthread_attr_destroy(&attr);
}

static void let_big_go(void)
{
	if (still.big)
		lull_hazptr_release(&still.hold, still.big);
	still.big = NULL;
}

static void *retires(void *big)
{
	lull_hazptr_retire_sized(big, BIG);
	return NULL;
}

/* Another thread retires it: debug builds report a thread that goes on protecting what it has retired. */
static void park_big(void)
{
	void *big = malloc(BIG);
	pthread_t other;

	lull_store_release(&still.big, big);
	if (!big || lull_hazptr_acquire(&still.hold, &still.big) != big)
		return;
	if (pthread_create(&other, NULL, retires, big) != 0) {
		let_big_go();
		free(big);
		return;
	}
	pthread_join(other, NULL);
	wild_took_effect(WILD_BIG_PARKED, 1);
}

static void start_still(void)
{
	unsigned i;

	lull_store_release(&may_end, 0u);
	for (i = 0; wild_has(WILD_IDLE_FREES) && i < IDLE_FREERS; i++)
		start(only_frees, NULL);
	if (wild_has(WILD_CROWD))
		start_crowd();
	if (wild_has(WILD_BIG_PARKED))
		park_big();
}

static void stop_still(void)
{
	lull_store_release(&may_end, 1u);
	for (unsigned i = 0; i < still.count; i++)
		sem_post(&still.end);
	while (still.count)
		pthread_join(still.thread[--still.count], NULL);
	let_big_go();
}

/* The child of a fork has the protections of the thread that forked, and would wait for itself. */
void wild_load_child(void)
{
	let_big_go();
}

/* ---- all ------------------------------------------------------------------------------------- */

void wild_load_start(void)
{
	if (wild_has(WILD_STALL))
		start_stall();
	if (wild_has(WILD_FLOOD))
		start_floods();
	start_still();
}

void wild_load_stop(void)
{
	stop_still();
	join_all();
	if (wild_has(WILD_FLOOD))
		check_floods();
}
