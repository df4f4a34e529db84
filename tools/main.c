/* SPDX-License-Identifier: MIT */
/* lull: the command. Picks the instrument. */
#include "common/commands.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lull/debug.h>
#include <lull/mutex.h>

#include "common/options.h"

/* What this build leaves out is known by its name, so that the command can say how to get it. */
#ifdef LULL_INSTRUMENTS
#include "common/peers.h"
#include "inspect/doctor/doctor.h"
#define INSTRUMENT(run) run, NULL
#else
#define INSTRUMENT(run) \
	NULL, "instruments; configure lull with -DLULL_BUILD_INSTRUMENTS=ON, or run scripts/compare in its source"
#endif
#ifdef LULL_WITHOUT_BPF
#define NEEDS_BPF(run) NULL, "BPF support: " LULL_WITHOUT_BPF
#else
#define NEEDS_BPF(run) run, NULL
#endif

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *missing; /* what the command would need; NULL: it is there */
	const char *what;
	bool loads_peers;
} commands[] = {
	{ "compare", INSTRUMENT(lull_cmd_compare),
	  "measure on your keys what each protection costs, and recommend one", true },
	{ "refscale", INSTRUMENT(lull_cmd_refscale), "cost of one read section", true },
	{ "rcuscale", INSTRUMENT(lull_cmd_rcuscale), "latency of grace periods, deferred calls and barriers", true },
	{ "hashscale", INSTRUMENT(lull_cmd_hashscale), "hash table lookups and updates per second, and how long a reload takes", true },
	{ "keyscale", INSTRUMENT(lull_cmd_keyscale), "removing keys, one by one, while other threads look them up", false },
	{ "labelscale", INSTRUMENT(lull_cmd_labelscale), "opening files while all threads share one label", false },
	{ "mutexscale", INSTRUMENT(lull_cmd_mutexscale), "threads that want one lock", true },
	{ "tradeoff", INSTRUMENT(lull_cmd_tradeoff), "four ways to keep an object alive, and what each costs", false },
	{ "torture", INSTRUMENT(lull_cmd_torture), "try to break the library", false },
	{ "top", lull_cmd_top, NULL, "what lull does in a running process", false },
	{ "trace", lull_cmd_trace, NULL, "a timeline of what lull does in a process", false },
	{ "oracle", NEEDS_BPF(lull_cmd_oracle), "the kernel's table that shows a mutex which threads run", false },
	{ "urcu", lull_cmd_urcu, NULL, "run a program that was linked with liburcu, on lull", false },
	{ "doctor", lull_cmd_doctor, NULL, "what this machine and kernel offer", true },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *out)
{
	size_t i;

	fprintf(out, "Usage: lull COMMAND [OPTION...]\n\n");
	for (i = 0; i < NR_COMMANDS; i++)
		if (!commands[i].missing)
			fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].what);
	fprintf(out, "\n'lull help COMMAND' lists the options of a command.\n");
}

/*
 * The library refuses a bad LULL_FENCE or LULL_OWNER_ORACLE while it is being loaded, by aborting. Here
 * that is bad input like any other; the dynamic linker runs the executable's preinit functions before any
 * library's, and before much of libc works.
 */
static void refuse(const char *a, const char *b, const char *c)
{
	char line[256];
	int len = snprintf(line, sizeof(line), "lull: %s%.80s%s\n", a, b, c), i;

	for (i = 0; i < len - 1; i++)
		if ((unsigned char)line[i] < ' ')
			line[i] = '?';
	if (write(STDERR_FILENO, line, (size_t)len) < 0)
		_exit(3);
	_exit(2);
}

/* Where @name, "LULL_X=", is in the environment; NULL: it is not, or is empty. */
static char **find_setting(char **envp, const char *name)
{
	size_t len = strlen(name);

	while (*envp && strncmp(*envp, name, len))
		envp++;
	return *envp && (*envp)[len] ? envp : NULL;
}

