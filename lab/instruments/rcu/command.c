/* SPDX-License-Identifier: MIT */
/*
 * lull rcuscale: how long one waits for a grace period, a deferred call, a barrier, the end of a
 * percpu_ref, and what replacing objects costs end to end. Options, and which tables there are; instruments/rcu/run.c
 * measures.
 *
 * Schemes take turns, block by block, so that a disturbance falls on all of them alike. Percentile
 * P is the smallest time that at least P % of the calls did not exceed. The kernel's
 * kvm-recheck-rcuscale.sh takes position N * P / 100 rounded down: the same value when N is a
 * multiple of 100.
 */
#include "instruments/rcu/rcu_tables.h"

#include <stdlib.h>
#include <string.h>

#include <lull/percpu_ref.h>
#include <lull/fence.h>

#include "commands.h"
#include "common/machine.h"
#include "common/options.h"
#include "engine/budget.h"
#include "engine/peers.h"

#define DEFAULT_CALLS 1000u
#define DEFAULT_SECONDS 10.0 /* for a share */
#define DEFAULT_OBJECTS 1000000u
#define DEFAULT_WAITS 200u
#define UPDATERS 2u

/* ---- options --------------------------------------------------------------------------------- */

enum {
	OPT_WHAT = OPTIONS_OWN_KEYS,
	OPT_SETUP,
	OPT_CALLS,
	OPT_OBJECTS,
	OPT_GP,
	OPT_SELF_QS,
	OPT_FQS_FIRST,
	OPT_FQS_NEXT,
	OPT_KERNEL_FORMAT,
	OPT_FLAVOR,
	OPT_SKIP_SELF_SCAN,
	OPT_BLOCK
};

static const struct argp_option own_options[] = {
	{ "what", OPT_WHAT, "WHAT,...", 0, 
	  "what to measure: synchronize, call, barrier, replace (the default: these four), kill, interrupts, wake, paced, "
	  "updaters (as many as --threads says; 2), scan, all", 0 },
	{ "setup", OPT_SETUP, "SETUP,...", 0,
	  "idle, busy, threads64, sections, stuck (for replace), all (for synchronize: all but stuck; "
	  "for the others: idle and busy)",
	  0 },
	{ "calls", OPT_CALLS, "N", 0,
	  "calls of each scheme in each setup (1000); fewer if --seconds end first", 0 },
	{ "objects", OPT_OBJECTS, "N", 0, "objects to replace (1000000); fewer if there is no time for more", 0 },
	{ "gp", OPT_GP, "event|polled", 0,
	  "polled: measure grace periods that scan twice, to compare them with lull's", 0 },
	{ "self-qs", OPT_SELF_QS, "late|early|both", 0,
	  "polled: when the driver counts as quiescent (both)", 0 },
	{ "fqs-first", OPT_FQS_FIRST, "US", 0, "polled: microseconds before the first scan (3000)",
	  0 },
	{ "fqs-next", OPT_FQS_NEXT, "US", 0, "polled: microseconds before each further scan (3000)",
	  0 },
	{ "kernel-format", OPT_KERNEL_FORMAT, NULL, 0,
	  "write the samples of one scheme in the format of the kernel's rcuscale, for its scripts", 0 },
	{ "flavor", OPT_FLAVOR, "FLAVOR,...", 0,
	  "rcu, hazptr, hazptr-fenced, shazptr, shazptr-wildcard, letter, all: write six lines for each, as "
	  "in the letter about simple hazard pointers",
	  0 },
	{ "skip-self-scan", OPT_SKIP_SELF_SCAN, NULL, 0,
	  "flavors shazptr, shazptr-wildcard: leave all scans to the scan thread", 0 },
	{ "block", OPT_BLOCK, "BLOCK", OPTION_HIDDEN, NULL, 0 },
	{ 0 }
};

