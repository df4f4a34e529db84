/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * owner.c - the oracles, and the table of threads that lock, from the inside: this program contains their sources,
 * with threads that it invents and a table of running threads that it writes itself.
 */
#include "mutex/support.h"
#include "random.h"
#include "seccomp.h"

#include "../src/os/os.h"

static unsigned fake_cpus; /* 0: as many as there are */
static int yields, naps;

static unsigned count_allowed(unsigned cpus)
{
	return fake_cpus ? fake_cpus : cpus;
}

#include "../src/base/hooks.h"
#include "../src/owner_runs/owner_runs.h"

static const struct lull__oracle *const *told; /* instead of those that there are; NULL: those */

#define lull__oracles	     (told ? told : lull__oracles)
#define sched_yield()	     (yields++, sched_yield())
#define lull__nap(ns)	     (naps++, lull__nap(ns))
#define lull__cpus_allowed() count_allowed(lull__cpus_allowed())
#include "../src/owner_runs/owner.c"
#include "../src/owner_runs/owner_runs.c"
#undef sched_yield
#undef lull__nap
#undef lull__cpus_allowed
#undef lull__oracles
#include "../src/mutex/self.h"

#define SYS_FUTEX2_WAIT 455

/* A number of no thread: Linux has none above 4194304. One bucket, and so on. */
#define INVENTED 0x500000u

/* ---- the table ------------------------------------------------------------------------------------------------ */

static uint32_t nth_of_bucket(uint32_t first, unsigned nth)
{
	return first + nth * BUCKETS;
}

/* Six threads for each of eight buckets come and go; the table has room for four of them, and finds those that it has. */
TEST(come_and_go)
{
	enum { NUMBERS = 6, FIRST_BUCKETS = 8 };
	static const uint32_t cpu = 1;
	bool there[FIRST_BUCKETS][NUMBERS] = { { false } };
	int full[FIRST_BUCKETS] = { 0 };
	uint64_t random = test_seed();
	uint32_t first = INVENTED + (my_tid() % BUCKETS < 512 ? 600 : 100); /* not where this thread is */

	for (int i = 0; i < 10000; i++) {
		unsigned bucket = dice(&random, FIRST_BUCKETS), nth = dice(&random, NUMBERS);
		uint32_t tid = nth_of_bucket(first + bucket, nth);
		struct owner *entry = find_owner(tid);

		assert_int_equal(entry != NULL, there[bucket][nth]);
		if (entry && dice(&random, 2)) {
			close_entry(entry);
			there[bucket][nth] = false;
			full[bucket]--;
			assert_null(find_owner(tid));
			assert_null(pin_owner(tid));
			assert_int_equal(entry->pins, 0);
			continue;
		}
		/* If one of that number is there, it has ended without a word. */
		full[bucket] -= there[bucket][nth];
		entry = claim_entry(tid);
		there[bucket][nth] = full[bucket] < WAYS;
		full[bucket] += there[bucket][nth];
		assert_int_equal(entry != NULL, there[bucket][nth]);
		assert_ptr_equal(find_owner(tid), entry);
		assert_null(pin_owner(tid)); /* not open yet, or not there */
		if (!entry)
			continue;
		assert_int_equal(entry->pins, 0); /* closed */
		open_entry(entry, &cpu);
		assert_ptr_equal(pin_owner(tid), entry);
		assert_int_equal(entry->pins, OPEN | 1);
		unpin_owner(entry);
		assert_int_equal(entry->pins, OPEN);
	}
	for (unsigned i = 0; i < FIRST_BUCKETS * NUMBERS; i++)
		if (there[i / NUMBERS][i % NUMBERS])
			close_entry(find_owner(nth_of_bucket(first + i / NUMBERS, i % NUMBERS)));
	for (int i = 0; i < BUCKETS * WAYS; i++)
		assert_true(owners[i / WAYS][i % WAYS].tid < INVENTED);
}

/* Yields at first, and then naps. */
TEST(give_way)
{
	unsigned rounds = 0;

	yields = naps = 0;
	for (int i = 0; i < 13; i++)
		lull__give_way(&rounds);
	assert_int_equal(yields, 10);
	assert_int_equal(naps, 3);
}

