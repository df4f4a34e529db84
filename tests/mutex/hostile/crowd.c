/* SPDX-License-Identifier: MIT */
/* runs: oracles */
/*
 * crowd.c - many threads want one mutex: those that sleep are passed by, but not for ever, whatever becomes of those that
 * spin; and nobody is refused its sleep because the owner has changed.
 */
#include <linux/futex.h>

#include "mutex/support.h"
#include "own_syscall.h"
#include "random.h"

static struct lull_mutex crowded;
static long refused, wakes;
static __thread bool asks; /* the kernel, by this file */

static bool instead_of_syscall(long number, const long *arg, long *result)
{
	long op = arg[1] & FUTEX_CMD_MASK;

	if (asks || number != SYS_futex || (arg[0] != (long)&crowded.turn && arg[0] != (long)&crowded.word))
		return false;
	lull_add_relaxed(&wakes, op == FUTEX_WAKE_BITSET);
	if (op != FUTEX_WAIT_BITSET || arg[0] != (long)&crowded.turn)
		return false;
	asks = true;
	*result = syscall(SYS_futex, arg[0], arg[1], arg[2], arg[3], NULL, arg[5]);
	asks = false;
	lull_add_relaxed(&refused, *result != 0 && errno == EAGAIN);
	return true;
}

static bool on_one_cpu(void)
{
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	return CPU_COUNT(&set) < 2;
}

/* ---- a spinner that cannot take the lock ------------------------------------------------------------------------ */

static int spinner_stops, rounds;

static void *spins(void *unused)
{
	for (; !lull_load_acquire(&spinner_stops); lull_add_release(&rounds, 1))
		if (lull_mutex_timedlock(&crowded, now_ns() + 300000) == 0)
			lull_mutex_unlock(&crowded);
	return unused;
}

/* Stop it in a signal handler while it is counted among those that spin. */
static void stop_while_counted(pthread_t spinner)
{
	uint64_t since_ns = now_ns();
	int before;

	for (;;) {
		check_patience(since_ns, "a spinner in a handler", __FILE__, __LINE__);
		keep_in_handler(spinner);
		if (lull_load_relaxed(&crowded.word) & SPINNERS)
			return;
		before = lull_load_relaxed(&rounds);
		end_handler();
		AWAIT_SOON(lull_load_acquire(&rounds) != before);
	}
}

/*
 * The spinner's handler waits for a thread that sleeps for the lock. The unlock leaves the lock to the spinner; so the
 * sleeper has to look by itself. Returns whether the unlock did so; else the sleeper had run out of patience before.
 */
static bool passes_by(void)
{
	struct waiter sleeper;
	pthread_t spinner;
	uint32_t word;
	long before;

	spinner_stops = 0;
	lull_mutex_lock(&crowded);
	spinner = start_thread(spins, NULL);
	stop_while_counted(spinner);
	waiter_start(&sleeper, &crowded, 0);
	AWAIT_SOON((lull_load_relaxed(&crowded.word) & (WATCH | LULL__MUTEX_HEIR)));
	before = lull_load_relaxed(&wakes);
	word = lull_load_relaxed(&crowded.word);
	lull_mutex_unlock(&crowded);
	before -= lull_load_relaxed(&wakes);
	await_flag(&sleeper.done, 1);
	assert_int_equal(lull_mutex_owner(&crowded), sleeper.tid);
	waiter_join(&sleeper);
	end_handler();
	lull_store_release(&spinner_stops, 1);
	join_thread(spinner);
	return word & WATCH && !(word & LULL__MUTEX_HEIR) && before == 0;
}

TEST(spinner_in_handler)
{
	uint64_t since_ns = now_ns();

	if (on_one_cpu())
		SKIP("on one CPU nobody spins");
	if (!strcmp(lull_mutex_oracle_name(), "kernel"))
		SKIP("the kernel spins, for those that sleep");
	while (!passes_by())
		check_patience(since_ns, "an unlock that wakes nobody", __FILE__, __LINE__);
	lull_mutex_destroy(&crowded);
}

/* ---- a crowd ------------------------------------------------------------------------------------------------------ */

enum { CROWD = 8, SECTIONS = 3000 };

static long inside; /* sections; under the lock */
static int gone;

static void *is_in_the_crowd(void *number)
{
	uint64_t random = test_seed() + (uintptr_t)number;

	for (int i = 0; i < SECTIONS;) {
		uint64_t what = dice(&random, 4), until_ns = now_ns() + dice(&random, 200000);

		if (what == 0 ? lull_mutex_timedlock(&crowded, until_ns) != 0 : what == 1 && !lull_mutex_trylock(&crowded))
			continue;
		if (what > 1)
			lull_mutex_lock(&crowded);
		inside++;
		for (uint64_t spin = dice(&random, 200); spin; spin--)
			lull_cpu_relax();
		lull_mutex_unlock(&crowded);
		i++;
	}
	lull_add_release(&gone, 1);
	return NULL;
}

/*
 * They lock, and give up, and are interrupted, at any time; and no wake-up is lost. Only an unlock that wakes a sleeper
 * refuses those their sleep that are about to fall asleep, once each.
 */
TEST(nobody_is_lost)
{
	pthread_t thread[CROWD];

	handle(SIGUSR1, does_nothing);
	refused = inside = gone = 0;
	lull_mutex_init(&crowded, 0);
	for (uintptr_t i = 0; i < CROWD; i++)
		thread[i] = start_thread(is_in_the_crowd, (void *)i);
	for (int i = 0; lull_load_acquire(&gone) < CROWD; i++) {
		pthread_kill(thread[i % CROWD], SIGUSR1); /* not joined yet */
		nap_ms(1);
	}
	join_threads(thread, CROWD);
	assert_int_equal(inside, CROWD * SECTIONS);
	assert_true(refused <= (long)crowded.turn * (CROWD - 1));
	expect_free(&crowded);
	lull_mutex_destroy(&crowded);
}
