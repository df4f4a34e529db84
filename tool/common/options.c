/* SPDX-License-Identifier: MIT */
/* The shared command-line options and the one-line complaints; see options.h. */
#include "common/options.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lull/debug.h>

#include "common/cpus.h"
#include "common/progress.h"

#define EXIT_BAD_INPUT 2

static const char *tool_name = NULL;

enum {
	KEY_HELP = 'h',
	KEY_VERSION = 0x900,
	KEY_LIST,
	KEY_JSON,
	KEY_THREADS,
	KEY_SECONDS,
	KEY_RUNS,
	KEY_SCHEMES
};

static const struct argp_option common_options[] = {
	{ NULL, 0, NULL, 0, "Common options:", 10 },
	{ "schemes", KEY_SCHEMES, "A,B,...", 0, "measure only these schemes (--list names them)", 10 },
	{ "threads", KEY_THREADS, "1,2,...", 0, "thread counts to measure", 10 },
	{ "seconds", KEY_SECONDS, "S", 0, "seconds to spend, in all", 10 },
	{ "runs", KEY_RUNS, "N", 0, "figures are medians over N runs", 10 },
	{ "json", KEY_JSON, "FILE", 0, "also write the results to FILE; -: to standard output, and nothing else", 10 },
	{ "list", KEY_LIST, NULL, 0, "list the names that this command knows, and exit", 10 },
	{ "help", KEY_HELP, NULL, 0, "print this and exit", 10 },
	{ "version", KEY_VERSION, NULL, 0, "print the version and exit", 10 },
	{ 0 }
};

/* ---- complaints ------------------------------------------------------------------------------ */

/* In UTF-8, what begins with C2 and goes on with 80 to 9F is a control character as well. */
void options_one_line(char *text)
{
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text, next = (unsigned char)text[1];
		bool is_pair = byte == 0xc2 && next >= 0x80 && next < 0xa0;

		if (is_pair)
			*text++ = '?';
		if (is_pair || byte < ' ' || byte == 0x7f)
			*text = '?';
	}
}

static void complain(const char *fmt, va_list ap)
{
	char line[2048];

	vsnprintf(line, sizeof(line), fmt, ap);
	options_one_line(line);
	bench_progress_clear();
	if (tool_name)
		fprintf(stderr, "lull %s: %s\n", tool_name, line);
	else
		fprintf(stderr, "lull: %s\n", line);
}

void options_bad(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(fmt, ap);
	va_end(ap);
	exit(EXIT_BAD_INPUT);
}

void options_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(fmt, ap);
	va_end(ap);
	exit(EXIT_FAILURE);
}

void *options_alloc(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size ? size : 1);

	if (!p)
		options_fail("out of memory");
	return p;
}

char *options_printf(const char *fmt, ...)
{
	va_list ap;
	char *text;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		options_fail("out of memory");
	return text;
}

/* ---- values ---------------------------------------------------------------------------------- */

uint64_t options_unsigned(const char *what, const char *arg, uint64_t min, uint64_t max)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(arg, &end, 10);
	if (arg[0] < '0' || arg[0] > '9' || *end)
		options_bad("%s: '%s' is not a number", what, arg);
	if (errno || value < min || value > max)
		options_bad("%s: %s is out of range; %llu to %llu are allowed", what, arg,
			    (unsigned long long)min, (unsigned long long)max);
	return value;
}

double options_double(const char *what, const char *arg, double min, double max)
{
	double value;
	char *end;

	value = strtod(arg, &end);
	if (end == arg || *end || !isfinite(value))
		options_bad("%s: '%s' is not a number", what, arg);
	if (value < min || value > max)
		options_bad("%s: %s is out of range; %g to %g are allowed", what, arg, min, max);
	return value;
}

char **options_split(const char *what, const char *arg, size_t *count)
{
	char **items = options_alloc(strlen(arg) / 2 + 2, sizeof(*items));
	const char *p = arg;
	size_t n = 0;

	for (;;) {
		size_t len = strcspn(p, ",");

		if (!len)
			options_bad("%s: '%s' has an empty item; write a,b,c", what, arg);
		items[n++] = options_printf("%.*s", (int)len, p);
		if (!p[len])
			break;
		p += len + 1;
	}
	*count = n;
	return items;
}

static void split_free(char **items, size_t count)
{
	while (count)
		free(items[--count]);
	free(items);
}

