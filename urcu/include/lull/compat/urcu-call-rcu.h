/* SPDX-License-Identifier: MIT */
/* urcu-call-rcu.h - see urcu.h. */
#include "urcu/call-rcu.h"
