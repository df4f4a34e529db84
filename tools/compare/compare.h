/* SPDX-License-Identifier: MIT */
/* lull compare: the choice for the workload that was described. */
#ifndef LULL_TOOL_COMPARE_H
#define LULL_TOOL_COMPARE_H

#include <jansson.h>

#include "report/compared.h"

/* What suits the workload: fills in verdict, workload and answer. */
void compare_answer(struct compare *data);
json_t *compare_verdict_json(const struct compare *data);

#endif
