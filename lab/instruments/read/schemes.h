/* SPDX-License-Identifier: MIT */
/* lull refscale: which read sections there are, and in which order. */
#ifndef LULL_LAB_READ_SCHEMES_H
#define LULL_LAB_READ_SCHEMES_H

#include <stddef.h>

#include "ref_scheme.h"

#define READ_SCHEMES_MAX 64

/* Load the modules, fill @schemes with all read sections that they have, and return how many these are. */
size_t read_schemes(const struct bench_ref_scheme **schemes);
/* End the program with one line if the first of the order is missing: all ratios are taken against it. */
void read_schemes_need_first(void);
/* Print them, and what is missing: --list. */
void read_schemes_print(const struct bench_ref_scheme *const *schemes, size_t count);

#endif
