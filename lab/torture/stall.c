/* SPDX-License-Identifier: MIT */
/*
 * lull torture: a reader that sleeps long while it holds something, and another thread that waits for
 * it. The library has to say so, and name the thread that sleeps; nothing else may fail. See torture.h.
 */
#include "common/clock.h"
#include "torture/run.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lull/debug.h>

#define NAME "torture-stall"
#define REPORT_PART 4u /* the library reports after such a part of the stall */
#define PATIENCE_MS 5000u /* where there are too few processors for a wait to begin in time */
#define QSBR_MS 500u   /* a thread is silent for so long only if it has forgotten */

static struct {
	uint32_t tid; /* of the sleeper; 0: none sleeps */
	uint32_t named;
	uint64_t began_ns, rounds, late_ns; /* the latest report, less the time that it is due after */
	struct element *element;
} stall;

/* Called on the thread that waits, or on one of the library. */
static void on_stall(const struct lull_stall *seen, void *unused)
{
	uint64_t now_ns = bench_now_ns(), due_ns, late_ns;

	(void)unused;
	if (torture.use_fault == FAULT_NO_QUIESCENT) {
		torture_fail("%s has waited %llu ms for thread %u, which says nothing", seen->kind,
			     (unsigned long long)seen->age_ms, seen->tid);
		return;
	}
	if (!seen->tid || seen->tid != lull_load_acquire(&stall.tid) || lull_load_relaxed(&stall.named))
		return;
	if (!seen->thread_name || strcmp(seen->thread_name, NAME) != 0)
		torture_fail("a stall of thread %u is reported as one of thread \"%s\"", seen->tid,
			     seen->thread_name ? seen->thread_name : "");
	due_ns = stall.began_ns + torture.stall_ms / REPORT_PART * UINT64_C(1000000);
	late_ns = now_ns > due_ns ? now_ns - due_ns : 0;
	if (late_ns > lull_load_relaxed(&stall.late_ns))
		lull_store_relaxed(&stall.late_ns, late_ns);
	lull_store_release(&stall.named, 1u);
}

void torture_stall_init(void)
{
	/* Turn reports off otherwise: their timeouts would wake a grace period whose wake-up was lost. */
	lull_debug_set_stall_ms(torture.stall_ms ? torture.stall_ms / REPORT_PART
				: torture.use_fault == FAULT_NO_QUIESCENT ? QSBR_MS : 0);
	lull_debug_set_stall_hook(on_stall, NULL);
}

static bool goes_on(unsigned ms)
{
	return bench_now_ns() - stall.began_ns < ms * UINT64_C(1000000);
}

static void *waiter(void *unused)
{
	(void)unused;
	torture.flavor->wait_for(stall.element);
	return NULL;
}

/* Stall once. Updaters replace the element at any time, and wait for it, too. */
static void stall_once(struct torturer *t)
{
	struct torture_slot *slot = &torture.slot[torture_random(&t->rng, TORTURE_SLOTS)];
	struct torture_use use;
	pthread_t thread;

	stall.element = torture.flavor->begin(&use, &slot->element);
	if (!stall.element) {
		torture.flavor->end(&use);
		return;
	}
	lull_store_relaxed(&stall.named, 0u);
	stall.began_ns = bench_now_ns();
	lull_store_release(&stall.tid, (uint32_t)syscall(SYS_gettid));
	if (pthread_create(&thread, NULL, waiter, NULL) != 0) {
		torture_fail("cannot make the thread that waits for one that stalls");
		thread = pthread_self();
	}
	while (goes_on(torture.stall_ms) || (!lull_load_acquire(&stall.named) && goes_on(torture.stall_ms + PATIENCE_MS)))
		torture_sleep_us(torture.stall_ms * UINT64_C(1000) / 8);
	lull_store_relaxed(&stall.tid, 0u);
	torture.flavor->end(&use);
	if (!pthread_equal(thread, pthread_self()))
		pthread_join(thread, NULL);
	if (!lull_load_acquire(&stall.named))
		torture_fail("a reader slept for %u ms and more, and the library named no stall of it in that time",
			     torture.stall_ms);
	stall.rounds++;
}

/* Without signals, and not moved between CPUs: it sleeps. */
void *torture_staller(void *arg)
{
	struct torturer *t = arg;

	torture_me = t;
	pthread_setname_np(pthread_self(), NAME);
	lull_thread_register();
	while (!torture_stopped()) {
		torture_pause_point();
		torture_doing("sleeping while it holds something");
		stall_once(t);
		torture_sleep_us(torture_random(&t->rng, 10000));
		lull_store_relaxed(&t->work, t->work + 1);
	}
	return NULL;
}

void torture_stall_report(void)
{
	if (torture.stall_ms)
		printf("%-24s %llu of %u ms, each named, at the latest %.1f ms after it was due\n", "Stalls:",
		       (unsigned long long)stall.rounds, torture.stall_ms, (double)stall.late_ns / 1e6);
}
