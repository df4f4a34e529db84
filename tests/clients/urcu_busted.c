/* SPDX-License-Identifier: MIT */
#include "urcu_busted.h"

#include <stdlib.h>
#include <string.h>

bool lull__urcu_busted(const char *fault)
{
	const char *chosen = getenv("LULL_URCU_BUSTED");

	return chosen && !strcmp(chosen, fault);
}
