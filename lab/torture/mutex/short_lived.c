/* SPDX-License-Identifier: MIT */
/* lull torture: short-lived threads that meet at a lock, and end as soon as they have had it. See torture_mutex.h. */
#include "torture/mutex/torture_mutex.h"
#include "torture/run.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/clock.h"
#include "common/options.h"

#define STACK_BYTES ((size_t)2 << 20) /* ThreadSanitizer needs one */
#define SIGNAL_US   200u
#define STARVE_ROUNDS 8u
#define STARVE_NS     2000000u
#define GATHER_US     2000u

/* ---- stacks that are gone when their thread is ----------------------------------------------- */

static char *stacks;
static size_t stacks_bytes;
static struct mutex_watch *watches;

struct mutex_watch *torture_meet_watch(const struct torturer *maker)
{
	return &watches[maker->index];
}

static char *stack_of(const struct torturer *maker, unsigned n)
{
	return stacks + (maker->index * MEET_MOST + n) * STACK_BYTES;
}

/* A thread's memory, where the kernel writes on which CPU it runs, is on its stack. */
static void on_fault(int signal_nr, siginfo_t *info, void *context)
{
	(void)context;
	if ((uintptr_t)info->si_addr - (uintptr_t)stacks < stacks_bytes) {
		torture_fail("the memory of a thread was read after it had exited and was joined");
		torture_give_up();
	}
	signal(signal_nr, SIG_DFL); /* it happens once more */
}

void torture_meet_init(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	stacks_bytes = torture.updaters * MEET_MOST * STACK_BYTES;
	stacks = mmap(NULL, stacks_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stacks == MAP_FAILED)
		options_fail("out of memory");
	sigaction(SIGSEGV, &action, NULL);
	watches = options_alloc(torture.updaters, sizeof(*watches));
}

void torture_meet_start(struct torturer *maker, unsigned n, struct torturer *t, void *(*run)(void *))
{
	pthread_attr_t attr;
	int err;

	if (mprotect(stack_of(maker, n), STACK_BYTES, PROT_READ | PROT_WRITE) != 0)
		options_fail("out of memory");
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack_of(maker, n), STACK_BYTES);
	err = pthread_create(&t->thread, &attr, run, t);
	pthread_attr_destroy(&attr);
	if (err)
		options_fail("cannot make a thread: %s", strerror(err));
	t->is_running = true;
}

static bool join_one(struct torturer *maker, struct torturer *t, unsigned n, const void *result)
{
	void *got;

	if (!t->is_running || pthread_tryjoin_np(t->thread, &got) != 0)
		return false;
	mprotect(stack_of(maker, n), STACK_BYTES, PROT_NONE);
	torture_timer_stop(t);
	t->is_running = false;
	maker->tally.sections += t->tally.sections;
	maker->handler_tally.sections += t->handler_tally.sections;
	if (got != result)
		torture_fail("a thread ended as it should not");
	return true;
}

void torture_meet_join(struct torturer *maker, struct torturer *const *t, unsigned n, const void *result)
{
	unsigned left = n, i;

	while (left) {
		for (i = 0; i < n; i++)
			left -= join_one(maker, t[i], i, result);
		sched_yield();
	}
}

/* ---- meetings -------------------------------------------------------------------------------- */

/* Place of a meeting; the last thread to unlock frees it. */
struct place {
	struct lull_mutex m;
	struct lull_cond c;
	struct mutex_pair pair;
	unsigned left;	 /* guests that have yet to come and go */
	unsigned rounds; /* each */
	uint64_t hold_ns;
	uint32_t go, waiting;
};

struct meeting {
	struct place *place;
	struct mutex_watch *watch;
	bool waits; /* for go */
};

struct guest {
	struct torturer t;
	struct meeting *meeting;
};

/* Free the place, or half of the time spoil it and look later whether a thread has touched it. */
static void end_place(struct meeting *meeting, struct place *p)
{
	static struct place *buried;
	struct place *old = p;

	torture_watch_set(meeting->watch, &(struct mutex_watch){ .word = NULL });
	lull_add_relaxed(&torture_mutexes.freed, (uint64_t)1);
	if (p->pair.a % 2) {
		memset(p, 0xa5, sizeof(*p));
		old = lull_xchg_acq_rel(&buried, p);
		if (old && (old->m.word != 0xa5a5a5a5u || old->m.rest != 0xa5a5a5a5u || old->m.turn != 0xa5a5a5a5u ||
			    old->c.waiters != 0xa5a5a5a5u))
			torture_fail("a lock was changed after the last one to unlock it had freed it");
	}
	free(old);
}

