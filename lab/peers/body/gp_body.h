/* SPDX-License-Identifier: MIT */
/*
 * The bodies of gp_scheme.h over the flavor that was included before. GP_BODY names the scheme. A flavor
 * may say beforehand
 *
 *	GP_REST(), GP_RESUME()	around a wait that the flavor knows nothing of: offline, online
 *	GP_ENTER(), GP_LEAVE()	register a thread and take it out, where thread_enter and thread_leave do not
 *	GP_HELP			the limit on the backlog can be kept by who defers
 *	GP_PURE(head, func)	defers a callback that only frees
 *	GP_POLLED		deferred calls run only in flavor_poll(), on their own thread
 *	GP_PEAK_RESET()		the most objects that waited, where the library counts them
 *	GP_PEAK()		itself
 *	GP_NO_WAIT		there is no call that waits for readers
 *	GP_NO_CALL		there are no deferred calls whose callbacks may be of any kind
 *	GP_DEFER(func, p)	another way of deferring, with GP_DEFER_ENTER() and
 *				GP_DEFER_LEAVE() for the thread, and GP_DEFER_BARRIER()
 */
#include <semaphore.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lull/atomic.h>

#include "flavor_read.h"
#include "gp_scheme.h"

#ifndef GP_REST
#define GP_REST() ((void)0)
#define GP_RESUME() ((void)0)
#endif

#ifndef GP_ENTER
#define GP_ENTER() ((void)0)
#define GP_LEAVE() ((void)0)
#endif

#define GP_OBJECT_BYTES 64

struct gp_object {
#ifdef flavor_head
	struct flavor_head head;
	char rest[GP_OBJECT_BYTES - sizeof(struct flavor_head) - sizeof(uint64_t)];
#else
	char rest[GP_OBJECT_BYTES - sizeof(uint64_t)];
#endif
	uint64_t value;
};

/* Object that readers read. */
static struct {
	struct gp_object *object;
} gp_slot __attribute__((aligned(128)));

static uint64_t gp_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- threads beside the measuring one ---------------------------------------------------- */

static void gp_thread_enter(void)
{
	GP_ENTER();
	flavor_thread_enter();
}

#ifdef GP_DEFER
/* The library takes a thread's registration for this once in its life. */
static __thread bool gp_defers;
#endif

static void gp_thread_leave(void)
{
#ifdef GP_DEFER
	if (gp_defers)
		GP_DEFER_LEAVE();
	gp_defers = false;
#endif
	flavor_thread_leave();
	GP_LEAVE();
}

static void gp_sleeper_enter(void)
{
	gp_thread_enter();
	GP_REST();
}

static void gp_sleeper_leave(void)
{
	GP_RESUME();
	flavor_thread_leave();
	GP_LEAVE();
}

static struct gp_object *gp_new_object(uint64_t value)
{
	struct gp_object *o = malloc(sizeof(*o));

	if (!o)
		abort();
	o->value = value;
	return o;
}

/* Publish an object before the first thread reads. */
static void gp_fill_slot(void)
{
	struct gp_object *o = gp_new_object(0), *none = NULL;

	if (!lull_cas_release(&gp_slot.object, &none, o))
		free(o);
}

static void gp_stay(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	if (ns >= BENCH_GP_SLEEP_NS)
		nanosleep(&ts, NULL);
	else
		bench_ref_delay(ns);
}

static void gp_read(const uint32_t *stop, uint64_t hold_ns)
{
	unsigned every = hold_ns ? 1 : FLAVOR_QUIESCENT_EVERY, i;
	static uint64_t sink;
	uint64_t sum = 0;
	READ_STATE;

	gp_fill_slot();
	while (!lull_load_relaxed(stop)) {
		for (i = 0; i < every; i++) {
			const struct gp_object *o;

			o = READ_BEGIN(gp_slot.object);
			sum += o ? o->value : 0;
			if (hold_ns)
				gp_stay(hold_ns);
			READ_END();
		}
		flavor_quiescent();
	}
	lull_store_relaxed(&sink, sum);
}

/* ---- waiting ----------------------------------------------------------------------------- */

#ifndef GP_NO_WAIT
/* Object that the one reader holds while it sleeps. */
static struct {
	struct gp_object *object;
} gp_held __attribute__((aligned(128)));

/* They take the place of what is waited for, where readers keep objects. */
static struct gp_object gp_standing[2];

