/* SPDX-License-Identifier: MIT */
/*
 * urcu_flavor.h - liburcu's headers of the flavor that a test is compiled for, -DFLAVOR_memb and so on; with -D_LGPL_SOURCE
 * its readers are inlined.
 */
#ifndef TESTS_URCU_FLAVOR_H
#define TESTS_URCU_FLAVOR_H

#if defined(FLAVOR_mb)
#define RCU_MB
#include <urcu.h>
#elif defined(FLAVOR_bp)
#include <urcu-bp.h>
#elif defined(FLAVOR_qsbr)
#include <urcu-qsbr.h>
#elif defined(FLAVOR_signal)
#define RCU_SIGNAL
#include <urcu.h>
#else
#include <urcu.h>
#endif

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Other flavors need nothing. */
#ifndef FLAVOR_qsbr
#define rcu_quiescent_state() ((void)0)
#define rcu_thread_offline()  ((void)0)
#define rcu_thread_online()   ((void)0)
#endif

#include "urcu_must.h"

#endif /* TESTS_URCU_FLAVOR_H */
