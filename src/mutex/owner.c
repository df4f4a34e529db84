/* SPDX-License-Identifier: MIT */
/*
 * owner.c - who locks, and whether it runs: the oracles, and the table in which they find a thread.
 *
 * A lock's word names its owner by thread id. The table leads from there to the place where the kernel
 * writes the number of the CPU that the thread last ran on in user mode (its rseq area). That place is
 * in the thread's own memory and goes with it, so a waiter pins the entry while it looks, and an
 * exiting thread closes its entry and waits for the pins to go. Entries themselves are never freed.
 *
 * A thread that finds its bucket full is not in the table. Nothing is known of it then. One that ends without
 * exit handling (SYS_exit) leaves its entry open, until another thread has its id.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "owner.h"
#include "../oracle/bpf.h"
#include "../os/rseq_use.h"
#include "../oracle/slice.h"

#define BUCKETS 1024 /* thread ids are handed out in sequence, so they spread evenly */
#define WAYS	4

#define OPEN 0x80000000u /* in `pins`: the rest of the entry may be looked at */

struct owner {
	uint32_t tid;  /* 0: nobody's; claimed by compare-and-swap */
	uint32_t pins; /* waiters that look just now, and OPEN */
	const uint32_t *cpu;
	uint32_t seen; /* bpf: the table knew of it when it took its last lock */
	uint32_t waits_seq; /* debug: counts its waits */
	const struct lull_mutex *waits; /* debug: NULL when it does not wait */
};

static struct owner owners[BUCKETS][WAYS] __attribute__((aligned(LULL__CACHELINE)));

/* Each waiter counts up where it spins. CPUs beyond share. */
#define BEATS 256

static struct {
	uint32_t count, tid;
	char pad[LULL__CACHELINE - 8];
} beats[BEATS] __attribute__((aligned(LULL__CACHELINE)));

static __thread struct {
	uint32_t tid;
	bool forked; /* it is the one that fork left over */
	struct owner *pinned; /* by this thread, just now */
	struct owner *entry;
	const uint32_t *cpu;
} me __attribute__((tls_model("initial-exec")));

/* A mutex that was held over fork has the parent's thread id in it. */
#define FORKS 8

static uint32_t before_fork[FORKS];
static unsigned forks;
static uint32_t generation; /* both written before the child has a second thread */

uint32_t lull__spinners_max;

/*
 * To yield is not enough where the other one has a lower realtime priority. The nap is nobody's futex, since libc's
 * sleeps are cancellation points.
 */
void lull__give_way(unsigned *rounds)
{
	uint32_t word = 0;

	if ((*rounds)++ < 10)
		sched_yield();
	else
		lull__futex_wait(&word, 0, 50000);
}

/* ---- the oracles ---------------------------------------------------------------------------- */

struct oracle {
	const char *name;
	bool (*usable)(void);
	enum lull__runs (*runs)(struct lull__watch *watch, uint32_t tid);
	bool inline_locks; /* it need not be told of locks */
};

/* bpf: who runs on each CPU; NULL, or none, until there is a table, whichever a thread sees first. */
static const uint64_t *running;
static unsigned running_cpus;

static struct owner *find(uint32_t tid)
{
	struct owner *bucket = owners[tid % BUCKETS];

	for (int i = 0; i < WAYS; i++)
		if (lull_load_relaxed(&bucket[i].tid) == tid)
			return &bucket[i];
	return NULL;
}

/*
 * ORDER OWN-2: the look at a thread's memory before the pin is gone; pairs with OWN-2 in close_entry();
 * without it the memory is unmapped under the waiter's eyes; model/mutex/owner-exit.litmus
 */
static void unpin(struct owner *entry)
{
	/* A signal handler may have forked, and in the child this pin is gone. */
	if (lull_load_relaxed(&me.pinned) == entry)
		lull_sub_release(&entry->pins, 1u);
}

