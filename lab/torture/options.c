/* SPDX-License-Identifier: MIT */
/* lull torture: its command line. See torture.h. */
#include "common/options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <lull/reclaim.h>

#include "common/clock.h"
#include "common/cpus.h"
#include "torture/flavors.h"
#include "torture/run.h"

#define DEFAULT_SECONDS 10.0
#define DEFAULT_SHUFFLE_MS 100
#define DEFAULT_STUTTER_MS 1500
#define DEFAULT_FLOOD 20000
#define DEFAULT_PATIENCE_S 60
#define THREADS_MOST 20000 /* of any kind of thread; the machine may allow fewer */

static const struct part {
	const char *name, *what;
} parts[NR_PARTS] = {
	[PART_ONLINE] = { "no-online", "no quiescent-state threads" },
	[PART_CHURN] = { "no-churn", "no threads that come and go" },
	[PART_FORK] = { "no-fork", "no forked children" },
	[PART_SIGNALS] = { "no-signals", "no signal handlers that read" },
	[PART_SHUFFLE] = { "no-shuffle", "no changes of CPU affinity" },
	[PART_STUTTER] = { "no-stutter", "no pauses in which everything must have been reclaimed" },
	[PART_FLOOD] = { "no-flood", "no floods of callbacks" },
	[PART_BARRIER] = { "no-barrier", "no barriers for callbacks of several threads" },
};

enum {
	OPT_FLAVOR = OPTIONS_OWN_KEYS,
	OPT_SEED,
	OPT_RECLAIM,
	OPT_BUSTED,
	OPT_OVERSUBSCRIBE,
	OPT_PART_OF_ALL,
	OPT_CONDITIONS,
	OPT_ROUND,
	OPT_NUMBER,
	OPT_PART = OPT_NUMBER + 32
};

/* Options that are a number. */
static const struct number {
	const char *name, *unit, *what;
	unsigned *to;
	unsigned least, most;
} numbers[] = {
	{ "readers", "N", "reader threads (2 per CPU)", &torture.readers, 1, THREADS_MOST },
	{ "updaters", "N", "updater threads (2)", &torture.updaters, 1, 1000 },
	{ "read-delay", "US", "readers sleep up to US microseconds in each use, beside the usual delays", &torture.read_delay_us, 1,
	  1000000 },
	{ "update-delay", "US", "updaters sleep up to that after each update", &torture.update_delay_us, 1, 1000000 },
	{ "stall", "MS",
	  "a reader sleeps for MS milliseconds, again and again; the library must report that and name the thread (none)",
	  &torture.stall_ms, 20, 20000 },
	{ "shuffle-interval", "MS", "move threads to other CPUs every MS milliseconds (100)", &torture.shuffle_ms, 1, 1000000 },
	{ "stutter", "MS", "all threads pause every MS milliseconds; everything must have been reclaimed then (1500)", &torture.stutter_ms, 1,
	  1000000 },
	{ "stat-interval", "S", "print a line every S seconds (on a terminal: one line that changes)",
	  &torture.stat_s, 1, 86400 },
	{ "flood", "N", "a flood has at most N callbacks (20000)", &torture.flood_most, 1, 10000000 },
	{ "hard-items", "N",
	  "set the reclaimer's hard limit; over it the thread that defers helps. In each pause a flood behind a reader "
	  "that stalls must stay within the limit, but for some items that each thread keeps to itself (the limit "
	  "that lull begins with, and no check)",
	  &torture.hard_items, 128, 1000000 },
	{ "memory", "MIB", "in each pause, defer until MIB of memory are used up and malloc() fails, and then defer more (no)",
	  &torture.memory_mib, 1, 1024 },
	{ "sleepers", "N", "add N threads that register and then sleep (0)", &torture.sleepers, 1, 1000000 },
	{ "short-lived", "N",
	  "at first, N threads begin, use the library and exit; they must leave nothing behind (0)",
	  &torture.short_lived, 10, 10000000 },
	{ "patience", "S", "flavor wild: a round that has not ended after S seconds counts as hung (60)",
	  &torture.patience_s, 2, 3600 },
};

