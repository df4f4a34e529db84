/* SPDX-License-Identifier: MIT */
/*
 * lull labelscale: threads open real files, and each open uses one label that all of them share.
 *
 * The label stands for what a security module or a server's configuration has: it is looked at in
 * each open, must stay while the open lasts, which may sleep, and is replaced now and then. With a
 * reference count in it, all threads write one cache line. So that this is the only one, each thread opens files of its
 * own, and has what a worker process has for itself: see apart.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lull/atomic.h>

#include "common/clock.h"
#include "commands.h"
#include "common/figures.h"
#include "common/json.h"
#include "common/machine.h"
#include "engine/budget.h"
#include "engine/text_table.h"
#include "common/bench.h"
#include "engine/rounds.h"
#include "instruments/hash/key_file.h"
#include "instruments/labels/labelscale.h"

#define DEFAULT_SECONDS 10.0
#define DEFAULT_REPLACE 10u
#define PATHS_LIMIT 50000u /* that are looked at */
#define FILES_LIMIT 4096u  /* that are opened */

struct settings {
	const char *root;
	unsigned replace_per_second;
	uint64_t seed;
	bool shared; /* threads share what those of one process share */
};

/* ---- files ----------------------------------------------------------------------------------- */

struct files {
	char **path;
	size_t count;
};