/* Without an owner there is no rank, and the question leaves errno alone. */
TEST(rank_of_nobody)
{
	errno = 77;
	assert_int_equal(rank_of(INVENTED), -1);
	assert_false(lull__owner_outranks_me(INVENTED));
	assert_false(lull__owner_outranks_me(my_tid()));
	assert_int_equal(errno, 77);
}

static struct lull_mutex lock;
static long value;

static void *counts(void *unused)
{
	(void)unused;
	for (int i = 0; i < 3000; i++) {
		lull_mutex_lock(&lock);
		value++;
		if (i % 256 == 0)
			sched_yield();
		lull_mutex_unlock(&lock);
	}
	return NULL;
}

/* Threads for which there is no room lock as well; they cannot be looked at. */
TEST(full_table)
{
	pthread_t threads[4];

	for (unsigned i = 0; i < BUCKETS * WAYS; i++)
		claim_entry(INVENTED + i);
	start_threads(threads, 4, counts, NULL);
	join_threads(threads, 4);
	assert_int_equal(value, 4 * 3000);
	for (unsigned i = 0; i < BUCKETS * WAYS; i++)
		if (find_owner(INVENTED + i))
			close_entry(find_owner(INVENTED + i));
}

static int may_end;

static void *locks_and_ends(void *tid)
{
	lull_mutex_lock(&lock);
	lull_mutex_unlock(&lock);
	lull_store_release((uint32_t *)tid, my_tid());
	await_flag(&may_end, 1);
	return NULL;
}

/* Its memory goes when no thread looks at it any more. */
TEST(exit_waits_for_pins)
{
	uint32_t tid = 0;
	struct owner *entry;
	pthread_t thread;

	may_end = 0;
	thread = start_thread(locks_and_ends, &tid);
	AWAIT_SOON(lull_load_acquire(&tid));
	entry = pin_owner(tid);
	assert_non_null(entry);
	lull_store_release(&may_end, 1);
	nap_ms(20);
	assert_int_equal(pthread_tryjoin_np(thread, NULL), EBUSY);
	assert_int_equal(entry->tid, tid);
	unpin_owner(entry);
	join_thread(thread);
	assert_null(find_owner(tid));
	assert_null(pin_owner(tid));
	assert_int_equal(entry->pins, 0);
}

static pthread_key_t late_key;
static int late_rounds;

/* In the third round of destructors: lull's has run, and ThreadSanitizer's has not. */
static void locks_late(void *tid)
{
	if (++late_rounds < 3) {
		pthread_setspecific(late_key, tid);
		return;
	}
	lull_mutex_lock(&lock);
	lull_mutex_unlock(&lock);
	*(uint32_t *)tid = my_tid();
}

static void *uses_lull(void *tid)
{
	lull_thread_register();
	assert_int_equal(pthread_setspecific(late_key, tid), 0);
	return NULL;
}

/* Its entry would not be closed before its memory goes. So it has none, and locks all the same. */
TEST(past_exit)
{
	uint32_t tid = 0;

	assert_int_equal(pthread_key_create(&late_key, locks_late), 0);
	late_rounds = 0;
	join_thread(start_thread(uses_lull, &tid));
	assert_int_equal(late_rounds, 3);
	assert_int_not_equal(tid, 0);
	assert_null(find_owner(tid));
	pthread_key_delete(late_key);
}

/* The lock a thread waits for, and how often it began to. */
TEST(wish)
{
	struct lull__owner_wish wish = { .tid = 0 };
	struct lull_mutex other;
	uint32_t seq;

	lull__mutex_self();
	assert_false(lull__owner_wish(INVENTED, &wish));
	assert_false(lull__owner_wish(my_tid(), &wish));
	assert_int_equal(wish.tid, my_tid());
	seq = wish.seq;
	lull__owner_set_wish(&lock, false);
	lull__owner_set_wish(&lock, false);
	assert_true(lull__owner_wish(my_tid(), &wish));
	assert_ptr_equal(wish.waits, &lock);
	assert_false(wish.deadline);
	assert_int_equal(wish.seq, seq + 1);
	lull__owner_set_wish(&other, true);
	assert_true(lull__owner_wish(my_tid(), &wish));
	assert_ptr_equal(wish.waits, &other);
	assert_true(wish.deadline);
	assert_int_equal(wish.seq, seq + 2);
	lull__owner_set_wish(NULL, false);
	assert_false(lull__owner_wish(my_tid(), &wish));
	assert_int_equal(wish.seq, seq + 3);
	assert_int_equal(me.entry->pins, OPEN);
	/* Of a thread that ends amid its wait nothing is left to the next one with its entry. */
	lull__owner_set_wish(&other, false);
	open_entry(me.entry, me.cpu);
	assert_false(lull__owner_wish(my_tid(), &wish));
}