static void gp_hold(uint64_t sleep_ns, sem_t *held, uint64_t *left_ns)
{
	const struct gp_object *o;
	READ_STATE;

	GP_RESUME();
	if (!lull_load_relaxed(&gp_held.object))
		flavor_assign(gp_held.object, &gp_standing[0]);
	o = READ_BEGIN(gp_held.object);
	(void)o;
	sem_post(held);
	gp_stay(sleep_ns);
	lull_store_relaxed(left_ns, gp_clock(CLOCK_MONOTONIC));
	READ_END();
	flavor_quiescent();
	GP_REST(); /* a wait that begins only now is not to wait until the next time */
}

#if defined(FLAVOR_KEEPS)
static void gp_replace_in(struct gp_object **slot)
{
	struct gp_object *old = lull_load_acquire(slot);

	flavor_assign(*slot, old == &gp_standing[0] ? &gp_standing[1] : &gp_standing[0]);
	flavor_synchronize_on(old);
}

static void gp_await_holder(void) { gp_replace_in(&gp_held.object); }
static void gp_wait(void) { gp_replace_in(&gp_slot.object); }
#elif defined(FLAVOR_MARKS)
/* The readers are elsewhere, unless they say everywhere. */
static void gp_await_holder(void) { flavor_synchronize_on(&gp_held.object); }
static void gp_wait(void) { flavor_synchronize_on(&gp_standing[0]); }
#else
static void gp_await_holder(void) { flavor_synchronize(); }
static void gp_wait(void) { flavor_synchronize(); }
#endif

static unsigned gp_synchronize(uint64_t *ns, unsigned most, uint64_t deadline_ns)
{
	uint64_t before, after = 0;
	struct gp_object *usual;
	unsigned n;

	gp_fill_slot();
	usual = lull_load_acquire(&gp_slot.object);
	before = gp_clock(CLOCK_MONOTONIC);
	for (n = 0; n < most && after < deadline_ns; n++) {
		gp_wait();
		after = gp_clock(CLOCK_MONOTONIC);
		ns[n] = after - before;
		before = after;
	}
	flavor_assign(gp_slot.object, usual);
	return n;
}
#endif

/* ---- deferred calls ---------------------------------------------------------------------- */

#ifndef GP_NO_CALL
/* Static: the thread that runs the callback may still be in sem_post() when this thread has gone on. */
static struct gp_call {
	struct flavor_head head;
	uint64_t at_ns;
	sem_t called;
} gp_one;

static void gp_called(struct flavor_head *head)
{
	struct gp_call *c = lull_container_of(head, struct gp_call, head);

	lull_store_relaxed(&c->at_ns, gp_clock(CLOCK_MONOTONIC));
	sem_post(&c->called);
}

static void gp_await_call(void)
{
#ifdef GP_POLLED
	while (sem_trywait(&gp_one.called) != 0)
		flavor_poll();
#else
	GP_REST();
	while (sem_wait(&gp_one.called) != 0)
		;
	GP_RESUME();
#endif
}

static unsigned gp_call(uint64_t *ns, unsigned most, uint64_t deadline_ns)
{
	uint64_t before = 0;
	unsigned n;

	sem_init(&gp_one.called, 0, 0);
	for (n = 0; n < most && before < deadline_ns; n++) {
		before = gp_clock(CLOCK_MONOTONIC);
		flavor_call(&gp_one.head, gp_called);
		gp_await_call();
		ns[n] = lull_load_relaxed(&gp_one.at_ns) - before;
	}
	return n;
}

#ifndef GP_POLLED
struct gp_paced {
	struct flavor_head head;
	uint64_t began_ns, ran_ns;
};

static uint64_t gp_paced_ran;

static void gp_paced_called(struct flavor_head *head)
{
	struct gp_paced *c = lull_container_of(head, struct gp_paced, head);

	lull_store_relaxed(&c->ran_ns, gp_clock(CLOCK_MONOTONIC));
	lull_add_release(&gp_paced_ran, (uint64_t)1);
}

/* Sleep between the calls, unless there is no time for it. */
static void gp_pause_until(uint64_t at_ns)
{
	struct timespec ts = { (time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u) };

	if (at_ns > gp_clock(CLOCK_MONOTONIC) + 200000)
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) != 0)
			;
	while (gp_clock(CLOCK_MONOTONIC) < at_ns)
		;
}

static void gp_paced(unsigned n, uint64_t period_ns, uint64_t *call_ns, uint64_t *until_ns)
{
	struct gp_paced *all = calloc(n, sizeof(*all));
	uint64_t next;
	unsigned i;

	if (!all)
		abort();
	lull_store_relaxed(&gp_paced_ran, (uint64_t)0);
	next = gp_clock(CLOCK_MONOTONIC);
	for (i = 0; i < n; i++) {
		gp_pause_until(next += period_ns);
		all[i].began_ns = gp_clock(CLOCK_MONOTONIC);
		flavor_call(&all[i].head, gp_paced_called);
		call_ns[i] = gp_clock(CLOCK_MONOTONIC) - all[i].began_ns;
		flavor_quiescent();
	}
	GP_REST();
	while (lull_load_acquire(&gp_paced_ran) < n)
		usleep(50);
	GP_RESUME();
	for (i = 0; i < n; i++)
		until_ns[i] = all[i].ran_ns - all[i].began_ns;
	flavor_barrier(); /* no thread is in a callback any more */
	free(all);
}
#endif