static bool can_be_opened(const char *path)
{
	struct stat st;
	int fd;

	/* Nothing but a regular file: to open another thing may do something. */
	if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Returns where it is: a link to a directory is as good. */
static char *check_root(const char *root)
{
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *path = fd < 0 ? NULL : realpath(root, NULL);

	if (!path)
		options_bad("--root: cannot read '%s': %s", root, strerror(errno));
	close(fd);
	return path;
}

static void find_files(struct files *files, const struct settings *s)
{
	char *root = check_root(s->root);
	struct keys paths;
	size_t i;

	keys_find_paths(&paths, root, PATHS_LIMIT, s->seed);
	free(root);
	files->path = options_alloc(FILES_LIMIT, sizeof(*files->path));
	for (i = 0; i < paths.count && files->count < FILES_LIMIT; i++) {
		char *path =
			options_printf("%.*s", (int)paths.asked[i].length, paths.asked[i].text);

		if (can_be_opened(path))
			files->path[files->count++] = path;
		else
			free(path);
	}
	keys_free(&paths);
	if (!files->count)
		options_bad("--root: no file under '%s' can be opened", s->root);
}

static void free_files(struct files *files)
{
	while (files->count)
		free(files->path[--files->count]);
	free(files->path);
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* A chosen scheme. */
struct entry {
	const struct labelscale_scheme *scheme;
	const struct files *files;
	bool shared;
	uint64_t failed; /* opens of files that were there before */
	int refused;	 /* error number: threads share all the same */
};

static void case_enter(struct bench_thread *t, void *arg)
{
	struct entry *e = arg;
	int err = e->shared ? 0 : labelscale_be_apart();

	(void)t;
	if (err)
		lull_store_relaxed(&e->refused, err);
}

static uint64_t case_body(struct bench_thread *t, void *arg, uint64_t n)
{
	struct entry *e = arg;
	size_t apart = e->shared || e->files->count < t->threads ? 1 : t->threads;
	size_t own = e->files->count / apart, first = t->index % apart;
	uint64_t failed = 0, i;

	for (i = 0; i < n; i++) {
		size_t at = (size_t)((bench_random(&t->rng) >> 32) * own >> 32) * apart + first;
		int fd = e->scheme->open(e->files->path[at]);

		if (fd < 0)
			failed++;
		else
			close(fd);
	}
	if (failed)
		lull_add_relaxed(&e->failed, failed);
	return n;
}

static void case_before(void *arg, unsigned threads)
{
	struct entry *e = arg;

	(void)threads;
	labelscale_use(e->scheme);
}

static void case_after(void *arg, unsigned threads, uint64_t ops, uint64_t ns)
{
	(void)arg;
	(void)threads;
	(void)ops;
	(void)ns;
	labelscale_use(NULL);
}

/* ---- options --------------------------------------------------------------------------------- */

enum { OPT_ROOT = OPTIONS_OWN_KEYS, OPT_REPLACE, OPT_SEED, OPT_SHARED };

static const struct argp_option own_options[] = {
	{ "root", OPT_ROOT, "DIR", 0, "open files below DIR (" KEYS_ROOT ")", 0 },
	{ "replace-per-second", OPT_REPLACE, "N", 0, "replace the label N times a second (10)", 0 },
	{ "seed", OPT_SEED, "N", 0, "seed of the choice of files and of their order (1)", 0 },
	{ "shared", OPT_SHARED, NULL, 0, "let threads share files, their table and a credential", 0 },
	{ 0 }
};

static void own_option(int key, char *arg, struct options *opt)
{
	struct settings *s = opt->own;

	if (key == OPT_ROOT)
		s->root = arg;
	else if (key == OPT_REPLACE)
		s->replace_per_second =
			(unsigned)options_unsigned("--replace-per-second", arg, 0, 100000);
	else if (key == OPT_SHARED)
		s->shared = true;
	else
		s->seed = options_unsigned("--seed", arg, 0, UINT64_MAX);
}

static void list_schemes(void)
{
	size_t i;

	for (i = 0; i < LABELSCALE_SCHEMES; i++)
		printf("%-10s %s\n", labelscale_schemes[i].name, labelscale_schemes[i].what);
}

/* ---- the run --------------------------------------------------------------------------------- */

struct run {
	const struct options *opt;
	const struct settings *settings;
	struct entry entries[LABELSCALE_SCHEMES];
	size_t count;
	struct files files;
	bool refused;
	struct jsonout *json;
};

/* "none" is always among them, first: all ratios are taken against it. */
static void choose(struct run *run)
{
	const char *names[LABELSCALE_SCHEMES];
	bool chosen[LABELSCALE_SCHEMES];
	size_t i;

	for (i = 0; i < LABELSCALE_SCHEMES; i++)
		names[i] = labelscale_schemes[i].name;
	options_pick(run->opt, names, LABELSCALE_SCHEMES, chosen);
	chosen[0] = true;
	for (i = 0; i < LABELSCALE_SCHEMES; i++)
		if (chosen[i])
			run->entries[run->count++] =
				(struct entry){ .scheme = &labelscale_schemes[i], .files = &run->files,
						.shared = run->settings->shared };
}

static void measure(struct run *run, struct bench_pool *pool, unsigned threads)
{
	struct bench_case cases[LABELSCALE_SCHEMES];
	struct bench_result results[LABELSCALE_SCHEMES];
	const char *names[LABELSCALE_SCHEMES];
	uint64_t fails[LABELSCALE_SCHEMES], failed = 0;
	struct bench_plan plan;
	int refused = 0;
	char name[32];
	double seconds;
	size_t i;

	snprintf(name, sizeof(name), "%u thread%s", threads, threads == 1 ? "" : "s");
	seconds = budget_next(1, rounds_least_seconds(run->count), name);
	if (seconds <= 0)
		return;
	plan = rounds_plan(run->opt, threads, seconds, run->count);
	for (i = 0; i < run->count; i++) {
		run->entries[i].failed = 0;
		run->entries[i].refused = 0;
		cases[i] = (struct bench_case){
			.name = run->entries[i].scheme->name,
			.arg = &run->entries[i],
			.enter = case_enter,
			.body = case_body,
			.before = case_before,
			.after = case_after,
		};
	}
	bench_measure(pool, &plan, cases, run->count, results);
	budget_runs(results[0].runs, name);
	printf("\n%s\n", name);
	for (i = 0; i < run->count; i++)
		names[i] = run->entries[i].scheme->name;
	for (i = 0; i < run->count; i++)
		fails[i] = run->entries[i].failed;
	labelscale_write_json(run->json, names, fails, run->count, threads, results);
	labelscale_print(names, run->count, results);
	for (i = 0; i < run->count; i++) {
		failed += run->entries[i].failed;
		refused = refused ? refused : run->entries[i].refused;
	}
	if (refused)
		printf("(threads share their table of files and their credential, or one of them: %s)\n",
		       strerror(refused));
	run->refused |= refused != 0;
	if (failed)
		printf("(%llu opens failed: files have gone, or no descriptors were left)\n",
		       (unsigned long long)failed);
}

static void measure_all(struct run *run)
{
	const struct options *opt = run->opt;
	struct bench_pool *pool = bench_pool_new(options_most_threads(opt));
	size_t i;

	budget_begin(opt, DEFAULT_SECONDS, (double)opt->nr_threads);
	for (i = 0; i < opt->nr_threads; i++)
		measure(run, pool, opt->threads[i]);
	budget_end(run->json);
	bench_pool_free(pool);
}

static void print_head(const struct run *run)
{
	struct machine machine;

	machine_read(&machine);
	machine_print(&machine);
	printf("%zu files under %s; each open uses one label, which is replaced %u times per "
	       "second; %s\n",
	       run->files.count, run->settings->root, run->settings->replace_per_second,
	       run->settings->shared ? "threads share files, the table of files and a credential"
				     : "each thread has files, a table of files and a credential of its own");
}

static void describe(struct run *run, uint64_t replaced)
{
	json_t *root = jsonout_root(run->json);

	jsonout_set(root, "root", jsonout_string(run->settings->root));
	jsonout_set(root, "files", json_integer((json_int_t)run->files.count));
	jsonout_set(root, "replaced", json_integer((json_int_t)replaced));
	jsonout_set(root, "apart", json_boolean(!run->settings->shared && !run->refused));
}

int lull_cmd_labelscale(int argc, char **argv)
{
	struct settings settings = { KEYS_ROOT, DEFAULT_REPLACE, 1, false };
	struct options opt = OPTIONS_INIT("labelscale");
	struct run run = { .opt = &opt, .settings = &settings };

	opt.own = &settings;
	options_parse(&opt, own_options, own_option,
		      "Measures how many files threads can open when each open uses one label "
		      "that all of them share." BUDGET_HELP,
		      argc, argv);
	if (opt.list) {
		list_schemes();
		options_free(&opt);
		return 0;
	}
	choose(&run);
	run.json = jsonout_open(&opt);
	find_files(&run.files, &settings);
	labelscale_begin(settings.replace_per_second);
	print_head(&run);
	measure_all(&run);
	describe(&run, labelscale_end());
	jsonout_close(run.json);
	free_files(&run.files);
	options_free(&opt);
	return 0;
}