/*
 * The entry of @tid, which stays open until it is unpinned; NULL: not there, or about to go.
 *
 * ORDER OWN-1: that the entry is open before what it says; pairs with OWN-1 in open_entry(); without it the
 * pointer of the entry's last owner is followed, whose memory is gone; model/mutex/owner-open.litmus
 */
static struct owner *pin(uint32_t tid)
{
	struct owner *entry = find(tid);

	if (!entry)
		return NULL;
	lull_store_relaxed(&me.pinned, entry);
	if (!(lull_add_acquire(&entry->pins, 1u) & OPEN) || lull_load_relaxed(&entry->tid) != tid) {
		unpin(entry);
		return NULL;
	}
	return entry;
}

static void open_entry(struct owner *entry, const uint32_t *cpu)
{
	entry->seen = 0;
	lull_store_relaxed(&entry->cpu, cpu);
	/*
	 * ORDER OWN-1: what the entry says before it is open; pairs with OWN-1 in pin(); without it as
	 * there; model/mutex/owner-open.litmus
	 */
	lull_or_release(&entry->pins, OPEN);
}

static void close_entry(struct owner *entry)
{
	unsigned rounds = 0;

	lull_and_relaxed(&entry->pins, ~OPEN);
	/*
	 * ORDER OWN-2: no pin before the memory goes; pairs with OWN-2 in unpin(); without it as there;
	 * model/mutex/owner-exit.litmus
	 */
	while ((lull_load_acquire(&entry->pins) & ~OPEN) && !LULL__BUSTED(OWNER_NO_WAIT))
		lull__give_way(&rounds);
	/*
	 * ORDER OWN-3: the last look at the entry before somebody else claims it; pairs with OWN-3 in
	 * claim(); without it a waiter that was early finds the pointer of an owner that came late;
	 * model/mutex/owner-claim.litmus
	 */
	lull_store_release(&entry->tid, 0u);
}

static struct owner *claim(uint32_t tid)
{
	struct owner *bucket = owners[tid % BUCKETS], *left = find(tid);

	if (left)
		close_entry(left);
	for (int i = 0; i < WAYS; i++) {
		uint32_t nobody = 0;

		/*
		 * ORDER OWN-3: the claim before what the entry says; pairs with OWN-3 in close_entry();
		 * without it as there; model/mutex/owner-claim.litmus
		 */
		if (lull_load_relaxed(&bucket[i].tid) == 0 &&
		    lull_cas_acquire(&bucket[i].tid, &nobody, tid))
			return &bucket[i];
	}
	return NULL;
}

/* The CPU that @tid last ran on in user mode, or -1. *seen: what the table of bpf said of it. */
static int cpu_of(uint32_t tid, bool *seen)
{
	struct owner *entry = pin(tid);
	const uint32_t *cpu;
	int number = -1;

	if (!entry)
		return -1;
	cpu = lull_load_relaxed(&entry->cpu);
	if (LULL__BUSTED(OWNER_NO_WAIT))
		lull__busted_linger();
	if (cpu)
		number = (int)lull_load_relaxed(cpu);
	*seen = lull_load_relaxed(&entry->seen);
	unpin(entry);
	return number;
}

static int my_cpu(void)
{
	return me.cpu ? (int)lull_load_relaxed(me.cpu) : -1;
}

/* Not exact when two waiters count at a time; it only has to change. */
static void beat(int cpu)
{
	unsigned at = (unsigned)cpu % BEATS;

	lull_store_relaxed(&beats[at].tid, me.tid);
	lull_store_relaxed(&beats[at].count, lull_load_relaxed(&beats[at].count) + 1);
}

/*
 * Has another thread of ours run where @tid was last seen, after the waiter saw it there first? Then
 * it does not run, since it would have run somewhere else to be running again; or it has been back
 * in between, and the waiter is wrong and sleeps once too often.
 */
static bool displaced(struct lull__watch *watch, uint32_t tid, int cpu)
{
	unsigned at = (unsigned)cpu % BEATS;
	uint32_t count = lull_load_relaxed(&beats[at].count);
	bool same = watch->tid == tid && watch->cpu == (uint32_t)cpu;
	bool moved = same && count != watch->beats && lull_load_relaxed(&beats[at].tid) != tid;

	if (!same)
		*watch = (struct lull__watch){ .tid = tid, .cpu = (uint32_t)cpu, .beats = count };
	return moved;
}