/* Leave the meeting. The caller has the lock and is done with it. */
static void leave(struct meeting *meeting, struct place *p)
{
	bool last = --p->left == 0;

	torture_mutex_drop(&p->m, meeting->watch);
	if (last)
		end_place(meeting, p);
}

static void take_surely(struct meeting *meeting, struct place *p, uint64_t *rng)
{
	while (!torture_mutex_take(&p->m, meeting->watch, rng))
		sched_yield();
}

static void wait_for_go(struct meeting *meeting, struct place *p, uint64_t *rng)
{
	bool patient = torture_once_in(rng, 2);
	struct mutex_op *op = torture_op_begin(meeting->watch);

	lull_store_relaxed(&p->waiting, p->waiting + 1);
	while (!p->go)
		if (patient)
			lull_cond_wait(&p->c, &p->m);
		else
			lull_cond_timedwait(&p->c, &p->m, torture_mutex_deadline(rng));
	torture_op_end(op);
}

static void *guest_main(void *arg)
{
	struct guest *g = lull_container_of(arg, struct guest, t);
	struct place *p = g->meeting->place;
	unsigned n = p->rounds;
	uint64_t *rng = &g->t.rng;

	torture_me = &g->t;
	/* Interrupt some alone: they look again by themselves, and the others are to depend on being woken. */
	if (torture_once_in(rng, 4)) {
		lull_thread_register();
		torture_timer_start(&g->t, SIGNAL_US);
	}
	for (;;) {
		take_surely(g->meeting, p, rng);
		if (g->meeting->waits)
			wait_for_go(g->meeting, p, rng);
		torture_mutex_visit(&p->pair, torture_random(rng, p->hold_ns), "lock at which threads meet");
		g->t.tally.sections++;
		if (!--n)
			break;
		torture_mutex_drop(&p->m, g->meeting->watch);
	}
	leave(g->meeting, p);
	return NULL;
}

static struct place *new_place(enum mutex_form form, unsigned guests, uint64_t *rng)
{
	struct place *p = options_alloc(1, sizeof(*p));

	p->left = guests + 1;
	p->rounds = form == MUTEX_STARVE ? STARVE_ROUNDS : 1;
	p->hold_ns = form == MUTEX_STARVE ? STARVE_NS : torture_random(rng, 50000);
	return p;
}

/* Wait until about all guests have come; the exact number does not matter. */
static void gather(const struct meeting *meeting, const struct place *p, unsigned guests, uint64_t *rng)
{
	uint64_t until = bench_now_ns() + torture_random(rng, GATHER_US * 1000);

	while (bench_now_ns() < until && (!meeting->waits || lull_load_relaxed(&p->waiting) < guests))
		sched_yield();
}

static void let_go(struct meeting *meeting, struct place *p, uint64_t *rng)
{
	struct mutex_op *op;

	take_surely(meeting, p, rng);
	lull_store_relaxed(&p->go, 1u);
	op = torture_op_begin(meeting->watch);
	torture_mutex_announce(&p->c, &p->m, true, torture_once_in(rng, 2));
	torture_op_end(op);
	take_surely(meeting, p, rng);
}

void torture_meet(struct torturer *t, enum mutex_form form)
{
	struct meeting meeting = { .waits = form == MUTEX_BROADCAST };
	unsigned n = 2 + (unsigned)torture_random(&t->rng, MEET_MOST - 1), i;
	struct torturer *who[MEET_MOST];
	struct guest guest[MEET_MOST];
	struct place *p = new_place(form, n, &t->rng);

	meeting.place = p;
	meeting.watch = torture_meet_watch(t);
	torture_watch_set(meeting.watch, &(struct mutex_watch){ .word = &p->m.word,
								.ready = meeting.waits ? &p->go : NULL });
	if (!meeting.waits)
		lull_mutex_lock(&p->m);
	for (i = 0; i < n; i++) {
		torture_thread_init(&guest[i].t, "guest", i, torture_random(&t->rng, UINT64_MAX));
		guest[i].meeting = &meeting;
		who[i] = &guest[i].t;
		torture_meet_start(t, i, &guest[i].t, guest_main);
	}
	gather(&meeting, p, n, &t->rng);
	if (meeting.waits)
		let_go(&meeting, p, &t->rng);
	leave(&meeting, p);
	torture_meet_join(t, who, n, NULL);
}
