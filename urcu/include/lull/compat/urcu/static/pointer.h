/* SPDX-License-Identifier: MIT */
#include "../pointer.h"
