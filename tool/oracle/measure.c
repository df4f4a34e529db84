/* SPDX-License-Identifier: MIT */
/*
 * Cost of the program at each context switch, as the kernel counts it. Counting takes longer than what is counted, so a
 * program that does nothing is counted beside it, at the same switches.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/figures.h"
#include "oracle/oracle_program.h"

#define ROUNDS 10
#define FEWEST_RUNS 20 /* of a round */

static struct oracle_cost counted(struct bpf_object *object, const char *name)
{
	struct oracle_cost cost;
	int err = oracle_counted(bpf_program__fd(bpf_object__find_program_by_name(object, name)), &cost);

	if (err)
		options_fail("cannot read what was counted: %s", strerror(err));
	return cost;
}

/* One byte to and fro, so that both ends sleep and are woken. */
static void answer(int in, int out)
{
	char byte;

	while (read(in, &byte, 1) == 1 && write(out, &byte, 1) == 1)
		;
	_exit(0);
}

static void switch_for(double seconds)
{
	uint64_t end_ns = bench_now_ns() + (uint64_t)(seconds * 1e9);
	int there[2], back[2];
	char byte = 0;
	pid_t child;

	if (pipe(there) != 0 || pipe(back) != 0 || (child = fork()) < 0)
		options_fail("cannot make a process to switch to: %s", strerror(errno));
	if (child == 0) {
		close(there[1]);
		answer(there[0], back[1]);
	}
	close(there[0]);
	close(back[1]);
	while (bench_now_ns() < end_ns && write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1)
		;
	close(there[1]);
	close(back[0]);
	waitpid(child, NULL, 0);
}

static void say(struct jsonout *json, const char *name, const char *what, double *ns)
{
	struct bench_stat stat = bench_stat_of(ns, ROUNDS);

	printf("%-8s %6.1f ns (%.1f to %.1f)  %s\n", name, stat.median, stat.min, stat.max, what);
	jsonout_stat(json, name, 1, "context_switch", "ns", &stat);
}

/* Return the time per run since @before, and set @before to now. */
static double ns_since(struct oracle_cost *before, struct bpf_object *object, const char *name)
{
	struct oracle_cost now = counted(object, name);
	uint64_t runs = now.runs - before->runs, ns = now.ns - before->ns;

	if (runs < FEWEST_RUNS)
		options_fail("the kernel counted only %llu context switches; give it more --seconds",
			     (unsigned long long)runs);
	*before = now;
	return (double)ns / (double)runs;
}

/* Whichever is called first at a switch finds less of its data in the caches, so they take turns. */
static void one_round(struct bpf_object *object, double seconds, bool store_first)
{
	struct bpf_link *first = oracle_attach(object, store_first ? "lull_switch" : "lull_nothing");
	struct bpf_link *second = oracle_attach(object, store_first ? "lull_nothing" : "lull_switch");

	switch_for(seconds);
	bpf_link__destroy(second);
	bpf_link__destroy(first);
}

void oracle_measure(double seconds, struct jsonout *json)
{
	double store_ns[ROUNDS], nothing_ns[ROUNDS], net_ns[ROUNDS];
	struct oracle_cost store = { 0 }, nothing = { 0 };
	struct bpf_object *object;
	int stats, i;

	oracle_need_root();
	object = oracle_into_kernel(true);
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats < 0)
		options_fail("the kernel does not count: %s", strerror(errno));
	for (i = 0; i < ROUNDS; i++) {
		one_round(object, seconds / ROUNDS, i % 2);
		store_ns[i] = ns_since(&store, object, "lull_switch");
		nothing_ns[i] = ns_since(&nothing, object, "lull_nothing");
		net_ns[i] = store_ns[i] - nothing_ns[i];
	}
	close(stats);
	bpf_object__close(object);
	printf("%llu context switches\n", (unsigned long long)store.runs);
	say(json, "store", "the program, as the kernel counts it", store_ns);
	say(json, "nothing", "a program that does nothing", nothing_ns);
	say(json, "net", "what the program adds", net_ns);
}