static void check_fence(const char *value)
{
	if (!strcmp(value, "full"))
		return;
	if (strcmp(value, "membarrier"))
		refuse("environment LULL_FENCE='", value,
		       "' is not known; it can be membarrier or full");
	if (!(syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) &
	      MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		refuse("environment LULL_FENCE=", value,
		       ": the kernel does not offer it here; it can be full");
}

/*
 * An oracle that may not work here is kept from the library while that is loaded, and chosen by main(): the library
 * knows whether it works.
 */
static char *hidden_oracle, hidden_letter;

static void hide_oracle(char *value)
{
	hidden_oracle = value;
	hidden_letter = value[0];
	value[0] = '\0';
}

static void check_oracle(char *value)
{
	if (!strcmp(value, "rseq") || !strcmp(value, "none"))
		return;
	if (strcmp(value, "bpf") && strcmp(value, "kernel") && strcmp(value, "slice"))
		refuse("environment LULL_OWNER_ORACLE='", value,
		       "' is not known; it can be rseq, bpf, kernel, slice or none");
	hide_oracle(value);
}

/* Make up for hide_oracle(): for this process, and for those that it will start. */
static void choose_oracle(void)
{
	int err;

	if (!hidden_oracle)
		return;
	hidden_oracle[0] = hidden_letter;
	err = lull_mutex_choose_oracle(hidden_oracle);
	if (err == -EINVAL)
		refuse("environment LULL_OWNER_ORACLE=", hidden_oracle, ": lull was built without it");
	if (err && !strcmp(hidden_oracle, "bpf"))
		refuse("environment LULL_OWNER_ORACLE=", hidden_oracle,
		       ": no table is loaded for this process; see 'lull oracle'");
	if (err)
		refuse("environment LULL_OWNER_ORACLE=", hidden_oracle, ": the kernel does not offer it here");
}

static void check_environment(int argc, char **argv, char **envp)
{
	char **setting = find_setting(envp, "LULL_FENCE=");

	if (setting)
		check_fence(strchr(*setting, '=') + 1);
	setting = find_setting(envp, "LULL_OWNER_ORACLE=");
	if (!setting)
		return;
	/* What is asked for may be what is about to be loaded. That command locks nothing. */
	if (argc > 1 && !strcmp(argv[1], "oracle"))
		strchr(*setting, '=')[1] = '\0';
	else
		check_oracle(strchr(*setting, '=') + 1);
}

__attribute__((section(".preinit_array"),
	       used)) static void (*const preinit)(int, char **, char **) = check_environment;

/* Results that could not be written, to a full disk say, are no success. */
static void finish_output(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return;
	fprintf(stderr, "lull: cannot write the output: %s\n", strerror(errno));
	_exit(EXIT_FAILURE);
}

/* Make "help COMMAND" what it stands for: "COMMAND --help". */
static void turn_help_round(int *argc, char **argv)
{
	static char help[] = "--help";

	if (*argc < 3 || strcmp(argv[1], "help"))
		return;
	if (*argc > 3)
		options_bad("help is for one command; unexpected '%s'", argv[3]);
	argv[1] = argv[2];
	argv[2] = help;
}

static int run(const struct command *c, int argc, char **argv)
{
	if (c->missing) {
		fprintf(stderr, "lull %s: this build has no %s\n", c->name, c->missing);
		return 2;
	}
#ifdef LULL_INSTRUMENTS
	doctor_say_more = doctor_say_peers;
	if (c->loads_peers)
		peers_make_room(argv);
#endif
	return c->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	char known[256] = "";
	size_t i, len = 0;

	choose_oracle();
	atexit(finish_output);
	if (argc < 2)
		options_bad("no command given; 'lull --help' lists them");
	turn_help_round(&argc, argv);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("lull %s\n", lull_version());
		return 0;
	}
	for (i = 0; i < NR_COMMANDS; i++) {
		if (!strcmp(argv[1], commands[i].name))
			return run(&commands[i], argc, argv);
		if (!commands[i].missing)
			len += (size_t)snprintf(known + len, sizeof(known) - len, "%s%s", len ? ", " : "",
						commands[i].name);
	}
	options_bad("unknown command '%s'; known: %s", argv[1], known);
}
