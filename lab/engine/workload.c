/* SPDX-License-Identifier: MIT */
/* The options that describe a workload; see workload.h. */
#include "engine/workload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"

/* Bytes that a scheme adds to an object, and that waiting updates take, at most. */
#define BESIDE 256
#define SCHEMES 6

double workload_time(const char *what, const char *arg, double max_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	double value, ns = -1;
	size_t i;
	char *end;

	value = strtod(arg, &end);
	if (arg[0] < '0' || arg[0] > '9' || !isfinite(value))
		options_bad("%s: '%s' is not a time; write 300ns, 5us, 2ms or 0", what, arg);
	if (!*end && value == 0)
		ns = 0;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].name))
			ns = value * units[i].ns;
	if (ns < 0)
		options_bad("%s: '%s' is not a time: ns, us, ms or s must follow the number", what,
			    arg);
	if (ns > max_ns)
		options_bad("%s: %s is too long; at most %gms can be measured here", what, arg,
			    max_ns / 1e6);
	return ns;
}

double workload_share(const char *what, const char *arg)
{
	double value, whole = 1;
	char *end;

	value = strtod(arg, &end);
	if (!strcmp(end, "%")) {
		whole = 100;
		end++;
	}
	if (arg[0] < '0' || arg[0] > '9' || *end || !isfinite(value))
		options_bad("%s: '%s' is not a fraction; write 0.1 or 10%%", what, arg);
	if (value > whole)
		options_bad("%s: %s is out of range; 0 to 1 are allowed, or 0%% to 100%%", what,
			    arg);
	return value / whole;
}

bool workload_option(struct workload *w, int key, const char *arg)
{
	static const char *const words[] = { "no", "yes", NULL };

	switch (key) {
	case WORKLOAD_KEY_UPDATES:
		w->updates = workload_share("--updates", arg);
		return true;
	case WORKLOAD_KEY_HOLD:
		w->hold_ns = workload_time("--hold", arg, WORKLOAD_HOLD_MAX_NS);
		return true;
	case WORKLOAD_KEY_OBJECTS:
		w->objects = options_unsigned("--objects", arg, 1, WORKLOAD_OBJECTS_MAX);
		return true;
	case WORKLOAD_KEY_SIZE:
		w->size = options_unsigned("--size", arg, 8, WORKLOAD_SIZE_MAX);
		return true;
	case WORKLOAD_KEY_BLOCK:
		w->block = options_word("--block", arg, words) == 1;
		return true;
	default:
		return false;
	}
}

/* Bytes that the system would give now; where it does not say, as much as it likes. */
static double available(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	double kib = INFINITY;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %lf", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib * 1024;
}

/* All schemes of tradeoff have their objects at the same time, and not all memory is ours. */
size_t workload_room(const struct workload *w)
{
	double most = available() / 2 / SCHEMES / (double)(w->size + BESIDE);

	return most < WORKLOAD_OBJECTS_MAX ? (size_t)most : WORKLOAD_OBJECTS_MAX;
}

void workload_check(const struct workload *w)
{
	size_t room = workload_room(w);

	if (w->objects > room)
		options_bad("--objects: %zu of %zu bytes do not fit into memory here; %zu would",
			    w->objects, w->size, room);
}
