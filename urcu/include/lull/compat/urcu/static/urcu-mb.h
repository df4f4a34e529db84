/* SPDX-License-Identifier: MIT */
#include "../../urcu_inline.h"
#include "../urcu-mb.h"
