/* SPDX-License-Identifier: MIT */
/* Lock: the C library's mutex that spins for as long as that paid before, at most 100 turns. */
#define LOCK_ATTRIBUTES(attr) pthread_mutexattr_settype((attr), PTHREAD_MUTEX_ADAPTIVE_NP)
#include "lock_pthread.h"

LOCK_SCHEME(bench_lock_pthread_adaptive, "pthread-adaptive",
	    "pthread mutex, PTHREAD_MUTEX_ADAPTIVE_NP", NULL);
