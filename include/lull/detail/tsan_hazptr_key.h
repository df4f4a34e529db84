/* SPDX-License-Identifier: MIT */
/* tsan_hazptr_key.h - what the call of hazptr_key.h says to ThreadSanitizer: see tsan.h. */
#ifndef LULL_TSAN_HAZPTR_KEY_H
#define LULL_TSAN_HAZPTR_KEY_H

#include <lull/detail/tsan.h>

#ifdef LULL__TSAN_APART

LULL_BEGIN_DECLS

LULL__TSAN_CALL(lull_hazptr_call_key, (struct lull_hazptr_key *k, const void *key, lull_rcu_func func), (k, key, func),
		LULL__TSAN_DEFERS, (void)0)
#define lull_hazptr_call_key lull__tsan_lull_hazptr_call_key

LULL_END_DECLS

#endif

#endif /* LULL_TSAN_HAZPTR_KEY_H */
