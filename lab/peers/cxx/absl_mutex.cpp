/* SPDX-License-Identifier: MIT */
/* Lock: the mutex of Abseil. */
#include <new>

#include <absl/synchronization/mutex.h>

#include "lock_scheme.h"
#include "peer_module.h"

/* It is made anew in the same place for each measurement. */
alignas(BENCH_LOCK_LINE) static absl::Mutex lock_shared;

static inline void lock_acquire()
{
	lock_shared.Lock();
}

static inline void lock_release()
{
	lock_shared.Unlock();
}

static const char *lock_renew(const struct bench_lock_scheme *)
{
	lock_shared.~Mutex();
	new (&lock_shared) absl::Mutex;
	return nullptr;
}

#include "lock_body.h"

LOCK_SCHEME(bench_lock_absl, "absl", "Abseil's absl::Mutex (C++)", nullptr);

/* ---- the module ---- */

static const void *const lock[] = { &bench_lock_absl, nullptr };

const struct peer_module lull_peer_module = { PEER_BUILD, "Abseil", PEER_VERSION, { nullptr, nullptr, nullptr, lock } };
