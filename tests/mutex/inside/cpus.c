/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * cpus.c - a mutex on sixteen CPUs that are made up: a clock for each, and a cache line that they take away from each other.
 * The sources of the mutex run there, one access at a time. So the cost of a crowd is counted, and is the same anywhere:
 * processor time, transfers of the line, sleeps, calls of the kernel.
 *
 * The times are as on a machine with 16 CPUs (lab/results/16-cpu-xeon-kvm), where an older mutex did as many sections as it
 * does here, to a tenth, for as much processor time, to a fifth. Each thread has a CPU of its own.
 */
#include <ucontext.h>

#include "mutex/support.h"

#include "../src/base/hooks.h"
#include "../src/owner_runs/owner_runs.h"
#include "../src/mutex/self.h"
#include "../src/mutex/waiting.h"

enum { /* ns */
	TRANSFER = 95,	  /* of the line to another CPU */
	TRANSFER_READ = 20, /* ... for a load: so long nobody else gets it */
	HIT = 1,
	EXCHANGE = 7,
	PAUSE = 43,
	CLOCK = 22,
	CALL = 500,	  /* into the kernel and back */
	QUEUE = 400,	  /* in the kernel, one thread at a time */
	FALL_ASLEEP = 1500,
	WAKE = 1200,	  /* for the thread that wakes another */
	UNTIL_AWAKE = 15000,
	CPUS = 16,
};

struct thread {
	ucontext_t at;
	uint64_t now_ns, sections;
	uint32_t *asleep_on; /* NULL: awake */
	uint32_t kind;
	uint64_t deadline_ns, since;
	bool woken;
	uint32_t tid, in_vain, lock_tid, calm;
	uint32_t random;
};

static struct thread threads[CPUS], *self;
static int nr_threads;
static ucontext_t end;

#define END_NS 12000000u

static struct {
	_Alignas(64) struct lull_mutex lock;
	uint32_t holders; /* bits of CPUs that have a copy of the line */
	uint64_t free_ns;
} line;

static struct counts {
	uint64_t sections, sleeps, calls, transfers;
	uint64_t busy_ns, longest_ns;
} counts;

static struct thread *earliest(void)
{
	struct thread *first = NULL;

	for (int i = 0; i < nr_threads; i++) {
		struct thread *t = &threads[i];

		if (t->asleep_on && t->deadline_ns > t->now_ns)
			t->now_ns = t->deadline_ns; /* when it gets up by itself */
		if (!first || t->now_ns < first->now_ns)
			first = t;
	}
	return first;
}

static void keep_own(void);
static void take_own(void);

/* Let other CPUs do what they do before this one's clock. */
static void give_way(void)
{
	struct thread *me = self, *next = earliest();

	if (next == me)
		return;
	keep_own();
	self = next;
	swapcontext(&me->at, &next->at);
	take_own();
}

static void pass(uint64_t ns)
{
	self->now_ns += ns;
	counts.busy_ns += ns;
	give_way();
}

/* Have the line, to load from it or to write to it. */
static void access_line(const void *p, bool write)
{
	uint32_t mine = 1u << (self - threads);
	uint64_t wait_ns;

	if ((uintptr_t)p - (uintptr_t)&line.lock >= sizeof(line.lock)) {
		pass(HIT);
		return;
	}
	give_way();
	if (write ? line.holders != mine : !(line.holders & mine)) {
		counts.transfers++;
		wait_ns = line.free_ns > self->now_ns ? line.free_ns - self->now_ns : 0;
		line.free_ns = self->now_ns + wait_ns + (write ? TRANSFER : TRANSFER_READ);
		line.holders = write ? mine : line.holders | mine;
		pass(wait_ns + TRANSFER);
	}
	pass(write ? EXCHANGE : HIT);
}

static uint64_t queue_free_ns;

/* One thread at a time is in the kernel's queue of sleepers. */
static void in_queue(void)
{
	uint64_t wait_ns = queue_free_ns > self->now_ns ? queue_free_ns - self->now_ns : 0;

	queue_free_ns = self->now_ns + wait_ns + QUEUE + (wait_ns ? 2 * TRANSFER : 0);
	pass(queue_free_ns - self->now_ns);
}

