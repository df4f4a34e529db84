/* SPDX-License-Identifier: MIT */
/* The processors that this process may run on, and what interrupts them; see cpus.h. */
#include "common/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Reads "CPU0 CPU3 ..." into the CPU number of each column. */
static size_t interrupt_columns(char *header, unsigned *cpu, size_t room)
{
	size_t count = 0;
	char *word, *rest;

	for (word = strtok_r(header, " \t\n", &rest); word && count < room;
	     word = strtok_r(NULL, " \t\n", &rest))
		if (!strncmp(word, "CPU", 3))
			cpu[count++] = (unsigned)strtoul(word + 3, NULL, 10);
	return count;
}

bool bench_call_interrupts(uint64_t *total, uint64_t *per_cpu, unsigned nr)
{
	static unsigned column_cpu[MAX_CPUS];
	FILE *file = fopen("/proc/interrupts", "re");
	size_t columns, room = 0, i;
	char *line = NULL, *p, *end;
	bool found = false;

	*total = 0;
	if (per_cpu)
		memset(per_cpu, 0, nr * sizeof(*per_cpu));
	if (!file || getline(&line, &room, file) < 0)
		goto out;
	columns = interrupt_columns(line, column_cpu, MAX_CPUS);
	while (!found && getline(&line, &room, file) >= 0) {
		if (!strstr(line, "Function call interrupts"))
			continue;
		p = strchr(line, ':');
		for (i = 0; p && i < columns; i++) {
			uint64_t value = strtoull(p + 1, &end, 10);

			if (end == p + 1)
				break;
			*total += value;
			if (per_cpu && column_cpu[i] < nr)
				per_cpu[column_cpu[i]] = value;
			p = end - 1;
		}
		found = true;
	}
out:
	free(line);
	if (file)
		fclose(file);
	return found;
}

/* ---- idle ------------------------------------------------------------------------------------ */

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