static enum lull__runs runs_rseq(struct lull__watch *watch, uint32_t tid)
{
	int mine = my_cpu(), cpu;
	bool seen;

	if (mine < 0)
		return LULL__RUNS_UNKNOWN;
	beat(mine);
	cpu = cpu_of(tid, &seen);
	if (cpu < 0)
		return LULL__RUNS_UNKNOWN;
	if (cpu == mine || displaced(watch, tid, cpu))
		return LULL__RUNS_NO;
	return LULL__RUNS_BELIEVED;
}

static enum lull__runs runs_bpf(struct lull__watch *watch, uint32_t tid)
{
	const uint64_t *table = lull_load_relaxed(&running);
	bool seen = false;
	int cpu = cpu_of(tid, &seen);

	if (cpu < 0 || !seen || !table || (unsigned)cpu >= lull_load_relaxed(&running_cpus))
		return runs_rseq(watch, tid);
	return (uint32_t)lull_load_relaxed(&table[cpu]) == tid ? LULL__RUNS_YES : LULL__RUNS_NO;
}

static enum lull__runs runs_none(struct lull__watch *watch, uint32_t tid)
{
	(void)watch;
	(void)tid;
	return LULL__RUNS_UNKNOWN;
}

static bool usable_rseq(void)
{
	return lull__rseq_cpu() != NULL;
}

/* Does the table name this thread where it runs? Not in another PID namespace, for one. */
static bool table_knows_me(const uint64_t *table, unsigned cpus)
{
	const uint32_t *word = lull__rseq_cpu();
	uint32_t tid = lull__gettid();

	/* Between the two looks it may be moved; not each time. */
	for (int i = 0; word && i < 100; i++) {
		uint32_t cpu = lull_load_relaxed(word);

		if (cpu < cpus && (uint32_t)lull_load_relaxed(&table[cpu]) == tid)
			return true;
		sched_yield();
	}
	return false;
}

static bool usable_bpf(void)
{
	const uint64_t *table = lull_load_relaxed(&running), *nothing = NULL;
	unsigned cpus = lull_load_relaxed(&running_cpus);

	if (!table && (table = lull__bpf_running(&cpus))) {
		/* Of two that choose at a time one mapping stays unused. */
		lull_store_relaxed(&running_cpus, cpus);
		(void)lull_cas_relaxed(&running, &nothing, table);
	}
	return table && table_knows_me(table, cpus);
}

static bool usable_kernel(void)
{
	return lull__slice_offered() && usable_rseq();
}

static bool usable_none(void)
{
	return true;
}

/* In the order in which they are tried; `kernel` only when asked for, as it costs where sections are short. */
static const struct oracle oracles[] = {
	{ "bpf", usable_bpf, runs_bpf, false },
	{ "rseq", usable_rseq, runs_rseq, true },
	{ "none", usable_none, runs_none, true },
	{ "kernel", usable_kernel, runs_rseq, false },
};

#define KERNEL (&oracles[3])
#define BPF    (&oracles[0])

static const struct oracle *oracle = &oracles[2];

static const struct oracle *by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(oracles) / sizeof(oracles[0]); i++)
		if (strcmp(name, oracles[i].name) == 0)
			return &oracles[i];
	return NULL;
}

static void count_cpus(void)
{
	unsigned cpus = lull__cpus_allowed();

	/*
	 * One waiter spins in time to take over, a few more bridge the time it takes to wake one. More
	 * only pull the lock's line out of the owner's hands.
	 */
	lull__spinners_max = cpus > 4 ? 4 : cpus - 1;
}

