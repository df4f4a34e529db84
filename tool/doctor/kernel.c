/* SPDX-License-Identifier: MIT */
/* lull doctor: what the kernel offers, and what the mutex does with it. */
#include "doctor/doctor.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <lull/mutex.h>
#include <lull/percpu_ref.h>


/* System calls and constants that are newer than the headers this may be built with. */
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#define SYS_FUTEX2_WAIT 455
#define FUTEX2_U32_PRIVATE (2u | 128u)
#define MEMBARRIER_GET_REGISTRATIONS (1 << 9)
#define AUXV_RSEQ_FEATURE_SIZE 27
#define SLICE_FEATURE_SIZE 33u

/* ---- membarrier ------------------------------------------------------------------------------ */

static const struct {
	int bit;
	const char *name;
} barrier_commands[] = {
	{ MEMBARRIER_CMD_GLOBAL, "global" },
	{ MEMBARRIER_CMD_GLOBAL_EXPEDITED, "global-expedited" },
	{ MEMBARRIER_CMD_PRIVATE_EXPEDITED, "private-expedited" },
	{ MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, "private-expedited-sync-core" },
	{ MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, "private-expedited-rseq" },
};

/* Names of the commands in mask; registering has the bit above the command that it allows. */
static void command_names(char *text, size_t size, long mask, int shift)
{
	size_t len = 0, i;

	text[0] = '\0';
	for (i = 0; i < sizeof(barrier_commands) / sizeof(barrier_commands[0]); i++)
		if (len < size && mask & ((long)barrier_commands[i].bit << shift))
			len += (size_t)snprintf(text + len, size - len, "%s%s", len ? ", " : "",
						barrier_commands[i].name);
}

static void say_membarrier(struct report *r)
{
	long offered = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0), registered;
	char text[256];

	doctor_section(r, "membarrier");
	if (offered < 0) {
		doctor_say(r, "offered", "no (%s)", strerror(errno));
		return;
	}
	command_names(text, sizeof(text), offered, 0);
	doctor_say(r, "offered", "%s", text);
	registered = syscall(SYS_membarrier, MEMBARRIER_GET_REGISTRATIONS, 0, 0);
	if (registered < 0) {
		doctor_say(r, "registered", "n/a (the kernel tells since 6.3)");
		return;
	}
	command_names(text, sizeof(text), registered, 1);
	doctor_say(r, "registered", "%s", text[0] ? text : "nothing");
}

/* ---- rseq, futex, robust lists --------------------------------------------------------------- */

/*
 * Ask the library whether @oracle would work in this process: 0, -ENOTSUP, or -EINVAL when it was built without. The
 * choice of the process stays.
 */
static int try_oracle(const char *oracle)
{
	const char *chosen = lull_mutex_oracle_name();
	int err = lull_mutex_choose_oracle(oracle);

	if (!err)
		lull_mutex_choose_oracle(chosen);
	return err;
}

/* On an area that is too small, the kernel's own answer can be taken for a yes. */
static void say_slice(struct report *r, unsigned long features, unsigned registered)
{
	const char *key = "slice extension";
	int err = try_oracle("slice");

	if (!err)
		doctor_say(r, key, "offered");
	else if (err == -EINVAL)
		doctor_say(r, key, "n/a (lull was built without it)");
	else if (features < SLICE_FEATURE_SIZE)
		doctor_say(r, key, "not offered (the kernel's area ends before it)");
	else if (registered < SLICE_FEATURE_SIZE)
		doctor_say(r, key,
			   "not offered for the %u bytes that the C library registers (glibc does %u since 2.41)",
			   registered, SLICE_FEATURE_SIZE);
	else
		doctor_say(r, key, "not offered (not built into the kernel, switched off, or not in this process)");
}

static void say_rseq(struct report *r)
{
	const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");
	const ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
	unsigned long features = getauxval(AUXV_RSEQ_FEATURE_SIZE);

	doctor_section(r, "rseq");
	if (size && offset && *size)
		doctor_say(r, "registered", "by the C library: %u bytes at thread pointer %+td", *size,
		    *offset);
	else if (syscall(SYS_rseq, NULL, 0, 0, 0) != 0 && errno == ENOSYS)
		doctor_say(r, "registered", "no: the kernel does not offer it");
	else
		doctor_say(r, "registered", "no: the C library %s",
		    size ? "was told not to (tunable), or could not" :
			   "is too old (glibc does it since 2.35)");
	if (features)
		doctor_say(r, "kernel area", "%lu bytes", features);
	else
		doctor_say(r, "kernel area", "20 bytes (before 6.3)");
	doctor_say(r, "percpu_ref", lull_percpu_ref_per_cpu() ?
		"counts per CPU, by restartable sequences" : "counts by atomic additions");
	say_slice(r, features, size ? *size : 0);
}

/* Return the kernel's answer to a wait that must not sleep: EAGAIN where the call exists. */
static const char *probe_answer(long result, int expected)
{
	if (result < 0 && errno == expected)
		return "offered";
	if (result < 0 && errno == ENOSYS)
		return "not offered";
	return result < 0 ? strerror(errno) : "unexpected answer";
}

/* Not 0x08, the flag of the published patch: that means a memory policy today, and is accepted. */
static const char *spinning_wait(void)
{
	int err = try_oracle("kernel");

	return !err	       ? "offered" :
	       err == -EINVAL ? "n/a (lull was built without it)" :
				"not offered (no released kernel has it), or forbidden by a filter";
}

static void say_futex(struct report *r)
{
	uint32_t word = 1;
	size_t len = 0;
	void *head = NULL;

	doctor_section(r, "futex");
	doctor_say(r, "wait", "%s",
	    probe_answer(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0), EAGAIN));
	doctor_say(r, "pi", "%s",
	    probe_answer(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0),
			 EPERM));
	doctor_say(r, "waitv", "%s", probe_answer(syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0), EINVAL));
	doctor_say(r, "futex2 wait", "%s",
	    probe_answer(
		    syscall(SYS_FUTEX2_WAIT, &word, 0, UINT32_MAX, FUTEX2_U32_PRIVATE, NULL, 0),
		    EAGAIN));
	doctor_say(r, "spinning wait", "%s", spinning_wait());
	if (syscall(SYS_get_robust_list, 0, &head, &len) == 0 && head)
		doctor_say(r, "robust list", "registered, %zu bytes", len);
	else
		doctor_say(r, "robust list", "not registered");
}

void doctor_say_kernel(struct report *r)
{
	say_membarrier(r);
	say_rseq(r);
	say_futex(r);
}

/* ---- what mutexes make of it ----------------------------------------------------------------- */

void doctor_say_mutex(struct report *r)
{
	const char *forced = getenv("LULL_OWNER_ORACLE");
	int err = try_oracle("bpf");

	doctor_section(r, "mutex");
	doctor_say(r, "oracle", "%s: %s", lull_mutex_oracle_name(),
		   forced && *forced ? "asked for by LULL_OWNER_ORACLE" : "the best one here");
	if (!err)
		doctor_say(r, "table", "loaded, of %d CPUs", get_nprocs_conf());
	else if (err == -EINVAL)
		doctor_say(r, "table", "n/a (lull was built without it)");
	else if (access(LULL_MUTEX_TABLE, F_OK) == 0)
		doctor_say(r, "table", "loaded, but not for this process");
	else
		doctor_say(r, "table", "not loaded (%s; lull oracle load)", strerror(errno));
}
