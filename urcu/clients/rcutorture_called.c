/* SPDX-License-Identifier: MIT */
/*
 * liburcu's own torture, whose readers call the library: its urcutorture.c always defines _LGPL_SOURCE. The headers below
 * are liburcu's, from the source that scripts/clients fetched.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <urcu/arch.h>

#include "api.h"

#if defined(RCU_QSBR)
#include <urcu-qsbr.h>
#elif defined(RCU_BP)
#include <urcu-bp.h>
#else
#include <urcu.h>
#endif
#include <urcu/rculist.h>
#include <urcu/uatomic.h>

#include "rcutorture.h"