static void set_whats(struct rcuscale_settings *s, const char *arg)
{
	static const char *const words[] = { "synchronize", "call", "barrier", "replace", "kill",
					     "interrupts", "wake", "paced", "updaters", "scan", "all", NULL };
	static const bool includes[][NR_WHATS] = {
		{ [WHAT_SYNCHRONIZE] = true },
		{ [WHAT_CALL] = true },
		{ [WHAT_BARRIER] = true, [WHAT_BARRIER_QUEUED] = true },
		{ [WHAT_REPLACE] = true },
		{ [WHAT_KILL] = true },
		{ [WHAT_INTERRUPTS] = true },
		{ [WHAT_WAKE] = true },
		{ [WHAT_PACED] = true },
		{ [WHAT_UPDATERS] = true },
		{ [WHAT_SCAN] = true },
		{ true, true, true, true, true, true, true, true, true, true, true },
	};
	size_t count, i, w;
	char **items = options_split("--what", arg, &count);

	for (i = 0; i < count; i++) {
		size_t word = options_word("--what", items[i], words);

		for (w = 0; w < NR_WHATS; w++)
			s->what[w] = s->what[w] || includes[word][w];
		free(items[i]);
	}
	free(items);
	s->what_given = true;
}

static void set_setups(struct rcuscale_settings *s, const char *arg)
{
	static const char *const words[] = { "idle",  "busy", "threads64", "sections",
					     "stuck", "all",  NULL };
	size_t count, i, k;
	char **items = options_split("--setup", arg, &count);

	for (i = 0; i < count; i++) {
		size_t word = options_word("--setup", items[i], words);

		for (k = 0; k < NR_SETUPS; k++)
			s->setup[k] = s->setup[k] || word == NR_SETUPS || word == k;
		free(items[i]);
	}
	free(items);
	s->setup_given = true;
}

static void own_option(int key, char *arg, struct options *opt)
{
	static const char *const engines[] = { "event", "polled", NULL };
	static const char *const self_qs[] = { "late", "early", "both", NULL };
	struct rcuscale_settings *s = opt->own;

	switch (key) {
	case OPT_WHAT:
		set_whats(s, arg);
		break;
	case OPT_SETUP:
		set_setups(s, arg);
		break;
	case OPT_CALLS:
		s->calls = (uint32_t)options_unsigned("--calls", arg, 1, 10000000);
		s->calls_given = true;
		break;
	case OPT_OBJECTS:
		s->objects = (uint32_t)options_unsigned("--objects", arg, 1000, 1000000000);
		break;
	case OPT_GP:
		s->gp = (enum gp_engine)options_word("--gp", arg, engines);
		break;
	case OPT_SELF_QS:
		s->polled.self_qs = (enum rcuscale_self_qs)options_word("--self-qs", arg, self_qs);
		break;
	case OPT_FQS_FIRST:
		s->polled.first_us = options_unsigned("--fqs-first", arg, 1, 1000000);
		break;
	case OPT_FQS_NEXT:
		s->polled.next_us = options_unsigned("--fqs-next", arg, 1, 1000000);
		break;
	case OPT_KERNEL_FORMAT:
		s->kernel_format = true;
		break;
	case OPT_FLAVOR:
		rcuscale_letter_flavors(&s->letter, arg);
		break;
	case OPT_SKIP_SELF_SCAN:
		s->letter.skip_self_scan = true;
		break;
	default:
		s->block = arg;
	}
}

static void fill_in(struct rcuscale_settings *s, const struct options *opt)
{
	size_t i;

	for (i = 0; i < NR_WHATS; i++)
		s->what[i] = s->what[i] || (!s->what_given && i <= WHAT_REPLACE);
	s->rounds_given = opt->runs > 0;
	s->rounds = opt->runs ? opt->runs : RCUSCALE_ROUNDS;
	s->polled.calls = s->calls_given ? s->calls : 100;
	s->polled.runs = opt->runs ? opt->runs : 6;
}