/* ---- what the oracles say --------------------------------------------------------------------------------------- */

/* The invented thread runs on this CPU; the calling thread on that one. */
static uint32_t its_cpu, my_cpu_word;
static const uint32_t *my_real_cpu;

static struct owner *invent(uint32_t cpu, uint32_t mine)
{
	struct owner *entry = claim_entry(INVENTED);

	assert_non_null(entry);
	its_cpu = cpu;
	open_entry(entry, &its_cpu);
	lull__mutex_self();
	my_real_cpu = me.cpu;
	my_cpu_word = mine;
	me.cpu = &my_cpu_word;
	return entry;
}

static void forget(struct owner *entry)
{
	close_entry(entry);
	me.cpu = my_real_cpu;
}

static void *beats_there(void *cpu)
{
	lull__mutex_self();
	beat(*(int *)cpu);
	return NULL;
}

TEST(rseq)
{
	static const struct {
		uint32_t cpu;
		bool is_new; /* to the one that asks */
		enum lull__runs runs;
	} looks[] = {
		{ 2, false, LULL__RUNS_BELIEVED },
		{ 2, false, LULL__RUNS_BELIEVED },
		{ 1, false, LULL__RUNS_NO }, /* where the one that asks runs */
		{ 2, true, LULL__RUNS_BELIEVED },
		{ 2, false, LULL__RUNS_NO }, /* another thread has run there since */
		{ 0, false, LULL__RUNS_BELIEVED },
		{ 3, false, LULL__RUNS_BELIEVED }, /* it has moved on */
		{ UINT32_MAX, false, LULL__RUNS_UNKNOWN }, /* the kernel has yet to say */
	};
	struct lull__sighting sighting = { .tid = 0 };
	struct owner *entry = invent(2, 1);
	int cpu = 2;

	assert_int_equal(lull__oracle_rseq_runs(&sighting, INVENTED + 1), LULL__RUNS_UNKNOWN);
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		if (looks[i].is_new)
			memset(&sighting, 0, sizeof(sighting));
		its_cpu = looks[i].cpu;
		assert_int_equal(lull__oracle_rseq_runs(&sighting, INVENTED), looks[i].runs);
		if (looks[i].is_new)
			join_thread(start_thread(beats_there, &cpu));
	}
	its_cpu = 2;
	me.cpu = NULL; /* no such area here */
	assert_int_equal(lull__oracle_rseq_runs(&sighting, INVENTED), LULL__RUNS_UNKNOWN);
	forget(entry);
	assert_int_equal(lull__oracle_rseq_runs(&sighting, INVENTED), LULL__RUNS_UNKNOWN);
	assert_int_equal(none_runs(&sighting, INVENTED), LULL__RUNS_UNKNOWN);
}

/* An owner notes whether the table has it, for the oracle `bpf` (public/bpf_oracle.c). */
TEST(seen)
{
	for (int round = 0; round < 2; round++) {
		struct owner *entry = invent(2, 1);
		bool seen = true;

		assert_int_equal(lull__owner_cpu(INVENTED, &seen), 2);
		assert_false(seen); /* whoever had the entry before */
		entry->seen = 1;
		assert_int_equal(lull__owner_cpu(INVENTED, &seen), 2);
		assert_true(seen);
		assert_int_equal(lull__owner_cpu(INVENTED + 1, &seen), -1);
		assert_int_equal(lull__owner_my_cpu(), 1);
		assert_non_null(me.entry);
		for (int now = 1; now >= 0; now--) {
			lull__owner_set_seen(now);
			assert_int_equal(me.entry->seen, now);
		}
		forget(entry);
	}
}

/* ---- which one ------------------------------------------------------------------------------------------------ */

