/* SPDX-License-Identifier: MIT */
/*
 * test_fence.c - fence.h: the strategies, their choice, what happens when membarrier is taken away.
 */
#include "seccomp_support.h"

#ifdef LULL_TEST_EMULATED
#define NEEDS_KERNEL() skip()
#else
#define NEEDS_KERNEL() ((void)0)
#endif

/*
 * Dekker's handshake, many times: both sides must never miss each other. Native runs prove little by silence, but
 * without fences x86 fails within a fraction of a second (checked by dropping them).
 */
enum { ROUNDS = 50000 };

static struct {
	int flag[2] __attribute__((aligned(128)));
	int seen[2];
	int turn[2] __attribute__((aligned(128)));
} dekker;

static void *light_side(void *unused)
{
	(void)unused;
	for (int i = 1; i <= ROUNDS; i++) {
		lull_store_relaxed(&dekker.flag[0], i);
		lull_fence_light();
		dekker.seen[0] = lull_load_relaxed(&dekker.flag[1]);
		lull_store_release(&dekker.turn[0], i);
		for (int spins = 0; lull_load_acquire(&dekker.turn[1]) != i; spins++)
			if (spins > 1000)
				sched_yield();
	}
	return NULL;
}

static int dekker_failures(void)
{
	int failures = 0;
	pthread_t thread;

	memset(&dekker, 0, sizeof(dekker));
	thread = start_thread(light_side, NULL);
	for (int i = 1; i <= ROUNDS; i++) {
		int mine;

		lull_store_relaxed(&dekker.flag[1], i);
		lull_fence_heavy();
		mine = lull_load_relaxed(&dekker.flag[0]);
		while (lull_load_acquire(&dekker.turn[0]) != i)
			sched_yield();
		if (mine != i && dekker.seen[0] != i)
			failures++;
		lull_store_release(&dekker.turn[1], i);
	}
	join_thread(thread);
	return failures;
}

static void test_handshake(void **state)
{
	(void)state;
	assert_int_equal(dekker_failures(), 0);
}

static void test_strategy(void **state)
{
	const char *forced = getenv("LULL_FENCE");
	uint64_t before = lull_fence_heavy_count();

	(void)state;
	if (forced && strcmp(forced, "full") == 0)
		assert_int_equal(lull_fence_strategy(), LULL_FENCE_FULL);
	assert_string_equal(lull_fence_strategy_name(),
			    lull_fence_strategy() == LULL_FENCE_FULL ? "full" : "membarrier");
	lull_fence_heavy();
	if (lull_fence_strategy() == LULL_FENCE_MEMBARRIER)
		assert_true(lull_fence_heavy_count() > before);
}

static void *many_fences(void *unused)
{
	(void)unused;
	for (int i = 0; i < 2000; i++)
		lull_fence_heavy();
	return NULL;
}

/* Callers that wait at the same time share: fewer fences than calls, and all return. */
static void test_sharing(void **state)
{
	uint64_t before = lull_fence_heavy_count();
	pthread_t threads[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		threads[i] = start_thread(many_fences, NULL);
	for (int i = 0; i < 4; i++)
		join_thread(threads[i]);
	assert_true(lull_fence_heavy_count() - before <= 8000);
}

static int reading_inside, reading_leave, waiting_over;

static void *one_reader(void *unused)
{
	(void)unused;
	lull_rcu_read_lock();
	lull_store_release(&reading_inside, 1);
	await_flag(&reading_leave, 1);
	lull_rcu_read_unlock();
	return NULL;
}

static void *one_waiter(void *unused)
{
	(void)unused;
	lull_rcu_synchronize();
	lull_store_release(&waiting_over, 1);
	return NULL;
}

/* The filter comes when readers rely on membarrier already: grace periods still work. */
static void forbidden_later(void)
{
	pthread_t reader = start_thread(one_reader, NULL), waiter;

	await_flag(&reading_inside, 1);
	forbid_membarrier(EPERM);
	must(syscall(SYS_membarrier, 0, 0, 0) == -1);
	lull_fence_heavy();
	waiter = start_thread(one_waiter, NULL);
	nap_ms(20);
	must(lull_load_acquire(&waiting_over) == 0);
	lull_store_release(&reading_leave, 1);
	join_thread(waiter);
	join_thread(reader);
	lull_rcu_free(malloc(16));
	lull_rcu_barrier();
	lull_fence_heavy();
}

static void test_forbidden_later(void **state)
{
	(void)state;
	NEEDS_THREADS_IN_CHILD();
	expect_fine(forbidden_later);
}

/* Run this very program again with LULL_FENCE set, under a filter or not; the child asks for the strategy. */
static const char *self_path;
static const char *wanted_env;
static unsigned wanted_errno;

static void start_again(void)
{
	if (wanted_env)
		setenv("LULL_FENCE", wanted_env, 1);
	else
		unsetenv("LULL_FENCE");
	if (wanted_errno)
		forbid_membarrier(wanted_errno);
	execl(self_path, self_path, "--strategy", (char *)NULL); /* under valgrind /proc/self/exe is valgrind */
	_exit(127);
}

static int again(const char *env, unsigned error, char *text, size_t size)
{
	wanted_env = env;
	wanted_errno = error;
	return run_child(start_again, text, size);
}

static void test_choice(void **state)
{
	char text[4096];

	(void)state;
	NEEDS_KERNEL();
	assert_int_equal(again("full", 0, text, sizeof(text)), 0);
	assert_string_equal(text, "full");
	assert_int_equal(again("membarrier", 0, text, sizeof(text)), 0);
	assert_string_equal(text, "membarrier");
	assert_int_equal(again(NULL, 0, text, sizeof(text)), 0);
	assert_string_equal(text, "membarrier");
	/* Absent and forbidden are the same. */
	assert_int_equal(again(NULL, EPERM, text, sizeof(text)), 0);
	assert_string_equal(text, "full");
	assert_int_equal(again(NULL, ENOSYS, text, sizeof(text)), 0);
	assert_string_equal(text, "full");
}

static void test_bad_choice(void **state)
{
	char text[4096];

	(void)state;
	NEEDS_KERNEL();
	assert_int_equal(again("fulll", 0, text, sizeof(text)), 0);
	assert_string_equal(text, "lull: LULL_FENCE is \"fulll\", which is ignored; it can be membarrier or full\n"
				  "membarrier");
	assert_int_equal(again("membarrier", EPERM, text, sizeof(text)), 0);
	assert_string_equal(text, "lull: LULL_FENCE is membarrier, but the kernel refuses it here: readers make full "
				  "fences\nfull");
}

/* Without membarrier at all, everything else still works. */
static int run_without_membarrier(void)
{
	reading_leave = 1;
	join_thread(start_thread(one_reader, NULL));
	lull_rcu_synchronize();
	lull_rcu_free(malloc(16));
	lull_rcu_barrier();
	fputs(lull_fence_strategy_name(), stderr);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handshake), cmocka_unit_test(test_strategy),
		cmocka_unit_test(test_sharing),	  cmocka_unit_test(test_forbidden_later),
		cmocka_unit_test(test_choice),	  cmocka_unit_test(test_bad_choice),
	};

	self_path = argv[0];
	if (argc > 1 && strcmp(argv[1], "--strategy") == 0)
		return run_without_membarrier();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
