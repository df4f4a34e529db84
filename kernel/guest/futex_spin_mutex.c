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

/* Wait for @n owners, each of which is busy for @us. The time of all waits, in ns. */
static long long wait_for(int n, int us, unsigned int flags)
{
	_Atomic uint32_t word;
	struct owner owner;
	long long sum = 0;

	for (int i = 0; i < n; i++) {
		long long from;
		uint32_t val;

		start("bench", &owner, UNLOCKS, &word, us);
		val = atomic_fetch_or(&word, FUTEX_WAITERS) | FUTEX_WAITERS;
		from = now_ns();
		while (atomic_load(&word) == val)
			futex_wait(&word, val, flags | PRIVATE, PATIENCE_MS * MS);
		sum += now_ns() - from;
		stop(&owner);
	}
	return sum;
}

int bench(void)
{
	static const int US[] = { 5, 20, 100, 400, 2000 };
	enum { N = 1000 };

	for (unsigned int i = 0; i < sizeof(US) / sizeof(US[0]); i++) {
		struct counts before = read_counts(), counts;
		long long plain = wait_for(N, US[i], 0), spin = wait_for(N, US[i], SPIN);

		counts = since(before);
		printf("@@ bench us=%d n=%d plain=%lld spin=%lld spins=%llu ended=%llu\n", US[i], N, plain, spin,
		       counts.n[SPINS], counts.n[WOKEN] + counts.n[CHANGED]);
		fflush(stdout);
	}
	return 0;
}
