/* SPDX-License-Identifier: MIT */
/*
 * lull labelscale: threads that open files as processes of their own would.
 *
 * Each open takes a descriptor, and counts a reference to the credential of its thread. Threads share both, and on many
 * CPUs those two counts take all the time, whatever the label costs.
 */
#include "instruments/labels/labelscale.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Set the thread's rights to what they are: the kernel makes a credential for that, which no other thread has. */
static int own_credential(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct rights[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &header, rights) != 0 || syscall(SYS_capset, &header, rights) != 0 ? errno : 0;
}

int labelscale_be_apart(void)
{
	static __thread int result = -1;

	if (result < 0)
		result = unshare(CLONE_FILES | CLONE_FS) != 0 ? errno : own_credential();
	return result;
}
