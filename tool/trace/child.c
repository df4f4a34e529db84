/* SPDX-License-Identifier: MIT */
/*
 * The program that --run starts: it waits at a gate until all is in place. And the signals that end a trace: they are
 * passed on, because a user who wants to end the program may know only this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/options.h"
#include "trace/trace.h"

#define LOOK_MS 50 /* how often to look whether there is a signal to pass on */

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

static volatile sig_atomic_t stopped = 0;
static volatile sig_atomic_t to_pass_on[SIGNALS];

static void on_signal(int sig)
{
	size_t i;

	for (i = 0; i < SIGNALS; i++)
		/* Ctrl-C is for all who are at the terminal: the program has it already. */
		if (signals[i] == sig && sig != SIGINT)
			to_pass_on[i] = 1;
	stopped = sig;
}

void trace_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal }, old;
	size_t i;

	for (i = 0; i < SIGNALS; i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

int trace_stopped(void)
{
	return stopped;
}

void trace_ended_early(pid_t pid)
{
	options_fail("process %d ended before it could be traced", (int)pid);
}

/* ---- its start ------------------------------------------------------------------------------- */

/* Reset the handlers. A signal that is ignored stays so, as in any program that is started. */
static void forget_handlers(void)
{
	struct sigaction old;
	size_t i;

	for (i = 0; i < SIGNALS; i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			signal(signals[i], SIG_DFL);
}

static void run_child(char **command, int gate, int complain)
{
	ssize_t got;
	char byte;
	int err;

	do
		got = read(gate, &byte, 1);
	while (got < 0 && errno == EINTR);
	/* The tracer could not trace, or was told not to. */
	if (got != 1)
		_exit(127);
	execvp(command[0], command);
	err = errno;
	if (write(complain, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

struct trace_child trace_child_start(char **command)
{
	struct trace_child child = { .pid = -1 };
	int gate[2], complain[2];
	sigset_t all, before;

	if (pipe2(gate, O_CLOEXEC) != 0 || pipe2(complain, O_CLOEXEC) != 0)
		options_fail("cannot make a pipe: %s", strerror(errno));
	/* Else the child's end would go unnoticed. */
	signal(SIGCHLD, SIG_DFL);
	/* One that comes to the child while it still has our handlers would be lost. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	child.pid = fork();
	if (child.pid < 0)
		options_fail("cannot fork: %s", strerror(errno));
	if (child.pid == 0) {
		close(gate[1]);
		close(complain[0]);
		forget_handlers();
		sigprocmask(SIG_SETMASK, &before, NULL);
		run_child(command, gate[0], complain[1]);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(complain[1]);
	child.gate = gate[1];
	/* Open here as well: if the child was killed at the gate, to open it is no SIGPIPE. */
	child.gate_inside = gate[0];
	child.complain = complain[0];
	return child;
}

static void pass_on(const struct trace_child *child)
{
	size_t i;

	for (i = 0; i < SIGNALS; i++) {
		if (to_pass_on[i]) {
			/* First: another one that comes meanwhile is passed on as well. */
			to_pass_on[i] = 0;
			kill(child->pid, signals[i]);
		}
	}
}

void trace_child_let_go(const struct trace_child *child, const char *name)
{
	ssize_t got;
	int err;

	if (write(child->gate, "", 1) != 1)
		options_fail("cannot start '%s': %s", name, strerror(errno));
	close(child->gate);
	close(child->gate_inside);
	while ((got = read(child->complain, &err, sizeof(err))) < 0 && errno == EINTR)
		pass_on(child);
	if (got == (ssize_t)sizeof(err))
		options_fail("cannot run '%s': %s", name, strerror(err));
	close(child->complain);
}

void trace_child_give_up(const struct trace_child *child, const char *name)
{
	kill(child->pid, SIGKILL);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	options_fail("stopped by signal %d (%s) before '%s' was started", trace_stopped(),
		     strsignal(trace_stopped()), name);
}

/* ---- its end --------------------------------------------------------------------------------- */

bool trace_child_has_ended(struct trace_child *child)
{
	if (!child->ended)
		child->ended = waitpid(child->pid, &child->status, WNOHANG) == child->pid;
	/* Not to a later process that has its number. */
	if (!child->ended)
		pass_on(child);
	return child->ended;
}

static int status_of(const struct trace_child *child, const char *name)
{
	char *shown;

	if (WIFEXITED(child->status))
		return WEXITSTATUS(child->status);
	shown = trace_shown(name);
	fprintf(stderr, "lull trace: '%s' was ended by signal %d (%s)\n", shown,
		WTERMSIG(child->status), strsignal(WTERMSIG(child->status)));
	free(shown);
	return 128 + WTERMSIG(child->status);
}

int trace_child_wait(struct trace_child *child, const char *name)
{
	while (!trace_child_has_ended(child))
		poll(NULL, 0, LOOK_MS);
	return status_of(child, name);
}