unsigned *options_unsigned_list(const char *what, const char *arg, unsigned min, unsigned max,
				size_t *count)
{
	char **items = options_split(what, arg, count);
	unsigned *values = options_alloc(*count, sizeof(*values));
	size_t i;

	for (i = 0; i < *count; i++)
		values[i] = (unsigned)options_unsigned(what, items[i], min, max);
	split_free(items, *count);
	return values;
}

size_t options_word(const char *what, const char *arg, const char *const *words)
{
	char known[512] = "";
	size_t i, len = 0;

	for (i = 0; words[i]; i++) {
		if (!strcmp(words[i], arg))
			return i;
		if (len < sizeof(known))
			len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s",
						i ? ", " : "", words[i]);
	}
	options_bad("%s: '%s' is not known; it can be %s", what, arg, known);
}

/* ---- schemes --------------------------------------------------------------------------------- */

static size_t edit_distance(const char *a, const char *b)
{
	size_t row[64], la = strlen(a), lb = strlen(b), i, j;

	if (la >= 64 || lb >= 64)
		return 64;
	for (j = 0; j <= lb; j++)
		row[j] = j;
	for (i = 1; i <= la; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (j = 1; j <= lb; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[lb];
}

static _Noreturn void unknown_scheme(const char *name, const char *const *names, size_t count)
{
	size_t best = 3, len = 0, i;
	const char *near = NULL;
	char known[1024] = "";

	for (i = 0; i < count; i++) {
		size_t distance = edit_distance(name, names[i]);

		if (distance < best) {
			best = distance;
			near = names[i];
		}
		if (len < sizeof(known))
			len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s",
						i ? ", " : "", names[i]);
	}
	if (near)
		options_bad("unknown scheme '%s': did you mean %s? known: %s", name, near, known);
	options_bad("unknown scheme '%s'; known: %s", name, known);
}

const char *(*options_why_missing)(const char *scheme);

size_t options_pick(const struct options *opt, const char *const *names, size_t count, bool *chosen)
{
	size_t i, j, picked = 0;

	for (i = 0; i < count; i++)
		chosen[i] = !opt->schemes;
	for (j = 0; j < opt->nr_schemes; j++) {
		const char *missing;

		for (i = 0; i < count && strcmp(names[i], opt->schemes[j]); i++)
			;
		if (i < count) {
			chosen[i] = true;
			continue;
		}
		missing = options_why_missing ? options_why_missing(opt->schemes[j]) : NULL;
		if (missing)
			options_bad("scheme '%s' is not here: %s", opt->schemes[j],
				    missing);
		unknown_scheme(opt->schemes[j], names, count);
	}
	for (i = 0; i < count; i++)
		picked += chosen[i];
	return picked;
}

/* ---- parsing --------------------------------------------------------------------------------- */

struct parse {
	struct options *opt;
	const struct argp *argp;
	options_own on_own;
};

static void print_help(const struct parse *parse)
{
	char name[64];

	snprintf(name, sizeof(name), "lull %s", parse->opt->tool);
	argp_help(parse->argp, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK, name);
	exit(EXIT_SUCCESS);
}

static void default_threads(struct options *opt)
{
	unsigned cpus = bench_cpus(), n;
	size_t count = 0;

	/* 1, 2, 4, ... and all of them. */
	opt->threads = options_alloc(34, sizeof(*opt->threads));
	for (n = 1; n < cpus; n *= 2)
		opt->threads[count++] = n;
	opt->threads[count++] = cpus;
	opt->nr_threads = count;
}

static void set_schemes(struct options *opt, const char *arg)
{
	split_free(opt->schemes, opt->nr_schemes);
	opt->schemes = options_split("--schemes", arg, &opt->nr_schemes);
}

/*
 * argp leaves the offending word just before state->next, except that it stands still at several
 * short options in one word; there is one alone, -h, so a word that looks like several is wrong.
 */
static _Noreturn void bad_option(const struct parse *parse, const struct argp_state *state)
{
	const char *word = state->next > 0 ? state->argv[state->next - 1] : "?";
	const char *next = state->next < state->argc ? state->argv[state->next] : "";
	const struct argp_option *o = parse->argp->options;

	if (next[0] == '-' && next[1] && next[1] != '-' && next[2])
		options_bad("unknown option '%s'; --help lists the options", next);
	for (; o->name || o->doc; o++) {
		size_t len = o->name ? strlen(o->name) : 0;

		if (!len || strncmp(word, "--", 2) || strncmp(word + 2, o->name, len))
			continue;
		if (!word[len + 2] && o->arg)
			options_bad("--%s needs a value: --%s %s", o->name, o->name, o->arg);
		if (word[len + 2] == '=' && !o->arg)
			options_bad("--%s takes no value", o->name);
	}
	options_bad("unknown option '%s'; --help lists the options", word);
}

static error_t on_key(int key, char *arg, struct argp_state *state)
{
	struct parse *parse = state->input;
	struct options *opt = parse->opt;

	switch (key) {
	case KEY_HELP:
		print_help(parse);
		return 0;
	case KEY_VERSION:
		printf("lull %s\n", lull_version());
		exit(EXIT_SUCCESS);
	case KEY_LIST:
		opt->list = true;
		return 0;
	case KEY_JSON:
		opt->json_path = arg;
		return 0;
	case KEY_THREADS:
		free(opt->threads);
		opt->threads = options_unsigned_list("--threads", arg, 1, OPTIONS_THREADS_LIMIT,
						     &opt->nr_threads);
		return 0;
	case KEY_SECONDS:
		opt->seconds = options_double("--seconds", arg, 0.01, 86400);
		return 0;
	case KEY_RUNS:
		opt->runs = (unsigned)options_unsigned("--runs", arg, 1, 100000);
		return 0;
	case KEY_SCHEMES:
		set_schemes(opt, arg);
		return 0;
	case ARGP_KEY_ARG:
		if (opt->arg_name && !opt->arg) {
			opt->arg = arg;
			return 0;
		}
		options_bad("unexpected '%s'; --help lists the options", arg);
	case ARGP_KEY_ERROR:
		bad_option(parse, state);
	default:
		if (key < OPTIONS_OWN_KEYS || key >= 0x1000000)
			return ARGP_ERR_UNKNOWN;
		parse->on_own(key, arg, opt);
		return 0;
	}
}

/* A word as a shell needs it, so that the line can be copied and run. */
static char *quote(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./=,:+@%";
	char *text, *to;

	if (*word && !word[strspn(word, plain)])
		return options_printf("%s", word);
	to = text = options_alloc(strlen(word) + 1, 4); /* at worst all of it is ' */
	*to++ = '\'';
	for (; *word; word++) {
		if (*word == '\'')
			to = stpcpy(to, "'\\'");
		*to++ = *word;
	}
	*to = '\'';
	return text;
}

static char *join_command(int argc, char **argv)
{
	char *text = options_printf("lull");
	int i;

	for (i = 0; i < argc; i++) {
		char *word = quote(argv[i]), *longer = options_printf("%s %s", text, word);

		free(word);
		free(text);
		text = longer;
	}
	return text;
}

static bool offered(const struct options *opt, const struct argp_option *o)
{
	if (!o->key || o->key == KEY_HELP || o->key == KEY_VERSION)
		return true;
	return !opt->bare && (!opt->plain || o->key == KEY_JSON || o->key == KEY_LIST);
}

/* One table for argp: the instrument's options, then the common ones. */
static struct argp_option *merged_options(const struct options *opt, const struct argp_option *own)
{
	size_t nr_common = sizeof(common_options) / sizeof(common_options[0]), n = 0, i;
	struct argp_option *all;

	while (own && (own[n].name || own[n].doc))
		n++;
	all = options_alloc(n + nr_common, sizeof(*all));
	if (n)
		memcpy(all, own, n * sizeof(*all));
	for (i = 0; i < nr_common; i++)
		if (offered(opt, &common_options[i]))
			all[n++] = common_options[i];
	return all;
}

void options_parse(struct options *opt, const struct argp_option *own, options_own on_own,
		   const char *doc, int argc, char **argv)
{
	struct argp_option *all = merged_options(opt, own);
	const struct argp argp = {
		.options = all, .parser = on_key, .doc = doc, .args_doc = opt->arg_name
	};
	struct parse parse = { opt, &argp, on_own };

	tool_name = getenv(OPTIONS_TYPED) ? getenv(OPTIONS_TYPED) : opt->tool;
	opt->command = join_command(argc, argv);
	/*
	 * argp's own messages take two lines and getopt's name the wrong program, so both are
	 * silenced; that also silences argp's --help, hence our own.
	 */
	argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &parse);
	if (!opt->threads)
		default_threads(opt);
	free(all);
}

unsigned options_most_threads(const struct options *opt)
{
	unsigned most = 1;
	size_t i;

	for (i = 0; i < opt->nr_threads; i++)
		most = opt->threads[i] > most ? opt->threads[i] : most;
	return most;
}

void options_free(struct options *opt)
{
	split_free(opt->schemes, opt->nr_schemes);
	free(opt->threads);
	free(opt->command);
	opt->schemes = NULL;
	opt->threads = NULL;
	opt->command = NULL;
}
