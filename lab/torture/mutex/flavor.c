/* SPDX-License-Identifier: MIT */
/* lull torture: flavor mutex: who locks, and what must be true in a pause. See torture_mutex.h. */
#include "torture/mutex/torture_mutex.h"

#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "torture/flavors.h"

/* ---- the ordinary ones ----------------------------------------------------------------------- */

static bool take(struct mutex_lock *l, uint64_t *rng)
{
	if (!torture_mutex_take(&l->m, &l->watch, rng))
		return false;
	if (lull_mutex_owner(&l->m) != torture_me->tid && torture_me->tid)
		torture_fail("a lock names thread %u as its owner, and thread %u has it", lull_mutex_owner(&l->m), torture_me->tid);
	l->taken++;
	return true;
}

static void visit(struct mutex_lock *l, struct torture_tally *tally, uint64_t ns, const char *where)
{
	torture_mutex_visit(&l->pair, ns, where);
	tally->sections++;
}

static uint64_t any_ns(uint64_t *rng)
{
	return torture_once_in(rng, 2) ? 0 : torture_random(rng, torture_once_in(rng, 16) ? 100000 : 3000);
}

static void mutex_once(struct torturer *t, const char *where)
{
	struct mutex_lock *l = torture_mutex_any(&t->rng);

	if (!take(l, &t->rng))
		return;
	visit(l, &t->tally, any_ns(&t->rng), where);
	torture_mutex_drop(&l->m, &l->watch);
}

/* Take one lock within another, in the order that all threads keep. */
static void two_at_a_time(struct torturer *t)
{
	unsigned outer = (unsigned)torture_random(&t->rng, MUTEX_LOCKS - 1);
	unsigned inner = outer + 1 + (unsigned)torture_random(&t->rng, MUTEX_LOCKS - 1 - outer);
	struct mutex_lock *o = &torture_mutexes.lock[outer], *i = &torture_mutexes.lock[inner];

	if (!take(o, &t->rng))
		return;
	visit(o, &t->tally, any_ns(&t->rng), "lock around another");
	if (take(i, &t->rng)) {
		visit(i, &t->tally, any_ns(&t->rng), "lock within another");
		torture_linger(&t->rng);
		torture_mutex_drop(&i->m, &i->watch);
	}
	torture_mutex_drop(&o->m, &o->watch);
}

/* Take a lock many times, long enough for waiters to fall asleep, and with hardly any time between two turns. */
static void many_times(struct torturer *t)
{
	struct mutex_lock *l = &torture_mutexes.lock[MUTEX_LOCKS - 1];
	uint64_t n, ns = torture_random(&t->rng, 300000);

	for (n = torture_random(&t->rng, 20); n; n--) {
		if (!take(l, &t->rng))
			continue;
		visit(l, &t->tally, ns, "lock that is taken time and again");
		torture_mutex_drop(&l->m, &l->watch);
	}
}

static void torture_mutex(struct torturer *t)
{
	switch (torture_random(&t->rng, 16)) {
	case 0:
	case 1:
		two_at_a_time(t);
		break;
	case 2:
		if (torture_once_in(&t->rng, 8))
			many_times(t);
		break;
	case 3:
	case 4:
		torture_token_use(t);
		break;
	default:
		mutex_once(t, "lock");
	}
	if (torture_once_in(&t->rng, 4))
		torture_linger(&t->rng);
}

static void torture_mutex_shortly(struct torturer *t, const char *where)
{
	mutex_once(t, where);
}

static void torture_mutex_wait_once(void)
{
	uint64_t rng = bench_now_ns() | 1;
	struct mutex_lock *l = &torture_mutexes.lock[0];

	if (!torture_mutex_take(&l->m, &l->watch, &rng))
		return;
	l->taken++;
	torture_mutex_visit(&l->pair, 0, "lock of anybody");
	torture_mutex_drop(&l->m, &l->watch);
}

