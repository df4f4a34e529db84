/* SPDX-License-Identifier: MIT */
/* lull torture --flavor wild: forked children, in the middle of it all. See surroundings.h. */
#include "torture/surroundings/surroundings.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lull/debug.h>
#include <lull/hazptr.h>
#include <lull/mutex.h>

#define CHILDREN 3u
#define CHILD_USES 100u

/* ---- children -------------------------------------------------------------------------------- */

static void *also(void *arg)
{
	wild_mix(arg, CHILD_USES);
	return NULL;
}

/* Exits in either way; exit() runs what was registered for it, and the library's own end. */
static _Noreturn void use_everything(uint64_t *rng)
{
	uint64_t other = torture_random(rng, UINT64_MAX) | 1;
	bool by_exit = torture_once_in(rng, 2);
	pthread_t thread;
	bool has_thread;

	lull_debug_set_stall_hook(NULL, NULL);
	wild_mix_child();
	wild_load_child();
	has_thread = pthread_create(&thread, NULL, also, &other) == 0;
	wild_mix(rng, CHILD_USES);
	if (has_thread)
		pthread_join(thread, NULL);
	wild_mix_settle(!wild_has(WILD_POLL));
	wild_post(rng, 0);
	if (by_exit)
		exit(EXIT_SUCCESS);
	_exit(EXIT_SUCCESS);
}

/*
 * No handlers have run, so that malloc's locks may be held by threads that are not here. Read sections, slots, waits
 * and locks of its own are what a child may still use, once it has registered.
 */
static _Noreturn void use_little(void)
{
	struct lull_mutex lock = LULL_MUTEX_INIT;
	static char thing, *place = &thing;
	struct lull_hazptr_hold hold;
	unsigned i;
	char *held;

	lull_thread_register();
	for (i = 0; i < CHILD_USES; i++) {
		lull_rcu_read_lock();
		lull_rcu_read_unlock();
		held = lull_hazptr_acquire(&hold, &place);
		lull_hazptr_release(&hold, held);
		lull_rcu_synchronize();
		lull_hazptr_synchronize(place);
		lull_mutex_lock(&lock);
		if (lull_mutex_owner(&lock) != (uint32_t)getpid())
			torture_fail("after _Fork() the child locks in the name of thread %u", lull_mutex_owner(&lock));
		lull_mutex_unlock(&lock);
	}
	_exit(EXIT_SUCCESS);
}

/* ---- and their parent -------------------------------------------------------------------------- */

/* Reads what it has to say until it is gone. */
static bool listen_to(int fd, char *text, size_t room)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	ssize_t got = 1;

	while (got > 0) {
		int ready = poll(&poll_fd, 1, (int)torture.patience_s * 500);

		if (ready == 0)
			return false;
		if (ready < 0)
			continue;
		got = read(fd, text + len, room - 1 - len);
		len += got > 0 ? (size_t)got : 0;
	}
	text[len] = '\0';
	return true;
}

static void await_child(pid_t pid, int fd, const char *what)
{
	char text[256] = "";
	bool in_time = listen_to(fd, text, sizeof(text));
	int status = 0;

	if (!in_time) {
		printf("--- a child of %s hangs; its threads:\n", what);
		wild_dump_threads(pid);
		kill(pid, SIGKILL);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!in_time)
		torture_fail("a child of %s did not come to its end", what);
	else if (*text)
		torture_fail("a child of %s: %s", what, text);
	else if (WIFSIGNALED(status))
		torture_fail("a child of %s died from signal %d (%s)", what, WTERMSIG(status),
			     strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		torture_fail("a child of %s exited with status %d", what, WEXITSTATUS(status));
}

static void fork_once(uint64_t *rng, bool raw)
{
	int fds[2];
	pid_t pid;

	if (pipe(fds) != 0)
		return;
	fflush(stdout);
	pid = raw ? _Fork() : fork();
	if (pid == 0) {
		torture.in_child = true;
		torture.child_fd = fds[1];
		close(fds[0]);
		if (raw)
			use_little();
		use_everything(rng);
	}
	close(fds[1]);
	if (pid > 0) {
		wild_took_effect(raw ? WILD_RAW_FORK : WILD_FORK, 1);
		await_child(pid, fds[0], raw ? "_Fork()" : "fork()");
	}
	close(fds[0]);
}

void wild_forks(uint64_t *rng)
{
	unsigned i;

	for (i = 0; i < CHILDREN && wild_has(WILD_FORK) && !torture_failed(); i++)
		fork_once(rng, false);
	for (i = 0; i < CHILDREN && wild_has(WILD_RAW_FORK) && !torture_failed(); i++)
		fork_once(rng, true);
}
