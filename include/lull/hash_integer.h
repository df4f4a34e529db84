/* SPDX-License-Identifier: MIT */
/*
 * hash_integer.h - typed functions for a hash table whose keys are integers: they mix the key, and compare it.
 *
 * hash.h takes hashes as they are, and their low bits choose the bucket. So a key that is its own hash is good only
 * if keys follow each other: multiples of 4096, or numbers that differ in high bits alone, fall into one bucket.
 * These functions call lull_hash_mix64(), and so do lookups and updates alike.
 *
 *	struct user { struct lull_hash_node node; long id; ... };
 *
 *	LULL_HASH_INTEGER(users, struct user, node, id)
 *
 *	users_insert(&table, user);			0, or -EEXIST
 *	user = users_lookup(&table, 7);			in a read section; or NULL
 *	old = users_replace(&table, user);		or NULL; retire it
 *	old = users_remove(&table, 7);			or NULL; retire it
 *
 * Each is one call of the function of hash.h with that name, which has the rest: use all others of hash.h with the
 * same table. C++ has hash_map.hpp or intrusive_hash_map.hpp.
 */
#ifndef LULL_HASH_INTEGER_H
#define LULL_HASH_INTEGER_H

#include <lull/hash.h>

/*
 * Define functions @name_lookup(), @name_insert(), @name_replace() and @name_remove(), and @name_hash() and @name_match()
 * of which they are made, for elements of @type, whose node is @member and whose key is @key, an integer of at most 64
 * bits. C only.
 */
#ifndef __cplusplus
#define LULL_HASH_INTEGER(name, type, member, key)                                                 \
	LULL__MAYBE uint64_t name##_hash(__typeof__(LULL__NULL(type *)->key) value)                \
	{                                                                                          \
		LULL__HASH_INTEGER_CHECK(value);                                                   \
		return lull_hash_mix64((uint64_t)value);                                           \
	}                                                                                          \
	LULL__MAYBE bool name##_match(const struct lull_hash_node *node, const void *value)        \
	{                                                                                          \
		return lull_hash_entry(node, type, member)->key ==                                 \
		       *(const __typeof__(LULL__NULL(type *)->key) *)value;                        \
	}                                                                                          \
	LULL__MAYBE type *name##_lookup(const struct lull_hash *h,                                 \
					__typeof__(LULL__NULL(type *)->key) value)                 \
	{                                                                                          \
		return lull_hash_lookup_entry(h, name##_hash(value), name##_match, &value, type,   \
					      member);                                             \
	}                                                                                          \
	LULL__MAYBE int name##_insert(struct lull_hash *h, type *element)                          \
	{                                                                                          \
		return lull_hash_insert(h, &element->member, name##_hash(element->key),            \
					name##_match, &element->key);                              \
	}                                                                                          \
	LULL__MAYBE type *name##_replace(struct lull_hash *h, type *element)                       \
	{                                                                                          \
		return lull_hash_entry_or_null(lull_hash_replace(h, &element->member,              \
								 name##_hash(element->key),        \
								 name##_match, &element->key),     \
					       type, member);                                      \
	}                                                                                          \
	LULL__MAYBE type *name##_remove(struct lull_hash *h,                                       \
					__typeof__(LULL__NULL(type *)->key) value)                 \
	{                                                                                          \
		return lull_hash_entry_or_null(lull_hash_remove(h, name##_hash(value),             \
								name##_match, &value),             \
					       type, member);                                      \
	}

/* Not every program uses all of them. */
#define LULL__MAYBE __attribute__((unused)) LULL_INLINE

/* Does not compile unless @value is an integer of at most 64 bits: no others can be shifted. */
#define LULL__HASH_INTEGER_CHECK(value) ((void)sizeof(char[sizeof((value) << 0) <= 8 ? 1 : -1]))
#endif

#endif /* LULL_HASH_INTEGER_H */