static bool wants_setup(const struct rcuscale_settings *s, enum rcuscale_what what,
			enum rcuscale_setup setup)
{
	if (setup == SETUP_STUCK && what != WHAT_REPLACE)
		return false;
	if (s->setup_given)
		return s->setup[setup];
	if (setup == SETUP_STUCK)
		return false;
	return what == WHAT_SYNCHRONIZE || setup == SETUP_IDLE || setup == SETUP_BUSY;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void choose(struct rcuscale_settings *s, const struct options *opt)
{
	const char *names[RCUSCALE_SCHEMES_MAX];
	size_t i;

	if (!opt->schemes && !s->kernel_format)
		peers_print_broken();
	for (i = 0; i < rcuscale_nr_schemes; i++)
		names[i] = rcuscale_schemes[i].name;
	options_pick(opt, names, rcuscale_nr_schemes, s->chosen);
	/* Leave it out where fences are full anyway: it would be the same as rcu. */
	for (i = 0; i < rcuscale_nr_schemes && !opt->schemes; i++)
		if (!rcuscale_schemes[i].gp && lull_fence_strategy() == LULL_FENCE_FULL)
			s->chosen[i] = false;
}

/* The time of a table for another's; updaters: of one number of threads. */
static const double shares[NR_WHATS] = {
	[WHAT_SYNCHRONIZE] = 1, [WHAT_CALL] = 1,       [WHAT_BARRIER] = 1, [WHAT_BARRIER_QUEUED] = 1,
	[WHAT_REPLACE] = 3,	[WHAT_KILL] = 1,       [WHAT_WAKE] = 1,	   [WHAT_INTERRUPTS] = 4,
	[WHAT_PACED] = 1,	[WHAT_UPDATERS] = 1,   [WHAT_SCAN] = 1,
};

static bool wants_table(const struct rcuscale_settings *s, int what, int setup)
{
	if (what <= WHAT_KILL)
		return s->what[what] && wants_setup(s, (enum rcuscale_what)what, (enum rcuscale_setup)setup);
	return s->what[what] && !setup;
}

static double all_shares(const struct rcuscale_settings *s, const struct options *opt)
{
	double sum = 0;
	int what, setup;

	if (s->letter.given || s->gp == GP_POLLED || s->kernel_format)
		return s->gp != GP_POLLED ? 1 : s->polled.self_qs == SELF_QS_BOTH ? 3 : 2;
	for (what = 0; what < NR_WHATS; what++)
		for (setup = 0; setup < NR_SETUPS; setup++)
			if (wants_table(s, what, setup))
				sum += shares[what] * (double)(what == WHAT_UPDATERS ? opt->nr_threads : 1);
	return sum;
}

static void setup_table(const struct rcuscale_settings *s, enum rcuscale_what what,
			enum rcuscale_setup setup, struct jsonout *json)
{
	char *name = options_printf("%s: %s", rcuscale_titles[what], rcuscale_setup_what[setup]);
	double seconds = budget_next(shares[what], 0, name);

	free(name);
	if (seconds <= 0)
		return;
	if (what == WHAT_KILL)
		jsonout_set(jsonout_root(json), "percpu_ref_per_cpu",
			    json_boolean(lull_percpu_ref_per_cpu()));
	if (what == WHAT_REPLACE)
		rcuscale_replace_table(s, setup, seconds, json);
	else
		rcuscale_latency_table(s, what, setup, seconds, json);
}

/* List the chosen schemes that have @what; NULL ends the list. */
static const struct rcuscale_scheme **chosen_for(const struct rcuscale_settings *s, enum rcuscale_what what)
{
	const struct rcuscale_scheme **list = options_alloc(rcuscale_nr_schemes + 1, sizeof(*list));
	size_t count = 0, i;

	for (i = 0; i < rcuscale_nr_schemes; i++)
		if (s->chosen[i] && rcuscale_can(&rcuscale_schemes[i], what))
			list[count++] = &rcuscale_schemes[i];
	return list;
}

/* Print the table of a measurement that has one setup of its own. */
static void other_table(const struct rcuscale_settings *s, enum rcuscale_what what, const struct options *opt,
			struct jsonout *json)
{
	const struct rcuscale_scheme **list = chosen_for(s, what);
	double seconds = what == WHAT_UPDATERS ? 0 : budget_next(shares[what], 0, rcuscale_titles[what]);