void lull__owner_init(void)
{
	const char *forced = getenv("LULL_OWNER_ORACLE");
	const struct oracle *choice = oracles;

	count_cpus();
	if (forced && *forced) {
		choice = by_name(forced);
		if (!choice)
			lull__die("LULL_OWNER_ORACLE is \"%.60s\"; it can be rseq, bpf, kernel or none", forced);
		if (!choice->usable())
			lull__die("LULL_OWNER_ORACLE is %s, which is not to be had here", forced);
	}
	while (!choice->usable())
		choice++;
	lull_store_relaxed(&oracle, choice);
}

const char *lull_mutex_oracle_name(void)
{
	lull__init();
	return lull_load_relaxed(&oracle)->name;
}

int lull_mutex_choose_oracle(const char *name)
{
	const struct oracle *choice = by_name(name);

	lull__init();
	if (!choice)
		return -EINVAL;
	if (!choice->usable())
		return -ENOTSUP;
	lull_store_relaxed(&oracle, choice);
	return 0;
}

enum lull__runs lull__owner_runs(struct lull__watch *watch, uint32_t tid)
{
	return lull_load_relaxed(&oracle)->runs(watch, tid);
}

bool lull__owner_slice_over(void)
{
	return lull_load_relaxed(&oracle) == KERNEL && lull__slice_granted();
}

void lull__owner_tries(void)
{
	if (lull_unlikely(lull_load_relaxed(&oracle) == KERNEL))
		lull__slice_begin();
}

/* A table can be stale: of some threads the kernel does not tell when they go (a kernel's tracing has gaps). */
void lull__owner_acquired(void)
{
	const uint64_t *table;
	bool seen;
	int cpu;

	if (lull_load_relaxed(&oracle) != BPF || !me.entry)
		return;
	table = lull_load_relaxed(&running);
	cpu = my_cpu();
	seen = table && cpu >= 0 && (unsigned)cpu < lull_load_relaxed(&running_cpus) &&
	       (uint32_t)lull_load_relaxed(&table[cpu]) == me.tid;
	if (me.entry->seen != seen)
		lull_store_relaxed(&me.entry->seen, (uint32_t)seen);
}

void lull__owner_released(void)
{
	lull__slice_end(); /* whatever the oracle is by now */
}

/* ---- threads come and go -------------------------------------------------------------------- */

static void enter(void)
{
	me.tid = lull__gettid();
	me.cpu = lull__rseq_cpu();
	/* Past its exit handling, nobody would close the entry before the thread's memory goes. */
	if (lull__note_exit())
		me.entry = claim(me.tid);
	if (me.entry)
		open_entry(me.entry, me.cpu);
	if (lull_load_relaxed(&oracle) == KERNEL)
		lull__slice_enable();
#ifndef LULL_DEBUG
	if (lull_load_relaxed(&oracle)->inline_locks)
		lull__self.lock_tid = me.tid;
#endif
}

uint32_t lull__owner_self(void)
{
	sigset_t all, saved;

	if (lull_likely(me.tid))
		return me.tid;
	lull__init();
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &saved);
	if (!me.tid) /* a signal handler may have been faster */
		enter();
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	return me.tid;
}

#ifdef LULL__TSAN
char lull__owner_exits;
#endif

void lull__owner_thread_exit(void)
{
	struct owner *entry = me.entry;

	LULL__TSAN_MUTEX(__tsan_release(&lull__owner_exits));
	if (!entry)
		return;
	me.entry = NULL;
	close_entry(entry);
}

void lull__owner_fork_child(void)
{
	/* Only what is in use, as each page that is written to has to be copied. */
	for (unsigned i = 0; i < BUCKETS * WAYS; i++)
		if (owners[i / WAYS][i % WAYS].tid || owners[i / WAYS][i % WAYS].pins)
			owners[i / WAYS][i % WAYS] = (struct owner){ .tid = 0 };
	generation++;
	if (!me.tid)
		return;
	if (!me.forked)
		memset(before_fork, 0, sizeof(before_fork)); /* of another thread, in the parent */
	me.forked = true;
	lull_store_relaxed(&me.pinned, NULL);
	before_fork[forks++ % FORKS] = me.tid;
	me.entry = NULL;
	lull__self.lock_tid = 0;
	enter();
}

