/* SPDX-License-Identifier: MIT */
/* lull tradeoff: from what was read off to the figures of an object, a thread, a walk, a point. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "common/figures.h"
#include "instruments/tradeoff/ways.h"

#define NOISE_PAGES 2 /* are normal */

double tradeoff_bytes_each(double with, double without, size_t count)
{
	double more = with - without, noise = NOISE_PAGES * (double)sysconf(_SC_PAGESIZE);

	return more <= noise && more >= -noise ? 0 : more / (double)count;
}

double tradeoff_object_bytes(double before, double plain, double with, size_t count)
{
	return tradeoff_bytes_each(with - plain, plain - before, count);
}

double tradeoff_per_million(uint64_t what, uint64_t steps)
{
	return 1e6 * (double)what / (double)steps;
}

void tradeoff_add_round(struct tradeoff_point *p, double ns)
{
	double v[CHOOSE_ROUNDS_MAX];

	p->rounds.ns[p->rounds.count++] = ns;
	memcpy(v, p->rounds.ns, sizeof(v));
	p->ns = bench_stat_of(v, p->rounds.count);
}

double tradeoff_others(const struct tradeoff_moment *from, const struct tradeoff_moment *to, unsigned cpus)
{
	double all = (double)(to->ns - from->ns) * cpus;
	double known = (double)(to->idle_ns - from->idle_ns) + (double)(to->own_ns - from->own_ns);

	return fmax(0, all - known) / (double)(to->ns - from->ns);
}
