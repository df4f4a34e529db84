/* SPDX-License-Identifier: MIT */
/* Cycles and instructions of a thread, counted by the hardware; see counters.h. */
#include "common/counters.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

static int counter_open(uint64_t config, int group)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.read_format = PERF_FORMAT_GROUP,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

void bench_counters_close(struct bench_counters *c)
{
	if (c->instructions >= 0)
		close(c->instructions);
	if (c->cycles >= 0)
		close(c->cycles);
	c->cycles = c->instructions = -1;
}

void bench_counters_open(struct bench_counters *c)
{
	c->instructions = -1;
	c->cycles = counter_open(PERF_COUNT_HW_CPU_CYCLES, -1);
	if (c->cycles < 0)
		return;
	c->instructions = counter_open(PERF_COUNT_HW_INSTRUCTIONS, c->cycles);
	if (c->instructions < 0)
		bench_counters_close(c);
}

bool bench_counters_read(const struct bench_counters *c, uint64_t *cycles, uint64_t *instructions)
{
	uint64_t buf[3]; /* how many, then the group in order */

	if (c->cycles < 0 || read(c->cycles, buf, sizeof(buf)) != (ssize_t)sizeof(buf))
		return false;
	*cycles = buf[1];
	*instructions = buf[2];
	return true;
}

struct bench_counted bench_counters_end(struct bench_counters *c, uint64_t ops)
{
	struct bench_counted counted = { 0 };

	if (bench_counters_read(c, &counted.cycles, &counted.instructions))
		counted.ops = ops;
	bench_counters_close(c);
	return counted;
}

bool bench_counters_work(void)
{
	struct bench_counters c;
	bool work;

	bench_counters_open(&c);
	work = c.cycles >= 0;
	bench_counters_close(&c);
	return work;
}
