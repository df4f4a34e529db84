/* SPDX-License-Identifier: MIT */
/*
 * integer.c - keys that are integers: the functions that hash_integer.h defines do what hash.h's do, under the mixed hash.
 */
#include <errno.h>

#include "hash/support.h"

#include <lull/hash_integer.h>

enum color { RED, GREEN = 1 << 20 };

#define ELEMENT(name, type)                     \
	struct name {                           \
		int mark;                       \
		type key;                       \
		struct lull_hash_node link;     \
	};                                      \
	LULL_HASH_INTEGER(name, struct name, link, key)

ELEMENT(of_int, int)
ELEMENT(of_bool, bool)
ELEMENT(of_byte, unsigned char)
ELEMENT(of_short, const short)
ELEMENT(of_long, uint64_t)
ELEMENT(of_color, enum color)
ELEMENT(of_nobody, int) /* no compiler minds that it is not used */

/* What is called by each key does what hash.h's function of that name does, under the mixed hash. */
#define CHECK_ALL(name, first, second)                                                                  \
	do {                                                                                            \
		struct name one = { 1, first, { NULL, 0 } }, other = { 2, first, { NULL, 0 } };         \
		struct name two = { 3, second, { NULL, 0 } };                                           \
		struct lull_hash h;                                                                     \
                                                                                                        \
		init_table(&h, 16, 0);                                                                  \
		lull_rcu_read_lock();                                                                   \
		assert_null(name##_lookup(&h, first));                                                  \
		assert_null(name##_remove(&h, first));                                                  \
		assert_int_equal(name##_insert(&h, &one), 0);                                           \
		assert_int_equal(name##_insert(&h, &other), -EEXIST);                                   \
		assert_ptr_equal(name##_lookup(&h, first), &one);                                       \
		assert_null(name##_replace(&h, &two));                                                  \
		assert_ptr_equal(name##_lookup(&h, second), &two);                                      \
		assert_ptr_equal(name##_replace(&h, &other), &one);                                     \
		assert_ptr_equal(name##_lookup(&h, first), &other);                                     \
		assert_true(other.link.hash == lull_hash_mix64((uint64_t)(first)));                     \
		assert_true(two.link.hash == lull_hash_mix64((uint64_t)(second)));                      \
		assert_ptr_equal(name##_remove(&h, second), &two);                                      \
		assert_ptr_equal(name##_remove(&h, first), &other);                                     \
		assert_null(name##_lookup(&h, first));                                                  \
		lull_rcu_read_unlock();                                                                 \
		assert_int_equal(lull_hash_count(&h), 0);                                               \
		lull_hash_destroy(&h, NULL, NULL);                                                      \
	} while (0)

TEST(all_types)
{
	CHECK_ALL(of_int, 7, -7);
	CHECK_ALL(of_bool, false, true);
	CHECK_ALL(of_byte, 0, 255);
	CHECK_ALL(of_short, -1, 32767);
	CHECK_ALL(of_long, UINT64_MAX, UINT64_C(1) << 63);
	CHECK_ALL(of_color, RED, GREEN);
}
