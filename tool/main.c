/* SPDX-License-Identifier: MIT */
/* lull: the operator's command. Picks the subcommand; those that measure are in lull-lab, which it runs. */
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "common/environment.h"
#include "common/options.h"

/* Commands that this build leaves out keep their names, so that lull can say how to get them. */
#ifdef LULL_WITHOUT_BPF
#define NEEDS_BPF(run) NULL, "BPF support: " LULL_WITHOUT_BPF
#else
#define NEEDS_BPF(run) run, NULL
#endif

/* The program of the laboratory, beside this one or in PATH. */
#define LAB "lull-lab"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *missing; /* thing that the command would need; NULL: it has all */
	const char *what;
} commands[] = {
	{ "compare", NULL, NULL, "measure what each protection costs here, and recommend one for your workload" },
	{ "refscale", NULL, NULL, "cost of one read section" },
	{ "rcuscale", NULL, NULL, "latency of grace periods, deferred calls and barriers" },
	{ "hashscale", NULL, NULL, "hash table lookups and updates per second, and how long a reload takes" },
	{ "keyscale", NULL, NULL, "removing keys, one by one, while other threads look them up" },
	{ "labelscale", NULL, NULL, "opening files while all threads share one label" },
	{ "mutexscale", NULL, NULL, "threads that want one lock" },
	{ "tradeoff", NULL, NULL, "four ways to keep an object alive, and what each costs" },
	{ "torture", NULL, NULL, "try to break the library" },
	{ "peers", NULL, NULL, "which other libraries can be measured here" },
	{ "top", lull_cmd_top, NULL, "what lull does in a running process" },
	{ "trace", lull_cmd_trace, NULL, "a timeline of what lull does in a process" },
	{ "oracle", NEEDS_BPF(lull_cmd_oracle), "the kernel's table that shows a mutex which threads run" },
	{ "urcu", lull_cmd_urcu, NULL, "run a program that was linked with liburcu, on lull" },
	{ "doctor", lull_cmd_doctor, NULL, "what this machine and kernel offer" },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Return the laboratory's program that lies in the folder of this one, or NULL. Free it. */
static char *lab_beside(void)
{
	char self[PATH_MAX], *path;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return NULL;
	self[len] = '\0';
	path = options_printf("%s/%s", dirname(self), LAB);
	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* Return whether a folder of PATH has the laboratory's program. */
static bool lab_in_path(void)
{
	const char *folders = getenv("PATH");

	while (folders && *folders) {
		size_t len = strcspn(folders, ":");
		char *path = options_printf("%.*s/%s", (int)len, folders, LAB);
		bool there = len && access(path, X_OK) == 0;

		free(path);
		if (there)
			return true;
		folders += len + (folders[len] == ':');
	}
	return false;
}

static bool has_lab(void)
{
	char *beside = lab_beside();

	free(beside);
	return beside || lab_in_path();
}

static bool is_there(const struct command *c, bool lab)
{
	return !c->missing && (c->run || lab);
}

static void usage(FILE *out)
{
	bool lab = has_lab();
	size_t i;

	fprintf(out, "Usage: lull COMMAND [OPTION...]\n\n");
	for (i = 0; i < NR_COMMANDS; i++)
		if (is_there(&commands[i], lab))
			fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].what);
	fprintf(out, "\n'lull help COMMAND' lists the options of a command.\n");
}

/* Become the laboratory's program, with the same words. */
static int run_lab(char **argv)
{
	char *beside = lab_beside();

	argv[0] = beside ? beside : (char[]){ LAB };
	execvp(argv[0], argv);
	options_bad("%s needs the program " LAB ", which is not here: build lab/ in lull's source, or run scripts/compare there",
		    argv[1]);
}

static int run(const struct command *c, int argc, char **argv)
{
	if (c->missing) {
		fprintf(stderr, "lull %s: this build has no %s\n", c->name, c->missing);
		return 2;
	}
	return c->run ? c->run(argc - 1, argv + 1) : run_lab(argv);
}

int main(int argc, char **argv)
{
	char known[256] = "";
	size_t i, len = 0;
	bool lab;

	if (!environment_begin(&argc, argv, usage))
		return 0;
	lab = has_lab();
	for (i = 0; i < NR_COMMANDS; i++) {
		if (!strcmp(argv[1], commands[i].name))
			return run(&commands[i], argc, argv);
		if (is_there(&commands[i], lab))
			len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s", len ? ", " : "",
						commands[i].name);
	}
	options_bad("unknown command '%s'; known: %s", argv[1], known);
}
