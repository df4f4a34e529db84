/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, core */
/*
 * fence.c - fence.h: the strategies, their choice, what happens when membarrier is taken away.
 */
#include "reader.h"
#include "seccomp.h"

#ifdef LULL_TEST_EMULATED
#define NEEDS_KERNEL() SKIP("the emulator has no filters of system calls")
#else
#define NEEDS_KERNEL() ((void)0)
#endif

/*
 * Dekker's handshake, many times: both sides must never miss each other. Native runs prove little by silence, but
 * without fences x86 fails within a fraction of a second (checked by dropping them). On a busy machine, where each round
 * costs two time slices, the rounds end with the patience.
 */
enum { ROUNDS = 50000, ROUNDS_LEAST = 100 };
#define HANDSHAKE_NS 3000000000u

static struct side {
	uintptr_t flag __attribute__((aligned(128)));
	uintptr_t seen, turn;
} sides[2];

static uintptr_t last_round; /* after which both stop; written before that round's turn of side 0 */
static void (*set_flag)(int me, uintptr_t round);

static void play(int me, uintptr_t round)
{
	set_flag(me, round);
	sides[me].seen = lull_load_relaxed(&sides[!me].flag);
}

static void await_turn(int whose, uintptr_t round)
{
	for (int spins = 0; lull_load_acquire(&sides[whose].turn) != round; spins++)
		if (spins > 1000)
			sched_yield();
}

static void *plays(void *unused)
{
	for (uintptr_t i = 1; last_round != i - 1; i++) {
		play(1, i);
		lull_store_release(&sides[1].turn, i);
		await_turn(0, i);
	}
	return unused;
}

/*
 * For as long as a store takes to get from one processor to the other the sides begin at different times, one round a
 * little later than the other.
 */
static void shake_hands(void (*by)(int me, uintptr_t round))
{
	uint64_t end_ns = now_ns() + HANDSHAKE_NS;
	int failures[2] = { 0, 0 };
	pthread_t thread;

	memset(sides, 0, sizeof(sides));
	set_flag = by;
	last_round = UINTPTR_MAX;
	thread = start_thread(plays, NULL);
	for (uintptr_t i = 1; last_round == UINTPTR_MAX; i++) {
		for (uintptr_t delay = i / 2 % 256; delay; delay--)
			lull_compiler_barrier();
		play(0, i);
		await_turn(1, i);
		failures[i % 2] += sides[0].seen != i && sides[1].seen != i;
		if (i == ROUNDS || (i >= ROUNDS_LEAST && now_ns() >= end_ns))
			last_round = i;
		lull_store_release(&sides[0].turn, i);
	}
	join_thread(thread);
	assert_int_equal(failures[0], 0);
	assert_int_equal(failures[1], 0);
}

static void set_light_or_heavy(int me, uintptr_t round)
{
	lull_store_relaxed(&sides[me].flag, round);
	if (me)
		lull_fence_light();
	else
		lull_fence_heavy();
}

TEST(handshake)
{
	shake_hands(set_light_or_heavy);
}

/* Two equal sides: by turns a full fence, and a store that is one. */
static void set_full(int me, uintptr_t round)
{
	if (round % 2) {
		lull_store_fence(&sides[me].flag, round);
	} else {
		lull_store_relaxed(&sides[me].flag, round);
		lull_fence_full();
	}
}

TEST(full_handshake)
{
	shake_hands(set_full);
}

#if defined(__x86_64__) && !UNDER_TSAN
static bool has_bytes(const void *code, const char *bytes, size_t length)
{
	const char *at = (const char *)code;

	for (int i = 0; i < 100; i++)
		if (memcmp(at + i, bytes, length) == 0)
			return true;
	return false;
}

