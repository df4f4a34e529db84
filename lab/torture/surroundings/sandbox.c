/* SPDX-License-Identifier: MIT */
/* lull torture --flavor wild: system calls that a filter answers. See surroundings.h. */
#include "torture/surroundings/surroundings.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLS_MOST 4u

bool wild_forbid(const long *nr, unsigned count, int error)
{
	struct sock_filter code[CALLS_MOST + 3];
	struct sock_fprog program = { (unsigned short)(count + 3), code };
	unsigned i;

	code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (i = 0; i < count; i++)
		code[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr[i],
							   (unsigned char)(count - i), 0);
	code[count + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[count + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
	return count <= CALLS_MOST && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

bool wild_forbid_membarrier(int error)
{
	static const long nr[] = { SYS_membarrier };

	return wild_forbid(nr, 1, error);
}

bool wild_forbid_threads(int error)
{
	static const long nr[] = {
#ifdef SYS_clone3
		SYS_clone3,
#endif
		SYS_clone
	};

	return wild_forbid(nr, sizeof(nr) / sizeof(nr[0]), error);
}

bool wild_forbid_open(int error)
{
	static const long nr[] = {
#ifdef SYS_open
		SYS_open,
#endif
		SYS_openat, SYS_openat2
	};

	return wild_forbid(nr, sizeof(nr) / sizeof(nr[0]), error);
}
