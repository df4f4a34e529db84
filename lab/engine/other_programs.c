/* SPDX-License-Identifier: MIT */
/* Time that other programs took from the processors; see other_programs.h. */
#include "engine/other_programs.h"

#include <time.h>

#include "common/clock.h"
#include "common/cpus.h"

#define SHARE 0.1	   /* of the processors: more than so much is a disturbance */
#define GRAIN_NS 10000000u /* of what the system says about each processor */

void bench_load_read(struct bench_load *load, const pid_t *hogs, unsigned count)
{
	clockid_t clock;
	unsigned i;

	load->ns = bench_now_ns();
	load->own_ns = bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	load->idle_ns = bench_idle_ns();
	load->hogs_ns = 0;
	for (i = 0; i < count; i++)
		if (clock_getcpuclockid(hogs[i], &clock) == 0)
			load->hogs_ns += bench_clock_ns(clock);
}

double bench_foreign(const struct bench_load *from, const struct bench_load *to)
{
	double all = (double)(to->ns - from->ns) * bench_cpus();
	double known = (double)(to->idle_ns - from->idle_ns) + (double)(to->own_ns - from->own_ns) +
		       (double)(to->hogs_ns - from->hogs_ns);

	/* Idle in /proc/stat is rounded: what that may hide is given away. */
	return (all - known - (double)GRAIN_NS * bench_cpus()) / all - SHARE;
}
