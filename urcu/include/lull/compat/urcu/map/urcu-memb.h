/* SPDX-License-Identifier: MIT */
/* The plain names stand for flavor memb. No guard: what was included last holds. */
#include "clear.h"
#undef LULL__URCU_PLAIN
#define LULL__URCU_PLAIN(name) urcu_memb_##name
#include "../../urcu_plain.h"
