/* SPDX-License-Identifier: MIT */
/*
 * first.c - a thread waits for a grace period, and a signal handler of its own reads for the first time, behind each
 * instruction of the wait in turn: it counts as a reader from then on, but the grace period makes its heavy fence for the other
 * reader all the same. The kernel traps fences, and they are counted. usage: first
 */
#include "urcu_flavor.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

#define TRAPS 0x100ull /* in the processor's flags: a signal behind each instruction */

/* At each so manieth instruction. Without optimisation there are many that change nothing. */
#ifdef __OPTIMIZE__
enum { EACH = 1 };
#else
enum { EACH = 7 };
#endif

static volatile sig_atomic_t steps, stop_at, fences;

static void step(int signal)
{
	(void)signal;
	if (++steps != stop_at)
		return;
	rcu_read_lock();
	rcu_read_unlock();
}

static void trapped(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	fences += info->si_syscall == SYS_membarrier;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = 0; /* no reader needs it */
}

static void trap_fences(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
		printf("skipped: no seccomp filters here\n");
		exit(77);
	}
}

static sem_t ready, never;

static void *reader(void *unused)
{
	rcu_register_thread();
	rcu_read_lock();
	rcu_read_unlock();
	sem_post(&ready);
	while (sem_wait(&never))
		;
	return unused;
}

/* Wait in steps, as a thread that has waited before, and has not read. Returns the fences that this makes. */
static int wait_in_steps(void)
{
	rcu_unregister_thread();
	synchronize_rcu();
	fences = steps = 0;
	__writeeflags(__readeflags() | TRAPS);
	synchronize_rcu();
	__writeeflags(__readeflags() & ~TRAPS);
	return fences;
}

int main(void)
{
	struct sigaction trap = { .sa_handler = step }, sys = { .sa_sigaction = trapped, .sa_flags = SA_SIGINFO };
	int fewest = 0, least = 1000000;
	pthread_t thread;

	if (getenv("LULL_FENCE") || !(syscall(SYS_membarrier, 0, 0, 0) & 8)) {
		printf("skipped: there are no light fences here\n");
		return 77;
	}
	MUST(pthread_create(&thread, NULL, reader, NULL) == 0);
	MUST(sem_wait(&ready) == 0);
	synchronize_rcu(); /* what the linker and the library put off is done here */
	MUST(sigaction(SIGTRAP, &trap, NULL) == 0 && sigaction(SIGSYS, &sys, NULL) == 0);
	trap_fences();
	for (stop_at = 1; stop_at == 1 || steps >= stop_at - EACH; stop_at += EACH) {
		int made = wait_in_steps();

		if (made < least) {
			least = made;
			fewest = stop_at;
		}
	}
	printf("%d instructions, %d fence(s) at least, with the handler at %d\n", (int)stop_at - 1, least, fewest);
	MUST(stop_at > 100 && least >= 1);
	return 0;
}
