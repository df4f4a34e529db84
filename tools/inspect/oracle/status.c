/* SPDX-License-Identifier: MIT */
/* lull oracle status: what is pinned, whether this process can use it, and whether it is right. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <lull/atomic.h>

#include "../../../src/oracle/bpf.h"
#include "common/json.h"
#include "inspect/oracle/oracle_program.h"

#define LOOKS 100

/*
 * Does it name this thread on the CPU that it runs on? After a nap, so that there has been a switch to it
 * since the table began.
 */
static bool names_this_thread(const uint64_t *running, unsigned cpus)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t tid = (uint64_t)syscall(SYS_gettid);
	int i;

	for (i = 0; i < LOOKS; i++) {
		int cpu;

		nanosleep(&nap, NULL);
		cpu = sched_getcpu();
		if (cpu >= 0 && (unsigned)cpu < cpus && lull_load_relaxed(&running[cpu]) == tid)
			return true;
	}
	return false;
}

static void say_program(json_t *out)
{
	struct oracle_cost cost;
	int err = oracle_attached(&cost);

	if (err) {
		printf("program   n/a: %s\n",
		       err == EACCES || err == EPERM ? "only root is told" : strerror(err));
		return;
	}
	jsonout_set(out, "program", json_integer(cost.id));
	jsonout_set(out, "runs", json_integer((json_int_t)cost.runs));
	jsonout_set(out, "ns_per_run", cost.runs ? json_real((double)cost.ns / (double)cost.runs) : json_null());
	printf("program   attached, number %u\n", cost.id);
	if (cost.runs)
		printf("cost      %.1f ns each of %llu context switches, the counting included\n",
		       (double)cost.ns / (double)cost.runs, (unsigned long long)cost.runs);
	else
		printf("cost      not counted; sysctl kernel.bpf_stats_enabled=1 switches that on\n");
}

void oracle_status(struct jsonout *json)
{
	json_t *out = json ? json_object() : NULL;
	const uint64_t *running;
	bool loaded, live;
	unsigned cpus = 0;
	struct stat st;

	jsonout_set(jsonout_root(json), "oracle", out);
	loaded = stat(LULL__BPF_TABLE, &st) == 0;
	if (!loaded && errno != ENOENT && errno != ENOTDIR) {
		printf("table     n/a: " LULL__BPF_TABLE ": %s\n", strerror(errno));
		jsonout_set(out, "loaded", json_null());
		return;
	}
	jsonout_set(out, "loaded", json_boolean(loaded));
	if (!loaded) {
		printf("table     not loaded\n");
		return;
	}
	running = lull__bpf_running(&cpus);
	live = running && names_this_thread(running, cpus);
	jsonout_set(out, "mode", json_integer(st.st_mode & 0777));
	jsonout_set(out, "group", json_integer(st.st_gid));
	jsonout_set(out, "readable", json_boolean(running));
	jsonout_set(out, "cpus", running ? json_integer(cpus) : json_null());
	jsonout_set(out, "live", running ? json_boolean(live) : json_null());
	printf("table     " LULL__BPF_TABLE ", mode %04o, group %u\n", st.st_mode & 0777u, st.st_gid);
	if (!running) {
		printf("readable  no, not by this process\n");
	} else {
		printf("readable  yes, %u CPUs\n", cpus);
		printf("live      %s\n", live ? "yes, it names this thread on its CPU" :
						"no: it does not name this thread; is this a PID namespace?");
	}
	say_program(out);
}
