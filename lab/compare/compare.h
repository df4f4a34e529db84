/* SPDX-License-Identifier: MIT */
/* lull compare: what its instruments have found out, the choice that follows, and what is said of both. */
#ifndef LULL_LAB_COMPARE_H
#define LULL_LAB_COMPARE_H

#include <jansson.h>

#include "report/compared.h"

/* Choose what suits the workload: fill in verdict, workload and answer. */
void compare_answer(struct compare *data);
json_t *compare_verdict_json(const struct compare *data);

/* ---- compare/read.c: what the instruments have found out, each from its JSON ----------------- */

/* Fill in the schemes; all else belongs to one of them. */
void compare_read_schemes(struct compare *data, const json_t *hashscale);
void compare_read_keys(struct compare *data, const json_t *hashscale);
void compare_read_lookups(struct compare *data, const json_t *hashscale);
void compare_read_mixed(struct compare *data, const json_t *hashscale);
/* Note what there was no time for, after a separator if it is not the first; what an instrument had none for, in a part. */
void compare_leave_out(struct compare *data, const char *separator, const char *name);
void compare_read_left_out(struct compare *data, const json_t *root, const char *part);
void compare_read_sections(struct compare *data, const json_t *refscale, const json_t *hashscale);
void compare_read_waits(struct compare *data, const json_t *rcuscale);
/* Return "none,rcu,...", each read section once: of all schemes, or of those whose updaters defer or wait. */
char *compare_sections(const struct compare *data, const json_t *hashscale, bool deferring);
/* Return the scheme of that name, or NULL. */
struct compare_scheme *compare_find_scheme(struct compare *data, const char *name);

/* ---- compare/print.c ------------------------------------------------------------------------- */

/* Print what to do, in a few lines; with @full, all tables after them. */
void compare_print(struct compare *data, bool full);

#endif
