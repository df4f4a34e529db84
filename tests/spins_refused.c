/* SPDX-License-Identifier: MIT */
/*
 * lull_spins_refused PROGRAM ARGUMENT... - run PROGRAM where a mutex believes that the kernel spins while its owner runs
 * (oracle `kernel`), and the kernel refuses each such wait, as it does for an owner that it does not know.
 *
 * A filter answers the call as a kernel with the flag answers the question whether it has it.
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

#define SYS_FUTEX2_WAIT 455

int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_FUTEX2_WAIT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDEADLK),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	unsigned word = (unsigned)syscall(SYS_gettid);
	long past[2] = { 0, 0 };

	if (argc < 2)
		return 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		printf("skipped: there can be no filter here\n");
		return 77;
	}
	/* The library asks in the same way: else the program would run with another oracle. */
	if (syscall(SYS_FUTEX2_WAIT, &word, (unsigned long)word, ~0ul, 0x92u, past, 1) != -1 || errno != EDEADLK) {
		printf("the filter does not answer\n");
		return 1;
	}
	setenv("LULL_OWNER_ORACLE", "kernel", 1);
	execv(argv[1], argv + 1);
	perror(argv[1]);
	return 1;
}
