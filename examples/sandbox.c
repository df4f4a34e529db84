/* SPDX-License-Identifier: MIT */
/*
 * sandbox.c - a program that starts lull's threads, and then forbids itself and them all system calls but a few.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lull/lull.h>

/* What lull and the heap ask of the kernel once its threads are there. */
static const unsigned allowed[] = {
	SYS_futex, SYS_membarrier, SYS_rt_sigprocmask, SYS_gettid, SYS_clock_gettime,	/* lull */
	SYS_mmap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_brk,			/* malloc() and free() */
	SYS_write, SYS_exit_group,							/* this program */
};

#define COUNT (sizeof(allowed) / sizeof(allowed[0]))

static void forbid_the_rest(void)
{
	struct sock_filter code[COUNT + 3] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	struct sock_fprog program = { COUNT + 3, code };

	for (size_t i = 0; i < COUNT; i++)
		code[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], (unsigned char)(COUNT - i), 0);
	code[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	code[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
		puts("skipped: this kernel has no filters of system calls");
		exit(77);
	}
}

static int ran;

static void count(struct lull_head *head)
{
	free(head);
	lull_add_relaxed(&ran, 1);
}

int main(void)
{
	struct lull_reclaim_config config;
	static int place;

	lull_reclaim_default_config(&config);
	config.idle_ms = UINT32_MAX; /* threads that end could not be started again */
	lull_reclaim_configure(&config);
	if (lull_reclaim_start() != 0)
		return 1;
	forbid_the_rest();
	for (int i = 0; i < 100000; i++) {
		lull_rcu_read_lock();
		lull_rcu_read_unlock();
		lull_rcu_call(malloc(sizeof(struct lull_head)), count);
		lull_rcu_free(malloc(64));
		lull_hazptr_retire(malloc(64));
	}
	lull_rcu_synchronize();
	lull_shazptr_synchronize(&place);
	lull_hazptr_barrier();
	if (write(1, "all callbacks have run\n", 23) != 23)
		return 1;
	_exit(lull_load_relaxed(&ran) == 100000 ? 0 : 1); /* exit() would do more */
}
