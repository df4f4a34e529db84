/* SPDX-License-Identifier: MIT */
/* runs: full-fences, no-rseq */
/*
 * percpu_process.c - percpu_ref.h: what it takes from the process and gives back (memory),
 * and what may happen to a process: no memory, fork, a system call that is taken away, a kernel that
 * does not know of its restartable sequences. Also as C++, and run without them.
 */
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "count/support.h"
#include "seccomp.h"

TEARDOWN
{
	settle();
	assert_int_equal(heard_lines, 0);
	stop_hearing();
}

/* ---- memory --------------------------------------------------------------------------------------- */

enum { MANY = 2000 };

static struct object many[MANY];

static int compare_addresses(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

	return (x > y) - (x < y);
}

/* Sorts. How many pages they are in that are there. */
static int pages_there(uintptr_t *cells)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), last = 0;
	unsigned char in_core;
	int there = 0;

	qsort(cells, MANY, sizeof(cells[0]), compare_addresses);
	for (int i = 0; i < MANY; i++) {
		uintptr_t start = cells[i] & ~(page - 1);

		if (start != last && mincore((void *)start, 1, &in_core) == 0)
			there++;
		last = start;
	}
	return there;
}

/* All have counters of their own: what is counted in one is not in another. */
static void use_many(uintptr_t *cells, int round)
{
	for (int i = 0; i < MANY; i++) {
		object_init(&many[i], i % 2 ? 0 : LULL_PERCPU_REF_ALLOW_REINIT);
		cells[i] = cell_of(&many[i]);
	}
	for (int i = 0; i < MANY; i++)
		lull_percpu_ref_get_many(&many[i].ref, (unsigned)(i + round));
	for (int i = 0; i < MANY; i++)
		lull_percpu_ref_kill(&many[i].ref);
	settle();
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(lull_load_relaxed(&many[i].ref.count), i + round);
		if (i + round > 0)
			lull_percpu_ref_put_many(&many[i].ref, (unsigned)(i + round));
		assert_int_equal(many[i].released, 1);
	}
}

/* By turns from both ends, from the middle, every seventh. */
static int nth_to_exit(int n, int round)
{
	switch (round % 3) {
	case 0:
		return n % 2 ? MANY - 1 - n / 2 : n / 2;
	case 1:
		return (n + MANY / 2) % MANY;
	default:
		return n * 7 % MANY;
	}
}

USE_SETUP(hearing_setup)

TEST(many)
{
	static uintptr_t cells[MANY];

	for (int round = 0; round < 6; round++) {
		use_many(cells, round);
		for (int i = 0; i < MANY; i++)
			lull_percpu_ref_exit(&many[nth_to_exit(i, round)].ref);
		assert_true(pages_there(cells) <= 1); /* one may be kept for the next ref */
		for (int i = 1; i < MANY; i++)
			assert_true(cells[i] - cells[i - 1] >= 2 * sizeof(intptr_t));
	}
}

/* The bytes that malloc() has given away, where it tells. */
static long bytes_in_use(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
	return (long)mallinfo2().uordblks;
#else
	return 0;
#endif
}

/* 16 bytes of each CPU's pages; and some 80 elsewhere, to which malloc() adds its own. */
TEST(memory_of_one)
{
	static uintptr_t cells[MANY];
	uintptr_t least = UINTPTR_MAX;
	long before;

	NEEDS_REAL_MEMORY();
	for (int round = 0; round < 2; round++) { /* in the first something is allocated once for all */
		before = bytes_in_use();
		for (int i = 0; i < MANY; i++) {
			object_init(&many[i], LULL_PERCPU_REF_ALLOW_REINIT);
			cells[i] = cell_of(&many[i]);
		}
		assert_true(bytes_in_use() - before <= MANY * (80 + 32));
		for (int i = 0; i < MANY; i++)
			lull_percpu_ref_exit(&many[i].ref);
		if (round)
			assert_true(bytes_in_use() <= before);
	}
	qsort(cells, MANY, sizeof(cells[0]), compare_addresses);
	for (int i = 1; i < MANY; i++)
		least = cells[i] - cells[i - 1] < least ? cells[i] - cells[i - 1] : least;
	assert_int_equal(least, 16);
}