	if (*list && what == WHAT_UPDATERS)
		rcuscale_updaters(list, opt, json);
	else if (seconds > 0 && what == WHAT_SCAN)
		rcuscale_scan(list, s->rounds, seconds, json);
	else if (seconds > 0 && *list && what == WHAT_WAKE)
		rcuscale_wake(list, s->rounds, s->calls_given ? s->calls : DEFAULT_WAITS, seconds, json);
	else if (seconds > 0 && *list && what == WHAT_PACED)
		rcuscale_paced(list, s->rounds, seconds, json);
	else if (seconds > 0 && *list)
		rcuscale_interrupts(list, s->rounds, seconds, json);
	free(list);
}

static void all_tables(const struct rcuscale_settings *s, const struct options *opt, struct jsonout *json)
{
	struct machine machine;
	size_t i;
	int what, setup;

	machine_read(&machine);
	machine_print(&machine);
	for (i = 0; i < rcuscale_nr_schemes; i++)
		if (s->chosen[i] && rcuscale_schemes[i].gp)
			rcuscale_prime(rcuscale_schemes[i].gp);
	for (what = 0; what < NR_WHATS; what++)
		for (setup = 0; setup < NR_SETUPS; setup++) {
			if (!wants_table(s, what, setup))
				continue;
			if (what <= WHAT_KILL)
				setup_table(s, (enum rcuscale_what)what, (enum rcuscale_setup)setup, json);
			else
				other_table(s, (enum rcuscale_what)what, opt, json);
		}
}

static void letter(const struct rcuscale_settings *s, struct jsonout *json)
{
	struct rcuscale_letter l = s->letter;
	struct machine machine;
	int setup;

	machine_read(&machine);
	machine_print(&machine);
	l.calls = s->calls;
	l.rounds = s->rounds;
	l.seconds = budget_next(1, 0, "flavors");
	l.setup = SETUP_BUSY;
	for (setup = 0; setup < NR_SETUPS; setup++)
		if (s->setup[setup])
			l.setup = (enum rcuscale_setup)setup;
	printf("waiting for readers: %s\n", rcuscale_setup_what[l.setup]);
	rcuscale_letter(&l, json);
}

static void check_letter(const struct rcuscale_settings *s, const struct options *opt)
{
	unsigned setups = 0, i;

	rcuscale_letter_check(&s->letter);
	if (!s->letter.given)
		return;
	for (i = 0; i < NR_SETUPS; i++)
		setups += s->setup[i];
	if (opt->nr_schemes || s->what_given || s->kernel_format || s->gp == GP_POLLED)
		options_bad("--flavor says what to measure; it does not go with --schemes, --what, "
			    "--gp or --kernel-format");
	if (setups > 1 || s->setup[SETUP_STUCK])
		options_bad("--flavor needs one --setup, and not stuck");
}

static void run(struct rcuscale_settings *s, const struct options *opt)
{
	struct jsonout *json;

	check_letter(s, opt);
	if (s->kernel_format)
		rcuscale_check_kernel_format(s, opt);
	json = jsonout_open(opt);
	budget_begin(opt, DEFAULT_SECONDS * all_shares(s, opt), all_shares(s, opt));
	if (s->letter.given)
		letter(s, json);
	else if (s->gp == GP_POLLED)
		rcuscale_polled(&s->polled, json);
	else if (s->kernel_format)
		rcuscale_kernel_format(s, budget_next(1, 0, "calls"));
	else
		all_tables(s, opt, json);
	budget_end(json);
	jsonout_close(json);
}

int lull_cmd_rcuscale(int argc, char **argv)
{
	struct rcuscale_settings settings = {
		.calls = DEFAULT_CALLS,
		.objects = DEFAULT_OBJECTS,
		.polled = { .self_qs = SELF_QS_BOTH, .first_us = 3000, .next_us = 3000 },
	};
	struct options opt = OPTIONS_INIT("rcuscale");

	opt.own = &settings;
	opt.threads = options_alloc(1, sizeof(*opt.threads));
	opt.threads[opt.nr_threads++] = UPDATERS;
	options_parse(&opt, own_options, own_option,
		      "Measures how long a thread waits for a grace period, a deferred call or a "
		      "barrier, and what it costs to replace objects." BUDGET_HELP,
		      argc, argv);
	fill_in(&settings, &opt);
	rcuscale_find_schemes();
	if (opt.list) {
		rcuscale_list_schemes();
	} else if (settings.block) {
		rcuscale_serve_block(settings.block);
	} else {
		choose(&settings, &opt);
		run(&settings, &opt);
	}
	options_free(&opt);
	return 0;
}