/* It may have interrupted any call, for this lock as well; so it only tries. */
static void torture_mutex_in_handler(struct torturer *t)
{
	struct mutex_lock *l = torture_mutex_any(&t->handler_rng);
	struct mutex_op *op;

	/* Threads that pause still get signals, and must not hold anything. */
	if (lull_load_acquire(&torture.pausing))
		return;
	op = torture_op_begin(&l->watch);
	if (lull_mutex_trylock(&l->m)) {
		l->taken++;
		visit(l, &t->handler_tally, any_ns(&t->handler_rng), "lock in a signal handler");
		lull_mutex_unlock(&l->m);
	}
	torture_op_end(op);
}

/* It exits at once when it has unlocked, while others may be looking at it. */
static void torture_mutex_die(struct torturer *t)
{
	mutex_once(t, "lock of a thread that exits");
	lull_add_relaxed(&torture.dropped, (uint64_t)1);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void burst(struct torturer *t)
{
	uint64_t n;

	torture_doing("locking");
	for (n = torture_random(&t->rng, 100); n; n--)
		torture_mutex(t);
}

static void *torture_mutex_reader(void *arg)
{
	return torture_rounds(arg, &torture.active_readers, burst);
}

static enum mutex_form any_form(uint64_t *rng)
{
	static const unsigned char share[] = { MUTEX_MEET,   MUTEX_MEET,      MUTEX_MEET,      MUTEX_STARVE,
					       MUTEX_STARVE, MUTEX_BROADCAST, MUTEX_BROADCAST, MUTEX_CANCEL,
					       MUTEX_EXIT,   MUTEX_KILL,      MUTEX_KILL };

	return share[torture_random(rng, sizeof(share))];
}

static void update(struct torturer *t)
{
	enum mutex_form form = any_form(&t->rng);

	if (form == MUTEX_KILL && torture.without[PART_FORK])
		return;
	torture_doing(torture.flavor->form[form]);
	lull_add_relaxed(&torture.forms[form], (uint64_t)1);
	if (form == MUTEX_CANCEL)
		torture_mutex_cancel(t);
	else if (form == MUTEX_EXIT)
		torture_mutex_exit(t);
	else if (form == MUTEX_KILL)
		torture_mutex_kill(t);
	else
		torture_meet(t, form);
}

static void *torture_mutex_updater(void *arg)
{
	return torture_rounds(arg, &torture.active_updaters, update);
}

/* With many threads for each CPU all of them want the locks now and then. */
static void torture_mutex_change(uint64_t *rng)
{
	if (torture_once_in(rng, 3))
		lull_store_relaxed(&torture.active_readers, torture.readers);
}

/* ---- forked children ------------------------------------------------------------------------- */

#define CHILD_THREADS 3u
#define CHILD_ROUNDS 2000u

/* Both go on as owners of what the forking thread had locked. */
static pid_t torture_mutex_fork(struct torturer *t)
{
	struct mutex_lock *l = torture_mutex_any(&t->rng);
	bool held = take(l, &t->rng);
	pid_t pid;

	torture_pool_lock();
	pid = fork();
	torture.in_child = pid == 0;
	torture_pool_unlock();
	if (!held)
		return pid;
	torture_linger(&t->rng);
	torture_mutex_visit(&l->pair, 0, "lock held over a fork");
	torture_mutex_drop(&l->m, &l->watch);
	return pid;
}

static void *child_locker(void *arg)
{
	struct torturer *t = arg;
	unsigned n;

	torture_me = t;
	for (n = 0; n < CHILD_ROUNDS; n++)
		mutex_once(t, "lock of a child");
	return NULL;
}

static void reset(struct mutex_lock *l)
{
	lull_mutex_init(&l->m, 0);
	l->pair = (struct mutex_pair){ 0, 0 };
	l->taken = 0;
}

static void check_lock(const struct mutex_lock *l, const char *when)
{
	if (l->m.word)
		torture_fail("%s: nobody uses a lock whose word is 0x%x", when, l->m.word);
	if (l->pair.a != l->taken || l->pair.b != l->taken)
		torture_fail("%s: a lock was taken %llu times, what it guards was changed %llu and %llu times", when,
			     (unsigned long long)l->taken, (unsigned long long)l->pair.a,
			     (unsigned long long)l->pair.b);
}

/* Locks of others stay locked in the child, so it makes them new, and shares them with threads of its own. */
static void torture_mutex_child(struct torturer *t)
{
	struct torturer made[CHILD_THREADS];
	unsigned i;

	for (i = 0; i < MUTEX_LOCKS; i++)
		reset(&torture_mutexes.lock[i]);
	for (i = 0; i < CHILD_THREADS; i++) {
		torture_thread_init(&made[i], "child's thread", i, torture_random(&t->rng, UINT64_MAX));
		if (pthread_create(&made[i].thread, NULL, child_locker, &made[i]) != 0)
			torture_fail("cannot make a thread");
	}
	for (i = 0; i < CHILD_THREADS; i++)
		pthread_join(made[i].thread, NULL);
	for (i = 0; i < MUTEX_LOCKS; i++)
		check_lock(&torture_mutexes.lock[i], "in a forked child");
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void torture_mutex_init(void)
{
	unsigned i;

	torture_watch_init();
	torture_token_init();
	torture_meet_init();
	torture_kill_init();
	for (i = 0; i < MUTEX_LOCKS; i++) {
		struct mutex_lock *l = &torture_mutexes.lock[i];

		l->watch.word = &l->m.word;
	}
}

/* Destroy the lock and make it anew: destruction checks that it has neither spinners nor an heir. */
static void renew(struct mutex_lock *l)
{
	struct mutex_watch watch = l->watch;

	torture_watch_set(&l->watch, &(struct mutex_watch){ .word = NULL });
	lull_mutex_destroy(&l->m);
	lull_mutex_init(&l->m, 0);
	torture_watch_set(&l->watch, &watch);
}

/* Check the locks. Called while all threads pause. */
static void torture_mutex_check(const char *when)
{
	unsigned i;

	for (i = 0; i < MUTEX_LOCKS; i++) {
		check_lock(&torture_mutexes.lock[i], when);
		renew(&torture_mutexes.lock[i]);
	}
	torture_token_check(when);
	torture_kill_check(when);
}

static uint64_t torture_mutex_count(void)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < MUTEX_LOCKS; i++)
		sum += lull_load_relaxed(&torture_mutexes.lock[i].watch.entries);
	return sum;
}

