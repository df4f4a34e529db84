/* SPDX-License-Identifier: MIT */
/* All functions are inline; nothing is apart here. */
#include "../urcu-bp.h"
