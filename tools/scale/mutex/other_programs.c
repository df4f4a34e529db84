/* SPDX-License-Identifier: MIT */
/*
 * lull mutexscale: what other programs took of the processors meanwhile. Who holds a lock and is
 * preempted holds up everybody: a slice during which others wanted to run tells nothing about the
 * lock.
 */
#include "scale/mutex/mutexscale.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/cpus.h"
#include "common/options.h"

#define SHARE 0.1	   /* of the processors: more than so much is a disturbance */
#define GRAIN_NS 10000000u /* of what the system says about each processor */

static bool allowed(int cpu)
{
	unsigned i;

	for (i = 0; i < bench_cpus(); i++)
		if (bench_cpu(i) == cpu)
			return true;
	return false;
}

/* So far, of the processors on which this process may run. */
static uint64_t idle_ns(void)
{
	FILE *file = fopen("/proc/stat", "re");
	double tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK), sum = 0;
	unsigned long long idle, iowait;
	char line[512];
	int cpu;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "cpu%d %*u %*u %*u %llu %llu", &cpu, &idle, &iowait) == 3 &&
		    allowed(cpu))
			sum += (double)(idle + iowait) * tick_ns;
	if (file)
		fclose(file);
	return (uint64_t)sum;
}

void mutexscale_load_read(struct mutexscale_load *load, const pid_t *hogs, unsigned count)
{
	clockid_t clock;
	unsigned i;

	load->ns = bench_now_ns();
	load->own_ns = bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	load->idle_ns = idle_ns();
	load->hogs_ns = 0;
	for (i = 0; i < count; i++)
		if (clock_getcpuclockid(hogs[i], &clock) == 0)
			load->hogs_ns += bench_clock_ns(clock);
}

double mutexscale_foreign(const struct mutexscale_load *from, const struct mutexscale_load *to)
{
	double all = (double)(to->ns - from->ns) * bench_cpus();
	double known = (double)(to->idle_ns - from->idle_ns) + (double)(to->own_ns - from->own_ns) +
		       (double)(to->hogs_ns - from->hogs_ns);

	/* Idle in /proc/stat is rounded: what that may hide is given away. */
	return (all - known - (double)GRAIN_NS * bench_cpus()) / all - SHARE;
}
