/* SPDX-License-Identifier: MIT */
/*
 * Operations that `lull hashscale` measures: lookups and replacements in one hash table, the same for all schemes.
 *
 * The table is an array of buckets, a power of two, each the head of a chain of 64-byte elements
 * behind pointers. A lookup finds the element of a random key in its chain and reads its value. An
 * update allocates an element, puts it in the place of the one with the same key, and frees or
 * retires that one. So the set of keys never changes, and a lookup that finds nothing is a broken
 * scheme: it aborts.
 *
 * hash_body.h has the code, compiled once for each scheme around its own calls. Tables that a
 * library brings (lull-hash, liburcu-lfht, ck-ht) come with a file of their own and run the same
 * loop (hash_loop.h).
 */
#ifndef BENCH_HASH_SCHEME_H
#define BENCH_HASH_SCHEME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <lull/atomic.h>
#include <lull/percpu_ref.h>
#include <lull/refcount.h>

#include "common/bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of keys. */
enum bench_hash_mode {
	BENCH_HASH_INTEGERS,  /* a number, and its own hash: chains have exactly elements / buckets
				 elements */
	BENCH_HASH_TEXTS,     /* a string; each lookup hashes it */
	BENCH_HASH_PREHASHED, /* a string that comes with its hash */
	BENCH_HASH_MODES
};

struct bench_hash_key {
	const char *text; /* not terminated */
	uint64_t hash;
	size_t length;
};

struct bench_hash_element {
	struct bench_hash_element *next;
	uint64_t hash;
	const char *text;
	uint32_t length;
	struct lull_refcount references; /* for schemes that count; starts at the table's own */
	uint64_t value;
	union {
		uint64_t head[2]; /* for schemes whose retirement needs room in the object */
		struct lull_percpu_ref percpu; /* for the scheme that counts so, which makes it */
	};
};

#ifndef __cplusplus
_Static_assert(sizeof(struct bench_hash_element) == 64, "elements are 64 bytes in all schemes");
#endif

struct bench_hash_shape {
	enum bench_hash_mode mode;
	size_t elements, buckets;
	bool grow; /* tables that can resize may do so; else they keep to `buckets` */
	/*
	 * Two copies of the same texts: one to look up, one for the table to keep. They never share memory, or a lookup
	 * would find the table's text in the cache because it has just hashed it. Not used when the keys are integers.
	 * Behind the last text there is room for another of the greatest length.
	 */
	const struct bench_hash_key *asked, *kept;
};

/* Inline always, so that a constant of a loop is a constant in the functions it calls. */
#define BENCH_HASH_INLINE static inline __attribute__((always_inline))

/* Marks a size that is measured on the heap. */
#define BENCH_HASH_MEASURED ((size_t)-1)

struct bench_hash_scheme {
	const char *name;
	const char *what;
	const char *section;   /* the scheme of `lull refscale` that is this one's read section */
	const char *holds_up;  /* thing that waits while a reader stays in: for the reports */
	bool reader_may_block; /* a reader may sleep inside; false where others would spin for it
				  meanwhile */
	bool updates_alone;    /* updates are right only while no other thread is there */
	size_t object_bytes;   /* in each object */
	size_t cpu_bytes;      /* for each object and CPU, outside the heap */
	size_t bucket_bytes;   /* in each bucket, beside the pointer; or BENCH_HASH_MEASURED */
	size_t thread_bytes;   /* for each thread, beside what it allocates */
	void *(*create)(const struct bench_hash_shape *shape);
	void (*destroy)(void *table);
	void (*thread_enter)(void);
	void (*thread_leave)(void);
	/*
	 * n operations with random keys; of 2^32 operations, `updates` replace (the loop for 0 does
	 * not ask). The result is a sum over what was read.
	 */
	uint64_t (*run)(struct bench_thread *t, void *table, uint64_t n, uint64_t updates);
	/* One replacement. */
	void (*update)(void *table, size_t key);
	/*
	 * From a thread that has not entered: returns when nothing is waiting to be freed. May be
	 * NULL.
	 */
	void (*settle)(void);
	/*
	 * The most elements that waited to be freed at a time since the last call with reset. NULL:
	 * none ever do.
	 */
	size_t (*deferred)(bool reset);
	/*
	 * Around all updates of a reload, where they are made together and no lookup sees one before the end. NULL:
	 * a lookup finds what an update put there as soon as the update returns.
	 */
	void (*reload_begin)(void *table);
	void (*reload_end)(void *table);
};

/* Fast enough not to hide the rest; eight bytes at a time. */
static inline uint64_t bench_hash_text(const char *text, size_t length)
{
	uint64_t hash = length * 0x9e3779b97f4a7c15u, word;

	for (; length >= 8; length -= 8, text += 8) {
		memcpy(&word, text, 8);
		hash = (hash ^ word) * 0xff51afd7ed558ccdu;
		hash ^= hash >> 32;
	}
	for (word = 0; length; length--)
		word = word << 8 | (unsigned char)*text++;
	hash = (hash ^ word) * 0xc4ceb9fe1a85ec53u;
	return hash ^ hash >> 29;
}

