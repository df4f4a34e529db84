/* SPDX-License-Identifier: MIT */
/*
 * lull torture: the lock for many readers. Each lock guards a pair of plain numbers. Writers make them differ for a
 * while; readers always find them equal; in a pause they are equal to the number of times that the lock was taken for
 * writing. Readers lock, try, hold two locks, leave a hold to another thread. They write to nothing that they share: a
 * locked instruction of the torture's own would order what the lock must order.
 */
#include "torture/flavors.h"
#include "torture/torture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <lull/percpu_rwsem.h>

#include "common/options.h"

/* A thread that takes two locks takes them in this order. */
#define LOCKS	      3u
#define BURSTS	      4u /* a writer comes back at once, so that the readers' slow path is met */
#define CHILD_THREADS 3u
#define CHILD_ROUNDS  500u

enum rwsem_form { RWSEM_LOCK, RWSEM_TRYLOCK, RWSEM_BURST, RWSEM_TWO };

static struct rwsem_lock {
	struct lull_percpu_rwsem sem;
	uint64_t a __attribute__((aligned(TORTURE_LINE))), b; /* accessed plainly, so that a sanitizer sees the order */
	uint64_t taken;						/* for writing */
} __attribute__((aligned(TORTURE_LINE))) locks[LOCKS];

static uint64_t busy, writes; /* tries that failed; sections */

static struct rwsem_lock *any_lock(uint64_t *rng)
{
	return &locks[torture_random(rng, LOCKS)];
}

/* ---- what is guarded --------------------------------------------------------------------------- */

/* The compiler must not keep what it has read. */
static void look(const struct rwsem_lock *l, const char *where)
{
	uint64_t a = l->a, b;

	lull_compiler_barrier();
	b = l->b;
	lull_compiler_barrier();
	if (a != b)
		torture_fail("%s: what a percpu_rwsem guards was read in the middle of a change: %llu and %llu", where,
			     (unsigned long long)a, (unsigned long long)b);
}

static void change(struct rwsem_lock *l, uint64_t *rng)
{
	look(l, "writer");
	l->a++;
	lull_compiler_barrier();
	torture_spin_ns(torture_random(rng, torture_once_in(rng, 16) ? 100000 : 2000));
	l->b++;
	l->taken++;
	lull_add_relaxed(&writes, (uint64_t)1);
	look(l, "writer");
}

/* ---- readers --------------------------------------------------------------------------------- */

static bool take(struct rwsem_lock *l, uint64_t *rng)
{
	if (torture_once_in(rng, 4)) {
		if (lull_percpu_rwsem_read_trylock(&l->sem))
			return true;
		lull_add_relaxed(&busy, (uint64_t)1);
		return false;
	}
	lull_percpu_rwsem_read_lock(&l->sem);
	return true;
}

static void read_once(struct torturer *t, const char *where)
{
	struct rwsem_lock *l = any_lock(&t->rng);

	if (!torture.in_child && torture_once_in(&t->rng, 3))
		torture_fill_store_buffer(&t->rng);
	if (!take(l, &t->rng))
		return;
	look(l, where);
	torture_linger(&t->rng);
	look(l, where);
	t->tally.sections++;
	lull_percpu_rwsem_read_unlock(&l->sem);
}

static void read_two(struct torturer *t)
{
	unsigned outer = (unsigned)torture_random(&t->rng, LOCKS - 1);
	unsigned inner = outer + 1 + (unsigned)torture_random(&t->rng, LOCKS - 1 - outer);

	if (!take(&locks[outer], &t->rng))
		return;
	if (take(&locks[inner], &t->rng)) {
		torture_linger(&t->rng);
		look(&locks[inner], "reader of two");
		lull_percpu_rwsem_read_unlock(&locks[inner].sem);
	}
	look(&locks[outer], "reader of two");
	t->tally.sections++;
	lull_percpu_rwsem_read_unlock(&locks[outer].sem);
}

struct handed_lock {
	struct torture_held held;
	struct rwsem_lock *lock;
};

