/* SPDX-License-Identifier: MIT */
/* Nothing is apart here: all functions are inline. */
#include "../urcu-memb.h"
