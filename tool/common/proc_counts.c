/* SPDX-License-Identifier: MIT */
/* Interrupts and idle time; see proc_counts.h. */
#include "common/proc_counts.h"

#include <stdlib.h>
#include <string.h>

#define MAX_CPUS 8192

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

bool proc_call_interrupts(FILE *interrupts, uint64_t *total, uint64_t *per_cpu, unsigned nr)
{
	static unsigned column_cpu[MAX_CPUS];
	size_t columns, room = 0, i;
	char *line = NULL, *p, *end;
	bool found = false;

	*total = 0;
	if (per_cpu)
		memset(per_cpu, 0, nr * sizeof(*per_cpu));
	columns = getline(&line, &room, interrupts) < 0 ? 0 : interrupt_columns(line, column_cpu, MAX_CPUS);
	while (columns && !found && getline(&line, &room, interrupts) >= 0) {
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
	free(line);
	return found;
}

uint64_t proc_idle_ns(FILE *stat, double tick_ns, bool (*allowed)(int cpu))
{
	unsigned long long idle, iowait;
	double sum = 0;
	char line[512];
	int cpu;

	/* The first line is of all CPUs, and has no number. */
	while (fgets(line, sizeof(line), stat))
		if (line[3] != ' ' && sscanf(line, "cpu%d %*u %*u %*u %llu %llu", &cpu, &idle, &iowait) == 3 &&
		    allowed(cpu))
			sum += (double)(idle + iowait) * tick_ns;
	return (uint64_t)sum;
}