static unsigned long long now(const uint64_t *count)
{
	return lull_load_relaxed(count);
}

static void torture_mutex_report(const struct torture_tally *sum)
{
	const struct torture_mutexes *m = &torture_mutexes;

	printf("%-24s %llu times taken, %llu times not at once, %llu not in time; oracle %s\n", "Locks:",
	       (unsigned long long)sum->sections, now(&m->busy), now(&m->timeouts), lull_mutex_oracle_name());
	printf("%-24s %llu taken, %llu not in time\n", "Tokens:", now(&m->tokens), now(&m->tokens_late));
	printf("%-24s %llu locks freed by the last to unlock, %llu threads cancelled, %llu exited with a "
	       "robust lock\n", "Ends:", now(&m->freed), now(&m->cancelled), now(&m->exited));
	printf("%-24s %llu killed, %llu of them had the robust lock; %llu came for the shared one\n",
	       "Processes:", now(&m->killed), now(&m->died), now(&m->visited));
}

const struct torture_flavor torture_mutex_flavor = {
	.name = "mutex",
	.form = { "meetings", "starvations", "broadcasts", "cancellations", "exits of owners", "processes" },
	.unit = "locks",
	.count = torture_mutex_count,
	.reader = torture_mutex_reader,
	.updater = torture_mutex_updater,
	.handler = torture_mutex_in_handler,
	.use = torture_mutex,
	.use_shortly = torture_mutex_shortly,
	.wait_once = torture_mutex_wait_once,
	.die = torture_mutex_die,
	/* In a child the pipe of RCU beside the locks. */
	.begin = torture_rcu_begin,
	.end = torture_rcu_end,
	.wait_for = torture_rcu_wait_for,
	.fork = torture_mutex_fork,
	.child = torture_mutex_child,
	.releaser = torture_watcher,
	.change = torture_mutex_change,
	.init = torture_mutex_init,
	.check = torture_mutex_check,
	.report = torture_mutex_report,
};
