/* SPDX-License-Identifier: MIT */
/* Hash table: Concurrency Kit's own (ck_ht), open addressing, under its epochs. */
#include "flavor_ck_epoch.h"
#include <ck_ht.h>
#include <pthread.h>

#include "hash_scheme.h"
#include "hash_defer.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "ck-ht"
#define FLAVOR_WHAT                                                                                \
	"Concurrency Kit's open-addressing table under its epochs; one lock for all updates"

#define HASH_BODY bench_hash_ck_ht
#define HASH_SECTION "ck-epoch"
#define HASH_HOLDS_UP "memory"
#define HASH_READER_MAY_BLOCK true
#define HASH_BUCKET_BYTES BENCH_HASH_MEASURED
#define HASH_SETTLES_IN_LEAVE

struct hash_table {
	struct bench_hash_shape shape;
	ck_ht_t ht __attribute__((aligned(128)));
	pthread_spinlock_t lock
		__attribute__((aligned(128))); /* the table takes one updater at a time */
};

static void *ht_malloc(size_t size)
{
	return malloc(size);
}

/*
 * It frees its old arrays at once unless told to defer; tables here never grow once they are
 * filled.
 */
static void ht_free(void *p, size_t size, bool defer)
{
	(void)size;
	(void)defer;
	free(p);
}

static struct ck_malloc ht_memory = { .malloc = ht_malloc, .free = ht_free };

/* Only called when the table grows; otherwise the hash comes with the call. */
static void ht_hash(struct ck_ht_hash *hash, const void *key, size_t length, uint64_t seed)
{
	(void)seed;
	hash->value = bench_hash_text(key, length);
}

/* The table cannot keep 0. */
BENCH_HASH_INLINE uintptr_t ht_integer(uint64_t hash)
{
	return (uintptr_t)hash + 1;
}

BENCH_HASH_INLINE uint64_t hash_lookup(struct hash_table *table, enum bench_hash_mode mode,
				       uint64_t hash, const struct bench_hash_key *key)
{
	ck_ht_hash_t h = { hash };
	ck_ht_entry_t entry;
	uint64_t value;

	if (mode == BENCH_HASH_INTEGERS)
		ck_ht_entry_key_set_direct(&entry, ht_integer(hash));
	else
		ck_ht_entry_key_set(&entry, key->text, (uint16_t)key->length);
	flavor_read_lock();
	if (__builtin_expect(!ck_ht_get_spmc(&table->ht, h, &entry), 0))
		bench_hash_broken(FLAVOR_NAME);
	value = ((struct bench_hash_element *)ck_ht_entry_value(&entry))->value;
	flavor_read_unlock();
	return value;
}

BENCH_HASH_INLINE void ht_set(struct hash_table *table, enum bench_hash_mode mode, uint64_t hash,
			      struct bench_hash_element *element, ck_ht_entry_t *entry)
{
	ck_ht_hash_t h = { hash };

	if (mode == BENCH_HASH_INTEGERS)
		ck_ht_entry_set_direct(entry, h, ht_integer(hash), (uintptr_t)element);
	else
		ck_ht_entry_set(entry, h, element->text, (uint16_t)element->length, element);
	if (__builtin_expect(!ck_ht_set_spmc(&table->ht, h, entry), 0))
		bench_hash_broken(FLAVOR_NAME);
}

BENCH_HASH_INLINE void hash_replace(struct hash_table *table, enum bench_hash_mode mode,
				    size_t index)
{
	const struct bench_hash_key *key = bench_hash_key_at(table->shape.asked, mode, index);
	struct bench_hash_element *element = bench_hash_element(&table->shape, mode, index);
	uint64_t hash = bench_hash_of(key, index, mode);
	ck_ht_entry_t entry;

	pthread_spin_lock(&table->lock);
	ht_set(table, mode, hash, element, &entry);
	pthread_spin_unlock(&table->lock);
	hash_defer(ck_ht_entry_value(&entry));
	flavor_poll();
}

static void *hash_create(const struct bench_hash_shape *shape)
{
	struct hash_table *table = bench_hash_alloc(1, sizeof(*table));
	unsigned mode =
		shape->mode == BENCH_HASH_INTEGERS ? CK_HT_MODE_DIRECT : CK_HT_MODE_BYTESTRING;
	size_t i;

	table->shape = *shape;
	pthread_spin_init(&table->lock, PTHREAD_PROCESS_PRIVATE);
	/* Half full is as full as it gets before it grows. */
	if (!ck_ht_init(&table->ht, mode, ht_hash, &ht_memory, shape->elements * 2 + 8, 0))
		bench_hash_no_memory();
	for (i = 0; i < shape->elements; i++) {
		struct bench_hash_element *element = bench_hash_element(shape, shape->mode, i);
		ck_ht_entry_t entry;

		ht_set(table, shape->mode, element->hash, element, &entry);
	}
	return table;
}

static void hash_destroy(void *arg)
{
	struct hash_table *table = arg;
	ck_ht_iterator_t at = CK_HT_ITERATOR_INITIALIZER;
	ck_ht_entry_t *entry;

	while (ck_ht_next(&table->ht, &at, &entry))
		free(ck_ht_entry_value(entry));
	ck_ht_destroy(&table->ht);
	free(table);
}

#include "hash_loop.h"