static void gp_nothing(struct flavor_head *head) { (void)head; }

static unsigned gp_barrier(uint64_t *ns, unsigned most, uint64_t deadline_ns, unsigned queued)
{
	static struct flavor_head head[16];
	uint64_t before, after = 0;
	unsigned n, i;

	for (n = 0; n < most && after < deadline_ns; n++) {
		for (i = 0; i < queued && i < sizeof(head) / sizeof(head[0]); i++)
			flavor_call(&head[i], gp_nothing);
		before = gp_clock(CLOCK_MONOTONIC);
		flavor_barrier();
		after = gp_clock(CLOCK_MONOTONIC);
		ns[n] = after - before;
	}
	return n;
}
#endif

/* ---- replacement ------------------------------------------------------------------------- */

#ifdef flavor_head
/* Counted by the thread that runs callbacks: one thread, with all flavors that do not count themselves. */
static uint64_t gp_freed;

static void gp_free_object(struct flavor_head *head)
{
	free(lull_container_of(head, struct gp_object, head));
#ifndef GP_PEAK
	lull_store_relaxed(&gp_freed, lull_load_relaxed(&gp_freed) + 1);
#endif
}

#ifdef GP_DEFER
static void gp_free_deferred(void *object)
{
	free(object);
	lull_store_relaxed(&gp_freed, lull_load_relaxed(&gp_freed) + 1);
}
#endif

/* Inlined with a constant way, so that each loop has its own call only. */
static inline __attribute__((always_inline)) void gp_retire(enum bench_gp_way way,
							    struct gp_object *o)
{
	switch (way) {
	case BENCH_GP_CALL:
	case BENCH_GP_HELP:
		flavor_call(&o->head, gp_free_object);
		flavor_poll();
		break;
#ifdef FLAVOR_HAS_FREE
	case BENCH_GP_FREE:
		flavor_free(o);
		break;
#endif
#ifdef GP_PURE
	case BENCH_GP_PURE:
		GP_PURE(&o->head, gp_free_object);
		break;
#endif
#ifdef GP_DEFER
	case BENCH_GP_DEFER:
		GP_DEFER(gp_free_deferred, o);
		break;
#endif
	default:
		abort(); /* not in this flavor's ways */
	}
}

/*
 * Until all n are freed. Waiting for the count, not in a barrier, where that sleeps longer than it
 * takes.
 */
static void gp_wait_freed(enum bench_gp_way way, uint64_t n)
{
	(void)way;
	(void)n;
#ifdef GP_DEFER
	if (way == BENCH_GP_DEFER) {
		GP_DEFER_BARRIER();
		return;
	}
#endif
#if defined(GP_PEAK) || defined(GP_POLLED)
	flavor_barrier();
#else
	GP_REST();
	while (lull_load_relaxed(&gp_freed) < n)
		usleep(50);
	GP_RESUME();
#endif
}

static inline __attribute__((always_inline)) uint64_t gp_replace_loop(enum bench_gp_way way,
								      uint64_t n)
{
	uint64_t i, waiting, peak = 0;

	for (i = 1; i <= n; i++) {
		struct gp_object *fresh = gp_new_object(i), *old = lull_load_acquire(&gp_slot.object);

		flavor_assign(gp_slot.object, fresh);
		gp_retire(way, old);
		if (i % 64 == 32) {
			flavor_quiescent();
			waiting = i - lull_load_relaxed(&gp_freed);
			peak = waiting > peak ? waiting : peak;
		}
	}
	return peak;
}

static uint64_t gp_replace_way(enum bench_gp_way way, uint64_t n)
{
	switch (way) {
	case BENCH_GP_CALL:
		return gp_replace_loop(BENCH_GP_CALL, n);
	case BENCH_GP_HELP:
		return gp_replace_loop(BENCH_GP_HELP, n);
	case BENCH_GP_FREE:
		return gp_replace_loop(BENCH_GP_FREE, n);
	case BENCH_GP_PURE:
		return gp_replace_loop(BENCH_GP_PURE, n);
	default:
		return gp_replace_loop(BENCH_GP_DEFER, n);
	}
}