static void end_handed(struct torture_held *held, struct torturer *t)
{
	struct handed_lock *h = lull_container_of(held, struct handed_lock, held);

	look(h->lock, "hold of another thread");
	t->tally.sections++;
	lull_percpu_rwsem_read_unlock(&h->lock->sem);
	free(h);
}

static void hand_over(struct torturer *t)
{
	struct handed_lock *h = options_alloc(1, sizeof(*h));

	*h = (struct handed_lock){ .held.end = end_handed, .lock = any_lock(&t->rng) };
	lull_percpu_rwsem_read_lock(&h->lock->sem);
	torture_linger(&t->rng);
	torture_pass_on(&h->held, t);
}

static void use(struct torturer *t)
{
	switch (torture_random(&t->rng, 32)) {
	case 0:
		hand_over(t);
		break;
	case 1:
	case 2:
		read_two(t);
		break;
	default:
		read_once(t, "reader");
	}
}

/* It may have interrupted any call, for this lock as well; so it only tries. */
static void use_in_handler(struct torturer *t)
{
	struct rwsem_lock *l = any_lock(&t->handler_rng);

	/* Threads that pause still get signals, and must not hold anything. */
	if (lull_load_acquire(&torture.pausing) || !lull_percpu_rwsem_read_trylock(&l->sem))
		return;
	look(l, "signal handler");
	torture_spin_ns(torture_random(&t->handler_rng, 3000));
	look(l, "signal handler");
	t->handler_tally.sections++;
	lull_percpu_rwsem_read_unlock(&l->sem);
}

static void burst(struct torturer *t)
{
	uint64_t n;

	torture_doing("locking for reading");
	for (n = torture_random(&t->rng, 100); n; n--)
		use(t);
}

static void *reader(void *arg)
{
	return torture_rounds(arg, &torture.active_readers, burst);
}

/* ---- writers ----------------------------------------------------------------------------------- */

static void write_once(struct rwsem_lock *l, uint64_t *rng)
{
	lull_percpu_rwsem_write_lock(&l->sem);
	change(l, rng);
	lull_percpu_rwsem_write_unlock(&l->sem);
}

static void write_two(uint64_t *rng)
{
	unsigned outer = (unsigned)torture_random(rng, LOCKS - 1);

	lull_percpu_rwsem_write_lock(&locks[outer].sem);
	change(&locks[outer], rng);
	write_once(&locks[outer + 1], rng);
	change(&locks[outer], rng);
	lull_percpu_rwsem_write_unlock(&locks[outer].sem);
}

static void update(struct torturer *t)
{
	struct rwsem_lock *l = any_lock(&t->rng);
	enum rwsem_form form = (enum rwsem_form)torture_random(&t->rng, RWSEM_TWO + 1);
	unsigned n;

	torture_doing(torture.flavor->form[form]);
	lull_add_relaxed(&torture.forms[form], (uint64_t)1);
	if (form == RWSEM_TWO) {
		write_two(&t->rng);
	} else if (form == RWSEM_TRYLOCK) {
		if (!lull_percpu_rwsem_write_trylock(&l->sem)) {
			lull_add_relaxed(&busy, (uint64_t)1);
			return;
		}
		change(l, &t->rng);
		lull_percpu_rwsem_write_unlock(&l->sem);
	} else {
		for (n = form == RWSEM_BURST ? BURSTS : 1; n; n--)
			write_once(l, &t->rng);
	}
	/* Mostly the mark is gone when the next writer comes. */
	if (!torture_once_in(&t->rng, 4))
		torture_sleep_us(torture_random(&t->rng, 2000));
}

static void *updater(void *arg)
{
	return torture_rounds(arg, &torture.active_updaters, update);
}

static void wait_once(void)
{
	uint64_t rng = 1;

	write_once(&locks[0], &rng);
}

/* A hold stays when its thread is gone. */
static void die(struct torturer *t)
{
	hand_over(t);
	lull_add_relaxed(&torture.dropped, (uint64_t)1);
}

/* ---- forked children ------------------------------------------------------------------------- */

