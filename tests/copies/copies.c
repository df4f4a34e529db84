/* SPDX-License-Identifier: MIT */
/*
 * copies.c - modules that contain lull. usage: copies PLUGIN...
 *
 * Built once without lull in it: one plugin works, may be closed while threads that used it still have to exit, and
 * works in a forked child. Built with lull in it, linked in each way (LULL_TEST_WHERE says where), or with two plugins: the
 * second copy ends the process before any use, with a line that names both.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef LULL_TEST_WHERE
#include <lull/rcu.h>
#endif

static void (*plugin_use)(void);
static void (*plugin_wait)(void);
static int failures;

static void fail(const char *what, const char *detail)
{
	fprintf(stderr, "FAIL: %s: %s\n", what, detail);
	failures++;
}

static void load(const char *path, int mode)
{
	void *plugin = dlopen(path, RTLD_NOW | mode);

	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(3);
	}
	*(void **)&plugin_use = dlsym(plugin, "plugin_use");
	*(void **)&plugin_wait = dlsym(plugin, "plugin_wait");
}

/* Run @body in a child. Returns its status, and what it wrote to standard error in @text. */
static int in_child(void (*body)(char **paths, int mode), char **paths, int mode, char *text, size_t size)
{
	ssize_t got;
	size_t len = 0;
	int pipes[2], status;
	pid_t child;

	if (pipe(pipes) != 0)
		exit(2);
	child = fork();
	if (child < 0)
		exit(2);
	if (child == 0) {
		alarm(60);
		dup2(pipes[1], STDERR_FILENO);
		close(pipes[0]);
		close(pipes[1]);
		body(paths, mode);
		_exit(0);
	}
	close(pipes[1]);
	while ((got = read(pipes[0], text + len, size - 1 - len)) > 0 || (got < 0 && errno == EINTR))
		len += got > 0 ? (size_t)got : 0;
	text[len] = '\0';
	close(pipes[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static void load_all(char **paths, int mode)
{
	for (; *paths; paths++)
		load(*paths, mode);
}

/* @first and @last: of the two copies, a part of the name by which the line calls each. */
static void must_be_refused(const char *what, char **paths, int mode, const char *first, const char *last)
{
	char text[4096];
	int status = in_child(load_all, paths, mode, text, sizeof(text));

	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
		fail(what, "the second copy was not refused");
	else if (!strstr(text, "two copies of lull") || !strstr(text, first) || !strstr(text, last))
		fail(what, text);
}

#ifndef LULL_TEST_WHERE
static pthread_barrier_t meet;

static void *user(void *unused)
{
	plugin_use();
	plugin_wait();
	pthread_barrier_wait(&meet); /* used */
	pthread_barrier_wait(&meet); /* closed; my exit handling is still to come */
	return unused;
}

static void use_and_close(char **paths, int mode)
{
	void *plugin = dlopen(paths[0], RTLD_NOW | mode);
	pthread_t thread;
	pid_t child;
	int status;

	if (!plugin)
		_exit(3);
	*(void **)&plugin_use = dlsym(plugin, "plugin_use");
	*(void **)&plugin_wait = dlsym(plugin, "plugin_wait");
	pthread_barrier_init(&meet, NULL, 2);
	if (pthread_create(&thread, NULL, user, NULL) != 0)
		_exit(4);
	pthread_barrier_wait(&meet);
	child = fork();
	if (child == 0) {
		alarm(60);
		plugin_wait();
		_exit(0);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (status != 0)
		_exit(5);
	dlclose(plugin);
	pthread_barrier_wait(&meet);
	pthread_join(thread, NULL);
	exit(0);
}

static void must_work(const char *what, char **paths, int mode)
{
	char text[4096];
	int status = in_child(use_and_close, paths, mode, text, sizeof(text));

	if (status != 0) {
		fprintf(stderr, "status 0x%x\n", (unsigned)status);
		fail(what, text);
	}
}
#endif

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
#ifdef LULL_TEST_WHERE
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	must_be_refused("RTLD_LOCAL", argv + 1, RTLD_LOCAL, LULL_TEST_WHERE, "lull_copy");
	must_be_refused("RTLD_GLOBAL", argv + 1, RTLD_GLOBAL, LULL_TEST_WHERE, "lull_copy");
#ifndef LULL_TEST_SANITIZED /* the sanitizers refuse that */
	must_be_refused("RTLD_DEEPBIND", argv + 1, RTLD_LOCAL | RTLD_DEEPBIND, LULL_TEST_WHERE, "lull_copy");
#endif
#else
	must_work("RTLD_LOCAL", argv + 1, RTLD_LOCAL);
	must_work("RTLD_GLOBAL", argv + 1, RTLD_GLOBAL);
	if (argc > 2)
		must_be_refused("two plugins", argv + 1, RTLD_LOCAL, "lull_copy", "lull_copy2");
#endif
	return failures != 0;
}
