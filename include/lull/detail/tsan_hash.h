/* SPDX-License-Identifier: MIT */
/* tsan_hash.h - what the calls of hash.h say to ThreadSanitizer: see tsan.h. */
#ifndef LULL_TSAN_HASH_H
#define LULL_TSAN_HASH_H

#include <lull/detail/tsan.h>

#ifdef LULL__TSAN_APART

LULL_BEGIN_DECLS

/* A match, which the library calls for nodes that other threads have inserted; and its key. */
struct lull__tsan_with {
	lull_hash_match_fn match;
	const void *key;
};

LULL_INLINE bool lull__tsan_match(const struct lull_hash_node *node, const void *key) LULL_NOEXCEPT
{
	const struct lull__tsan_with *with = LULL__CAST(const struct lull__tsan_with *, LULL__CAST(uintptr_t, key));

	LULL__TSAN_ACQUIRE(node);
	return with->match(node, with->key);
}

#define LULL__TSAN_MATCH(type, name, params, args, before, after)                                  \
	LULL_INLINE type lull__tsan_##name params LULL_NOEXCEPT                                    \
	{                                                                                          \
		const struct lull__tsan_with with = { match, key };                                \
		type result;                                                                       \
                                                                                                   \
		before;                                                                            \
		result = name args;                                                                \
		after;                                                                             \
		return result;                                                                     \
	}

LULL__TSAN_MATCH(int, lull_hash_insert,
		(struct lull_hash *h, struct lull_hash_node *node, uint64_t hash, lull_hash_match_fn match, const void *key),
		(h, node, hash, lull__tsan_match, &with),
		LULL__TSAN_RELEASE(node), (void)0)
#define lull_hash_insert lull__tsan_lull_hash_insert
LULL__TSAN_MATCH(struct lull_hash_node *, lull_hash_lookup_or_insert,
		(struct lull_hash *h, struct lull_hash_node *node, uint64_t hash, lull_hash_match_fn match, const void *key),
		(h, node, hash, lull__tsan_match, &with),
		LULL__TSAN_RELEASE(node), if (result) LULL__TSAN_ACQUIRE(result))
#define lull_hash_lookup_or_insert lull__tsan_lull_hash_lookup_or_insert
LULL__TSAN_CALL(lull_hash_insert_dup, (struct lull_hash *h, struct lull_hash_node *node, uint64_t hash),
		(h, node, hash),
		LULL__TSAN_RELEASE(node), (void)0)
#define lull_hash_insert_dup lull__tsan_lull_hash_insert_dup
LULL__TSAN_MATCH(struct lull_hash_node *, lull_hash_replace,
		(struct lull_hash *h, struct lull_hash_node *node, uint64_t hash, lull_hash_match_fn match, const void *key),
		(h, node, hash, lull__tsan_match, &with),
		LULL__TSAN_RELEASE(node), if (result) LULL__TSAN_ACQUIRE(result))
#define lull_hash_replace lull__tsan_lull_hash_replace
LULL__TSAN_RESULT(int, lull_hash_replace_node,
		(struct lull_hash *h, struct lull_hash_node *old, struct lull_hash_node *node),
		(h, old, node),
		LULL__TSAN_RELEASE(node), result == 0, (void)0)
#define lull_hash_replace_node lull__tsan_lull_hash_replace_node
LULL__TSAN_MATCH(struct lull_hash_node *, lull_hash_remove,
		(struct lull_hash *h, uint64_t hash, lull_hash_match_fn match, const void *key),
		(h, hash, lull__tsan_match, &with),
		(void)0, if (result) LULL__TSAN_ACQUIRE(result))
#define lull_hash_remove lull__tsan_lull_hash_remove
LULL__TSAN_RESULT(struct lull_hash_node *, lull__hash_iter_first,
		(const struct lull_hash *h, struct lull_hash_iter *iter),
		(h, iter),
		(void)0, true, if (result) LULL__TSAN_ACQUIRE(result))
#define lull__hash_iter_first lull__tsan_lull__hash_iter_first
LULL__TSAN_RESULT(struct lull_hash_node *, lull__hash_iter_next,
		(struct lull_hash_iter *iter, const struct lull_hash_node *node),
		(iter, node),
		(void)0, true, if (result) LULL__TSAN_ACQUIRE(result))
#define lull__hash_iter_next lull__tsan_lull__hash_iter_next

/* The caller's function for lull_hash_destroy(), and the argument of that function. */
struct lull__tsan_gone {
	void (*gone)(struct lull_hash_node *node, void *arg) LULL__NOEXCEPT_TYPE;
	void *arg;
};

LULL_INLINE void lull__tsan_call_gone(struct lull_hash_node *node, void *arg) LULL_NOEXCEPT
{
	const struct lull__tsan_gone *with = LULL__CAST(const struct lull__tsan_gone *, LULL__CAST(uintptr_t, arg));

	LULL__TSAN_ACQUIRE(node);
	with->gone(node, with->arg);
}

LULL_INLINE void lull__tsan_lull_hash_destroy(struct lull_hash *h,
					      void (*gone)(struct lull_hash_node *node, void *arg) LULL__NOEXCEPT_TYPE,
					      void *arg)
{
	struct lull__tsan_gone with = { gone, arg };

	lull_hash_destroy(h, gone ? lull__tsan_call_gone : gone, &with);
}
#define lull_hash_destroy lull__tsan_lull_hash_destroy

LULL_END_DECLS

#endif

#endif /* LULL_TSAN_HASH_H */
