/* SPDX-License-Identifier: MIT */
/* lull torture: checks for when no thread holds or removes anything any more. See run.h. */
#include "torture/run.h"

void torture_settle(const char *when)
{
	if (torture.flavor->settle)
		torture.flavor->settle();
	if (torture.flavor->barrier)
		torture.flavor->barrier();
	torture_pool_check(when);
	torture_debris_check(when);
	if (torture.flavor->check)
		torture.flavor->check(when);
}