/* Both have the hold, and undo it. */
static pid_t fork_with_hold(struct torturer *t)
{
	struct rwsem_lock *l = any_lock(&t->rng);
	pid_t pid;

	lull_percpu_rwsem_read_lock(&l->sem);
	pid = fork();
	torture.in_child = pid == 0;
	look(l, "reader around a fork");
	torture_linger(&t->rng);
	look(l, "reader around a fork");
	lull_percpu_rwsem_read_unlock(&l->sem);
	return pid;
}

static void *child_thread(void *arg)
{
	struct torturer *t = arg;
	unsigned n;

	torture_me = t;
	for (n = 0; n < CHILD_ROUNDS; n++)
		if (torture_once_in(&t->rng, 16))
			write_once(any_lock(&t->rng), &t->rng);
		else
			read_once(t, "reader in a forked child");
	return NULL;
}

static void check_lock(const struct rwsem_lock *l, const char *when)
{
	if (l->a != l->taken || l->b != l->taken)
		torture_fail("%s: a percpu_rwsem was taken %llu times, what it guards was changed %llu and %llu times",
			     when, (unsigned long long)l->taken, (unsigned long long)l->a, (unsigned long long)l->b);
}

/* Others may have held the locks, so the child makes them anew, and shares them with threads of its own. */
static void child(struct torturer *t)
{
	struct torturer made[CHILD_THREADS];
	unsigned i;

	lull_rcu_barrier();
	for (i = 0; i < LOCKS; i++) {
		lull_percpu_rwsem_init(&locks[i].sem);
		locks[i].a = locks[i].b = locks[i].taken = 0;
	}
	for (i = 0; i < CHILD_THREADS; i++) {
		torture_thread_init(&made[i], "child's thread", i, torture_random(&t->rng, UINT64_MAX));
		if (pthread_create(&made[i].thread, NULL, child_thread, &made[i]) != 0)
			torture_fail("cannot make a thread");
	}
	for (i = 0; i < CHILD_THREADS; i++)
		pthread_join(made[i].thread, NULL);
	for (i = 0; i < LOCKS; i++)
		check_lock(&locks[i], "in a forked child");
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void init(void)
{
	unsigned i;

	for (i = 0; i < LOCKS; i++)
		lull_percpu_rwsem_init(&locks[i].sem);
}

/* Marks of writers go by callbacks, each of which may look a second time. */
static void settle(void)
{
	torture_pass_await();
	lull_rcu_barrier();
	lull_rcu_barrier();
}

/* Destroy the locks and make them anew: destruction finds a hold, and waits for the mark to go. */
static void check(const char *when)
{
	unsigned i;

	for (i = 0; i < LOCKS; i++) {
		check_lock(&locks[i], when);
		lull_percpu_rwsem_destroy(&locks[i].sem);
		lull_percpu_rwsem_init(&locks[i].sem);
	}
}

static uint64_t count(void)
{
	return lull_load_relaxed(&writes);
}

static void report(const struct torture_tally *sum)
{
	printf("%-24s %llu times read, %llu times written, %llu tries that failed\n", "Locks:",
	       (unsigned long long)sum->sections, (unsigned long long)count(),
	       (unsigned long long)lull_load_relaxed(&busy));
}

const struct torture_flavor torture_rwsem = {
	.name = "percpu_rwsem",
	.form = { "locks", "tries", "bursts", "two locks" },
	.unit = "writes",
	.is_anonymous = true,
	.count = count,
	.reader = reader,
	.updater = updater,
	.handler = use_in_handler,
	.use = use,
	.use_shortly = read_once,
	.wait_once = wait_once,
	.die = die,
	/* In a child the pipe of RCU beside the locks. */
	.begin = torture_rcu_begin,
	.end = torture_rcu_end,
	.wait_for = torture_rcu_wait_for,
	.fork = fork_with_hold,
	.child = child,
	.releaser = torture_pass_releaser,
	.init = init,
	.settle = settle,
	.check = check,
	.report = report,
};
