/* SPDX-License-Identifier: MIT */
/*
 * lull mutexscale: threads that want one lock. Options, the choice of locks, and a table for each
 * number of threads and length of section; instruments/mutex/run.c measures.
 *
 * Locks take turns in an order that chance decides anew in each run, so that a disturbance falls
 * on all of them alike.
 */
#include "engine/turns.h"
#include "instruments/mutex/mutexscale.h"

#include <stdlib.h>
#include <string.h>

#include <lull/mutex.h>

#include "commands.h"
#include "common/figures.h"
#include "common/machine.h"
#include "common/options.h"
#include "engine/budget.h"
#include "engine/peers.h"
#include "common/units.h"
#include "engine/workload.h"
#include "common/bench.h"

#define SECTION_MAX_NS 10e6
#define SLEEP_MAX_NS 100e6
#define HOGS_MAX 1024u
#define OUTSIDE_DEFAULT 4 /* sections, at most */

/*
 * Order of the list; locks that only a module has come last. pthread is first: ratios are taken against it. lull-mutex
 * before those that choose another oracle.
 */
static const char *const order[] = {
	"pthread", "lull-mutex", "lull-mutex-builtin", "lull-mutex-rseq", "lull-mutex-bpf",
	"lull-mutex-kernel", "lull-mutex-slice", "lull-mutex-none", "pthread-adaptive", "pthread-pi", "spinlock",
	"futex", "spin-park", "spin1000-park", "absl", NULL,
};

static const struct bench_lock_scheme *locks[MUTEXSCALE_LOCKS];
static size_t nr_locks;

/* ---- options --------------------------------------------------------------------------------- */

enum mode { MODE_CONTENDED, MODE_MATRIX, MODE_UNCONTENDED, MODE_WAIT };

static const struct {
	const char *option;
	double seconds; /* by default */
} modes[] = {
	[MODE_CONTENDED] = { NULL, 45 },
	[MODE_MATRIX] = { "--matrix", 180 },
	[MODE_UNCONTENDED] = { "--uncontended", 3 },
	[MODE_WAIT] = { "--wait1000", 20 },
};

struct settings {
	enum mode mode;
	const char *shape_option; /* the last that says what threads do */
	double *sections;
	size_t nr_sections;
	double outside; /* negative: as the section has it */
	struct mutexscale_cell cell;
};

enum {
	OPT_SECTION = OPTIONS_OWN_KEYS,
	OPT_OUTSIDE,
	OPT_LONG,
	OPT_SLEEP,
	OPT_HOGS,
	OPT_MATRIX,
	OPT_UNCONTENDED,
	OPT_WAIT
};

static const struct argp_option own_options[] = {
	{ "section", OPT_SECTION, "TIME,...", 0, "work under the lock (100ns,1us,5us)", 0 },
	{ "outside", OPT_OUTSIDE, "TIME", 0,
	  "work between two sections: evenly distributed from 0 to TIME (4 sections)", 0 },
	{ "long", OPT_LONG, "SHARE:TIME", 0, "this share of sections works longer, by TIME: 5%:50us", 0 },
	{ "sleep", OPT_SLEEP, "SHARE:TIME", 0, "this share of sections also sleeps, for TIME: 1%:100us", 0 },
	{ "hogs", OPT_HOGS, "N", 0, "N other processes burn processor time meanwhile (0)", 0 },
	{ "matrix", OPT_MATRIX, NULL, 0,
	  "measure many kinds of sections, with and without hogs, each lock against the best one", 0 },
	{ "uncontended", OPT_UNCONTENDED, NULL, 0, "measure lock and unlock when nobody else wants the lock", 0 },
	{ "wait1000", OPT_WAIT, NULL, 0,
	  "measure 1000 waits for an owner that is busy for 2 to 8000 us each time", 0 },
	{ 0 }
};

static void set_mode(struct settings *s, enum mode mode)
{
	if (s->mode != MODE_CONTENDED && s->mode != mode)
		options_bad("--matrix, --uncontended and --wait1000 exclude each other");
	s->mode = mode;
}

