/* SPDX-License-Identifier: MIT */
#include "../pointer.h"

#if defined(LULL__URCU_BESIDE) && __has_include(<urcu/annotate.h>) /* since 0.15 */
#include <urcu/annotate.h>
#endif
