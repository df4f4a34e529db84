/* SPDX-License-Identifier: MIT */
/*
 * Time that other programs took from the processors during a measurement. A thread that is preempted while it holds a
 * lock holds up all others: a slice in which other programs wanted to run tells nothing about the lock.
 */
#ifndef LULL_LAB_OTHER_PROGRAMS_H
#define LULL_LAB_OTHER_PROGRAMS_H

#include <stdint.h>
#include <sys/types.h>

struct bench_load {
	uint64_t ns;
	uint64_t own_ns, hogs_ns; /* processor time of this process, and of those */
	uint64_t idle_ns;	  /* of the processors */
};

/* Fill @load with what was used so far, also by the @count processes @hogs, which belong to the measurement. */
void bench_load_read(struct bench_load *load, const pid_t *hogs, unsigned count);
/* Return what share of the processors' time in between others took beyond what is put up with: bad above 0. */
double bench_foreign(const struct bench_load *from, const struct bench_load *to);

#endif