static void set_sections(struct settings *s, const char *arg)
{
	size_t i;
	char **items = options_split("--section", arg, &s->nr_sections);

	free(s->sections);
	s->sections = options_alloc(s->nr_sections, sizeof(*s->sections));
	for (i = 0; i < s->nr_sections; i++) {
		s->sections[i] = workload_time("--section", items[i], SECTION_MAX_NS);
		free(items[i]);
	}
	free(items);
}

/* "5%:50us" */
static void set_share(const char *what, const char *arg, double max_ns, double *share, double *ns)
{
	const char *colon = strchr(arg, ':');
	char *first;

	if (!colon)
		options_bad("%s: '%s' has no ':'; write a share and a time: 5%%:50us", what, arg);
	first = options_printf("%.*s", (int)(colon - arg), arg);
	*share = workload_share(what, first);
	*ns = workload_time(what, colon + 1, max_ns);
	free(first);
}

static void shape_option(struct settings *s, int key, const char *arg)
{
	struct mutexscale_cell *c = &s->cell;

	if (key == OPT_SECTION) {
		s->shape_option = "--section";
		set_sections(s, arg);
	} else if (key == OPT_OUTSIDE) {
		s->shape_option = "--outside";
		s->outside = workload_time(s->shape_option, arg, SECTION_MAX_NS);
	} else if (key == OPT_LONG) {
		s->shape_option = "--long";
		set_share(s->shape_option, arg, SECTION_MAX_NS, &c->longer_share, &c->longer);
	} else if (key == OPT_SLEEP) {
		s->shape_option = "--sleep";
		set_share(s->shape_option, arg, SLEEP_MAX_NS, &c->sleep_share, &c->sleep);
	} else {
		s->shape_option = "--hogs";
		c->hogs = (unsigned)options_unsigned(s->shape_option, arg, 0, HOGS_MAX);
	}
}

static void own_option(int key, char *arg, struct options *opt)
{
	struct settings *s = opt->own;

	switch (key) {
	case OPT_MATRIX:
		set_mode(s, MODE_MATRIX);
		break;
	case OPT_UNCONTENDED:
		set_mode(s, MODE_UNCONTENDED);
		break;
	case OPT_WAIT:
		set_mode(s, MODE_WAIT);
		break;
	default:
		shape_option(s, key, arg);
	}
}

static void default_threads(struct options *opt)
{
	opt->nr_threads = 3;
	opt->threads = options_alloc(opt->nr_threads, sizeof(*opt->threads));
	opt->threads[0] = 2;
	opt->threads[1] = 4;
	opt->threads[2] = 8;
}

static void check(struct settings *s)
{
	if (s->mode != MODE_CONTENDED && s->shape_option)
		options_bad("%s does not go with %s, which has sections of its own",
			    s->shape_option, modes[s->mode].option);
	if (!s->sections)
		set_sections(s, "100ns,1us,5us");
}

static void find_locks(void)
{
	const void *found[MUTEXSCALE_LOCKS];
	size_t i;

	peers_load(&bench_builtin);
	nr_locks = peers_schemes(PEER_LOCK, order, found, MUTEXSCALE_LOCKS);
	for (i = 0; i < nr_locks; i++)
		locks[i] = found[i];
}