static inline __attribute__((always_inline)) void gp_replace_own_loop(enum bench_gp_way way, uint64_t n)
{
	static __thread struct gp_object *own;
	uint64_t i;

	own = gp_new_object(0);
	for (i = 1; i <= n; i++) {
		struct gp_object *fresh = gp_new_object(i), *old = own;

		flavor_assign(own, fresh);
		gp_retire(way, old);
		if (i % 64 == 32)
			flavor_quiescent();
	}
	free(own);
}

static void gp_replace_own(enum bench_gp_way way, uint64_t n)
{
	if (way == BENCH_GP_CALL)
		gp_replace_own_loop(BENCH_GP_CALL, n);
	else
		gp_replace_own_loop(BENCH_GP_FREE, n);
}

static void gp_begin(enum bench_gp_way way)
{
	(void)way;
#ifdef GP_DEFER
	if (way == BENCH_GP_DEFER && !gp_defers)
		GP_DEFER_ENTER();
	gp_defers = gp_defers || way == BENCH_GP_DEFER;
#endif
	flavor_barrier();
	lull_store_relaxed(&gp_freed, (uint64_t)0);
#ifdef GP_PEAK
	GP_PEAK_RESET();
	gp_limit(way == BENCH_GP_HELP ? GP_LIMIT_ITEMS : 0);
#endif
}

static void gp_replace(enum bench_gp_way way, uint64_t n, struct bench_gp_replaced *out)
{
	uint64_t began;

	gp_begin(way);
	gp_fill_slot();
	began = gp_clock(CLOCK_MONOTONIC);
	out->peak = gp_replace_way(way, n);
	gp_wait_freed(way, n);
	out->ns = (double)(gp_clock(CLOCK_MONOTONIC) - began) / (double)n;
#ifdef GP_PEAK
	out->peak = GP_PEAK();
	gp_limit(0);
#endif
	flavor_barrier();
}

static double gp_retire_cost(enum bench_gp_way way, unsigned n, double *ns)
{
	struct gp_object **object = malloc(n * sizeof(struct gp_object *));
	uint64_t cpu, before, after;
	unsigned i, k;

	if (!object)
		abort();
	gp_begin(way);
	for (i = 0; i < n; i++)
		object[i] = gp_new_object(i);
	cpu = gp_clock(CLOCK_PROCESS_CPUTIME_ID);
	for (i = 0; i + BENCH_GP_COST_BATCH <= n; i += BENCH_GP_COST_BATCH) {
		before = gp_clock(CLOCK_MONOTONIC);
		for (k = 0; k < BENCH_GP_COST_BATCH; k++) {
			if (way == BENCH_GP_CALL || way == BENCH_GP_HELP)
				gp_retire(BENCH_GP_CALL, object[i + k]);
			else if (way == BENCH_GP_FREE)
				gp_retire(BENCH_GP_FREE, object[i + k]);
			else if (way == BENCH_GP_PURE)
				gp_retire(BENCH_GP_PURE, object[i + k]);
			else
				gp_retire(BENCH_GP_DEFER, object[i + k]);
		}
		flavor_quiescent();
		after = gp_clock(CLOCK_MONOTONIC);
		ns[i / BENCH_GP_COST_BATCH] = (double)(after - before) / BENCH_GP_COST_BATCH;
	}
	gp_wait_freed(way, i);
	cpu = gp_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	flavor_barrier();
	for (; i < n; i++)
		free(object[i]);
	free(object);
	return (double)cpu / n;
}

#endif

const struct bench_gp_scheme GP_BODY = {
	.name = FLAVOR_NAME,
	.what = FLAVOR_WHAT,
	.thread_enter = gp_thread_enter,
	.thread_leave = gp_thread_leave,
	.sleeper_enter = gp_sleeper_enter,
	.sleeper_leave = gp_sleeper_leave,
	.read = gp_read,
#ifndef GP_NO_WAIT
	.hold = gp_hold,
	.await_holder = gp_await_holder,
	.synchronize = gp_synchronize,
#endif
#ifndef GP_NO_CALL
	.call = gp_call,
#ifndef GP_POLLED
	.paced = gp_paced,
#endif
	.barrier = gp_barrier,
#endif
#ifdef flavor_head
	.replace = gp_replace,
	.replace_own = gp_replace_own,
	.retire_cost = gp_retire_cost,
	.ways = {
		[BENCH_GP_CALL] = true,
#ifdef GP_HELP
		[BENCH_GP_HELP] = true,
#endif
#ifdef FLAVOR_HAS_FREE
		[BENCH_GP_FREE] = true,
#endif
#ifdef GP_PURE
		[BENCH_GP_PURE] = true,
#endif
#ifdef GP_DEFER
		[BENCH_GP_DEFER] = true,
#endif
	},
#endif
};
