/* SPDX-License-Identifier: MIT */
/*
 * owner.c - the table of threads that lock: finds by thread id the CPU that a thread last ran on; and which of
 * two threads the kernel prefers.
 *
 * A lock's word names its owner by thread id. The table leads from there to the place where the kernel
 * writes the number of the CPU that the thread last ran on in user mode (its rseq area). That place is in
 * the thread's own memory and goes with it, so a waiter pins the entry while it reads there, and an exiting
 * thread closes its entry and waits until no waiter has it pinned. Entries themselves are never freed.
 *
 * A thread that finds its bucket full is not in the table: nothing is known of it then. A thread that ends
 * without exit handling (SYS_exit) leaves its entry open, until another thread has its id.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/fault.h"
#include "../base/message.h"
#include "../base/rseq_use.h"
#include "owner.h"

#define BUCKETS 1024 /* thread ids are handed out in sequence, so they spread evenly */
#define WAYS	4

#define OPEN 0x80000000u /* in `pins`: the rest of the entry may be read */

struct owner {
	uint32_t tid;  /* 0: free; claimed by compare-and-swap */
	uint32_t pins; /* how many waiters read the entry now, and OPEN */
	const uint32_t *cpu;
	uint32_t seen; /* bpf: the kernel's table had the thread when it took its last lock */
	uint32_t waits_seq; /* counts the thread's waits */
	uint32_t waits_deadline; /* its wait ends by itself */
	const struct lull_mutex *waits; /* NULL if the thread does not wait */
};

static struct owner owners[BUCKETS][WAYS] __attribute__((aligned(LULL__CACHELINE)));

static __thread struct {
	uint32_t tid;
	bool forked; /* it came into this process by fork */
	struct owner *pinned; /* by this thread, now */
	struct owner *entry;
	const uint32_t *cpu;
} me __attribute__((tls_model("initial-exec")));

/* A mutex that was held at a fork has the thread id from the parent in it. */
#define FORKS 8

static uint32_t before_fork[FORKS];
static unsigned forks;
static uint32_t generation; /* both written before the child has a second thread */

/*
 * Yield at first, then sleep: to yield is not enough if the other thread has a lower realtime priority.
 * libc's own sleeps are cancellation points.
 */
void lull__give_way(unsigned *rounds)
{
	if ((*rounds)++ < 10)
		sched_yield();
	else
		lull__nap(50000);
}

/* ---- the table ------------------------------------------------------------------------------ */

static struct owner *find_owner(uint32_t tid)
{
	struct owner *bucket = owners[tid % BUCKETS];

	for (int i = 0; i < WAYS; i++)
		if (lull_load_relaxed(&bucket[i].tid) == tid)
			return &bucket[i];
	return NULL;
}

/*
 * ORDER OWN-2: the load from a thread's memory before the pin is gone; pairs with OWN-2 in close_entry();
 * without it the memory is unmapped while the waiter reads it; model/mutex/owner-exit.litmus
 */
static void unpin_owner(struct owner *entry)
{
	/* A signal handler may have forked, and in the child this pin is gone. */
	if (lull_load_relaxed(&me.pinned) == entry)
		lull_sub_release(&entry->pins, 1u);
}

/*
 * Pin the entry of @tid: it stays open until it is unpinned. Returns NULL if there is none, or if it is
 * about to go.
 *
 * ORDER OWN-1: OPEN before the rest of the entry; pairs with OWN-1 in open_entry(); without it the pointer of
 * the entry's last owner is followed, whose memory is gone; model/mutex/owner-open.litmus
 */
static struct owner *pin_owner(uint32_t tid)
{
	struct owner *entry = find_owner(tid);

	if (!entry)
		return NULL;
	lull_store_relaxed(&me.pinned, entry);
	if (!(lull_add_acquire(&entry->pins, 1u) & OPEN) || lull_load_relaxed(&entry->tid) != tid) {
		unpin_owner(entry);
		return NULL;
	}
	return entry;
}

static void open_entry(struct owner *entry, const uint32_t *cpu)
{
	entry->seen = 0;
	lull_store_relaxed(&entry->waits, (const struct lull_mutex *)NULL); /* of a thread that ended amid its wait */
	lull_store_relaxed(&entry->cpu, cpu);
	/*
	 * ORDER OWN-1: the rest of the entry before OPEN; pairs with OWN-1 in pin_owner(); without it as
	 * there; model/mutex/owner-open.litmus
	 */
	lull_or_release(&entry->pins, OPEN);
}

static void close_entry(struct owner *entry)
{
	unsigned rounds = 0;

	lull_and_relaxed(&entry->pins, ~OPEN);
	/*
	 * ORDER OWN-2: no pin before the memory goes; pairs with OWN-2 in unpin_owner(); without it as there;
	 * model/mutex/owner-exit.litmus
	 */
	while ((lull_load_acquire(&entry->pins) & ~OPEN) && !LULL__BUSTED(OWNER_NO_WAIT))
		lull__give_way(&rounds);
	/*
	 * ORDER OWN-3: the last load from the entry before another thread claims it; pairs with OWN-3 in
	 * claim_entry(); without it an early waiter finds the pointer of a later owner;
	 * model/mutex/owner-claim.litmus
	 */
	lull_store_release(&entry->tid, 0u);
}

static struct owner *claim_entry(uint32_t tid)
{
	struct owner *bucket = owners[tid % BUCKETS], *old = find_owner(tid);

