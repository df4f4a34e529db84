/* SPDX-License-Identifier: MIT */
/* tsan_hash_cursor.h - what the calls of hash_cursor.h say to ThreadSanitizer: see tsan.h. */
#ifndef LULL_TSAN_HASH_CURSOR_H
#define LULL_TSAN_HASH_CURSOR_H

#include <lull/detail/tsan.h>

#ifdef LULL__TSAN_APART

LULL_BEGIN_DECLS

LULL__TSAN_RESULT(struct lull_hash_node *, lull_hash_cursor_next, (struct lull_hash_cursor *cursor), (cursor),
		(void)0, true, if (result) LULL__TSAN_ACQUIRE(result))
#define lull_hash_cursor_next lull__tsan_lull_hash_cursor_next
LULL__TSAN_RESULT(struct lull_hash_node *, lull__hash_cursor_within,
		(struct lull_hash_cursor *cursor, size_t buckets),
		(cursor, buckets),
		(void)0, true, if (result) LULL__TSAN_ACQUIRE(result))
#define lull__hash_cursor_within lull__tsan_lull__hash_cursor_within

LULL_END_DECLS

#endif

#endif /* LULL_TSAN_HASH_CURSOR_H */
