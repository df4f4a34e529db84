/* SPDX-License-Identifier: MIT */
/*
 * seccomp.h - for a child: take away one system call, or all.
 */
#ifndef LULL_TEST_SECCOMP_SUPPORT_H
#define LULL_TEST_SECCOMP_SUPPORT_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "child.h"
#include "threads.h"

#define NO_FILTERS "the kernel has no seccomp, or qemu-user none"

static inline bool may_filter(void)
{
#ifdef LULL_TEST_EMULATED
	return false;
#else
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
#endif
}

/* A seccomp filter that answers the system call @number with @action, and all others with @others. */
static inline void filter(long number, unsigned action, unsigned others)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, others),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* From here on membarrier fails with @error. */
static inline void forbid_membarrier(unsigned error)
{
	filter(SYS_membarrier, SECCOMP_RET_ERRNO | error, SECCOMP_RET_ALLOW);
}

/* From here on the child must ask the kernel for nothing but its end, by _exit(). */
static inline void forbid_all(void)
{
	filter(SYS_exit_group, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
}

#endif /* LULL_TEST_SECCOMP_SUPPORT_H */
