/* SPDX-License-Identifier: MIT */
/* The time of each part of `lull compare`; see budget.h. */
#include "compare/budget.h"

double compare_budget_for(struct compare_budget *b, double gone, const double *share, size_t part,
			  size_t parts)
{
	double left = b->seconds - gone, sum = 0, one;
	size_t i;

	for (i = part; i < parts; i++)
		sum += share[i];
	one = left > 0 ? left * share[part] / sum : 0;
	if (b->given > 0 && b->given < gone)
		one *= b->given / gone;
	if (one < b->least * share[part] * b->seconds)
		return 0;
	b->given += one;
	return one;
}
