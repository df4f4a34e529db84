/* SPDX-License-Identifier: MIT */
/* Shares of the given time for the parts of `lull compare`. */
#ifndef LULL_LAB_BUDGET_H
#define LULL_LAB_BUDGET_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Time given out so far, and when the first part began. */
struct compare_budget {
	double seconds; /* for all parts */
	double given;	/* to those before */
	double least;	/* part of its share that a part must get, or it is left out; 0: none is left out */
};

/*
 * Return the seconds for @part when @gone have gone: its share of what is left, among the parts that are still to
 * come. A part takes more than it is given, to make its tables say, or on a machine that others use: as much more as the
 * parts before did is held back. 0: there is nothing left, or less than a part must get; the ones behind it get that.
 */
double compare_budget_for(struct compare_budget *b, double gone, const double *share, size_t part,
			  size_t parts);

#ifdef __cplusplus
}
#endif

#endif