	if (old)
		close_entry(old);
	for (int i = 0; i < WAYS; i++) {
		uint32_t nobody = 0;

		/*
		 * ORDER OWN-3: the claim before the rest of the entry; pairs with OWN-3 in close_entry();
		 * without it as there; model/mutex/owner-claim.litmus
		 */
		if (lull_load_relaxed(&bucket[i].tid) == 0 &&
		    lull_cas_acquire(&bucket[i].tid, &nobody, tid))
			return &bucket[i];
	}
	return NULL;
}

/*
 * Read at @cpu, in the memory of another thread, what the kernel writes there. ThreadSanitizer sees nothing of the kernel.
 * But it counts a write of its own to all of a thread's memory when the thread begins. Among thousands of threads that
 * come and go, gcc 12's tool now and then reports this read as a race with that write, although OWN-1 orders the two.
 * (The owner of that memory then is the thread that was looked for, and lives; clang 14's tool reports nothing.) No
 * code of ours writes there, so nothing is lost if the tool looks away here. The pin keeps the memory in its place, and
 * the tool sees the pin.
 */
#ifdef LULL__TSAN
__attribute__((noinline, no_sanitize("thread"))) static uint32_t read_cpu(const uint32_t *cpu)
{
	return *(const volatile uint32_t *)cpu;
}
#else
#define read_cpu(cpu) lull_load_relaxed(cpu)
#endif

int lull__owner_cpu(uint32_t tid, bool *seen)
{
	struct owner *entry = pin_owner(tid);
	const uint32_t *cpu;
	int number = -1;

	if (!entry)
		return -1;
	cpu = lull_load_relaxed(&entry->cpu);
	if (LULL__BUSTED(OWNER_NO_WAIT))
		lull__busted_linger();
	if (cpu)
		number = (int)read_cpu(cpu);
	*seen = lull_load_relaxed(&entry->seen);
	unpin_owner(entry);
	return number;
}

int lull__owner_my_cpu(void)
{
	return me.cpu ? (int)lull_load_relaxed(me.cpu) : -1;
}

void lull__owner_set_seen(bool seen)
{
	if (me.entry && me.entry->seen != seen)
		lull_store_relaxed(&me.entry->seen, (uint32_t)seen);
}

/* ---- priorities ----------------------------------------------------------------------------- */

/* The structure of sched_getattr(2), which not every libc declares. */
struct policy {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* Return a number that is higher for a thread that the kernel prefers; -1: not known. 0 is the calling thread. */
static int rank_of(uint32_t tid)
{
	struct policy of = { .size = 0 };
	int saved = errno;
	long err = syscall(SYS_sched_getattr, tid, &of, sizeof(of), 0);

	errno = saved;
	if (err)
		return -1;
	switch (of.policy) {
	case SCHED_DEADLINE:
		return 1000;
	case SCHED_FIFO:
	case SCHED_RR:
		return 100 + (int)of.priority;
	case SCHED_IDLE:
		return 0;
	default:
		return 20 - of.nice;
	}
}

bool lull__owner_outranks_me(uint32_t tid)
{
	int mine = rank_of(0);

	return mine >= 0 && rank_of(tid) > mine;
}

/* ---- threads come and go -------------------------------------------------------------------- */

uint32_t lull__owner_tid(void)
{
	return me.tid;
}

void lull__owner_enter(void)
{
	me.tid = lull__gettid();
	me.cpu = lull__rseq_cpu();
	/* Past the exit handling nothing would close the entry before the thread's memory goes. */
	if (lull__arm_thread_exit())
		me.entry = claim_entry(me.tid);
	if (me.entry)
		open_entry(me.entry, me.cpu);
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
	/* Clear only entries in use, as each page that is written to has to be copied. */
	for (unsigned i = 0; i < BUCKETS * WAYS; i++)
		if (owners[i / WAYS][i % WAYS].tid || owners[i / WAYS][i % WAYS].pins)
			owners[i / WAYS][i % WAYS] = (struct owner){ .tid = 0 };
	generation++;
	if (!me.tid)
		return;
	if (!me.forked)
		memset(before_fork, 0, sizeof(before_fork)); /* they were another thread's, in the parent */
	me.forked = true;
	lull_store_relaxed(&me.pinned, NULL);
	before_fork[forks++ % FORKS] = me.tid;
	me.entry = NULL;
}

bool lull__owner_was_me(uint32_t tid)
{
	for (unsigned i = 0; i < FORKS && me.forked; i++)
		if (tid && before_fork[i] == tid)
			return !find_owner(tid);
	return false;
}

uint32_t lull__owner_generation(void)
{
	return generation;
}

/* ---- which thread waits for which lock -------------------------------------------------------- */

void lull__owner_set_wish(const struct lull_mutex *m, bool deadline)
{
	if (!me.entry)
		return;
	if (me.entry->waits != m)
		lull_store_relaxed(&me.entry->waits_seq, me.entry->waits_seq + 1);
	lull_store_relaxed(&me.entry->waits_deadline, (uint32_t)deadline);
	lull_store_relaxed(&me.entry->waits, m);
}

bool lull__owner_wish(uint32_t tid, struct lull__owner_wish *wish)
{
	struct owner *entry = pin_owner(tid);

	if (!entry)
		return false;
	wish->tid = tid;
	wish->seq = lull_load_relaxed(&entry->waits_seq);
	wish->deadline = lull_load_relaxed(&entry->waits_deadline);
	wish->waits = lull_load_relaxed(&entry->waits);
	unpin_owner(entry);
	return wish->waits != NULL;
}

uint32_t lull__owner_of(const struct lull_mutex *m)
{
	uint32_t word = 0;

	return lull__peek(&m->word, &word) ? word & LULL__MUTEX_TID : 0;
}