#define NR_NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static const char *const reclaim_words[] = { "thread", "poll", "caller", "mixed", NULL };

static bool part_of_all, all_flavors, round_of_wild;
static const char *reclaim_word;

static void set_reclaim(const char *arg)
{
	size_t word = options_word("--reclaim", arg, reclaim_words);
	struct lull_reclaim_config config;

	reclaim_word = arg;
	torture.mixed_reclaim = word == 3;
	lull_reclaim_default_config(&config);
	config.mode = torture.mixed_reclaim ? LULL_RECLAIM_THREAD : (enum lull_reclaim_mode)word;
	lull_reclaim_configure(&config);
}

static void set_flavor(const char *arg)
{
	static const char *const words[] = { "rcu",	   "rcu-qsbr", "hazptr", "shazptr", "bridge",
					     "percpu_ref", "cohort",   "hash",	 "mutex",   "domain", "percpu_rwsem",
					     "wild",	   "all",      NULL };
	size_t word = options_word("--flavor", arg, words);

	all_flavors = words[word + 1] == NULL;
	torture.flavor = torture_flavors[word]; /* NULL: all */
}

static void own_option(int key, char *arg, struct options *opt)
{
	(void)opt;
	if (key == OPT_FLAVOR) {
		set_flavor(arg);
	} else if (key == OPT_OVERSUBSCRIBE) {
		torture.readers = bench_cpus() * (unsigned)options_unsigned("--oversubscribe", arg, 1, 64);
	} else if (key == OPT_SEED) {
		torture.seed = options_unsigned("--seed", arg, 1, INT64_MAX);
	} else if (key == OPT_RECLAIM) {
		set_reclaim(arg);
	} else if (key == OPT_BUSTED) {
		torture.fault_name = arg;
	} else if (key == OPT_PART_OF_ALL) {
		part_of_all = true;
	} else if (key == OPT_CONDITIONS) {
		torture.conditions = arg;
	} else if (key == OPT_ROUND) {
		round_of_wild = true;
	} else if (key >= OPT_PART) {
		torture.without[key - OPT_PART] = true;
	} else {
		const struct number *n = &numbers[key - OPT_NUMBER];
		char name[32];

		snprintf(name, sizeof(name), "--%s", n->name);
		*n->to = (unsigned)options_unsigned(name, arg, n->least, n->most);
	}
}

static const struct argp_option words[] = {
	{ "flavor", OPT_FLAVOR, "FLAVOR", 0,
	  "what to torture: rcu (the default), rcu-qsbr, hazptr, shazptr, bridge, percpu_ref, cohort, hash, mutex, "
	  "domain, percpu_rwsem; wild: everything, "
	  "in processes with limits, sandboxes and calls that fail; all: all but wild, one after the other, each for its "
	  "share of the time",
	  0 },
	{ "oversubscribe", OPT_OVERSUBSCRIBE, "N", 0, "N reader threads per CPU", 0 },
	{ "seed", OPT_SEED, "N", 0, "the seed of everything random (a new one each time)", 0 },
	{ "reclaim", OPT_RECLAIM, "thread|poll|caller|mixed", 0,
	  "who reclaims (thread); mixed: this changes all the time", 0 },
	{ "busted", OPT_BUSTED, "NAME", 0, "run a library that has this fault; --list names the faults", 0 },
	{ "conditions", OPT_CONDITIONS, "A,B,...", 0,
	  "flavor wild: each round has these conditions; 'none': no condition (drawn at random); --flavor wild --list "
	  "names them", 0 },
	{ "part-of-all", OPT_PART_OF_ALL, NULL, OPTION_HIDDEN, NULL, 0 },
	{ "round-of-wild", OPT_ROUND, NULL, OPTION_HIDDEN, NULL, 0 },
};

#define NR_WORDS (sizeof(words) / sizeof(words[0]))

