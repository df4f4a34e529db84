/* SPDX-License-Identifier: MIT */
/*
 * Work of a given length without a look at the clock, which takes longer than what is to be measured: so many turns
 * of bench_lock_work().
 */
#ifndef LULL_LAB_TURNS_H
#define LULL_LAB_TURNS_H

#include <stdint.h>

/* Find how long a turn is; once, first of all. */
void bench_turns_calibrate(void);
/* Return how many turns take @ns. */
uint64_t bench_turns(double ns);

#endif