static void list_locks(void)
{
	size_t i;

	for (i = 0; i < nr_locks; i++)
		printf("%-18s %s\n", locks[i]->name, locks[i]->what);
	peers_print_missing();
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* One that cannot be had here is left out, or is bad input when it was named. */
static void choose(struct mutexscale *m)
{
	const char *names[MUTEXSCALE_LOCKS];
	bool chosen[MUTEXSCALE_LOCKS];
	size_t i;

	peers_need(PEER_LOCK, order[0]);
	if (!m->opt->schemes)
		peers_print_broken();
	for (i = 0; i < nr_locks; i++)
		names[i] = locks[i]->name;
	options_pick(m->opt, names, nr_locks, chosen);
	chosen[0] = true;
	/* Each is asked, chosen or not: the first lull-mutex finds out what lull chose itself. */
	for (i = 0; i < nr_locks; i++) {
		const char *wrong = locks[i]->renew(locks[i]);

		if (!chosen[i])
			continue;
		if (wrong && m->opt->schemes)
			options_bad("scheme '%s' cannot run: %s", locks[i]->name, wrong);
		if (wrong)
			printf("%s is left out: %s\n", locks[i]->name, wrong);
		else
			m->locks[m->count++] = locks[i];
	}
}

/* ---- the run --------------------------------------------------------------------------------- */

static void print_head(const char *oracle)
{
	struct machine machine;

	machine_read(&machine);
	machine_print(&machine);
	printf("lull-mutex asks the oracle '%s' whether an owner runs\n", oracle);
}

static void print_shape(const struct settings *s)
{
	const struct mutexscale_cell *c = &s->cell;

	printf("threads work, take the lock, work, give it back");
	if (c->longer_share > 0)
		printf("; %g %% of the sections %s longer", c->longer_share * 100,
		       units_time(c->longer).text);
	if (c->sleep_share > 0)
		printf("; %g %% sleep %s in the section", c->sleep_share * 100, units_time(c->sleep).text);
	if (c->hogs)
		printf("; %u other processes burn processor time", c->hogs);
	printf("\nwaits, and the processor time of all threads, are per section, work outside "
	       "included\n");
}

static void measure_contended(const struct mutexscale *m, const struct settings *s, double standard)
{
	const struct options *opt = m->opt;
	struct mutexscale_result results[MUTEXSCALE_LOCKS];
	struct mutexscale_cell cell = s->cell;
	size_t i, j;

	budget_begin(opt, standard, (double)(s->nr_sections * opt->nr_threads));
	print_shape(s);
	cell.name = MUTEXSCALE_OWN;
	for (i = 0; i < s->nr_sections; i++)
		for (j = 0; j < opt->nr_threads; j++) {
			cell.section = s->sections[i];
			cell.outside = s->outside >= 0 ? s->outside :
							 OUTSIDE_DEFAULT * cell.section;
			cell.threads = opt->threads[j];
			if (!mutexscale_measure(m, &cell, results))
				continue;
			printf("\n%u thread%s, sections of %s, up to %s between them\n",
			       cell.threads, cell.threads == 1 ? "" : "s", units_time(cell.section).text,
			       units_time(cell.outside).text);
			mutexscale_json(m, &cell, results);
			mutexscale_print(m, results);
		}
}

static void measure(const struct mutexscale *m, const struct settings *s)
{
	double standard = modes[s->mode].seconds;

	switch (s->mode) {
	case MODE_CONTENDED:
		measure_contended(m, s, standard);
		break;
	case MODE_MATRIX:
		mutexscale_matrix(m, standard);
		break;
	case MODE_UNCONTENDED:
		mutexscale_pair(m, standard);
		break;
	case MODE_WAIT:
		mutexscale_wait(m, standard);
		break;
	}
	budget_end(m->json);
}

int lull_cmd_mutexscale(int argc, char **argv)
{
	struct settings settings = { .outside = -1 };
	struct options opt = OPTIONS_INIT("mutexscale");
	struct mutexscale m = { .opt = &opt };
	const char *oracle;

	opt.own = &settings;
	default_threads(&opt);
	options_parse(&opt, own_options, own_option,
		      "Measures threads that want one lock: how many sections they get done, how "
		      "long they wait, and what that costs." BUDGET_HELP,
		      argc, argv);
	find_locks();
	if (opt.list) {
		list_locks();
		options_free(&opt);
		return 0;
	}
	check(&settings);
	m.runs = opt.runs ? opt.runs : BENCH_RUNS;
	m.json = jsonout_open(&opt);
	/* All that will be needed at a time can be made: else one line, and nothing is measured. */
	bench_pool_free(bench_pool_new(options_most_threads(&opt)));
	oracle = lull_mutex_oracle_name();
	jsonout_set(jsonout_root(m.json), "oracle", json_string(oracle));
	choose(&m);
	print_head(oracle);
	bench_turns_calibrate();
	measure(&m, &settings);
	free(settings.sections);
	jsonout_close(m.json);
	options_free(&opt);
	return 0;
}
