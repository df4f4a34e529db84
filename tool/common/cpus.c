/* SPDX-License-Identifier: MIT */
/* The processors that this process may run on, and what interrupts them; see cpus.h. */
#include "common/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/proc_counts.h"
#include "common/topology.h"

#define MAX_CPUS 8192

static int *cpu_list; /* in the order in which threads take them */
static unsigned cpu_count;
static struct topology topology = { 1, 1 };

/* The set that the process was started with, before any thread is pinned. */
__attribute__((constructor)) static void read_cpus(void)
{
	cpu_set_t *set = CPU_ALLOC(MAX_CPUS);
	size_t size = CPU_ALLOC_SIZE(MAX_CPUS);
	int cpu;

	cpu_count = 1;
	if (!set)
		return;
	CPU_ZERO_S(size, set);
	if (sched_getaffinity(0, size, set) == 0 && CPU_COUNT_S(size, set) > 0)
		cpu_list = malloc((size_t)CPU_COUNT_S(size, set) * sizeof(*cpu_list));
	if (cpu_list) {
		cpu_count = 0;
		for (cpu = 0; cpu < MAX_CPUS; cpu++)
			if (CPU_ISSET_S((size_t)cpu, size, set))
				cpu_list[cpu_count++] = cpu;
		topology = topology_sort(TOPOLOGY_ROOT, cpu_list, cpu_count);
	}
	CPU_FREE(set);
}

unsigned bench_cpus(void)
{
	return cpu_count;
}

unsigned bench_cores(void)
{
	return topology.cores;
}

unsigned bench_sockets(void)
{
	return topology.sockets;
}

int bench_cpu(unsigned index)
{
	return cpu_list ? cpu_list[index % cpu_count] : -1;
}

int bench_pin(unsigned index)
{
	cpu_set_t *set = CPU_ALLOC(MAX_CPUS);
	size_t size = CPU_ALLOC_SIZE(MAX_CPUS);
	int cpu = bench_cpu(index);

	if (!set || cpu < 0)
		return -1;
	CPU_ZERO_S(size, set);
	CPU_SET_S((size_t)cpu, size, set);
	if (sched_setaffinity(0, size, set) != 0)
		cpu = -1;
	CPU_FREE(set);
	return cpu;
}

bool bench_call_interrupts(uint64_t *total, uint64_t *per_cpu, unsigned nr)
{
	FILE *file = fopen("/proc/interrupts", "re");
	bool found = file && proc_call_interrupts(file, total, per_cpu, nr);

	if (file)
		fclose(file);
	else
		*total = 0;
	return found;
}

static bool allowed(int cpu)
{
	unsigned i;

	for (i = 0; i < bench_cpus(); i++)
		if (bench_cpu(i) == cpu)
			return true;
	return false;
}

uint64_t bench_idle_ns(void)
{
	FILE *file = fopen("/proc/stat", "re");
	uint64_t ns = file ? proc_idle_ns(file, 1e9 / (double)sysconf(_SC_CLK_TCK), allowed) : 0;

	if (file)
		fclose(file);
	return ns;
}