static int sleep_here(uint32_t *word, uint32_t value, uint32_t kind, uint64_t deadline_ns)
{
	static uint64_t order;

	counts.calls++;
	pass(CALL);
	in_queue();
	access_line(word, false);
	if (*word != value)
		return -EAGAIN;
	counts.sleeps++;
	self->woken = false;
	self->kind = kind;
	self->since = ++order;
	self->deadline_ns = deadline_ns;
	counts.busy_ns += FALL_ASLEEP;
	self->now_ns += FALL_ASLEEP;
	self->asleep_on = word;
	give_way();
	self->asleep_on = NULL;
	return self->woken ? 0 : -ETIMEDOUT;
}

static int wake_here(const uint32_t *word, uint32_t kind)
{
	struct thread *first = NULL;

	counts.calls++;
	pass(CALL);
	in_queue();
	for (int i = 0; i < nr_threads; i++)
		if (threads[i].asleep_on == word && !threads[i].woken && (threads[i].kind & kind) &&
		    (!first || threads[i].since < first->since))
			first = &threads[i];
	if (!first)
		return 0;
	first->woken = true;
	first->deadline_ns = 0;
	first->now_ns = self->now_ns + WAKE + UNTIL_AWAKE;
	pass(WAKE);
	return 1;
}

static uint64_t made_up_now(void)
{
	pass(CLOCK);
	return self->now_ns;
}

/* Each thread has a CPU of its own: an owner runs unless it sleeps. */
static enum lull__runs made_up_runs(struct lull__sighting *sighting, uint32_t tid)
{
	(void)sighting;
	pass(CLOCK);
	return threads[tid - 1].asleep_on ? LULL__RUNS_NO : LULL__RUNS_BELIEVED;
}

static void crowded(void)
{
	self->calm = lull__self.lock_tid = 0;
}

static void calm(void)
{
	if (++self->calm >= 4) /* CALM of self.c */
		lull__self.lock_tid = self->tid;
}

#define STEP(p, after)                                                                             \
	__extension__({                                                                                       \
		access_line(p, true);                                                              \
		__typeof__(*(p)) before = *(p);                                                    \
		*(p) = (after);                                                                    \
		before;                                                                            \
	})
#define SWAP(p, old, v) (access_line(p, true), *(p) == *(old) ? (*(p) = (v), true) : (*(old) = *(p), false))
#define LOAD(p)		(access_line(p, false), *(p))

#undef lull_load_relaxed
#undef lull_load_acquire
#undef lull_add_release
#undef lull_and_relaxed
#undef lull_cas_relaxed
#undef lull_cas_acquire
#undef lull_cas_release
#define lull_load_relaxed(p)	     LOAD(p)
#define lull_load_acquire(p)	     LOAD(p)
#define lull_add_release(p, v)	     STEP(p, before + (v))
#define lull_and_relaxed(p, v)	     STEP(p, before & (v))
#define lull_cas_relaxed(p, old, v)  SWAP(p, old, v)
#define lull_cas_acquire(p, old, v)  SWAP(p, old, v)
#define lull_cas_release(p, old, v)  SWAP(p, old, v)
#define lull_cpu_relax()	     pass(PAUSE)
#define lull__now_ns()		     made_up_now()
#define lull__oracle_runs(seen, tid) made_up_runs(seen, tid)
#define lull__oracle_tries()	     ((void)0)
#define lull__oracle_acquired()	     ((void)0)
#define lull__oracle_released()	     ((void)0)
#define lull__oracle_sleeps()	     ((void)0)
#define lull__oracle_waits()	     false
#define lull__oracle_wait(word, value, kind, until_ns, shared)	  sleep_here(word, value, kind, until_ns)
#define lull__futex_wait_bits(word, value, kind, until_ns, shared) sleep_here(word, value, kind, until_ns)
#define lull__futex_wake_bits(word, most, kind, shared)		  wake_here(word, kind)
#define lull__owner_outranks_me(tid)				  false
#define lull__owner_was_me(tid)					  false
#undef LULL__CHECK
#define LULL__CHECK(hook, ...)					  ((void)0)
#define lull__mutex_self()					  (self->tid)
#define lull__mutex_crowded()					  crowded()
#define lull__mutex_calm()					  calm()
#include "../src/mutex/spin.c"
#include "../src/mutex/sleep.c"
#include "../src/mutex/mutex.c"

static void keep_own(void)
{
	self->in_vain = in_vain;
	self->lock_tid = lull__self.lock_tid;
}

static void take_own(void)
{
	in_vain = self->in_vain;
	lull__self.lock_tid = self->lock_tid;
}

/* ---- a crowd -------------------------------------------------------------------------------------------------------- */

static uint32_t section_ns;

