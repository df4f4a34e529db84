/* SPDX-License-Identifier: MIT */
/*
 * Operation that `lull rcuscale --what scan` measures: retire while many slots are in use, so that the cost of looking
 * at all slots shows.
 */
#ifndef BENCH_SCAN_SCHEME_H
#define BENCH_SCAN_SCHEME_H

#include <stddef.h>

struct bench_scan_scheme {
	const char *name;
	const char *what;
	size_t most_slots; /* 0: any number */
	/* Make @slots slots name one object each, of @objects; none of these is ever retired. */
	void (*occupy)(void **object, size_t slots);
	void (*vacate)(void);
	/* Retire malloc memory of at least 64 bytes; a scan when the scheme thinks it is time. */
	void (*retire)(void **object, size_t count);
	void (*barrier)(void);
};

extern const struct bench_scan_scheme bench_scan_free, bench_scan_hazptr, bench_scan_hazptr_fenced,
	bench_scan_ck_hp;

#endif