/* Exited and made again in between, chunks full and not. */
TEST(some_of_many)
{
	static uintptr_t cells[MANY];
	uint32_t random = 1;

	use_many(cells, 1);
	for (int i = 0; i < 5 * MANY; i++) {
		struct object *o;

		random = random * 1664525u + 1013904223u;
		o = &many[(random >> 8) % MANY];
		lull_percpu_ref_exit(&o->ref);
		if (i % 3 == 0)
			continue;
		object_init(o, 0);
		lull_percpu_ref_get_many(&o->ref, (unsigned)i + 1);
		if (i % 64 == 1)
			assert_int_equal(references(o), i + 2);
	}
	for (int i = 0; i < MANY; i++)
		lull_percpu_ref_exit(&many[i].ref);
	assert_true(pages_there(cells) <= 1);
}

static void limit_memory(rlim_t bytes)
{
	struct rlimit limit;

	must(getrlimit(RLIMIT_AS, &limit) == 0);
	limit.rlim_cur = bytes;
	must(setrlimit(RLIMIT_AS, &limit) == 0);
}

static int init_until_error(int *count)
{
	int err = 0;

	for (*count = 0; *count < MANY; ++*count) {
		err = lull_percpu_ref_init(&many[*count].ref, note_release, 0);
		if (err)
			break;
	}
	return err;
}

/* The calls that a compiler cannot do without. */
static void take_all(size_t size)
{
	static void *volatile taken;

	do
		taken = malloc(size);
	while (taken);
}

TEST(no_memory)
{
	NEEDS_REAL_MEMORY();
	/* Neither the counters nor what else there is to a ref, and then all of it again. */
	EXPECT_FINE {
		int count;

		limit_memory(1 << 20);
		must(init_until_error(&count) == -ENOMEM);
		take_all(1000);
		take_all(8);
		if (count > 0)
			lull_percpu_ref_exit(&many[--count].ref);
		take_all(8);
		must(lull_percpu_ref_init(&many[count].ref, note_release, 0) == -ENOMEM);
		limit_memory(RLIM_INFINITY);
		for (int i = 0; i < count; i++)
			lull_percpu_ref_exit(&many[i].ref);
		must(init_until_error(&count) == 0 && count == MANY);
		for (int i = 0; i < MANY; i++)
			lull_percpu_ref_exit(&many[i].ref);
	}
}

/* ---- fork ------------------------------------------------------------------------------------------- */

static struct object inherited;

static void *gets_two(void *unused)
{
	lull_percpu_ref_get_many(&inherited.ref, 2);
	return unused;
}

/* The child has all references, of threads that are not there as well, and its own count. */
TEST(fork)
{
	object_init(&inherited, 0);
	lull_percpu_ref_get_many(&inherited.ref, 3);
	join_thread(start_thread(gets_two, NULL));
	for (int n = 0; n < 3; n++)
		/* No thread is needed to end a kill. */
		EXPECT_FINE {
			set_mode(LULL_RECLAIM_POLL);
			must(lull_percpu_ref_tryget_live(&inherited.ref));
			lull_percpu_ref_kill(&inherited.ref);
			lull_rcu_barrier();
			must(lull_percpu_ref_is_dying(&inherited.ref));
			must(lull_load_relaxed(&inherited.ref.count) == 6);
			lull_percpu_ref_put_many(&inherited.ref, 5);
			must(inherited.released == 0);
			lull_percpu_ref_put(&inherited.ref);
			must(inherited.released == 1);
			lull_percpu_ref_exit(&inherited.ref);
		}
	assert_false(lull_percpu_ref_is_dying(&inherited.ref));
	assert_int_equal(references(&inherited), 6);
	lull_percpu_ref_exit(&inherited.ref);
}

static int churn_stop;

static void *churn(void *unused)
{
	struct object o;

	while (!lull_load_relaxed(&churn_stop)) {
		lull_percpu_ref_get_many(&inherited.ref, 2);
		object_init(&o, 0);
		lull_percpu_ref_get(&o.ref);
		lull_percpu_ref_exit(&o.ref);
		lull_percpu_ref_put_many(&inherited.ref, 2);
	}
	return unused;
}