/* Work for 0 to 4 sections, and for one under the lock; lock and unlock as mutex.h does. */
static void works(void)
{
	uint64_t since_ns;
	uint32_t word, tid;

	take_own();
	while (self->now_ns < END_NS) {
		self->random = self->random * 1103515245 + 12345;
		pass((uint64_t)(self->random >> 16) % 1024 * section_ns / 256);
		word = 0;
		tid = lull__self.lock_tid;
		since_ns = self->now_ns;
		if (!tid || !lull_cas_acquire(&line.lock.word, &word, tid))
			lull__mutex_lock_slow(&line.lock);
		if (self->now_ns - since_ns > counts.longest_ns)
			counts.longest_ns = self->now_ns - since_ns;
		pass(section_ns);
		word = tid = lull__self.lock_tid;
		if (!tid || !lull_cas_release(&line.lock.word, &word, 0u))
			lull__mutex_unlock_slow(&line.lock);
		self->sections++;
	}
	setcontext(&end);
}

/* Let @nr threads want the lock. Returns Jain's index of fairness, of 100. */
static unsigned run(int nr)
{
	static char stacks[CPUS][65536];
	uint64_t squares = 0;

	memset(&line, 0, sizeof(line));
	memset(&counts, 0, sizeof(counts));
	memset(threads, 0, sizeof(threads));
	queue_free_ns = 0;
	nr_threads = nr;
	for (int i = 0; i < nr; i++) {
		struct thread *t = &threads[i];

		t->tid = t->lock_tid = (uint32_t)i + 1;
		t->random = (uint32_t)i * 7919;
		t->now_ns = (uint64_t)i * 13;
		getcontext(&t->at);
		t->at.uc_stack.ss_sp = stacks[i];
		t->at.uc_stack.ss_size = sizeof(stacks[i]);
		makecontext(&t->at, works, 0);
	}
	self = threads;
	swapcontext(&end, &self->at);
	for (int i = 0; i < nr; i++) {
		counts.sections += threads[i].sections;
		squares += threads[i].sections * threads[i].sections;
	}
	return (unsigned)(100 * counts.sections * counts.sections / ((uint64_t)nr * squares));
}

TEST(crowd)
{
	static const struct {
		int threads;
		uint32_t section_ns;
		uint64_t sections;			 /* at least, in a millisecond; all else for 1000 sections */
		uint64_t busy_us, transfers, sleeps, calls; /* at most */
		uint64_t longest_us;			 /* wait, at most */
		unsigned jain;				 /* at least */
	} rows[] = {
		{ 2, 100, 2700, 740, 3200, 0, 0, 4, 99 },	 { 4, 100, 1860, 2180, 8800, 0, 1, 150, 99 },
		{ 8, 100, 1700, 2400, 9100, 48, 150, 400, 95 },	 { 16, 100, 1700, 2480, 9200, 53, 140, 900, 95 },
		{ 2, 1000, 570, 3500, 2100, 0, 0, 4, 99 },	 { 4, 1000, 710, 5600, 7300, 0, 0, 30, 99 },
		{ 8, 1000, 650, 5250, 6500, 79, 165, 600, 96 }, { 16, 1000, 650, 5250, 6500, 81, 165, 1100, 96 },
	};
	uint32_t lock_tid = lull__self.lock_tid;

	if (UNDER_TSAN || under_valgrind())
		SKIP("one thread with many stacks");
	lull__spinners_max = 3;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned jain;

		section_ns = rows[i].section_ns;
		jain = run(rows[i].threads);
		if (getenv("LULL_TEST_SHOW")) {
			printf("{ %d, %u, %lu, %lu, %lu, %lu, %lu, %lu, %u }\n", rows[i].threads, section_ns,
			       counts.sections / (END_NS / 1000000), counts.busy_ns / counts.sections,
			       1000 * counts.transfers / counts.sections, 1000 * counts.sleeps / counts.sections,
			       1000 * counts.calls / counts.sections, counts.longest_ns / 1000, jain);
			continue;
		}
		assert_true(counts.sections >= rows[i].sections * (END_NS / 1000000));
		assert_true(counts.busy_ns <= rows[i].busy_us * counts.sections);
		assert_true(1000 * counts.transfers <= rows[i].transfers * counts.sections);
		assert_true(1000 * counts.sleeps <= rows[i].sleeps * counts.sections);
		assert_true(1000 * counts.calls <= rows[i].calls * counts.sections);
		assert_true(counts.longest_ns <= rows[i].longest_us * 1000);
		assert_true(jain >= rows[i].jain);
	}
	lull__self.lock_tid = lock_tid;
}
