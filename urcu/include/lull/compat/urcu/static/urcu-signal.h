/* SPDX-License-Identifier: MIT */
#include "../../urcu_inline.h"
#include "../urcu-signal.h"

#if defined(LULL__URCU_BESIDE) && __has_include(<urcu/static/urcu-signal-nr.h>)
#include <urcu/static/urcu-signal-nr.h>
#endif