/* While others take counters and give them back. */
TEST(fork_under_load)
{
	pthread_t threads[2];

#if SANITIZED
	SKIP(SANITIZER_HEAP_OVER_FORK);
#endif
	object_init(&inherited, 0);
	lull_percpu_ref_get_many(&inherited.ref, 1000);
	lull_store_relaxed(&churn_stop, 0);
	for (int i = 0; i < 2; i++)
		threads[i] = start_thread(churn, NULL);
	for (int n = 0; n < 100; n++)
		EXPECT_FINE {
			set_mode(LULL_RECLAIM_POLL);
			for (int i = 0; i < 300; i++) {
				must(lull_percpu_ref_init(&many[i].ref, note_release, 0) == 0);
				lull_percpu_ref_get(&many[i].ref);
			}
			for (int i = 0; i < 300; i++)
				lull_percpu_ref_kill(&many[i].ref);
			lull_rcu_barrier();
			for (int i = 0; i < 300; i++) {
				must(lull_load_relaxed(&many[i].ref.count) == 1);
				lull_percpu_ref_exit(&many[i].ref);
			}
			lull_percpu_ref_get(&inherited.ref);
			lull_percpu_ref_kill(&inherited.ref);
			lull_rcu_barrier();
			must(lull_load_relaxed(&inherited.ref.count) > 0);
		}
	lull_store_relaxed(&churn_stop, 1);
	for (int i = 0; i < 2; i++)
		join_thread(threads[i]);
	assert_int_equal(references(&inherited), 1001);
	lull_percpu_ref_exit(&inherited.ref);
}

/* ---- what is taken away -------------------------------------------------------------------------------- */

#ifndef LULL_TEST_EMULATED

static uint64_t churned; /* turns of one thread */

static void *counts_in_child(void *unused)
{
	while (!lull_load_relaxed(&churn_stop)) {
		lull_percpu_ref_get_many(&inherited.ref, 2);
		lull_percpu_ref_put(&inherited.ref);
		lull_percpu_ref_put(&inherited.ref);
		lull_store_relaxed(&churned, churned + 1);
	}
	return unused;
}

/* Later than refs that rely on it: their kill takes another way, and loses nothing. */
static void forbidden_later(void)
{
	pthread_t thread;
	uint64_t before;

	lull_store_relaxed(&churn_stop, 0);
	must(lull_percpu_ref_init(&inherited.ref, note_release, LULL_PERCPU_REF_ALLOW_REINIT) == 0);
	thread = start_thread(counts_in_child, NULL);
	forbid_membarrier(EPERM);
	for (int i = 0; i < 300; i++) {
		before = lull_load_relaxed(&churned);
		AWAIT_SOON(lull_load_relaxed(&churned) != before);
		lull_percpu_ref_switch_to_atomic_sync(&inherited.ref);
		lull_percpu_ref_switch_to_percpu(&inherited.ref);
	}
	lull_store_relaxed(&churn_stop, 1);
	join_thread(thread);
	must(references(&inherited) == 1);
}

TEST(forbidden_later)
{
	NEEDS_THREADS_IN_CHILD();
	expect_fine(forbidden_later);
}

#ifdef LULL__RSEQ
/* Before anything in here has asked. */
#if defined(LULL__RSEQ) && !defined(LULL_TEST_EMULATED)
FIRST_TEST(restored)
{
	if (__rseq_size == 0)
		SKIP("there are no restartable sequences here");
	/*
	 * A process that was restored from a checkpoint by a tool that does not know rseq: glibc thinks
	 * that the thread is registered, CPU number and all, and the kernel knows nothing.
	 */
	EXPECT_FINE {
		char *area = (char *)__builtin_thread_pointer() + __rseq_offset;
		unsigned length = __rseq_size < 32 ? 32 : __rseq_size;

		must(syscall(SYS_rseq, area, length, RSEQ_FLAG_UNREGISTER, RSEQ_SIG) == 0);
		lull_store_relaxed((uint32_t *)(void *)(area + 4), 0u);
		must(!lull_percpu_ref_per_cpu());
		must(lull_percpu_ref_init(&inherited.ref, note_release, 0) == 0);
		lull_percpu_ref_get(&inherited.ref);
		must(inherited.ref.word & LULL__PERCPU_REF_THREADS);
	}
}
#endif
#endif

#endif /* LULL_TEST_EMULATED */

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
