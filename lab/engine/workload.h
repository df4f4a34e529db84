/* SPDX-License-Identifier: MIT */
/* Options that describe what a user's program does with its objects. */
#ifndef LULL_LAB_WORKLOAD_H
#define LULL_LAB_WORKLOAD_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#define WORKLOAD_HOLD_MAX_NS 100000000.0
#define WORKLOAD_OBJECTS_MAX 10000000
#define WORKLOAD_SIZE_MAX (1 << 20)

struct workload {
	double updates; /* share of operations that replace an object, 0 to 1 */
	double hold_ns; /* how long a reader keeps what it found */
	size_t objects, size;
	bool block; /* readers sleep while they hold */
};

/* Readers look at the object and leave: longer work is the same for all ways, and hides how they differ. */
#define WORKLOAD_DEFAULT { .updates = 0.01, .hold_ns = 0, .objects = 10000, .size = 64 }

enum {
	WORKLOAD_KEY_UPDATES = 0x2000,
	WORKLOAD_KEY_HOLD,
	WORKLOAD_KEY_OBJECTS,
	WORKLOAD_KEY_SIZE,
	WORKLOAD_KEY_BLOCK,
};

/* For an instrument's own table of options. */
#define WORKLOAD_OPTIONS                                                                           \
	{ NULL, 0, NULL, 0, "Your workload:", 5 },                                                 \
	{ "updates", WORKLOAD_KEY_UPDATES, "FRACTION", 0,                                          \
	  "share of operations that replace an object: 0.1 or 10%; else 1%", 5 },                  \
	{ "hold", WORKLOAD_KEY_HOLD, "TIME", 0,                                                    \
	  "how long a reader keeps what it found: 300ns, 5us, 2ms; else 0, a look", 5 },                 \
	{ "objects", WORKLOAD_KEY_OBJECTS, "N", 0, "objects that can be found; else 10000", 5 },   \
	{ "size", WORKLOAD_KEY_SIZE, "BYTES", 0, "of an object; else 64", 5 },                     \
	{ "block", WORKLOAD_KEY_BLOCK, "yes|no", 0, "do readers sleep while they hold; else no", 5 }

/* False: the key is none of these. Bad values: options_bad(). */
bool workload_option(struct workload *w, int key, const char *arg);
/* Together they must fit into memory; else options_bad(). After parsing. */
void workload_check(const struct workload *w);
/* "--hold: '5' ..." A number and its unit; 0 needs none. In ns, 0 to max_ns. */
double workload_time(const char *what, const char *arg, double max_ns);
/* "0.1" or "10%", of 1. */
double workload_share(const char *what, const char *arg);
/* The most objects of that size that may be made here. */
size_t workload_room(const struct workload *w);

#endif
