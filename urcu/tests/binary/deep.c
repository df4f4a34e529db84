/* SPDX-License-Identifier: MIT */
/*
 * deep.c - plugins that are opened with RTLD_DEEPBIND, and so use liburcu itself, where others use its stand-in.
 * usage: deep HOW PLUGIN OTHER_PLUGIN
 */
#include "urcu_must.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void *opened(const char *path, int flags)
{
	void *plugin = dlopen(path, flags);

	if (!plugin)
		fprintf(stderr, "%s\n", dlerror());
	MUST(plugin);
	return plugin;
}

static void use(void *plugin, const char *name)
{
	void (*function)(void);

	*(void **)&function = dlsym(plugin, name);
	MUST(function);
	function();
}

#ifdef LINKED /* with liburcu */
#include <urcu/urcu-memb.h>

#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

static void wait_often(void)
{
	for (int i = 0; i < 10000; i++)
		urcu_memb_synchronize_rcu();
}

static _Atomic int looks_at_modules, may_go;

static int look(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)info;
	(void)size;
	(void)unused;
	atomic_store(&looks_at_modules, 1);
	AWAIT(atomic_load(&may_go));
	return 1;
}

static void *looks(void *unused)
{
	dl_iterate_phdr(look, NULL);
	return unused;
}

/* The child finds the lock of dl_iterate_phdr() held by a thread that it has not. */
static void fork_beside(void)
{
	pthread_t thread;
	int status;
	pid_t child;

	MUST(pthread_create(&thread, NULL, looks, NULL) == 0);
	AWAIT(atomic_load(&looks_at_modules));
	child = fork();
	if (child == 0) {
		alarm(50);
		wait_often();
		_exit(0);
	}
	MUST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	atomic_store(&may_go, 1);
	pthread_join(thread, NULL);
}

static void run(const char *how, char **plugins)
{
	void *plugin;

	wait_often();
	if (!strcmp(how, "fork")) {
		fork_beside();
		return;
	}
	if (!strcmp(how, "daemon") && fork() != 0) {
		wait(NULL);
		_exit(1);
	}
	if (!strcmp(how, "plain")) {
		plugin = opened(plugins[0], RTLD_NOW);
	} else if (!strcmp(how, "now") || !strcmp(how, "daemon")) {
		plugin = opened(plugins[0], RTLD_NOW | RTLD_DEEPBIND);
	} else {
		plugin = opened(plugins[0], RTLD_LAZY | RTLD_DEEPBIND);
		wait_often(); /* none of its functions is bound yet */
		puts("not bound");
		fflush(stdout);
		use(plugin, "plug_read");
	}
	wait_often();
	use(plugin, "plug_read");
}
#else
static void run(const char *how, char **plugins)
{
	void *deep = opened(plugins[0], RTLD_NOW | RTLD_DEEPBIND);
	void *plain = opened(plugins[1], RTLD_NOW);

	(void)how;
	for (int i = 0; i < 1000; i++) {
		use(plain, "plug_read");
		use(plain, "plug_wait");
		use(deep, "plug_read");
		use(deep, "plug_wait");
	}
}
#endif

static void aborted(int signal)
{
	(void)signal;
	_exit(1);
}

int main(int argc, char **argv)
{
	MUST(argc == 4);
	alarm(100);
	signal(SIGABRT, aborted);
	run(argv[1], argv + 2);
	puts("done");
	return 0;
}