static const struct argp_option *own_options(void)
{
	static struct argp_option all[NR_WORDS + NR_NUMBERS + NR_PARTS + 1];
	struct argp_option *o = all;
	unsigned i;

	memcpy(o, words, sizeof(words));
	o += NR_WORDS;
	for (i = 0; i < NR_NUMBERS; i++)
		*o++ = (struct argp_option){ numbers[i].name, OPT_NUMBER + (int)i, numbers[i].unit, 0, numbers[i].what, 0 };
	for (i = 0; i < NR_PARTS; i++)
		*o++ = (struct argp_option){ parts[i].name, OPT_PART + (int)i, NULL, 0, parts[i].what, 0 };
	return all;
}

static uint64_t any_seed(void)
{
	uint64_t mix = bench_now_ns() ^ (uint64_t)getpid() << 32;

	bench_random(&mix);
	return bench_random(&mix) % 1000000000u + 1;
}

void torture_options(struct options *opt, int argc, char **argv)
{
	torture.readers = 2 * bench_cpus();
	torture.updaters = 2;
	torture.shuffle_ms = DEFAULT_SHUFFLE_MS;
	torture.stutter_ms = DEFAULT_STUTTER_MS;
	torture.flood_most = DEFAULT_FLOOD;
	torture.patience_s = DEFAULT_PATIENCE_S;
	options_parse(opt, own_options(), own_option,
		      "Tries to break the library, and says so if it succeeds. The exit status is 0 if it found no mistake, "
		      "1 if it found one, 2 if the command line makes no sense, and 128 plus the number of the signal "
		      "if a signal interrupted it.",
		      argc, argv);
	if (opt->schemes || opt->runs)
		options_bad("%s: torture has none; see --help", opt->schemes ? "--schemes" : "--runs");
	torture.seconds = opt->seconds > 0 ? opt->seconds : DEFAULT_SECONDS;
	if (!torture.seed)
		torture.seed = any_seed();
	if (!torture.flavor && !all_flavors && !torture.fault_name)
		torture.flavor = &torture_rcu;
	if (torture.conditions && torture.flavor != &torture_wild)
		options_bad("--conditions: only --flavor wild has conditions");
	if (all_flavors && torture.fault_name)
		options_bad("--busted %s: each fault belongs to one flavor; --flavor all does not go with it", torture.fault_name);
}

static void check_rounds(void)
{
	if (torture.stall_ms || torture.hard_items || torture.memory_mib || torture.sleepers || torture.short_lived)
		options_bad("--stall, --hard-items, --memory, --sleepers, --short-lived: flavor %s does not have them; its rounds "
			    "have --conditions",
			    torture.flavor->name);
}

/* Refuse @option for a flavor that does not defer; among all flavors, ignore it there. */
static void check_deferral(const char *option, unsigned *setting)
{
	if (!*setting || !torture.flavor || torture.flavor->call)
		return;
	if (!part_of_all)
		options_bad("%s: flavor %s defers nothing", option, torture.flavor->name);
	*setting = 0;
}

bool torture_is_round_of_wild(void)
{
	return round_of_wild;
}

void torture_options_check(void)
{
	if (torture.flavor && torture.flavor->rounds) {
		check_rounds();
		return;
	}
	if (torture.flavor == &torture_rcu_qsbr && torture.without[PART_ONLINE])
		options_bad("--no-online: flavor rcu-qsbr has only online threads");
	check_deferral("--hard-items", &torture.hard_items);
	check_deferral("--memory", &torture.memory_mib);
	if (torture.stall_ms && torture.flavor && torture.flavor->is_anonymous) {
		if (!part_of_all)
			options_bad("--stall: reports of flavor %s name no thread", torture.flavor->name);
		torture.stall_ms = 0;
	}
	if (torture.hard_items && reclaim_word)
		options_bad("--hard-items and --reclaim: both configure the reclaimer; give only one of them");
	if ((torture.hard_items || torture.memory_mib) && torture.without[PART_STUTTER])
		options_bad("--no-stutter: --hard-items and --memory need pauses");
	if (torture.memory_mib && TORTURE_HAS_SANITIZER)
		options_bad("--memory: the sanitizer in this build needs the address space that --memory would limit");
	torture_crowd_check();
	if (TORTURE_HAS_SANITIZER && torture.flavor && !torture.without[PART_FORK]) {
		torture.children_forbidden = true;
		torture.without[PART_FORK] = true;
	}
}
