/* SPDX-License-Identifier: MIT */
/* lull rcuscale: its settings, and the tables that it prints. */
#ifndef LULL_LAB_RCU_TABLES_H
#define LULL_LAB_RCU_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/json.h"
#include "common/options.h"
#include "engine/text_table.h"
#include "instruments/rcu/rcuscale.h"

#define RCUSCALE_SCHEMES_MAX 32
#define RCUSCALE_ROUNDS 10u

enum gp_engine { GP_EVENT, GP_POLLED };

struct rcuscale_settings {
	bool what[NR_WHATS];
	bool setup[NR_SETUPS];
	bool what_given, setup_given, calls_given, rounds_given;
	uint32_t calls, objects, rounds;
	enum gp_engine gp;
	struct rcuscale_polled polled;
	bool kernel_format;
	const char *block;
	struct rcuscale_letter letter;
	bool chosen[RCUSCALE_SCHEMES_MAX];
};

/* ---- instruments/rcu/schemes.c --------------------------------------------------------------- */

/* All that this installation has, in the order of --list. */
extern struct rcuscale_scheme rcuscale_schemes[RCUSCALE_SCHEMES_MAX];
extern size_t rcuscale_nr_schemes;

/* Load the modules, and fill in both. Ends the program when there is no scheme. */
void rcuscale_find_schemes(void);
void rcuscale_list_schemes(void);

/* ---- instruments/rcu/names.c ----------------------------------------------------------------- */

extern const char *const rcuscale_setup_what[NR_SETUPS];
extern const char *const rcuscale_titles[NR_WHATS];

/* Return the metric of the JSON for @what, done in @way (NULL: there is one way) in @setup. Overwritten by the next. */
const char *rcuscale_metric(enum rcuscale_what what, const char *way, enum rcuscale_setup setup);

/* ---- instruments/rcu/counted.c: cycles and instructions per operation, of the thread that is measured ------ */

void rcuscale_add_counted(struct bench_counted *sum, const struct bench_counted *more);
/* A table with two more columns where there are counters, their cells, and the same in a row of the JSON. */
struct bench_table *rcuscale_table_new(const char *header);
void rcuscale_counted_cells(struct bench_table *t, const struct bench_counted *c);
void rcuscale_counted_json(json_t *row, const struct bench_counted *c);

/* ---- the tables ------------------------------------------------------------------------------ */

void rcuscale_latency_table(const struct rcuscale_settings *s, enum rcuscale_what what,
			    enum rcuscale_setup setup, double seconds, struct jsonout *json);
void rcuscale_replace_table(const struct rcuscale_settings *s, enum rcuscale_setup setup, double seconds,
			    struct jsonout *json);
/* One scheme in one setup, for kvm-recheck-rcuscale.sh. */
void rcuscale_kernel_format(const struct rcuscale_settings *s, double seconds);
/* Refuse settings for which these lines have no place. */
void rcuscale_check_kernel_format(const struct rcuscale_settings *s, const struct options *opt);

#endif
