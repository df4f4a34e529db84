/* SPDX-License-Identifier: MIT */
/*
 * worker.c - a thread that runs callbacks, and its queue.
 *
 * A queue is a stack that anyone pushes to, and that its worker takes as a whole and turns round. A push to an empty
 * stack wakes the worker. So a call that comes alone is served at once. A worker begins a grace period every
 * WORKER_PACE_NS at most, as each may interrupt all readers: where many calls come they are served together.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "workers.h"

#define WORKER_PACE_NS	 500000u
#define WORKER_LOOK_NS 1000000000u /* before a wait is looked at that may never end */

__thread struct call_rcu_data *lull__worker_here __attribute__((tls_model("initial-exec")));

/* ---- time ----------------------------------------------------------------------------------------------- */

#define SECOND_NS 1000000000u

uint64_t lull__worker_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* As lull__ground.sleep(), which has no deadline. */
void lull__worker_sleep(uint32_t *word, uint32_t value, uint64_t deadline_ns)
{
	struct timespec until = { .tv_sec = (time_t)(deadline_ns / SECOND_NS), .tv_nsec = (long)(deadline_ns % SECOND_NS) };
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, &until, NULL, FUTEX_BITSET_MATCH_ANY);
	errno = saved;
}

/* ---- the queue ------------------------------------------------------------------------------------------ */

void lull__worker_nudge(struct call_rcu_data *w)
{
	/*
	 * ORDER URCU-6: what was pushed before the event; pairs with URCU-6 in work(); without it the worker
	 * finds the queue empty, takes the event for an old one, and sleeps; model/urcu/nudge.litmus
	 */
	lull_add_release(&w->event, 1u);
	lull__ground.wake(&w->event, INT_MAX);
}

bool lull__worker_push(struct call_rcu_data *w, struct lull_head *head)
{
	struct lull_head *newest = lull_load_relaxed(&w->pushed);

	do
		head->next = newest;
	/*
	 * ORDER URCU-5: the unlinking and the head before it is on the queue; pairs with URCU-5 in urcu_take();
	 * without it the grace period misses the unlinking, or the worker calls what is not there yet;
	 * model/urcu/queue.litmus
	 */
	while (!lull_cas_release(&w->pushed, &newest, head));
	return !newest;
}

/* Put what was taken into the batch, the oldest first. The compiler barriers are for lull__worker_take_on(). */
static void turn(struct call_rcu_data *w)
{
	struct lull_head *head;

	while ((head = w->taken) != NULL) {
		w->taken_next = head->next;
		lull_compiler_barrier();
		head->next = w->batch;
		lull_compiler_barrier();
		w->batch = head;
		lull_compiler_barrier();
		w->taken = w->taken_next;
		lull_compiler_barrier();
	}
}

/* Make all that waits the batch, which is empty. */
static void urcu_take(struct call_rcu_data *w)
{
	struct lull_head *newest = lull_load_relaxed(&w->pushed);

	do {
		w->taken_next = newest;
		lull_compiler_barrier();
		w->taken = newest;
		lull_compiler_barrier();
	/* ORDER URCU-5: the queue before the grace period, and what was pushed before it is called; pairs with
	 * URCU-5 in lull__worker_push(); without it as there; model/urcu/queue.litmus */
	} while (!lull_cas_acquire(&w->pushed, &newest, NULL));
	turn(w);
}

/*
 * In a child that was forked amid urcu_take(): go on. What is still in the queue has not been taken. In turn() both words
 * are the same until the next one is known, and the batch begins with what has been put there.
 */
void lull__worker_take_on(struct call_rcu_data *w)
{
	struct lull_head *head = w->taken;

	for (const struct lull_head *one = w->pushed; head && one; one = one->next)
		if (one == head)
			head = w->taken = NULL;
	if (head && head != w->taken_next) {
		if (head != w->batch) {
			head->next = w->batch;
			w->batch = head;
		}
		w->taken = w->taken_next;
	}
	turn(w);
}

/*
 * Who finds no thread may find an old word: another call has just started it, and it may sleep already. So who is first
 * wakes it at any rate.
 */
void lull__worker_defer(struct call_rcu_data *w, struct lull_head *head)
{
	bool first;

	lull_add_relaxed(&w->waiting, (size_t)1); /* before it can be called */
	first = lull__worker_push(w, head);
	if (lull_unlikely(!lull_load_relaxed(&w->has_thread))) {
		lull__ground.init();
		lull__ground.lock_take(&w->of->lock);
		(void)lull__worker_start(w); /* else the next call tries again, or a barrier helps */
		lull__ground.lock_leave(&w->of->lock);
	}
	if (first)
		lull__worker_nudge(w);
}

/* ---- the thread ------------------------------------------------------------------------------------------ */

static void run(struct call_rcu_data *w)
{
	struct lull_head *head;
	size_t called = 0;

	lull__ground.lock_take(&w->running);
	w->of->reads(true);
	while ((head = w->batch)) {
		w->batch = head->next;
		lull__ground.call("a callback of call_rcu()", head);
		called++;
	}
	lull_sub_relaxed(&w->waiting, called);
	w->of->reads(false);
	lull__ground.lock_leave(&w->running);
}

/* Take what waits, and call it. If there is a batch, a child goes on with what its parent's worker had taken. */
static void serve(struct call_rcu_data *w)
{
	lull_store_relaxed(&w->urgent, 0u);
	if (!w->batch)
		urcu_take(w);
	w->of->wait(w->of, &w->waits_for);
	run(w);
}

