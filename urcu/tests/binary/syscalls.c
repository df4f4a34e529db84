/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - grace periods that wait for no thread make no system call, but for the heavy fence that other threads of
 * memb need. Threads that only wait need none. usage: syscalls. The kernel ends whoever makes one.
 */
#include "urcu_flavor.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LETS(call) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void forbid(bool heavy)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		LETS(SYS_exit_group), LETS(SYS_clock_gettime),
		LETS(heavy ? SYS_membarrier : SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(77);
}

static sem_t ready, never;

static void *reader(void *unused)
{
	rcu_register_thread();
	rcu_read_lock();
	rcu_read_unlock();
	rcu_thread_offline();
	sem_post(&ready);
	while (sem_wait(&never))
		;
	return unused;
}

/* The first grace period may register the thread, and make a heavy fence possible. */
static void update(bool heavy)
{
	synchronize_rcu();
	forbid(heavy);
	for (int i = 0; i < 1000; i++)
		synchronize_rcu();
	_exit(0);
}

static void of_nobody(void)
{
	update(false);
}

static void of_registered(void)
{
	rcu_register_thread();
	update(false);
}

static void *updater(void *unused)
{
	synchronize_rcu();
	return unused;
}

static void behind_updater(void)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, updater, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	update(false);
}

static void *idle_updater(void *unused)
{
	synchronize_rcu();
	sem_post(&ready);
	while (sem_wait(&never))
		;
	return unused;
}

static void beside_updater(void)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, idle_updater, NULL) == 0);
	MUST(sem_wait(&ready) == 0);
	update(false);
}

static pthread_key_t key;

static void waits_at_exit(void *unused)
{
	(void)unused;
	rcu_unregister_thread();
	synchronize_rcu();
}

static void *exits(void *registers)
{
	if (registers)
		rcu_register_thread();
	MUST(pthread_setspecific(key, &key) == 0);
	return NULL;
}

/* The key is younger than those of what stands in for liburcu, so its destructor runs behind theirs. */
static void behind_exit(void *registers)
{
	pthread_t thread;

	synchronize_rcu();
	MUST(pthread_key_create(&key, waits_at_exit) == 0);
	MUST(pthread_create(&thread, NULL, exits, registers) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	update(false);
}

static void behind_exit_of_registered(void)
{
	behind_exit(&key);
}

static void behind_exit_of_other(void)
{
	behind_exit(NULL);
}

static void beside_reader_that(bool may_need_a_fence)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, reader, NULL) == 0);
	MUST(sem_wait(&ready) == 0);
	update(may_need_a_fence);
}

static void beside_reader(void)
{
#ifdef FLAVOR_memb
	beside_reader_that(true);
#else
	beside_reader_that(false);
#endif
}

/* Without its heavy fence: the kernel ends it. */
static void beside_reader_unfenced(void)
{
	beside_reader_that(false);
}

static int status_of(void (*child)(void), const char *name)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		child();
		_exit(1);
	}
	MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
	if (status != 0)
		printf("%s: status %#x\n", name, (unsigned)status);
	return status;
}

int main(void)
{
	int nobody = status_of(of_nobody, "unregistered"), registered = status_of(of_registered, "registered"),
	    behind = status_of(behind_updater, "behind an updater that has gone"),
	    exit1 = status_of(behind_exit_of_registered, "behind a thread that waits at its exit"),
	    exit2 = status_of(behind_exit_of_other, "behind a thread that first waits at its exit"),
	    waited = status_of(beside_updater, "beside a thread that has waited"),
	    beside = status_of(beside_reader, "beside a reader that is outside");

	if (WIFEXITED(nobody) && WEXITSTATUS(nobody) == 77) {
		printf("skipped: no seccomp filters here\n");
		return 77;
	}
#ifdef FLAVOR_memb
	/* Where there is PRIVATE_EXPEDITED, and nobody asks for full fences in its place. */
	MUST(getenv("LULL_FENCE") || !(syscall(SYS_membarrier, 0, 0, 0) & 8) ||
	     WTERMSIG(status_of(beside_reader_unfenced, "it makes a heavy fence")) == SIGSYS);
#endif
	return nobody || registered || behind || exit1 || exit2 || waited || beside;
}
