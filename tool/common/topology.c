/* SPDX-License-Identifier: MIT */
/* The order of CPUs, from what sysfs says; see topology.h. */
#include "common/topology.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct place {
	int cpu, socket, core; /* core: the smallest number among its CPUs */
	unsigned turn;	       /* which one of its core, of those in the list */
};

/* The number at the beginning of a file. */
static int read_number(const char *root, int cpu, const char *name, int otherwise)
{
	char path[4096];
	FILE *file;
	int value;

	snprintf(path, sizeof(path), "%s/cpu%d/topology/%s", root, cpu, name);
	file = fopen(path, "re");
	if (!file)
		return otherwise;
	if (fscanf(file, "%d", &value) != 1 || value < 0)
		value = otherwise;
	fclose(file);
	return value;
}

static int compare_cores(const void *a, const void *b)
{
	const struct place *x = (const struct place *)a, *y = (const struct place *)b;

	if (x->socket != y->socket)
		return (x->socket > y->socket) - (x->socket < y->socket);
	if (x->core != y->core)
		return (x->core > y->core) - (x->core < y->core);
	return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

static int compare_turns(const void *a, const void *b)
{
	const struct place *x = (const struct place *)a, *y = (const struct place *)b;

	if (x->turn != y->turn)
		return (x->turn > y->turn) - (x->turn < y->turn);
	return compare_cores(a, b);
}

struct topology topology_sort(const char *root, int *cpu, size_t count)
{
	struct topology t = { 0, 0 };
	struct place *place = (struct place *)calloc(count ? count : 1, sizeof(*place));
	size_t i;

	if (!place)
		return t;
	for (i = 0; i < count; i++) {
		place[i].cpu = cpu[i];
		place[i].socket = read_number(root, cpu[i], "physical_package_id", 0);
		/* A list such as "0,64" or "0-1", the smallest first. */
		place[i].core = read_number(root, cpu[i], "thread_siblings_list", cpu[i]);
	}
	qsort(place, count, sizeof(*place), compare_cores);
	for (i = 0; i < count; i++) {
		bool same_socket = i && place[i].socket == place[i - 1].socket;

		if (same_socket && place[i].core == place[i - 1].core)
			place[i].turn = place[i - 1].turn + 1;
		t.cores += !place[i].turn;
		t.sockets += !same_socket;
	}
	qsort(place, count, sizeof(*place), compare_turns);
	for (i = 0; i < count; i++)
		cpu[i] = place[i].cpu;
	free(place);
	return t;
}
