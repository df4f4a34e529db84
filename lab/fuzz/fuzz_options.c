/* SPDX-License-Identifier: MIT */
/*
 * fuzz_options.c - the command line of an instrument (tool/common/options.h) that has an option of each kind. The input
 * is its words, one a line. Either they are refused in one line, or what comes out of them is in the range that was
 * asked for, and the command line that is kept for the results gives the same words in a shell.
 */
#include "fuzz.h"

#include <string.h>

#include "fuzz_exit.h"
#include "common/options.h"

#define WORDS_MAX 64

enum { OPT_COUNT = OPTIONS_OWN_KEYS, OPT_RATE, OPT_WORD, OPT_LIST, OPT_FLAG };

static const struct argp_option own_options[] = {
	{ "count", OPT_COUNT, "N", 0, "a number", 0 },
	{ "rate", OPT_RATE, "X", 0, "a number with a fraction", 0 },
	{ "word", OPT_WORD, "W", 0, "one of a few words", 0 },
	{ "sizes", OPT_LIST, "1,2,...", 0, "numbers", 0 },
	{ "flag", OPT_FLAG, NULL, 0, "no value", 0 },
	{ 0 }
};
static const char *const words[] = { "late", "early", "both", NULL };
static const char *const schemes[] = { "none", "rcu", "rcu-qsbr", "hazptr", "liburcu-memb" };

#define NR_SCHEMES (sizeof(schemes) / sizeof(schemes[0]))

struct own {
	const char *count_word;
	uint64_t count;
	double rate;
	size_t word;
	unsigned *sizes;
	size_t nr_sizes;
};

struct line {
	int argc;
	char *argv[WORDS_MAX + 1];
	struct options opt;
	struct own own;
	bool chosen[NR_SCHEMES];
	size_t picked;
};

static void own_option(int key, char *arg, struct options *opt)
{
	struct own *own = opt->own;

	switch (key) {
	case OPT_COUNT:
		own->count_word = arg;
		own->count = options_unsigned("--count", arg, 1, UINT64_MAX);
		break;
	case OPT_RATE:
		own->rate = options_double("--rate", arg, 0.5, 1e9);
		break;
	case OPT_WORD:
		own->word = options_word("--word", arg, words);
		break;
	case OPT_LIST:
		free(own->sizes);
		own->sizes = options_unsigned_list("--sizes", arg, 3, 70000, &own->nr_sizes);
		break;
	default:
		fuzz_must(key == OPT_FLAG && !arg);
	}
}

static void parse(void *arg)
{
	struct line *line = arg;

	options_parse(&line->opt, own_options, own_option, "Nothing is measured.", line->argc,
		      line->argv);
	line->picked = options_pick(&line->opt, schemes, NR_SCHEMES, line->chosen);
}

/* Read the next word of @text as a shell would, into @word, which has room. Return the rest of @text. */
static const char *shell_word(const char *text, char *word)
{
	bool quoted = false;

	while (*text == ' ')
		text++;
	for (; *text && (quoted || *text != ' '); text++) {
		if (*text == '\'')
			quoted = !quoted;
		else if (*text == '\\' && !quoted)
			*word++ = *++text;
		else
			*word++ = *text;
	}
	fuzz_must(!quoted);
	*word = '\0';
	return text;
}

static void check_command(const struct line *line)
{
	const char *at = line->opt.command;
	char *word = malloc(strlen(at) + 1);

	fuzz_must(word);
	at = shell_word(at, word);
	fuzz_must(!strcmp(word, "lull"));
	for (int i = 0; i < line->argc; i++) {
		at = shell_word(at, word);
		fuzz_must(!strcmp(word, line->argv[i]));
	}
	fuzz_must(!*at);
	free(word);
}

static void check_pick(const struct line *line)
{
	size_t chosen = 0;

	for (size_t i = 0; i < NR_SCHEMES; i++) {
		bool asked = !line->opt.schemes;

		for (size_t j = 0; j < line->opt.nr_schemes; j++)
			asked |= !strcmp(line->opt.schemes[j], schemes[i]);
		fuzz_must(line->chosen[i] == asked);
		chosen += asked;
	}
	fuzz_must(chosen == line->picked && chosen);
}

/* A number is digits, with nothing before or behind, and has their value. */
static void check_count(const struct own *own)
{
	char digits[32];

	if (!own->count_word)
		return;
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)own->count);
	fuzz_must(own->count >= 1);
	fuzz_must(!strcmp(own->count_word + strspn(own->count_word, "0"), digits));
}

static void check_values(const struct line *line)
{
	const struct options *opt = &line->opt;
	const struct own *own = &line->own;

	fuzz_must(opt->nr_threads);
	for (size_t i = 0; i < opt->nr_threads; i++)
		fuzz_must(opt->threads[i] >= 1 && opt->threads[i] <= OPTIONS_THREADS_LIMIT);
	fuzz_must(opt->seconds == 0 || (opt->seconds >= 0.01 && opt->seconds <= 86400));
	fuzz_must(opt->runs <= 100000);
	check_count(own);
	fuzz_must(own->rate == 0 || (own->rate >= 0.5 && own->rate <= 1e9));
	fuzz_must(own->word < 3);
	for (size_t i = 0; i < own->nr_sizes; i++)
		fuzz_must(own->sizes[i] >= 3 && own->sizes[i] <= 70000);
}

/* Takes the words out of @text, which has @size bytes and room for one more. */
static void split(struct line *line, char *text, size_t size)
{
	char *end = text + size;

	*end = '\0';
	line->argv[line->argc++] = (char *)(uintptr_t) "fuzz";
	while (text < end && line->argc < WORDS_MAX) {
		line->argv[line->argc++] = text;
		text += strcspn(text, "\n");
		*text++ = '\0';
	}
}

static void check_end(int status, const struct fuzz_text *text)
{
	if (status == 0) /* --help, --version */
		fuzz_must(text->out[0] && !text->err[0]);
	else
		fuzz_must_complain(status, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1);
	struct fuzz_text text;
	struct line line;
	int status;

	fuzz_must(copy);
	memcpy(copy, data, size);
	memset(&line, 0, sizeof(line));
	line.opt = (struct options)OPTIONS_INIT("fuzz");
	line.opt.own = &line.own;
	split(&line, copy, size);
	status = fuzz_run(parse, &line, &text);
	if (status == FUZZ_RETURNED) {
		fuzz_must(!text.out[0] && !text.err[0]);
		check_values(&line);
		check_pick(&line);
		check_command(&line);
		free(line.own.sizes);
		options_free(&line.opt);
	} else {
		check_end(status, &text);
	}
	free(copy);
	return 0;
}
