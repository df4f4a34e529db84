/* SPDX-License-Identifier: MIT */
/* Lock: a mutex of the C library, made by LOCK_ATTRIBUTES(attr). */
#include <pthread.h>

#include "lock.h"

static pthread_mutex_t lock_shared __attribute__((aligned(BENCH_LOCK_LINE)));

static inline void lock_acquire(void) { pthread_mutex_lock(&lock_shared); }
static inline void lock_release(void) { pthread_mutex_unlock(&lock_shared); }

static const char *lock_renew(const struct bench_lock_scheme *scheme)
{
	pthread_mutexattr_t attr;
	int err;

	(void)scheme;
	pthread_mutexattr_init(&attr);
	err = LOCK_ATTRIBUTES(&attr);
	if (!err)
		err = pthread_mutex_init(&lock_shared, &attr);
	pthread_mutexattr_destroy(&attr);
	return err ? "the C library does not make such a mutex here" : NULL;
}

#include "lock_body.h"
