/* SPDX-License-Identifier: MIT */
/* Lock: the C library's default mutex, which does not spin. */
#define LOCK_ATTRIBUTES(attr) pthread_mutexattr_settype((attr), PTHREAD_MUTEX_DEFAULT)
#include "lock_pthread.h"

LOCK_SCHEME(bench_lock_pthread, "pthread", "pthread mutex, as it is by default", NULL);
