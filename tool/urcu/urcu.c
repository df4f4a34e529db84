/* SPDX-License-Identifier: MIT */
/* lull urcu: run a program with lull in the place of liburcu. */
#include "urcu/urcu_program.h"

#include <errno.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "common/options.h"

enum { OPT_AS = OPTIONS_OWN_KEYS, OPT_CHECK };

struct own {
	int build; /* 0: the one that suits */
	bool check;
};

static void own_option(int key, char *arg, struct options *opt)
{
	static const char *const versions[] = { "0.13", "0.14", "0.15", NULL };
	struct own *own = opt->own;

	if (key == OPT_AS)
		own->build = options_word("--as", arg, versions) ? 14 : 13;
	if (key == OPT_CHECK)
		own->check = true;
}

/* Return where the library of that name is: in the folder that LULL_URCU_PATH names, or where it is installed; NULL: nowhere. */
static char *find_library(int build)
{
	const char *asked = getenv("LULL_URCU_PATH");
	char self[PATH_MAX], *path, *real;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return NULL;
	self[len] = '\0';
	if (asked && *asked)
		path = options_printf("%s/liblull-urcu-%d.so", asked, build);
	else
		path = options_printf("%s/" URCU_FROM_BIN "/liblull-urcu-%d.so", dirname(self), build);
	real = realpath(path, NULL);
	free(path);
	return real;
}

/* The dynamic linker takes spaces and colons for the ends of names. */
static void preload(const char *library)
{
	const char *others = getenv("LD_PRELOAD");
	char *all = options_printf("%s%s%s", library, others && *others ? ":" : "", others ? others : "");

	if (strpbrk(library, " :"))
		options_bad("%s: nothing can be preloaded whose path has a space or a colon", library);
	if (setenv("LD_PRELOAD", all, 1) != 0)
		options_fail("out of memory");
	free(all);
}

/* Count the words of @argv that are the command's own. */
static int own_words(int argc, char **argv)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-' && strcmp(argv[i], "--"))
		i += strcmp(argv[i], "--as") ? 1 : 2;
	return i < argc ? i : argc;
}

int lull_cmd_urcu(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "as", OPT_AS, "VERSION", 0, "stand in for liburcu 0.13, 0.14 or 0.15, whatever the program loads", 0 },
		{ "check", OPT_CHECK, NULL, 0, "only say what would be done", 0 },
		{ 0 }
	};
	char path[PATH_MAX], loads[PATH_MAX], *library, *file = NULL;
	struct options opt = OPTIONS_INIT("urcu");
	int words = own_words(argc, argv);
	struct own own = { 0 };

	opt.own = &own;
	opt.bare = true;
	opt.arg_name = "COMMAND [ARGUMENT...]";
	options_parse(&opt, options, own_option,
		      "Run a program that was linked with liburcu, on lull: the library that stands in for the program's "
		      "version of liburcu is preloaded. What cannot work is refused in one line. docs/MIGRATING.md says "
		      "what differs.", words, argv);
	argv += words + (words < argc && !strcmp(argv[words], "--"));
	if (!*argv)
		options_bad("which command? Write lull urcu COMMAND [ARGUMENT...]");
	urcu_find_program(*argv, path, loads);
	if (!own.build)
		own.build = urcu_build_for(*argv, loads, &file);
	library = find_library(own.build);
	if (!library)
		options_bad("liblull-urcu-%d.so is not there; build the folder urcu, and install it", own.build);
	if (own.check) {
		printf("%s: %s instead of %s\n", path, library, file ? file : "whatever liburcu it loads");
		free(library);
		free(file);
		options_free(&opt);
		return 0;
	}
	preload(library);
	execv(path, argv);
	options_bad("cannot run %s: %s", path, strerror(errno));
}