/* Is it too early for a grace period after that of @last_ns? Then sleep until it is time, or something happens. */
static bool rest(struct call_rcu_data *w, uint32_t event, uint64_t last_ns)
{
	uint64_t due_ns = last_ns + WORKER_PACE_NS;

	if (lull_load_relaxed(&w->urgent) || lull__worker_now_ns() >= due_ns)
		return false;
	lull__worker_sleep(&w->event, event, due_ns);
	return true;
}

static void begin(struct call_rcu_data *w)
{
	lull__worker_here = w;
	*w->of->chosen() = w; /* callbacks that its callbacks defer come back to @w */
	if (w->of->thread_name)
		pthread_setname_np(pthread_self(), w->of->thread_name);
	w->of->reads(true);
	w->of->reads(false);
}

static void *work(void *arg)
{
	struct call_rcu_data *w = arg;
	uint64_t last_ns = 0;

	begin(w);
	for (;;) {
		/*
		 * ORDER URCU-6: the event before the queue; pairs with URCU-6 in lull__worker_nudge(); without it as
		 * there; model/urcu/nudge.litmus
		 */
		uint32_t event = lull_load_acquire(&w->event);

		if (lull_load_relaxed(&w->stop))
			break;
		if (!w->batch && !lull_load_relaxed(&w->pushed)) {
			lull__ground.sleep(&w->event, event);
			continue;
		}
		if (!w->batch && rest(w, event, last_ns))
			continue;
		last_ns = lull__worker_now_ns();
		serve(w);
	}
	if (w->of->leave)
		w->of->leave(w->of);
	/*
	 * ORDER URCU-7: all that the worker did before it has ended; pairs with URCU-7 in lull__worker_end(); without it
	 * its queue is freed under it; model/urcu/ended.litmus
	 */
	lull_store_release(&w->ended, 1u);
	lull__ground.wake(&w->ended, INT_MAX);
	return NULL;
}

/* As src/os/os.h has it, which the source door does not see. */
static void block_all_but_faults(sigset_t *saved)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	sigset_t most;

	sigfillset(&most);
	for (unsigned i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&most, faults[i]);
	pthread_sigmask(SIG_SETMASK, &most, saved);
}

/* The thread inherits the mask: the program's own threads take care of its signals, but for those of faults. */
static int create(struct call_rcu_data *w, int cpu)
{
	pthread_attr_t attr;
	sigset_t saved;
	cpu_set_t set;
	int err = pthread_attr_init(&attr);

	if (err)
		return err;
	if (cpu >= 0 && cpu < CPU_SETSIZE) {
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	}
	block_all_but_faults(&saved);
	err = pthread_create(&w->thread, &attr, work, w);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	pthread_attr_destroy(&attr);
	return err;
}

int lull__worker_start(struct call_rcu_data *w)
{
	int err;

	if (w->has_thread || w->helped)
		return 0;
	err = create(w, w->cpu);
	if (err == EINVAL && w->cpu >= 0)
		err = create(w, -1); /* a CPU that is not there, or not for us: as liburcu, go on without it */
	if (!err)
		lull_store_relaxed(&w->has_thread, 1u);
	return err;
}

void lull__worker_help(struct call_rcu_data *w)
{
	struct call_rcu_data *here = lull__worker_here, **chosen = w->of->chosen();

	w->helpers_choice = *chosen;
	lull__worker_here = *chosen = w;
	serve(w);
	lull__worker_here = here;
	*chosen = w->helpers_choice;
	lull__ground.lock_take(&w->of->lock);
	lull_store_relaxed(&w->helped, 0u);
	lull__ground.wake(&w->helped, INT_MAX);
	(void)lull__worker_start(w);
	lull__ground.lock_leave(&w->of->lock);
}

/* ---- the end of a worker ------------------------------------------------------------------------------ */

/* Put all that waits at @w, which has no thread, behind what waits at @heir. */
static void move_all(struct call_rcu_data *w, struct call_rcu_data *heir)
{
	struct lull_head *head;

	do {
		while ((head = w->batch) != NULL) {
			w->batch = head->next;
			(void)lull__worker_push(heir, head);
		}
		urcu_take(w);
	} while (w->batch);
	lull_add_relaxed(&heir->waiting, w->waiting);
	(void)lull__worker_start(heir);
	lull__worker_nudge(heir);
}

void lull__worker_bury(struct call_rcu_data *w)
{
	struct call_rcu_data **at = &w->of->all;

	if (w->batch || lull_load_relaxed(&w->pushed))
		move_all(w, lull__workers_make_default(w->of));
	while (*at != w)
		at = &(*at)->next;
	lull_store_relaxed(at, w->next);
	free(w);
}

void lull__worker_end(struct call_rcu_data *w, const char *call)
{
	lull_store_relaxed(&w->stop, 1u);
	lull__worker_nudge(w);
	/* ORDER URCU-7: that the worker has ended before its queue is freed; pairs with URCU-7 in work(); without it
	 * as there; model/urcu/ended.litmus */
	while (!lull_load_acquire(&w->ended)) {
		lull__worker_sleep(&w->ended, 0, lull__worker_now_ns() + WORKER_LOOK_NS);
		if (call && w->of->is_stuck && w->of->is_stuck(w, call))
			call = NULL;
	}
	if (!w->of->leaves_threads)
		pthread_join(w->thread, NULL);
}
