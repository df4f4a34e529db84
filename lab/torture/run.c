/* SPDX-License-Identifier: MIT */
/*
 * lull torture: tries to break the library. The run, from the first thread to the last; what is checked is told in
 * torture.h.
 */
#include "torture/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lull/debug.h>
#include <lull/reclaim.h>

#include "common/clock.h"
#include "commands.h"
#include "common/cpus.h"
#include "common/json.h"
#include "common/options.h"
#include "common/progress.h"
#include "torture/interrupt.h"

#define MODE_EVERY_NS 100000000u
#define TICK_US 20000

/* ---- threads --------------------------------------------------------------------------------- */

struct start {
	struct torturer *t;
	void *(*run)(void *);
};

static void *thread_main(void *arg)
{
	struct start start = *(struct start *)arg;
	void *result;

	free(arg);
	lull_store_relaxed(&start.t->tid, (uint32_t)syscall(SYS_gettid));
	result = start.run(start.t);
	lull_store_relaxed(&start.t->is_running, false);
	return result;
}

static void start_thread(struct torturer *t, const char *role, unsigned index, void *(*run)(void *),
			 uint64_t *rng)
{
	struct start *start = options_alloc(1, sizeof(*start));
	int err;

	torture_thread_init(t, role, index, bench_random(rng));
	*start = (struct start){ t, run };
	t->is_running = true;
	err = pthread_create(&t->thread, NULL, thread_main, start);
	if (err)
		options_bad("cannot make thread %u: %s", torture.nr_threads + 1, strerror(err));
}

static void make_thread(const char *role, unsigned index, void *(*run)(void *), uint64_t *rng)
{
	start_thread(&torture.threads[torture.nr_threads], role, index, run, rng);
	torture.nr_threads++;
}

static void make_threads(uint64_t *rng)
{
	unsigned i;

	torture.threads =
		aligned_alloc(TORTURE_LINE, (torture.readers + torture.updaters + NR_PARTS) *
						    sizeof(*torture.threads));
	if (!torture.threads)
		options_fail("out of memory");
	for (i = 0; i < torture.readers; i++)
		make_thread("reader", i, torture.flavor->reader, rng);
	for (i = 0; i < torture.updaters; i++)
		make_thread("updater", i, torture.flavor->updater, rng);
	if (!torture.without[PART_CHURN])
		make_thread("churner", 0, torture_churner, rng);
	if (!torture.without[PART_FORK])
		make_thread("forker", 0, torture_forker, rng);
	if (torture.flavor->call && !torture.without[PART_FLOOD])
		make_thread("flooder", 0, torture_flooder, rng);
	if (torture.flavor->call && !torture.without[PART_BARRIER])
		make_thread("barrier tester", 0, torture_barrier_tester, rng);
	if (torture.stall_ms)
		make_thread("staller", 0, torture_staller, rng);
}

