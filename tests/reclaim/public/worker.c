/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * worker.c - when the reclaimer's thread works: many callbacks come in batches, a lone one at once.
 *
 * Load on the machine does the same to both sides of each comparison.
 */
#include <semaphore.h>

#include <lull/fence.h>
#include <lull/hazptr.h>

#include "threads.h"

static int runs;

static void count_run(struct lull_head *head)
{
	lull_add_relaxed(&runs, 1);
	free(head);
}

static void call(void)
{
	lull_rcu_call(malloc(sizeof(struct lull_head)), count_run);
}

static void await_ns(uint64_t until_ns)
{
	while (now_ns() < until_ns)
		;
}

/* A call every 10 us: no more than 2000 heavy fences a second. */
TEST(fences)
{
	uint64_t begin_ns, end_ns, fences;

	call();
	lull_rcu_barrier();
	begin_ns = now_ns();
	fences = lull_fence_heavy_count();
	for (uint64_t i = 1; i <= 30000; i++) {
		call();
		await_ns(begin_ns + i * 10000);
	}
	end_ns = now_ns();
	fences = lull_fence_heavy_count() - fences;
	if (fences * 1000 > (end_ns - begin_ns) / 500 + 20000)
		print_error("%lu fences in %lu us\n", (unsigned long)fences, (unsigned long)(end_ns - begin_ns) / 1000);
	assert_true(fences * 1000 <= (end_ns - begin_ns) / 500 + 20000);
	lull_rcu_barrier();
	assert_int_equal(runs, 30001);
}

/* ---- one at a time ------------------------------------------------------------------------------------------------ */

#define WAITS  300
#define IN_A_ROW 20
#define NAP_NS 300000 /* half a nap of the thread's */

static sem_t asked, answered;

static void answer(struct lull_head *head)
{
	free(head);
	sem_post(&answered);
}

/* Keep the reclaimer in its round until the next call has come: it must find that one before it sleeps. */
static void dally(struct lull_head *head)
{
	await_ns(now_ns() + NAP_NS / 3);
	free(head);
}

static void await_answer(void)
{
	while (sem_wait(&answered) != 0)
		;
}

/* Another thread that answers, as late as the reclaimer would if it napped. */
static void *naps_and_answers(void *unused)
{
	struct timespec nap = { 0, NAP_NS };

	for (int i = 0; i < WAITS; i++) {
		while (sem_wait(&asked) != 0)
			;
		nanosleep(&nap, NULL);
		sem_post(&answered);
	}
	return unused;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Wait for callbacks and for that thread in turns. @again: the next call comes while the reclaimer is in its round. */
static void one_at_a_time(bool again)
{
	uint64_t called[WAITS], napped[WAITS], before;
	pthread_t thread = start_thread(naps_and_answers, NULL);

	for (int i = 0; i < 2 * WAITS; i++) {
		bool calls = i / IN_A_ROW % 2;

		if (!again)
			await_ns(now_ns() + NAP_NS / 3); /* the reclaimer is about to sleep by now */
		before = now_ns();
		if (calls)
			lull_rcu_call(malloc(sizeof(struct lull_head)), answer);
		else
			sem_post(&asked);
		if (calls && again)
			lull_rcu_call(malloc(sizeof(struct lull_head)), dally);
		await_answer();
		(calls ? called : napped)[i / (2 * IN_A_ROW) * IN_A_ROW + i % IN_A_ROW] = now_ns() - before;
	}
	join_thread(thread);
	qsort(called, WAITS, sizeof(called[0]), compare);
	qsort(napped, WAITS, sizeof(napped[0]), compare);
	if (called[WAITS / 2] >= napped[WAITS / 2])
		print_error("%lu us, with a nap %lu us\n", (unsigned long)called[WAITS / 2] / 1000,
			    (unsigned long)napped[WAITS / 2] / 1000);
	assert_true(called[WAITS / 2] < napped[WAITS / 2]);
	lull_rcu_barrier();
}

/* A thread that waits for each callback before it defers the next one is answered at once. */
TEST(one_at_a_time)
{
	sem_init(&asked, 0, 0);
	sem_init(&answered, 0, 0);
	one_at_a_time(false);
	one_at_a_time(true);
}

#define GROUPS 1500

/*
 * Whether calls come alone or a few at a time: no more than 2000 heavy fences a second, and 2000 that were saved up
 * before. Some 100 more are for barriers, and for sleeps of the reclaimer.
 */
static void fences_for_few(void)
{
	uint64_t begin_ns = now_ns(), fences = lull_fence_heavy_count(), took_ns;

	for (int many = 1; many <= 3; many++)
		for (int i = 0; i < GROUPS; i++) {
			for (int j = 0; j < many; j++)
				lull_rcu_call(malloc(sizeof(struct lull_head)), answer);
			for (int j = 0; j < many; j++)
				await_answer();
		}
	fences = lull_fence_heavy_count() - fences;
	took_ns = now_ns() - begin_ns;
	if (fences > took_ns / 500000 + 2100)
		print_error("%lu fences in %lu us\n", (unsigned long)fences, (unsigned long)took_ns / 1000);
	assert_true(fences <= took_ns / 500000 + 2100);
	lull_rcu_barrier();
}

TEST(fences_for_few)
{
	fences_for_few();
}

/* Fences are as few past the soft limit, beside a large object that a hazard pointer keeps. */
TEST(fences_past_limit)
{
	struct lull_hazptr *h = lull_hazptr_alloc(lull_hazptr_thread_context());
	void *large = malloc(20 << 20);

	must(large && h);
	lull_hazptr_protect_ptr(h, large);
	lull_hazptr_retire_sized(large, 20 << 20);
	fences_for_few();
	lull_hazptr_free(lull_hazptr_thread_context(), h);
	lull_hazptr_barrier();
}

/* Then it falls asleep for good. */
TEST(sleeps)
{
	struct lull_reclaim_counts before, after;

	call();
	lull_rcu_barrier();
	nap_ms(300);
	lull_reclaim_stats(&before);
	nap_ms(300);
	lull_reclaim_stats(&after);
	assert_int_equal(after.wakeups, before.wakeups);
	assert_int_equal(after.passes, before.passes);
}