TEST(choose)
{
	const char *const names[] = { "rseq", "bpf", "kernel", "slice", "none" };
	const char *before = lull_mutex_oracle_name();

	assert_int_equal(lull_mutex_choose_oracle("nonsense"), -EINVAL);
	assert_int_equal(lull_mutex_choose_oracle(""), -EINVAL);
	assert_int_equal(lull_mutex_choose_oracle("Rseq"), -EINVAL);
	assert_string_equal(lull_mutex_oracle_name(), before);
	for (int i = 0; i < 5; i++) {
		bool usable = by_name(names[i]) && by_name(names[i])->usable();

		assert_int_equal(lull_mutex_choose_oracle(names[i]), usable ? 0 : by_name(names[i]) ? -ENOTSUP : -EINVAL);
		assert_string_equal(lull_mutex_oracle_name(), usable ? names[i] : before);
		value = 0;
		for (int j = 0; j < 2; j++)
			join_thread(start_thread(counts, NULL));
		assert_int_equal(value, 2 * 3000);
		assert_int_equal(lull_mutex_choose_oracle(before), 0);
	}
}

/* An oracle chosen before any thread has locked stays. */
TEST(choose_first)
{
	const struct lull__oracle *before = chosen;

	decided = false;
	assert_int_equal(lull_mutex_choose_oracle("none"), 0);
	join_thread(start_thread(counts, NULL));
	assert_string_equal(lull_mutex_oracle_name(), "none");
	choose(before);
}

static void init_with(const char *forced)
{
	setenv("LULL_OWNER_ORACLE", forced, 1);
	lull__oracle_init();
}

static const char *forced_name;

static void forces(void)
{
	init_with(forced_name);
}

static void expect_ignored(const char *name, const char *words)
{
	char text[4096];

	forced_name = name;
	assert_int_equal(run_child(forces, text, sizeof(text)), 0);
	assert_non_null(strstr(text, words));
}

TEST(forced)
{
	const char *const names[] = { "rseq", "bpf", "kernel", "slice" };
	bool is_full = by_name("bpf") && by_name("kernel") && by_name("slice");

	lull_mutex_oracle_name(); /* the library has asked for itself */
	expect_ignored("rseqq", "LULL_OWNER_ORACLE is \"rseqq\", which is ignored; it can be ");
	if (is_full)
		expect_ignored("rseqq", "it can be bpf, kernel, rseq, none or slice");
	else if (!by_name("bpf") && !by_name("kernel") && !by_name("slice"))
		expect_ignored("rseqq", "it can be rseq or none");
	/* No table, no area, and nothing to ask the kernel for. */
	for (int i = 0; i < 4; i++)
		if (by_name(names[i]) && !by_name(names[i])->usable())
			expect_ignored(names[i], "which is not available here and is ignored");
	EXPECT_FINE {
		init_with("none");
		must(strcmp(lull_mutex_oracle_name(), "none") == 0);
		init_with(""); /* as if it were not there */
		must(strcmp(lull_mutex_oracle_name(), "none") != 0 || !lull__oracle_rseq_usable());
	}
}

/* `rseq`, where the process has it; the others on request only. */
TEST(first_usable)
{
	for (size_t i = 0; lull__oracles[i]; i++)
		assert_int_equal(lull__oracles[i]->when_asked, lull__oracles[i] != &lull__oracle_rseq && lull__oracles[i] != &lull__oracle_none);
	assert_ptr_equal(first_usable(), lull__oracle_rseq_usable() ? &lull__oracle_rseq : &lull__oracle_none);
	unsetenv("LULL_OWNER_ORACLE");
	lull__oracle_init();
	assert_string_equal(lull_mutex_oracle_name(), lull__oracle_rseq_usable() ? "rseq" : "none");
	lull__mutex_self();
	assert_int_equal(lull__oracle_rseq_usable(), lull__owner_my_cpu() >= 0);
}

static int questions, own_sleeps;
static bool is_usable;

static bool is_it_usable(void)
{
	questions++;
	return is_usable;
}

static int sleeps_itself(uint32_t *word, uint32_t was, uint32_t bitset, uint64_t deadline_ns, bool shared)
{
	own_sleeps++;
	assert_int_equal(*word, was);
	assert_int_equal(bitset, 2);
	assert_int_equal(deadline_ns, 1234);
	assert_true(shared);
	return -EINTR;
}