static void join_threads(void)
{
	unsigned i;

	for (i = 0; i < torture.nr_threads; i++) {
		while (lull_load_relaxed(&torture.threads[i].is_running)) {
			torture_poll_callbacks();
			torture_sleep_us(1000);
		}
		pthread_join(torture.threads[i].thread, NULL);
		torture_timer_stop(&torture.threads[i]);
	}
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Return whether @every_ns have passed since *@at_ns, and set it to now. */
static bool is_due(uint64_t *at_ns, uint64_t now_ns, uint64_t every_ns)
{
	if (now_ns - *at_ns < every_ns)
		return false;
	*at_ns = now_ns;
	return true;
}

static void control(uint64_t *rng)
{
	uint64_t end_ns = torture.began_ns + (uint64_t)(torture.seconds * 1e9), now_ns = torture.began_ns;
	uint64_t mode_ns = 0, shuffle_ns = 0, pause_ns = now_ns;

	while (!torture_stopped() && !torture_interrupted() && now_ns < end_ns) {
		if (is_due(&mode_ns, now_ns, MODE_EVERY_NS)) {
			torture_change_activity(rng);
			if (torture.mixed_reclaim)
				torture_change_reclaim(rng);
			if (torture.flavor->change)
				torture.flavor->change(rng);
		}
		if (!torture.without[PART_SHUFFLE] && is_due(&shuffle_ns, now_ns, torture.shuffle_ms * UINT64_C(1000000)))
			torture_shuffle(rng);
		if (!torture.without[PART_STUTTER] && is_due(&pause_ns, now_ns, torture.stutter_ms * UINT64_C(1000000))) {
			torture_pause_all();
			pause_ns = bench_now_ns();
		}
		torture_poll_callbacks();
		torture_status_line(now_ns);
		torture_sleep_us(TICK_US);
		now_ns = bench_now_ns();
	}
	bench_progress_clear();
}

/* It may have interrupted anything, the library's own functions and the exit of a thread too. */
static void on_signal(int signal)
{
	int saved = errno;

	(void)signal;
	if (torture_me)
		torture.flavor->handler(torture_me);
	errno = saved;
}

/*
 * Print the torture's findings when the library aborts, which may have found the same a moment later: the first finding
 * matters to the reader.
 */
static void on_abort(int signal)
{
	(void)signal;
	if (!torture_failed() || torture.in_child)
		return;
	torture_give_up();
}

/*
 * Judge a message of the library. Threads exit while they hold something on purpose, and backlogs exceed a limit that
 * was set for that; counts and locks must not go wrong; all else is for people.
 */
static void on_message(const char *line)
{
	if (strstr(line, "refcount ") || strstr(line, "percpu_ref "))
		torture_fail("a count went wrong, although it was used correctly: %s", line);
	else if (strstr(line, "mutex ") || strstr(line, "percpu_rwsem ") || strstr(line, "deadlock"))
		torture_fail("a lock went wrong, although it was used correctly: %s", line);
	else if (!strstr(line, "exit") && !(torture.hard_items && strstr(line, "hard limit")))
		fprintf(stderr, "lull: %s\n", line);
}

static void set_up(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	lull_debug_set_message_hook(on_message);
	sigaction(SIGUSR1, &action, NULL);
	if (!torture_is_round_of_wild()) /* SIGTERM is to end it */
		torture_catch_interrupts();
	signal(SIGABRT, on_abort);
	torture_on_give_up(torture_report);
	torture_pool_init();
	torture_read_init();
	torture_life_init();
	torture_stall_init();
	torture_limit_init();
	if (torture.flavor->init)
		torture.flavor->init();
}

void torture_run(void)
{
	uint64_t rng = torture.seed * 0x9e3779b97f4a7c15u | 1;

	set_up();
	torture.began_ns = bench_now_ns();
	if (torture.short_lived)
		torture_short_lived(&rng);
	torture_sleepers_start();
	torture.began_ns = bench_now_ns();
	make_threads(&rng);
	if (torture.flavor->releaser)
		start_thread(&torture.releaser, "releaser", 0, torture.flavor->releaser, &rng);
	torture_watch_start();
	control(&rng);
	lull_store_release(&torture.stop, 1u);
	join_threads();
	lull_store_release(&torture.over, 1u);
	if (torture.flavor->releaser)
		pthread_join(torture.releaser.thread, NULL);
	torture_settle("at the end");
	torture_watch_stop();
	torture_sleepers_stop();
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Print the command as it was typed, with the seed at the end if it was not given. */
static void print_seed(const struct options *opt)
{
	bool given = strstr(opt->command, " --seed") != NULL;

	printf("seed %llu; replay with: %s", (unsigned long long)torture.seed, opt->command);
	if (!given)
		printf(" --seed %llu", (unsigned long long)torture.seed);
	putchar('\n');
	fflush(stdout);
}

/* One flavor, in this process. */
static int run_here(struct options *opt, struct jsonout *json)
{
	printf("--- Start of test: flavor %s, %u readers, %u updaters, %g s, fence %s, %u "
	       "CPUs%s%s\n",
	       torture.flavor->name, torture.readers, torture.updaters, torture.seconds, lull_fence_strategy_name(),
	       bench_cpus(), torture.fault_name ? ", busted " : "",
	       torture.fault_name ? torture.fault_name : "");
	print_seed(opt);
	if (torture.children_forbidden)
		printf("no forked children: this sanitizer does not work in a child that makes threads\n");
	torture_run();
	torture_report();
	torture_write_json(json);
	torture_pool_free();
	free(torture.threads);
	options_free(opt);
	return torture_end_status(torture_failed());
}

static int run_rounds(struct options *opt, struct jsonout *json)
{
	int status;

	printf("--- Start of test: flavor %s, %g s, %u CPUs%s%s\n", torture.flavor->name, torture.seconds, bench_cpus(),
	       torture.fault_name ? ", busted " : "", torture.fault_name ? torture.fault_name : "");
	print_seed(opt);
	status = torture_wild_supervise(json);
	options_free(opt);
	return status;
}

static void list(struct options *opt)
{
	if (torture.flavor && torture.flavor->rounds)
		wild_list();
	else
		torture_faults_list();
	options_free(opt);
}

int lull_cmd_torture(int argc, char **argv)
{
	struct options opt = OPTIONS_INIT("torture");
	struct jsonout *json;

	torture_options(&opt, argc, argv);
	if (opt.list) {
		list(&opt);
		return EXIT_SUCCESS;
	}
	if (torture.fault_name)
		torture_fault_set(torture.fault_name, argv);
	if (torture_is_round_of_wild()) {
		options_free(&opt); /* now: main may not return */
		return torture_wild_round();
	}
	torture_options_check();
	json = jsonout_open(&opt);
	if (!torture.flavor)
		return torture_all(&opt, json, argv);
	return torture.flavor->rounds ? run_rounds(&opt, json) : run_here(&opt, json);
}
