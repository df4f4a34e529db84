/* SPDX-License-Identifier: MIT */
/*
 * inside.c - a worker is freed in a read section. If it waits for that section the call never returns, as in liburcu, and
 * a line says so; if not, the call returns and nothing is said. One that is still in use elsewhere is so no more.
 */
#include "urcu_flavor.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct rcu_head head;
static _Atomic int called, inside, may_go;

static void count(struct rcu_head *unused)
{
	(void)unused;
	atomic_fetch_add(&called, 1);
}

static void defer_to(struct call_rcu_data *worker)
{
	set_thread_call_rcu_data(worker);
	call_rcu(&head, count);
	set_thread_call_rcu_data(NULL);
}

static void frees_one_that_waits_for_it(void)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, -1);

	rcu_read_lock();
	defer_to(worker);
	poll(NULL, 0, 50); /* for the worker to begin */
	call_rcu_data_free(worker);
}

static void frees_all(void)
{
	MUST(create_all_cpu_call_rcu_data(0) == 0);
	rcu_read_lock();
	free_all_cpu_call_rcu_data();
}

static void frees_an_idle_one(void)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, -1);

	defer_to(worker);
	rcu_barrier();
	rcu_read_lock();
	call_rcu_data_free(worker);
	rcu_read_unlock();
}

static void frees_none(void)
{
	rcu_read_lock();
	free_all_cpu_call_rcu_data();
	call_rcu_data_free(NULL);
	call_rcu_data_free(get_default_call_rcu_data());
	rcu_read_unlock();
}

/* Outside. liburcu would go on to use it, as that of the CPU, and of the thread. */
static void frees_an_assigned_one(void)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, -1);

	MUST(set_cpu_call_rcu_data(0, worker) == 0);
	set_thread_call_rcu_data(worker);
	call_rcu_data_free(worker);
	MUST(!get_cpu_call_rcu_data(0) && !get_thread_call_rcu_data());
	call_rcu(&head, count);
	rcu_barrier();
	MUST(atomic_load(&called) == 1);
}

static void *stays(void *unused)
{
	rcu_register_thread();
	rcu_read_lock();
	atomic_store(&inside, 1);
	AWAIT(atomic_load(&may_go));
	rcu_read_unlock();
	rcu_unregister_thread();
	return unused;
}

static void *lets_it_go(void *unused)
{
	poll(NULL, 0, 2500); /* for the caller to look meanwhile whether it waits for itself; on a busy machine this proves less */
	atomic_store(&may_go, 1);
	return unused;
}

/* The worker waits for another thread, whose section is older than its grace period, and not for this one. */
static void frees_one_that_waits_for_another(void)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, -1);
	pthread_t reader, opener;

	MUST(pthread_create(&reader, NULL, stays, NULL) == 0);
	AWAIT(atomic_load(&inside));
	defer_to(worker);
	poll(NULL, 0, 100); /* for the worker's grace period to begin */
	MUST(pthread_create(&opener, NULL, lets_it_go, NULL) == 0);
	rcu_read_lock();
	call_rcu_data_free(worker);
	rcu_read_unlock();
	MUST(atomic_load(&called) == 1);
	pthread_join(reader, NULL);
	pthread_join(opener, NULL);
}

/* ---- each part by itself ----------------------------------------------------------------------------------------- */

static const struct {
	void (*run)(void);
	const char *call; /* that never returns; NULL: all do */
} parts[] = {
	{ frees_one_that_waits_for_it, "_call_rcu_data_free" },
	{ frees_all, "_free_all_cpu_call_rcu_data" },
	{ frees_an_idle_one, NULL },
	{ frees_none, NULL },
	{ frees_one_that_waits_for_another, NULL },
	{ frees_an_assigned_one, NULL },
};

#define PARTS (int)(sizeof(parts) / sizeof(*parts))

#define NEVER " in a read section never returns, "

/*
 * Run @part in this program anew. Return what it says until it says that it never returns, or ends; *@status: its end. It
 * may also say that a grace period waits.
 */
static const char *said(int part, int *status)
{
	char number[] = { (char)('0' + part), '\0' };
	static char text[8192];
	size_t len = 0;
	int ends[2];
	ssize_t got;
	pid_t child;

	MUST(pipe(ends) == 0);
	child = fork();
	MUST(child >= 0);
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl("/proc/self/exe", "inside", number, (char *)NULL);
		_exit(8);
	}
	close(ends[1]);
	text[0] = '\0';
	while (!strstr(text, NEVER) && (got = read(ends[0], text + len, sizeof(text) - 1 - len)) > 0) {
		len += (size_t)got;
		text[len] = '\0';
	}
	close(ends[0]);
	if (strstr(text, NEVER))
		kill(child, SIGKILL);
	MUST(waitpid(child, status, 0) == child);
	return text;
}

static void check(int part)
{
	int status;
	const char *text = said(part, &status), *call = parts[part].call;

	printf("%d: %s (%#x)\n", part, text, (unsigned)status);
	fflush(stdout);
	if (call) {
		MUST(strstr(text, call) && strstr(text, NEVER));
		MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); /* it had not ended */
	} else {
		MUST(!strstr(text, NEVER) && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	}
}

int main(int argc, char **argv)
{
	alarm(60);
	if (argc == 2) {
		rcu_register_thread();
		parts[*argv[1] - '0'].run();
		rcu_unregister_thread();
		return 7;
	}
	for (int part = 0; part < PARTS; part++)
		check(part);
	return 0;
}
