/* SPDX-License-Identifier: MIT */
/* lull tradeoff: what the code of all ways shares: a reader's stay, and the updates that come at a rate. */
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/options.h"
#include "common/bench.h"
#include "engine/turns.h"
#include "lock_scheme.h"
#include "ref_scheme.h"
#include "instruments/tradeoff/ways.h"

#define SHORT_NS 10e3 /* shorter stays are counted turns: a look at the clock would be a part of them */

void (*tradeoff_seen)(const uint64_t *body);

void tradeoff_stay(double ns, bool block)
{
	struct timespec ts = { (time_t)(ns / 1e9), (long)(ns - 1e9 * (double)(time_t)(ns / 1e9)) };

	if (ns <= 0)
		return;
	if (block)
		nanosleep(&ts, NULL);
	else if (ns <= SHORT_NS)
		bench_sink(bench_lock_work((uint64_t)ns, bench_turns(ns)));
	else
		bench_ref_delay((uint64_t)ns);
}

bool tradeoff_due(struct tradeoff_pace *pace)
{
	static const struct timespec nap = { 0, 50000 };
	uint64_t now;

	for (;;) {
		now = bench_now_ns();
		if (now >= pace->until)
			return false;
		if ((double)pace->done <= (double)(now - pace->start) * pace->rate / 1e9) {
			pace->done++;
			return true;
		}
		nanosleep(&nap, NULL);
	}
}

void tradeoff_thread(pthread_t *thread, void *(*main)(void *), void *arg)
{
	int err = pthread_create(thread, NULL, main, arg);

	if (err)
		options_bad("cannot make a thread: %s", strerror(err));
}
