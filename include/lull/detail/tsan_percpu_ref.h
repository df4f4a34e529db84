/* SPDX-License-Identifier: MIT */
/* tsan_percpu_ref.h - what the calls of percpu_ref.h say to ThreadSanitizer: see tsan.h. */
#ifndef LULL_TSAN_PERCPU_REF_H
#define LULL_TSAN_PERCPU_REF_H

#include <lull/detail/tsan.h>

#ifdef LULL__TSAN_APART

LULL_BEGIN_DECLS

LULL__TSAN_CALL(lull_percpu_ref_exit, (struct lull_percpu_ref *ref), (ref),
		(void)0, LULL__TSAN_ACQUIRE(ref))
#define lull_percpu_ref_exit lull__tsan_lull_percpu_ref_exit
LULL__TSAN_CALL(lull_percpu_ref_kill, (struct lull_percpu_ref *ref), (ref),
		LULL__TSAN_RELEASE(ref), (void)0)
#define lull_percpu_ref_kill lull__tsan_lull_percpu_ref_kill
LULL__TSAN_CALL(lull_percpu_ref_switch_to_percpu, (struct lull_percpu_ref *ref), (ref),
		LULL__TSAN_RELEASE(ref), (void)0)
#define lull_percpu_ref_switch_to_percpu lull__tsan_lull_percpu_ref_switch_to_percpu
LULL__TSAN_CALL(lull_percpu_ref_kill_and_confirm, (struct lull_percpu_ref *ref, lull_percpu_ref_func confirm),
		(ref, confirm),
		LULL__TSAN_RELEASE(ref), (void)0)
#define lull_percpu_ref_kill_and_confirm lull__tsan_lull_percpu_ref_kill_and_confirm
LULL__TSAN_CALL(lull_percpu_ref_switch_to_atomic, (struct lull_percpu_ref *ref, lull_percpu_ref_func confirm),
		(ref, confirm),
		LULL__TSAN_RELEASE(ref), (void)0)
#define lull_percpu_ref_switch_to_atomic lull__tsan_lull_percpu_ref_switch_to_atomic
LULL__TSAN_CALL(lull_percpu_ref_kill_many, (struct lull_percpu_ref *const *refs, size_t n), (refs, n),
		for (size_t i = 0; i < n; i++)
			LULL__TSAN_RELEASE(refs[i]), (void)0)
#define lull_percpu_ref_kill_many lull__tsan_lull_percpu_ref_kill_many
LULL__TSAN_CALL(lull_percpu_ref_switch_to_atomic_sync, (struct lull_percpu_ref *ref), (ref),
		LULL__TSAN_RELEASE(ref), LULL__TSAN_ACQUIRE(ref))
#define lull_percpu_ref_switch_to_atomic_sync lull__tsan_lull_percpu_ref_switch_to_atomic_sync

LULL_END_DECLS

#endif

#endif /* LULL_TSAN_PERCPU_REF_H */
