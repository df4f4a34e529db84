/* SPDX-License-Identifier: MIT */
/* How much of the time that was given each part of `lull compare` gets. */
#ifndef LULL_TOOL_BUDGET_H
#define LULL_TOOL_BUDGET_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What has been given out so far, and when the first part began. */
struct compare_budget {
	double seconds; /* for all parts */
	double given;	/* to those before */
	double least;	/* of its share, what a part gets, or it is left out; 0: no part is */
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