/* Whether or not the machine shows the difference: a locked instruction on the thread's own stack, and an exchange. */
TEST(full_instructions)
{
	/* lock addl $0, -4(%rsp) */
	assert_true(has_bytes((const void *)(uintptr_t)lull_fence_full, "\xf0\x83\x44\x24\xfc\x00", 6));
	/* xchg %r.., (%r..) */
	assert_true(has_bytes((const void *)(uintptr_t)lull_store_fence, "\x48\x87", 2));
}
#else
TEST(full_instructions)
{
	SKIP("no single steps here");
}
#endif

TEST(strategy)
{
	const char *forced = getenv("LULL_FENCE");
	uint64_t before = lull_fence_heavy_count();

	if (forced && strcmp(forced, "full") == 0)
		assert_int_equal(lull_fence_strategy(), LULL_FENCE_FULL);
	assert_string_equal(lull_fence_strategy_name(),
			    lull_fence_strategy() == LULL_FENCE_FULL ? "full" : "membarrier");
	lull_fence_heavy();
	if (lull_fence_strategy() == LULL_FENCE_MEMBARRIER)
		assert_true(lull_fence_heavy_count() > before);
}

static int waiting_over;

static void *one_waiter(void *unused)
{
	lull_rcu_synchronize();
	lull_store_release(&waiting_over, 1);
	return unused;
}

/* A heavy fence waits for no reader: not for this thread, and not for another. */
TEST(in_section)
{
	pthread_t reader = start_hold_up();

	lull_rcu_read_lock();
	for (int i = 0; i < 10; i++)
		lull_fence_heavy();
	assert_true(lull_rcu_read_lock_held());
	lull_rcu_read_unlock();
	end_hold_up(reader);
}

/* The filter comes when readers rely on membarrier already: grace periods still work. */
static void forbidden_later(void)
{
	pthread_t reader = start_hold_up(), waiter;

	forbid_membarrier(EPERM);
	must(syscall(SYS_membarrier, 0, 0, 0) == -1);
	lull_fence_heavy();
	waiter = start_thread(one_waiter, NULL);
	nap_ms(20);
	must(lull_load_acquire(&waiting_over) == 0);
	end_hold_up(reader);
	join_thread(waiter);
	lull_rcu_free(malloc(16));
	lull_rcu_barrier();
	lull_fence_heavy();
}

TEST(forbidden_later)
{
	NEEDS_THREADS_IN_CHILD();
	expect_fine(forbidden_later);
}

/* Run this very program again with LULL_FENCE set, under a filter or not; the child says the strategy. */
static const struct choice {
	const char *env; /* NULL: not set */
	unsigned error; /* of membarrier */
	const char *says;
} choices[] = {
	{ "full", 0, "full" },
	{ "membarrier", 0, "membarrier" },
	{ NULL, 0, "membarrier" },
	{ NULL, EPERM, "full" }, /* absent and forbidden are the same */
	{ NULL, ENOSYS, "full" },
	{ "fulll", 0, "lull: LULL_FENCE is \"fulll\", which is ignored; it can be membarrier or full\nmembarrier" },
	{ "membarrier", EPERM,
	  "lull: LULL_FENCE is membarrier, but the kernel refuses it here: readers make full fences\nfull" },
};

static const struct choice *chosen;

static void start_again(void)
{
	if (chosen->env)
		setenv("LULL_FENCE", chosen->env, 1);
	else
		unsetenv("LULL_FENCE");
	if (chosen->error)
		forbid_membarrier(chosen->error);
	execl(test_program, test_program, "--file", test_file_here.name, "--strategy", (char *)NULL);
	_exit(127);
}

TEST(choice)
{
	char text[4096];

	NEEDS_KERNEL();
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		chosen = &choices[i];
		assert_int_equal(run_child(start_again, text, sizeof(text)), 0);
		assert_string_equal(text, chosen->says);
	}
}

/* Without membarrier at all, everything else still works. */
WITH_ARGUMENTS(argc, argv)
{
	(void)argc;
	(void)argv;
	end_hold_up(start_hold_up());
	lull_rcu_synchronize();
	lull_rcu_free(malloc(16));
	lull_rcu_barrier();
	fputs(lull_fence_strategy_name(), stderr);
	return 0;
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
