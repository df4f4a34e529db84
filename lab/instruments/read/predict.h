/* SPDX-License-Identifier: MIT */
/*
 * Predicted cost of a read section for more readers than this machine has CPUs: a model, from measurements here.
 *
 * Every addition to a shared counter needs the counter's cache line in the adding CPU's own cache, and no other CPU may
 * write to it. A line moves to one CPU at a time, so all readers together make no more additions a second than there
 * are transfers, however many readers there are: the cost of each grows in proportion to their number. Data that one
 * CPU alone writes (a per-CPU counter, a hazard pointer's slot, a read section's word) stays in that CPU's cache, and
 * costs the same beside any number of others.
 *
 * The model is too kind where a transfer takes longer: between sockets, and when many wait for the line. It is too hard
 * where a CPU makes several additions before the line is taken away, and more of them the longer the queue is. So its
 * figure for a shared counter is no more than an order of magnitude, and is called a prediction wherever it is shown.
 */
#ifndef LULL_LAB_PREDICT_H
#define LULL_LAB_PREDICT_H

#include <stdbool.h>

#include "common/figures.h"
#include "common/json.h"

/* Do all readers of this scheme write to one line? By name, as in refscale. */
bool predict_is_shared(const char *scheme);

/*
 * Thread time per read, in ns, for @readers on as many cores, when it is @ns for @measured of them.
 * @measured must be at least 2: a single reader has a shared line to itself.
 */
double predict_read_ns(bool shared, double ns, unsigned measured, unsigned readers);

/*
 * ns from an atomic addition to a line on one CPU to the next one on another CPU, which had waited
 * for it: what one transfer takes, with the look that finds it. Between the first two CPUs that
 * threads are placed on; count 0 where there is only one.
 */
struct bench_stat predict_handover(void);

/* Measurements of one scheme; 0: not measured. */
struct predict_row {
	const char *scheme;
	double one, many;
};

/*
 * Prints a table and for which machine it holds, and adds rows to @json, whose metric is
 * "read_section_prediction", for each of @readers.
 */
void predict_print(struct jsonout *json, const struct predict_row *row, size_t count,
		   unsigned measured, const unsigned *readers, size_t nr_readers);

#endif
