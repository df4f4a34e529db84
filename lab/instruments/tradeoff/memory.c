/* SPDX-License-Identifier: MIT */
/*
 * lull tradeoff: how much more memory a process really has, with a scheme's objects and with threads that use it, than
 * with plain ones. This counts malloc's rounding, counters beside the object, and pages that only one CPU uses. It does
 * not count the record that every thread has as soon as the library is there: threads that do not use the library have
 * one, too.
 */
#include <malloc.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cpus.h"
#include "common/bench.h"
#include "instruments/tradeoff/ways.h"

#define OBJECTS 20000
#define BYTES_MOST (256.0 * 1024 * 1024)
#define THREADS 48

/* Pages that are this process's own and in memory, in bytes. */
static double resident(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	double kib = -1, total, with_files;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Anonymous: %lf", &kib) == 1)
			break;
	if (file)
		fclose(file);
	if (kib >= 0)
		return kib * 1024;
	file = fopen("/proc/self/statm", "re");
	if (!file || fscanf(file, "%*f %lf %lf", &total, &with_files) != 2)
		options_fail("neither /proc/self/smaps_rollup nor statm can be read");
	fclose(file);
	return (total - with_files) * (double)sysconf(_SC_PAGESIZE);
}

/* ---- objects --------------------------------------------------------------------------------- */

struct crowd {
	const struct tradeoff_scheme *scheme;
	struct tradeoff_cell *cell;
	size_t count;
	unsigned cpu;
};

static void *use_all(void *arg)
{
	const struct crowd *crowd = arg;
	size_t i;

	bench_pin(crowd->cpu);
	for (i = 0; i < crowd->count; i++)
		bench_sink(crowd->scheme->get_put(&crowd->cell[i], 1));
	return NULL;
}

/* Use the objects on every CPU, because some schemes count where they run. */
static void use_everywhere(struct crowd *crowd)
{
	pthread_t thread;

	for (crowd->cpu = 0; crowd->cpu < bench_cpus(); crowd->cpu++) {
		tradeoff_thread(&thread, use_all, crowd);
		pthread_join(thread, NULL);
	}
}

static double bytes_per_object(const struct tradeoff_scheme *scheme, size_t size)
{
	double most = BYTES_MOST / 2 / (double)size, before, plain, with;
	size_t count = most < OBJECTS ? (size_t)most : OBJECTS, i;
	struct crowd crowd = { scheme, options_alloc(count + 1, sizeof(*crowd.cell)), count, 0 };
	struct crowd first = { scheme, &crowd.cell[count], 1, 0 };
	void **object = options_alloc(count, sizeof(*object));

	memset(crowd.cell, 1, count * sizeof(*crowd.cell));
	memset(object, 1, count * sizeof(*object));
	/* Make what all objects share first, so that it does not count. */
	crowd.cell[count].object = scheme->make(size);
	use_everywhere(&first);
	before = resident();
	for (i = 0; i < count; i++) {
		object[i] = malloc(size);
		if (!object[i])
			options_fail("out of memory");
		memset(object[i], 1, size);
	}
	plain = resident();
	for (i = 0; i < count; i++) {
		crowd.cell[i].object = scheme->make(size);
		memset((char *)crowd.cell[i].object + scheme->head, 1, size);
	}
	use_everywhere(&crowd);
	with = resident();
	return tradeoff_object_bytes(before, plain, with, count);
}

/* ---- threads --------------------------------------------------------------------------------- */

struct parked {
	const struct tradeoff_scheme *scheme; /* NULL: the thread uses none */
	struct tradeoff_cell *cell;
	sem_t ready;
};

static void *park(void *arg)
{
	struct parked *parked = arg;

	if (parked->scheme)
		parked->scheme->hold(parked->cell, 0, false);
	sem_post(&parked->ready);
	for (;;)
		pause(); /* until the process ends */
	return NULL;
}

static double bytes_of_threads(struct parked *parked)
{
	double before = resident();
	pthread_t thread;
	unsigned i;

	for (i = 0; i < THREADS; i++)
		tradeoff_thread(&thread, park, parked);
	for (i = 0; i < THREADS; i++)
		while (sem_wait(&parked->ready) != 0)
			;
	return resident() - before;
}

void tradeoff_measure_memory(struct tradeoff_run *run, size_t scheme, double *per_object,
			     double *per_thread)
{
	const struct tradeoff_scheme *s = tradeoff_schemes[scheme];
	struct tradeoff_cell cell;
	struct parked plain = { NULL, &cell, { { 0 } } }, using = { s, &cell, { { 0 } } };
	double without;

	/* Arenas come and go with the threads that allocate: they are not the scheme's. */
	mallopt(M_ARENA_MAX, 1);
	*per_object = bytes_per_object(s, run->work.size);
	cell.object = s->make(run->work.size);
	sem_init(&plain.ready, 0, 0);
	sem_init(&using.ready, 0, 0);
	bytes_of_threads(&plain); /* the first ones find stacks that were used before */
	without = bytes_of_threads(&plain);
	*per_thread = tradeoff_bytes_each(bytes_of_threads(&using), without, THREADS);
}
