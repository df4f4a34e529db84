/* SPDX-License-Identifier: MIT */
/*
 * lull's simple hazard pointers: one slot per thread says from where the thread is walking. With
 * FLAVOR_WILDCARD defined beforehand readers do not say from where.
 */
#include <lull/shazptr.h>

#include "flavor.h"

#ifdef FLAVOR_WILDCARD
#define FLAVOR_NAME "shazptr-wildcard"
#define FLAVOR_WHAT "lull simple hazard pointer, the wildcard: every updater waits for the reader"
#define flavor_mark(address) ((void)(address), lull_shazptr_acquire_wildcard())
#else
#define FLAVOR_NAME "shazptr"
#define FLAVOR_WHAT "lull simple hazard pointer on the place from which the reader walks"
#define flavor_mark(address) lull_shazptr_acquire(address)
#endif
#define FLAVOR_MARKS 1

#define flavor_guard lull_shazptr_guard
#define flavor_unmark(guard) lull_shazptr_clear(guard)
#define flavor_dereference(p) lull_load_acquire(&(p))
#define flavor_assign(p, v) lull_store_release(&(p), (v))

static inline void flavor_thread_enter(void) {}
static inline void flavor_thread_leave(void) {}
static inline void flavor_quiescent(void) {}
static inline void flavor_synchronize_on(const void *address) { lull_shazptr_synchronize(address); }
