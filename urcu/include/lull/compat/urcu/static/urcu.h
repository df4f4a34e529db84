/* SPDX-License-Identifier: MIT */
#include "../urcu.h"
