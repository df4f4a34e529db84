/* SPDX-License-Identifier: MIT */
/* lull torture --flavor wild: threads by the hundred that come, use, and go. See surroundings.h. */
#include "torture/surroundings/surroundings.h"

#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include <lull/hazptr.h>
#include <lull/reclaim.h>

#define AT_ONCE 50u
#define WAVES_FIRST 4u /* after these the memory kept for the next thread is there */
#define WAVES 12u
#define STACK_BYTES 65536u
#define STAND_US 20000u
#define OWN_THREADS 3u /* of the library, which may have come meanwhile */
#define SPARE_BYTES ((size_t)64 << 10)
#define TRIES	    100u
#define TRY_US	    10000u

struct visitor {
	pthread_t thread;
	uint64_t rng;
	unsigned rounds; /* of its destructors */
};

static pthread_key_t late_key;

/* ---- one of them ----------------------------------------------------------------------------- */

/* Called until there are no more rounds: in the last one it is the thread's very first use. */
static void late(void *arg)
{
	struct visitor *v = arg;

	if (++v->rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
		pthread_setspecific(late_key, v);
		return;
	}
	wild_mix(&v->rng, 3);
	wild_post(&v->rng, 0);
	wild_took_effect(WILD_LATE_USE, 1);
}

static void *visit(void *arg)
{
	struct visitor *v = arg;

	if (torture.use_fault == FAULT_LEAKS && !malloc(1000))
		return NULL;
	if (wild_has(WILD_LATE_USE) && torture_once_in(&v->rng, 4)) {
		pthread_setspecific(late_key, v);
		return NULL;
	}
	wild_mix(&v->rng, (unsigned)torture_random(&v->rng, 20));
	if (torture_once_in(&v->rng, 4)) {
		lull_thread_unregister();
		wild_mix(&v->rng, (unsigned)torture_random(&v->rng, 4));
	}
	if (torture_once_in(&v->rng, 2))
		wild_post(&v->rng, 0);
	if (torture_once_in(&v->rng, 4))
		pthread_exit(NULL);
	return NULL;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static unsigned wave(uint64_t *rng)
{
	static struct visitor visitors[AT_ONCE];
	size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
	pthread_attr_t attr;
	unsigned made = 0, i;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, wild_has(WILD_SMALL_STACK) || least > STACK_BYTES ? least : STACK_BYTES);
	for (i = 0; i < AT_ONCE; i++) {
		struct visitor *v = &visitors[made];

		v->rng = torture_random(rng, UINT64_MAX) | 1;
		v->rounds = 0;
		made += pthread_create(&v->thread, &attr, visit, v) == 0;
	}
	pthread_attr_destroy(&attr);
	for (i = 0; i < made; i++)
		pthread_join(visitors[i].thread, NULL);
	if (wild_has(WILD_POLL))
		lull_reclaim_poll(SIZE_MAX, 0);
	return made;
}

static size_t bytes_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void compare(size_t before, unsigned registered, unsigned made)
{
	size_t after = bytes_in_use(), most = before + before / 10 + SPARE_BYTES;

	/* A pass of the reclaimer may still go on, and free what the barrier did not wait for: queues of threads. */
	for (unsigned i = 0; i < TRIES && after > most; i++) {
		torture_sleep_us(TRY_US);
		lull_hazptr_barrier();
		after = bytes_in_use();
	}

	/* With a fault in the library, what its callbacks free is kept. */
	if (torture.fault_name && !torture.use_fault)
		return;
	if (after > most)
		torture_fail("after %u threads came and went, %zu kB of memory are in use, and %zu were before", made,
			     after / 1024, before / 1024);
	if (lull_thread_count() > registered)
		torture_fail("after %u threads came and went, %u are registered, and at most %u should be", made,
			     lull_thread_count(), registered);
}

/* Be in one section after the other, which visitors may wait for. */
static void *stand_in_sections(void *arg)
{
	uint32_t *over = arg;

	while (!lull_load_acquire(over)) {
		lull_rcu_read_lock();
		torture_sleep_us(STAND_US);
		lull_rcu_read_unlock();
	}
	return NULL;
}

/* Half of the waves behind a reader that stays: what they leave waits together. */
void wild_burst(uint64_t *rng)
{
	unsigned i, made = 0, registered;
	uint32_t over = 0;
	pthread_t reader;
	bool has_reader;
	size_t before;

	if (!wild_has(WILD_BURST))
		return;
	if (wild_has(WILD_LATE_USE))
		pthread_key_create(&late_key, late);
	for (i = 0; i < WAVES_FIRST; i++)
		wave(rng);
	lull_hazptr_barrier();
	registered = lull_thread_count();
	before = bytes_in_use();
	for (i = 0; i < WAVES / 2; i++)
		made += wave(rng);
	has_reader = pthread_create(&reader, NULL, stand_in_sections, &over) == 0;
	for (; i < WAVES; i++)
		made += wave(rng);
	lull_store_release(&over, 1u);
	if (has_reader)
		pthread_join(reader, NULL);
	lull_hazptr_barrier();
	compare(before, registered + OWN_THREADS, made);
	wild_took_effect(WILD_BURST, made);
	wild_took_effect(WILD_SMALL_STACK, made);
}
