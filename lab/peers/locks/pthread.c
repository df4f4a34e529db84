/* SPDX-License-Identifier: MIT */
/*
 * The C library's mutexes. The default one does not spin; the adaptive one spins for as long as that
 * paid before, at most 100 turns; for the one with priority inheritance the kernel spins while the
 * owner runs.
 */
#include <pthread.h>

#include "lock_scheme.h"

static pthread_mutex_t lock_shared __attribute__((aligned(BENCH_LOCK_LINE)));

static inline void lock_acquire(void) { pthread_mutex_lock(&lock_shared); }
static inline void lock_release(void) { pthread_mutex_unlock(&lock_shared); }

static int set_kind(pthread_mutexattr_t *attr, const struct bench_lock_scheme *scheme)
{
	if (scheme == &bench_lock_pthread_pi)
		return pthread_mutexattr_setprotocol(attr, PTHREAD_PRIO_INHERIT);
	return pthread_mutexattr_settype(attr, scheme == &bench_lock_pthread_adaptive ?
						       PTHREAD_MUTEX_ADAPTIVE_NP :
						       PTHREAD_MUTEX_DEFAULT);
}

static const char *lock_renew(const struct bench_lock_scheme *scheme)
{
	pthread_mutexattr_t attr;
	int err;

	pthread_mutexattr_init(&attr);
	err = set_kind(&attr, scheme);
	if (!err)
		err = pthread_mutex_init(&lock_shared, &attr);
	pthread_mutexattr_destroy(&attr);
	return err ? "the C library does not make such a mutex here" : NULL;
}

#include "lock_body.h"

LOCK_SCHEME(bench_lock_pthread, "pthread", "pthread mutex, as it is by default", NULL);
LOCK_SCHEME(bench_lock_pthread_adaptive, "pthread-adaptive",
	    "pthread mutex, PTHREAD_MUTEX_ADAPTIVE_NP", NULL);
LOCK_SCHEME(bench_lock_pthread_pi, "pthread-pi",
	    "pthread mutex, PTHREAD_PRIO_INHERIT: the kernel's lock", NULL);