static const struct lull__oracle has_all = {
	.name = "all", .usable = is_it_usable, .runs = none_runs, .wait = sleeps_itself,
};

/* The first one that works; of one that is had by name only nothing is asked. */
TEST(first_that_works)
{
	struct lull__oracle has_some = has_all;
	const struct lull__oracle *const these[] = { &has_some, &lull__oracle_none, NULL };
	const struct lull__oracle *before = chosen;

	told = these;
	for (int i = 0; i < 4; i++) {
		has_some.when_asked = !(i & 1);
		is_usable = i & 2;
		questions = 0;
		decided = false;
		lull__oracle_decide();
		assert_ptr_equal(chosen, i == 3 ? &has_some : &lull__oracle_none);
		assert_int_equal(questions, i & 1);
	}
	lull__oracle_decide(); /* once in a process */
	assert_int_equal(questions, 1);
	has_some.when_asked = true;
	choose(&lull__oracle_none);
	assert_int_equal(lull_mutex_choose_oracle("all"), 0);
	assert_ptr_equal(chosen, &has_some);
	is_usable = false;
	assert_int_equal(lull_mutex_choose_oracle("all"), -ENOTSUP);
	choose(before);
	told = NULL;
}

/* An oracle may have a way of its own to sleep; others sleep as ever. */
TEST(wait)
{
	const struct lull__oracle *before = chosen;
	uint32_t futex = 5;

	chosen = &has_all;
	own_sleeps = 0;
	assert_int_equal(lull__oracle_wait(&futex, 5, 2, 1234, true), -EINTR);
	assert_int_equal(own_sleeps, 1);
	chosen = &lull__oracle_none;
	assert_int_equal(lull__oracle_wait(&futex, 5, 2, 1234, true), -ETIMEDOUT);
	assert_int_equal(lull__oracle_wait(&futex, 4, 2, 1234, true), -EAGAIN);
	assert_int_equal(own_sleeps, 1);
	chosen = before;
}