static inline bool bench_hash_same(const char *text, size_t length,
				   const struct bench_hash_key *key)
{
	return length == key->length && !memcmp(text, key->text, length);
}

/* A key out of shape->asked or kept. Integers have none: NULL. */
BENCH_HASH_INLINE const struct bench_hash_key *
bench_hash_key_at(const struct bench_hash_key *keys, enum bench_hash_mode mode, size_t index)
{
	return mode == BENCH_HASH_INTEGERS ? NULL : &keys[index];
}

/* The hash of a key, at the price that the mode has. */
BENCH_HASH_INLINE uint64_t bench_hash_of(const struct bench_hash_key *key, uint64_t index,
					 enum bench_hash_mode mode)
{
	if (mode == BENCH_HASH_INTEGERS)
		return index;
	return mode == BENCH_HASH_TEXTS ? bench_hash_text(key->text, key->length) : key->hash;
}

/* Return whether the element is the key's. Integers are their hashes. */
BENCH_HASH_INLINE bool bench_hash_match(const struct bench_hash_element *element,
					enum bench_hash_mode mode, uint64_t hash,
					const struct bench_hash_key *key)
{
	return element->hash == hash && (mode == BENCH_HASH_INTEGERS ||
					 bench_hash_same(element->text, element->length, key));
}

/* A scheme lost an element. Aborts. */
void bench_hash_broken(const char *scheme) __attribute__((noreturn));
void bench_hash_no_memory(void) __attribute__((noreturn));
/* Allocate zeros, aligned to BENCH_LINE; free them with free(). */
void *bench_hash_alloc(size_t count, size_t size);

/* A new element for a key. */
BENCH_HASH_INLINE struct bench_hash_element *
bench_hash_element(const struct bench_hash_shape *shape, enum bench_hash_mode mode, size_t index)
{
	struct bench_hash_element *element = (struct bench_hash_element *)malloc(sizeof(*element));
	const struct bench_hash_key *kept = bench_hash_key_at(shape->kept, mode, index);

	if (__builtin_expect(!element, 0))
		bench_hash_no_memory();
	element->hash = kept ? kept->hash : index;
	element->text = kept ? kept->text : NULL;
	element->length = kept ? (uint32_t)kept->length : 0;
	lull_refcount_set(&element->references, 1);
	element->value = index;
	return element;
}

/*
 * How many elements wait to be freed, where the library does not tell: each thread counts what it
 * retires and what it frees on lines of its own; now and then a thread that retires adds up and
 * keeps the maximum.
 */
struct bench_hash_count {
	uint64_t retired, freed;
} __attribute__((aligned(BENCH_LINE)));

#define BENCH_HASH_SAMPLE_EVERY 512

extern __thread struct bench_hash_count *bench_hash_count;
void bench_hash_count_new(void);
void bench_hash_sample(void);
size_t bench_hash_deferred(bool reset);
/* The same for schemes that retire through lull. */
size_t bench_hash_lull_deferred(bool reset);

static inline void bench_hash_retired(void)
{
	if (__builtin_expect(!bench_hash_count, 0))
		bench_hash_count_new();
	lull_store_relaxed(&bench_hash_count->retired, bench_hash_count->retired + 1);
	if (bench_hash_count->retired % BENCH_HASH_SAMPLE_EVERY == 0)
		bench_hash_sample();
}

static inline void bench_hash_freed(void)
{
	if (__builtin_expect(!bench_hash_count, 0))
		bench_hash_count_new();
	lull_store_relaxed(&bench_hash_count->freed, bench_hash_count->freed + 1);
}

extern const struct bench_hash_scheme bench_hash_none, bench_hash_spinlock, bench_hash_mutex,
	bench_hash_rwlock, bench_hash_rwlock_table, bench_hash_rwlock_table_each,
	bench_hash_rwlock_table_writer, bench_hash_mutex_table, bench_hash_rcu_table,
	bench_hash_percpu_rwsem, bench_hash_percpu_rwsem_table,
	bench_hash_brlock, bench_hash_refcount, bench_hash_refcount_lock,
	bench_hash_percpu_ref, bench_hash_seqlock,
	bench_hash_rcu, bench_hash_rcu_qsbr, bench_hash_lull_hash, bench_hash_liburcu_memb,
	bench_hash_liburcu_mb, bench_hash_liburcu_qsbr, bench_hash_liburcu_bp,
	bench_hash_liburcu_lfht, bench_hash_ck_epoch, bench_hash_ck_ht, bench_hash_ck_brlock, bench_hash_hazptr,
	bench_hash_hazptr_fenced, bench_hash_shazptr, bench_hash_hazptr_rcu, bench_hash_cxx_hash_map,
	bench_hash_unordered_map, bench_hash_unordered_map_shared_ptr;

#ifdef __cplusplus
}
#endif

#endif
