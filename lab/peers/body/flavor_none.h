/* SPDX-License-Identifier: MIT */
/* No protection at all: the limit that every ratio is taken against. */
#include <lull/atomic.h>

#include "flavor.h"

#define FLAVOR_NAME "none"
#define FLAVOR_WHAT "no protection: the limit; wrong as soon as somebody updates"

static inline void flavor_thread_enter(void) {}
static inline void flavor_thread_leave(void) {}
static inline void flavor_read_lock(void) {}
static inline void flavor_read_unlock(void) {}
static inline void flavor_quiescent(void) {}

#define flavor_dereference(p) lull_load_relaxed(&(p))
#define flavor_assign(p, v) lull_store_release(&(p), (v))