static void named_under_a_filter(void)
{
	filter(SYS_FUTEX2_WAIT, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
	lull_mutex_choose_oracle("kernel");
}

TEST(kernel_filtered)
{
	char text[4096];
	int status;

	if (!may_filter())
		SKIP(NO_FILTERS);
	if (!by_name("kernel"))
		SKIP("this build has no such oracle");
	/* A filter that kills for the call: it is never made unasked. The call that is asked for shows, too. */
	EXPECT_FINE {
		unsetenv("LULL_OWNER_ORACLE");
		filter(SYS_FUTEX2_WAIT, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
		lull__oracle_init();
		must(strcmp(lull_mutex_oracle_name(), "kernel") != 0);
		value = 0;
		counts(NULL);
	}
	if (under_valgrind())
		SKIP("valgrind prints a line for a call that it does not know");
	status = run_child(named_under_a_filter, text, sizeof(text));
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
	NEEDS_THREADS_IN_CHILD();
	/* One that answers as a kernel with the flag does, to all: the probe is fooled, and each sleep is refused. */
	EXPECT_FINE {
		pthread_t thread[4];

		filter(SYS_FUTEX2_WAIT, SECCOMP_RET_ERRNO | EDEADLK, SECCOMP_RET_ALLOW);
		init_with("kernel");
		must(strcmp(lull_mutex_oracle_name(), "kernel") == 0);
		value = 0;
		start_threads(thread, 4, counts, NULL);
		join_threads(thread, 4);
		must(value == 4 * 3000);
	}
}

static int locks_seen, releases_seen;

static void sees_lock(void)
{
	locks_seen++;
}

static void sees_release(void)
{
	releases_seen++;
}

static const struct lull__oracle sees = {
	.name = "sees", .usable = none_usable, .runs = none_runs, .acquired = sees_lock, .released = sees_release,
};

/* All oracles that want to know are told of a release, from when one of them is chosen. */
TEST(told_of_releases)
{
	static const struct lull__oracle *const these[] = { &sees, &lull__oracle_none, &sees, NULL };
	const struct lull__oracle *choices[] = { &lull__oracle_none, &sees, &lull__oracle_none }, *before = chosen;
	bool told_before = tells_releases;

	told = these;
	tells_releases = false;
	for (int i = 0; i < 3; i++) {
		choose(choices[i]);
		lull__oracle_released();
		assert_int_equal(releases_seen, 2 * i);
	}
	choose(before);
	tells_releases = told_before;
	told = NULL;
}

static void *locks_three_times(void *before)
{
	for (int i = 0; i < 3; i++) {
		lull_mutex_lock(&lock);
		lull_mutex_unlock(&lock);
		if (i == 0 && before)
			choose(&sees);
	}
	return NULL;
}

/* A thread that has locked before goes on as before; one that has not is told of each lock. */
TEST(choose_is_for_new_threads)
{
	const struct lull__oracle *before = chosen;

#ifdef LULL_DEBUG
	SKIP("debug builds lock out of line, so that the oracle is told of it");
#endif
	choose(&lull__oracle_none);
	locks_seen = 0;
	join_thread(start_thread(locks_three_times, &lock));
	assert_int_equal(locks_seen, 0);
	join_thread(start_thread(locks_three_times, NULL));
	assert_int_equal(locks_seen, 3);
	choose(before);
}

/* ---- fork ----------------------------------------------------------------------------------------------------- */

enum { GENERATIONS = FORKS + 2 };

/* It knows by which names it went, of the last eight; not before that, and no other thread does. */
static void *is_another(void *tids)
{
	for (int i = 0; i < GENERATIONS; i++)
		must(!lull__owner_was_me(((uint32_t *)tids)[i]));
	return NULL;
}

static void forks_on(uint32_t *tids, int nth)
{
	must(lull__owner_generation() == (uint32_t)nth);
	for (int i = 0; i < nth; i++)
		must(lull__owner_was_me(tids[i]) == (i >= nth - FORKS));
	must(!lull__owner_was_me(0) && !lull__owner_was_me(my_tid()) && !lull__owner_was_me(INVENTED));
	must(!find_owner(INVENTED));
	must(find_owner(my_tid()) == me.entry);
	if (THREADS_IN_CHILD && nth == GENERATIONS - 1)
		join_thread(start_thread(is_another, tids));
	if (nth == GENERATIONS)
		return;
	tids[nth] = lull__mutex_self();
	must(claim_entry(INVENTED)); /* a thread that the child does not have */
	EXPECT_FINE
		forks_on(tids, nth + 1);
}

TEST(fork)
{
	lull__mutex_self();
	EXPECT_FINE {
		uint32_t tids[GENERATIONS] = { 0 };

		generation = 0;
		forks = 0;
		memset(before_fork, 0, sizeof(before_fork));
		forks_on(tids, 0);
	}
}

/* ---- how many may spin ---------------------------------------------------------------------------------------- */

static struct lull_mutex slept_for;

static void *sleeps_often(void *wanted)
{
	uint64_t give_up_ns = now_ns() + PATIENCE_NS;

	while (lull_load_relaxed(&lull__spinners_max) != *(uint32_t *)wanted && now_ns() < give_up_ns) {
		lull_mutex_lock(&slept_for);
		nap_ms(1);
		lull_mutex_unlock(&slept_for);
	}
	return NULL;
}

/* One fewer than CPUs, three at most, and never fewer than before. */
TEST(how_many_spin)
{
	static const unsigned cases[][2] = { { 1, 0 }, { 2, 1 }, { 3, 2 }, { 4, 3 }, { 3, 3 }, { 5, 3 }, { 64, 3 }, { 1, 3 } };
	uint32_t before = lull__spinners_max;

	lull__spinners_max = 0;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake_cpus = cases[i][0];
		count_cpus();
		assert_int_equal(lull__spinners_max, cases[i][1]);
	}
	fake_cpus = 0;
	lull__spinners_max = before;
}

/* The library was loaded by a thread that was pinned to one CPU. */
TEST(counts_cpus_again)
{
	uint32_t before = lull__spinners_max;
	pthread_t thread[2];

	lull__spinners_max = 0;
	start_threads(thread, 2, sleeps_often, &before);
	join_threads(thread, 2);
	assert_int_equal(lull__spinners_max, before);
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