bool lull__owner_was_me(uint32_t tid)
{
	for (unsigned i = 0; i < FORKS && me.forked; i++)
		if (tid && before_fork[i] == tid)
			return !find(tid);
	return false;
}

uint32_t lull__owner_generation(void)
{
	return generation;
}

/* ---- deadlocks ------------------------------------------------------------------------------ */

#ifdef LULL_DEBUG

#define CYCLE_MAX 16

struct link {
	uint32_t tid, seq;
	const struct lull_mutex *waits;
};

static __thread struct {
	uint32_t cycle;
	uint64_t since_ns;
} suspicion __attribute__((tls_model("initial-exec")));

/* What @tid waits for. The lock may be gone by now, so that its word is read as the kernel would read it. */
static bool link_of(uint32_t tid, struct link *link)
{
	struct owner *entry = pin(tid);

	if (!entry)
		return false;
	link->tid = tid;
	link->seq = lull_load_relaxed(&entry->waits_seq);
	link->waits = lull_load_relaxed(&entry->waits);
	unpin(entry);
	return link->waits != NULL;
}

static uint32_t owner_of(const struct lull_mutex *m)
{
	uint32_t word = 0;

	return lull__peek(&m->word, &word) ? word & LULL__MUTEX_TID : 0;
}

/*
 * Every thread on the way waits, without an end, for a lock that the next one has; the last has what
 * the first, the caller, waits for. A thread that has just been woken may still say that it waits; but
 * then the word no longer names the next one. So all is looked at twice, in this order.
 */
static unsigned find_cycle(uint32_t tid, struct link *cycle)
{
	uint32_t at = tid;
	unsigned n = 0;
	struct link again;

	do {
		if (n == CYCLE_MAX || !link_of(at, &cycle[n]))
			return 0;
		at = owner_of(cycle[n++].waits);
	} while (at != tid);
	for (unsigned i = 0; i < n; i++)
		if (owner_of(cycle[i].waits) != cycle[(i + 1) % n].tid ||
		    !link_of(cycle[i].tid, &again) || again.seq != cycle[i].seq)
			return 0;
	/* One of one: it has just been handed what it was about to wait for. */
	return n > 1 ? n : 0;
}

/*
 * A signal handler may have trylocked what it will unlock though its thread waits. So a cycle has to be there
 * for a while, the same waits as before.
 */
static bool persists(const struct link *cycle, unsigned n)
{
	uint64_t now_ns = lull__now_ns();
	uint32_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum = sum * 31 + cycle[i].tid + cycle[i].seq * 7;
	if (suspicion.cycle != sum) {
		suspicion.cycle = sum;
		suspicion.since_ns = now_ns;
	}
	return now_ns - suspicion.since_ns >= LULL__LOOK_AGAIN_NS / 2;
}

static void print_cycle(const struct link *cycle, unsigned n)
{
	static uint32_t printed;
	char line[400], name[32];
	size_t at = 0;

	while (lull_xchg_relaxed(&printed, 1u))
		sleep(1); /* another one of them has seen it, and aborts */

	for (unsigned i = 0; i < n && at < sizeof(line); i++) {
		lull__thread_name(cycle[i].tid, name, sizeof(name));
		at += (size_t)snprintf(line + at, sizeof(line) - at, "%sthread \"%s\" (tid %u) waits for mutex %p",
				       i ? ", held by " : "", name, cycle[i].tid, (const void *)cycle[i].waits);
	}
	lull__die("deadlock: %s, held by the first", line);
}

void lull__owner_waits(const struct lull_mutex *m, uint32_t tid)
{
	struct link cycle[CYCLE_MAX];
	unsigned n;

	if (!me.entry)
		return;
	if (me.entry->waits != m)
		lull_store_relaxed(&me.entry->waits_seq, me.entry->waits_seq + 1);
	lull_store_relaxed(&me.entry->waits, m);
	if (m && (n = find_cycle(tid, cycle)) && persists(cycle, n))
		print_cycle(cycle, n);
}

#endif
