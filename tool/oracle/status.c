/* SPDX-License-Identifier: MIT */
/* lull oracle status: what is pinned, whether this process can use it, and whether it is right. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <lull/atomic.h>

#include "common/json.h"
#include "oracle/oracle_program.h"

#define LOOKS 100

/*
 * Map the pinned table, which has a value for each CPU that there can be, and put their number into *@cpus. Return
 * NULL when that does not work. Whether the table can be trusted is for the library to decide.
 */
static const uint64_t *map_table(unsigned *cpus)
{
	int possible = libbpf_num_possible_cpus(), fd = bpf_obj_get(ORACLE_TABLE);
	void *values = MAP_FAILED;

	if (fd >= 0 && possible > 0)
		values = mmap(NULL, (size_t)possible * sizeof(uint64_t), PROT_READ, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	*cpus = possible > 0 ? (unsigned)possible : 0;
	return values == MAP_FAILED ? NULL : values;
}

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
		       err == EACCES || err == EPERM ? "only root can see it" : strerror(err));
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
		printf("cost      not counted; sysctl kernel.bpf_stats_enabled=1 makes the kernel count it\n");
}

void oracle_status(struct jsonout *json)
{
	json_t *out = json ? json_object() : NULL;
	const uint64_t *running;
	bool loaded, usable, live;
	unsigned cpus = 0;
	struct stat st;

	jsonout_set(jsonout_root(json), "oracle", out);
	loaded = stat(ORACLE_TABLE, &st) == 0;
	if (!loaded && errno != ENOENT && errno != ENOTDIR) {
		printf("table     n/a: " ORACLE_TABLE ": %s\n", strerror(errno));
		jsonout_set(out, "loaded", json_null());
		return;
	}
	jsonout_set(out, "loaded", json_boolean(loaded));
	if (!loaded) {
		printf("table     not loaded\n");
		return;
	}
	usable = lull_mutex_choose_oracle("bpf") == 0;
	running = usable ? map_table(&cpus) : NULL;
	live = running && names_this_thread(running, cpus);
	jsonout_set(out, "mode", json_integer(st.st_mode & 0777));
	jsonout_set(out, "group", json_integer(st.st_gid));
	jsonout_set(out, "readable", json_boolean(usable));
	jsonout_set(out, "cpus", running ? json_integer(cpus) : json_null());
	jsonout_set(out, "live", running ? json_boolean(live) : json_null());
	printf("table     " ORACLE_TABLE ", mode %04o, group %u\n", st.st_mode & 0777u, st.st_gid);
	if (!usable) {
		printf("readable  no, not by this process\n");
	} else {
		printf("readable  yes, %u CPUs\n", cpus);
		printf("live      %s\n", live ? "yes, it names this thread on its CPU" :
						"no: it does not name this thread; is this a PID namespace?");
	}
	say_program(out);
}
