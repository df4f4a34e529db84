/* SPDX-License-Identifier: MIT */
/* A library with one probe that is never passed: quicker to attach to than all of them. */
#include "../../src/base/probe.h"

void lull_trace_small(void);

void lull_trace_small(void)
{
	LULL__PROBE0(scan_start);
}
