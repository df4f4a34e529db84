/* SPDX-License-Identifier: MIT */
/* Runs an instrument and reads what it found out from a pipe; see compare/instrument.h. */
#include "compare/instrument.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/options.h"

#define SECONDS_MIN 0.01

char *compare_append(char *text, const char *more)
{
	char *longer = options_printf("%s%s", text, more);

	free(text);
	return longer;
}

/* ---- arguments ------------------------------------------------------------------------------- */

void compare_arg(struct compare_command *c, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	if (c->count == COMPARE_ARGS_MAX - 1 || vasprintf(&c->arg[c->count++], format, ap) < 0)
		options_fail("out of memory");
	va_end(ap);
}

void compare_seconds(struct compare_command *c, double seconds)
{
	compare_arg(c, "--seconds=%.2f", seconds < SECONDS_MIN ? SECONDS_MIN : seconds);
}

void compare_numbers(struct compare_command *c, const char *option, const unsigned *number,
		     size_t count)
{
	char *list = options_printf("%u", number[0]), one[16];
	size_t i;

	for (i = 1; i < count; i++) {
		snprintf(one, sizeof(one), ",%u", number[i]);
		list = compare_append(list, one);
	}
	compare_arg(c, "%s=%s", option, list);
	free(list);
}

static void free_args(struct compare_command *c)
{
	while (c->count)
		free(c->arg[--c->count]);
}

/* ---- the process ----------------------------------------------------------------------------- */

static _Noreturn void run_child(struct compare_command *c)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	/* End with the process that waits for the results, which may be killed. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
		_exit(1);
	/* Name compare in the instrument's errors: the user typed the options for it. */
	setenv(OPTIONS_TYPED, "compare", 1);
	execv("/proc/self/exe", c->arg);
	fprintf(stderr, "lull compare: cannot start 'lull %s': %s\n", c->arg[1], strerror(errno));
	_exit(1);
}

json_t *compare_run(struct compare_command *c)
{
	int fd[2], status;
	json_error_t error;
	json_t *root;
	FILE *file;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) != 0)
		options_fail("cannot make a pipe: %s", strerror(errno));
	compare_arg(c, "--json");
	compare_arg(c, "/dev/fd/%d", fd[1]);
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		options_fail("cannot start 'lull %s': %s", c->arg[1], strerror(errno));
	if (pid == 0) {
		fcntl(fd[1], F_SETFD, 0);
		run_child(c);
	}
	close(fd[1]);
	file = fdopen(fd[0], "r");
	root = file ? json_loadf(file, 0, &error) : NULL;
	if (file)
		fclose(file);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status))
		exit(WEXITSTATUS(status));
	if (!WIFEXITED(status))
		options_fail("'lull %s' ended with signal %d", c->arg[1], WTERMSIG(status));
	if (!root)
		options_fail("'lull %s' gave no results", c->arg[1]);
	free_args(c);
	return root;
}
