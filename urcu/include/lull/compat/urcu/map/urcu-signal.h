/* SPDX-License-Identifier: MIT */
/* The plain names stand for flavor signal. No guard: what was included last holds. */
#include "clear.h"
#undef LULL__URCU_PLAIN
#define LULL__URCU_PLAIN(name) urcu_signal_##name
#include "../../urcu_plain.h"
