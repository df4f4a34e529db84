// SPDX-License-Identifier: MIT
/* A mutex that waits with FUTEX2_SPIN, and what the letter of the proposal measured. */
#include "futex_spin.h"

enum { THREADS = 4, ROUNDS = 5000 };
static _Atomic uint32_t mutex;
static _Atomic int waits;
static unsigned long guarded;
static pthread_barrier_t all_there;

static void lock(_Atomic uint32_t *word, unsigned int flags)
{
	uint32_t me = tid(), seen = 0;

	while (!atomic_compare_exchange_strong(word, &seen, me)) {
		if (!(seen & FUTEX_WAITERS) && !atomic_compare_exchange_strong(word, &seen, seen | FUTEX_WAITERS)) {
			seen = 0;
			continue;
		}
		atomic_fetch_add(&waits, 1);
		futex_wait(word, seen | FUTEX_WAITERS, flags, PATIENCE_MS * MS);
		/* Others may sleep: the word goes on saying so. */
		me |= FUTEX_WAITERS;
		seen = 0;
	}
}

static void unlock(_Atomic uint32_t *word, unsigned int flags)
{
	if (atomic_exchange(word, 0) & FUTEX_WAITERS)
		futex_wake(word, 1, flags);
}

/* On all CPUs, wherever the thread that made this one is. */
static void begin_anywhere(void)
{
	cpu_set_t set;

	memset(&set, 0xff, sizeof(set));
	sched_setaffinity(0, sizeof(set), &set);
}

static void *contend(void *arg)
{
	begin_anywhere();
	(void)arg;
	pthread_barrier_wait(&all_there);
	for (int i = 0; i < ROUNDS; i++) {
		lock(&mutex, SPIN | PRIVATE);
		guarded++;
		/* Else a thread alone would be done before the next one begins. */
		if (i % 8 == 0)
			sched_yield();
		unlock(&mutex, PRIVATE);
	}
	return NULL;
}

void test_mutex(void)
{
	const char *name = "mutex";
	struct counts before = read_counts();
	pthread_t threads[THREADS];

	pthread_barrier_init(&all_there, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, contend, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (guarded != THREADS * ROUNDS || mutex || !waits)
		fail(name, "%lu sections of %d, the word is %#x, %d waits", guarded, THREADS * ROUNDS, mutex, waits);
	else
		ok(name, "sections=%lu %s", guarded, text(since(before)));
}

/* What waits cost. */
struct cost {
	long long ns;
	long calls;    /* of futex_wait() */
	long switches; /* to another task, of the waiter: it slept, or was preempted */
};

static long switches(void)
{
	struct rusage use;

	getrusage(RUSAGE_THREAD, &use);
	return use.ru_nvcsw + use.ru_nivcsw;
}

/* Wait for @n owners, each of which is busy for @us, and add to @cost. */
static void wait_for(struct cost *cost, int n, int us, unsigned int flags)
{
	_Atomic uint32_t word;
	struct owner owner;

	for (int i = 0; i < n; i++) {
		long before;
		long long from;
		uint32_t val;

		start("bench", &owner, UNLOCKS, &word, us);
		before = switches();
		val = atomic_fetch_or(&word, FUTEX_WAITERS) | FUTEX_WAITERS;
		from = now_ns();
		while (atomic_load(&word) == val) {
			futex_wait(&word, val, flags | PRIVATE, PATIENCE_MS * MS);
			cost->calls++;
		}
		cost->ns += now_ns() - from;
		cost->switches += switches() - before;
		stop(&owner);
	}
}

/* With the flag and without it in turns: what else the machine does hits both. @sizes: for how many us owners are busy. */
int bench(char **sizes)
{
	enum { N = 1000, ROUNDS_EACH = 20 };

	for (; *sizes; sizes++) {
		struct cost plain = { 0 }, spin = { 0 };
		struct counts before = read_counts(), counts;
		int us = atoi(*sizes);

		for (int i = 0; i < ROUNDS_EACH; i++) {
			wait_for(&plain, N / ROUNDS_EACH, us, 0);
			wait_for(&spin, N / ROUNDS_EACH, us, SPIN);
		}
		counts = since(before);
		printf("@@ bench us=%d n=%d plain_ns=%lld plain_calls=%ld plain_switches=%ld spin_ns=%lld spin_calls=%ld "
		       "spin_switches=%ld spins=%llu ended=%llu turns=%llu\n",
		       us, N, plain.ns, plain.calls, plain.switches, spin.ns, spin.calls, spin.switches, counts.n[SPINS],
		       counts.n[WOKEN] + counts.n[CHANGED], counts.n[TURNS]);
		fflush(stdout);
	}
	return 0;
}
