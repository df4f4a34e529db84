/* SPDX-License-Identifier: MIT */
#include <limits.h>

#include "../../urcu_inline.h"
#include "../urcu-qsbr.h"
