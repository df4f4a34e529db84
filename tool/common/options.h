/* SPDX-License-Identifier: MIT */
/*
 * Command line of the `lull` tool: the options that all instruments share, and the one way to
 * refuse bad input: one line on stderr that names what is wrong and what is allowed, then exit 2.
 *
 * An instrument with options of its own:
 *
 *	enum { OPT_CHAIN = OPTIONS_OWN_KEYS };
 *	static const struct argp_option own[] = {
 *		{ "chain", OPT_CHAIN, NULL, 0, "each load depends on the one before", 0 },
 *		{ 0 }
 *	};
 *	static void own_option(int key, char *arg, struct options *opt)
 *	{
 *		struct refscale_options *mine = opt->own;
 *		...options_unsigned("--burst", arg, 1, 1000)...
 *	}
 *
 *	struct options opt = OPTIONS_INIT("refscale");
 *	opt.own = &mine;
 *	options_parse(&opt, own, own_option, "what it measures, for --help", argc, argv);
 *	if (opt.list)
 *		...print one scheme per line: name, what it is; exit 0
 *	options_pick(&opt, names, count, chosen);
 *	struct jsonout *json = jsonout_open(&opt);	-- before anything is measured
 */
#ifndef LULL_TOOL_OPTIONS_H
#define LULL_TOOL_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_THREADS_LIMIT 4096 /* highest thread count that is accepted at all */
#define OPTIONS_TYPED "LULL_TYPED" /* in the environment of a command that another one runs: the one that was typed */
#define OPTIONS_OWN_KEYS 0x1000	   /* keys of an instrument's own long options start here */

struct options {
	const char *tool;      /* "refscale"; "lull <tool>: " starts every complaint */
	bool list;	       /* --list */
	const char *json_path; /* --json FILE or NULL */
	unsigned *threads; /* --threads 1,2,4; the default is 1, 2, ... up to the allowed CPUs */
	size_t nr_threads;
	double seconds; /* --seconds S; 0 when it was not given: the instrument's own default */
	unsigned runs;	/* --runs N; 0 when it was not given */
	char **schemes; /* --schemes a,b as given; NULL for all */
	size_t nr_schemes;
	char *command; /* the command line as a shell takes it, for the JSON */
	void *own;     /* the instrument's own settings */
	bool plain; /* set before parsing: of the common options only json, list, help, version exist */
	bool bare;  /* set before parsing: only help and version */
	const char *arg_name; /* set before parsing: what the one argument is, "PID"; NULL: there is none */
	const char *arg;      /* that argument as given, or NULL */
};

#define OPTIONS_INIT(name)     \
	{                      \
		.tool = (name) \
	}

typedef void (*options_own)(int key, char *arg, struct options *opt);

/*
 * Reads argv (argv[0] is the instrument's name). own: table of the instrument's own options or
 * NULL; on_own gets those keys. doc: the sentence --help begins with. --help and --version print
 * and exit 0; anything wrong exits 2 with one line.
 */
void options_parse(struct options *opt, const struct argp_option *own, options_own on_own,
		   const char *doc, int argc, char **argv);
void options_free(struct options *opt);

/*
 * chosen[i] says whether names[i] was asked for (all of them when --schemes is absent). A name that
 * is not in the list ends the program: "unknown scheme 'rcuu': did you mean rcu? known: none,
 * spinlock, ...", or why it is missing, where options_why_missing knows.
 * Returns how many were chosen.
 */
size_t options_pick(const struct options *opt, const char *const *names, size_t count,
		    bool *chosen);
/* Return the largest number of --threads. */
unsigned options_most_threads(const struct options *opt);
/* Says why @scheme is missing, or NULL; peers_load() sets it. */
extern const char *(*options_why_missing)(const char *scheme);

/*
 * Numbers and lists for own options; `what` is the option as typed. Out of range or no number:
 * exit 2.
 */
uint64_t options_unsigned(const char *what, const char *arg, uint64_t min, uint64_t max);
double options_double(const char *what, const char *arg, double min, double max);
unsigned *options_unsigned_list(const char *what, const char *arg, unsigned min, unsigned max,
				size_t *count);
/* Splits "a,b,c"; empty items are refused. */
char **options_split(const char *what, const char *arg, size_t *count);
/* arg must be one of the words (NULL-terminated); returns its index. */
size_t options_word(const char *what, const char *arg, const char *const *words);

/*
 * Bad input: "lull <tool>: <text>\n" on stderr, exit 2. The tool's name is the one options_parse()
 * got.
 */
_Noreturn void options_bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The machine could not do it (out of memory, write error): the same line, exit 1. */
_Noreturn void options_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* '?' for what could steer a terminal, line ends too: for names and words from outside. */
void options_one_line(char *text);

/* Never return NULL: no memory is options_fail(). */
void *options_alloc(size_t count, size_t size);
char *options_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
