/* SPDX-License-Identifier: MIT */
/* Start and end of lull and lull-lab: refuse a bad environment, lose no output, turn "help COMMAND" round. */
#include "common/environment.h"

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

/* Find @name, "LULL_X=", in the environment; NULL: it is not there, or is empty. */
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
	/* `lull oracle` may be about to load the oracle that is asked for, and locks nothing. */
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

bool environment_begin(int *argc, char **argv, void (*usage)(FILE *out))
{
	choose_oracle();
	atexit(finish_output);
	if (*argc < 2)
		options_bad("no command given; 'lull --help' lists them");
	turn_help_round(argc, argv);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return false;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("lull %s\n", lull_version());
		return false;
	}
	return true;
}
