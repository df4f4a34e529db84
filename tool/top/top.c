/* SPDX-License-Identifier: MIT */
/* lull top PID: what lull does in a running process, on a terminal or for scripts. */
#include "top/top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "commands.h"
#include "common/options.h"
#include "common/outfile.h"

enum { OPT_ONCE = OPTIONS_OWN_KEYS, OPT_JSON, OPT_INTERVAL };

static const struct argp_option own[] = {
	{ "once", OPT_ONCE, NULL, 0, "look once, write plain text, and exit", 0 },
	{ "json", OPT_JSON, "FILE", 0, "write a line of JSON to FILE at each look (with --once: one line, beside the text); -: to "
	  "standard output, and nothing else", 0 },
	{ "interval", OPT_INTERVAL, "S", 0,
	  "seconds between two looks (1); with --once and 0: figures since the process began",
	  0 },
	{ 0 }
};

struct top_options {
	bool once;
	const char *json_path; /* NULL: no JSON is asked for */
	FILE *json;
	double interval;
};

static void own_option(int key, char *arg, struct options *opt)
{
	struct top_options *mine = opt->own;

	if (key == OPT_ONCE)
		mine->once = true;
	else if (key == OPT_JSON)
		mine->json_path = arg;
	else
		mine->interval = options_double("--interval", arg, 0, 86400);
}

static void read_options(struct options *opt, int argc, char **argv, uint32_t *pid)
{
	struct top_options *mine = opt->own;

	opt->bare = true;
	opt->arg_name = "PID";
	options_parse(opt, own, own_option,
		      "Shows what lull does in process PID: how many grace periods there are, how "
		      "long they take, how much waits to be reclaimed, and which thread waits for "
		      "which. Costs that process nothing.",
		      argc, argv);
	if (mine->json_path)
		top_need_json();
	if (!opt->arg)
		options_bad("no process given: lull top PID");
	*pid = (uint32_t)options_unsigned("PID", opt->arg, 1, TOP_PID_MAX);
	/* Without a terminal there is nothing to draw on. */
	if (!mine->json_path && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		mine->once = true;
	if (!mine->once && mine->interval < 0.01)
		options_bad("--interval: %g is out of range; 0.01 to 86400 are allowed; 0 with --once",
			    mine->interval);
}

/* Write to the file itself: who follows it wants each line at once, and Ctrl-C ends it. */
static void open_json(struct top_options *mine)
{
	if (!mine->json_path)
		return;
	if (!*mine->json_path)
		options_bad("--json: the file name is empty");
	mine->json = outfile_is_stdout(mine->json_path) ? stdout : fopen(mine->json_path, "we");
	if (!mine->json)
		options_bad("--json: cannot write '%s': %s", mine->json_path, strerror(errno));
}

static void print_lines(const struct top_view *view)
{
	static struct top_lines lines;
	unsigned i;

	top_lines(&lines, view, TOP_COLUMNS);
	for (i = 0; i < lines.count; i++)
		puts(lines.text[i]);
}

static void print_json(const struct top_view *view, const struct top_options *mine)
{
	char *line = top_told(view);

	if (!line)
		options_fail("out of memory");
	fprintf(mine->json, "%s\n", line);
	free(line);
	if (fflush(mine->json) != 0 && mine->json != stdout)
		options_fail("--json: cannot write '%s': %s", mine->json_path, strerror(errno));
}

/* Wait where there is no screen and no key. */
static bool wait_quietly(double seconds)
{
	/* The reader gets it now; one that has closed the pipe wants no more. */
	if (fflush(stdout) != 0)
		exit(EXIT_FAILURE); /* with the complaint of all commands */
	bench_sleep_ns((uint64_t)(seconds * 1e9));
	return true;
}

struct look {
	struct top_process process;
	struct top_sample samples[2];
	unsigned now;
	struct top_view view;
};

/* @since_began: figures of the whole time instead of since the last look. */
static enum top_state look(struct look *l, bool since_began)
{
	struct top_sample *before = &l->samples[l->now], *after = &l->samples[!l->now];
	enum top_state state = top_take(&l->process, after);

	if (state != TOP_OK)
		return state;
	l->now = !l->now;
	top_figures(&l->view, since_began ? NULL : before, after);
	top_waits(&l->view, after);
	top_ask(&l->view, &l->process);
	return TOP_OK;
}

static enum top_state look_once(struct look *l, const struct top_options *mine)
{
	enum top_state state = look(l, true);

	if (state == TOP_OK && mine->interval > 0) {
		wait_quietly(mine->interval);
		state = look(l, false);
	}
	if (state == TOP_OK && mine->json)
		print_json(&l->view, mine);
	if (state == TOP_OK && mine->json != stdout)
		print_lines(&l->view);
	return state;
}

/* Watch until the process ends. The first look has the figures of its whole life. */
static enum top_state watch(struct look *l, const struct top_options *mine)
{
	enum top_state state = look(l, true);
	bool stay = true;

	while (state == TOP_OK && stay) {
		if (mine->json) {
			print_json(&l->view, mine);
			stay = wait_quietly(mine->interval);
		} else {
			top_screen_show(&l->view, mine->interval);
			stay = top_screen_wait(mine->interval);
		}
		if (stay)
			state = look(l, false);
	}
	return state;
}

int lull_cmd_top(int argc, char **argv)
{
	struct options opt = OPTIONS_INIT("top");
	struct top_options mine = { .interval = 1 };
	static struct look l;
	enum top_state state;
	const char *missing;
	uint32_t pid;

	opt.own = &mine;
	read_options(&opt, argc, argv, &pid);
	state = top_find(&l.process, pid);
	if (state == TOP_OK)
		open_json(&mine);
	if (state == TOP_OK && !mine.once && !mine.json) {
		missing = top_screen_open();
		if (missing)
			options_fail("%s", missing);
	}
	if (state == TOP_OK)
		state = mine.once ? look_once(&l, &mine) : watch(&l, &mine);
	top_screen_close();
	if (state == TOP_WRONG)
		options_fail("%s", l.process.wrong);
	if (state == TOP_ENDED && mine.once)
		options_fail("process %u has ended", pid);
	if (state == TOP_ENDED)
		fprintf(stderr, "lull top: process %u has ended\n", pid);
	top_forget(&l.process);
	options_free(&opt);
	return 0;
}
