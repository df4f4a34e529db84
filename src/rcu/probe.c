/* SPDX-License-Identifier: MIT */
/*
 * probe.c - the probes of read sections, in debug builds only.
 *
 * Read sides call them out of line, so that a tracer finds them in one file and not in every program.
 */
#include <lull/rcu.h>

#include "../base/probe.h"


#ifdef LULL_DEBUG
void lull__rcu_probe_enter(const void *site)
{
	LULL__PROBE1(section_enter, site);
}

void lull__rcu_probe_exit(void)
{
	LULL__PROBE0(section_exit);
}
#endif
