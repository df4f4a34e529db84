/* SPDX-License-Identifier: MIT */
/* A library with one probe, which nobody passes: quicker to be put in place than all of them. */
#include "../../src/base/probe.h"

void lull_trace_small(void);

void lull_trace_small(void)
{
	LULL__PROBE0(scan_start);
}
