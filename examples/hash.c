/* SPDX-License-Identifier: MIT */
/*
 * Prices of shares: a hash table by name that many threads read while one replaces the entries. A
 * price is a bid and an ask that belong together, so it is never changed in place: the writer
 * makes a new entry, puts it in the place of the old, and has that freed once no reader can have
 * it any more.
 */
#include <lull/hash.h>
#include <lull/rcu.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARES	1000
#define ROUNDS	20
#define READERS 2

struct price {
	struct lull_hash_node node;
	char name[16];
	int bid, ask; /* the bid is always one less than the ask */
};

static struct lull_hash prices;
static bool finished;

static inline bool price_match(const struct lull_hash_node *node, const void *name)
{
	return strcmp(lull_hash_entry(node, struct price, node)->name, (const char *)name) == 0;
}

/* In a read section; the price is good until the section ends. */
static const struct price *price_of(const char *name)
{
	return lull_hash_lookup_entry(&prices, lull_hash_string(name, 0), price_match, name,
				      struct price, node);
}

static void price_set(const char *name, int bid)
{
	struct price *price = malloc(sizeof(*price));
	uint64_t hash = lull_hash_string(name, 0);
	struct lull_hash_node *old;

	if (!price)
		abort();
	snprintf(price->name, sizeof(price->name), "%s", name);
	price->bid = bid;
	price->ask = bid + 1;
	old = lull_hash_replace(&prices, &price->node, hash, price_match, name);
	lull_rcu_free(lull_hash_entry_or_null(old, struct price, node));
}

static void share_name(char name[16], unsigned share)
{
	snprintf(name, 16, "SHARE-%u", share % SHARES);
}

/* Read prices until told to stop. All shares are there all the time, and no price is half old. */
static void *reader(void *wrong)
{
	char name[16];

	for (unsigned share = 0; !lull_load_relaxed(&finished); share++) {
		const struct price *price;

		share_name(name, share);
		lull_rcu_read_lock();
		price = price_of(name);
		if (!price || price->ask != price->bid + 1)
			*(bool *)wrong = true;
		lull_rcu_read_unlock();
	}
	return NULL;
}

static void price_gone(struct lull_hash_node *node, void *unused)
{
	(void)unused;
	free(lull_hash_entry(node, struct price, node));
}

int main(void)
{
	bool wrong[READERS] = { false };
	struct lull_hash_iter iter;
	pthread_t thread[READERS];
	struct price *price;
	long sum = 0;
	char name[16];

	if (lull_hash_init(&prices, NULL) != 0)
		abort();
	for (unsigned share = 0; share < SHARES; share++) {
		share_name(name, share);
		price_set(name, 100);
	}
	for (int i = 0; i < READERS; i++) {
		if (pthread_create(&thread[i], NULL, reader, &wrong[i]) != 0)
			abort();
	}

	for (int round = 1; round <= ROUNDS; round++) {
		for (unsigned share = 0; share < SHARES; share++) {
			share_name(name, share);
			price_set(name, 100 + round);
		}
	}
	/* Readers go on while the table is made ten times as large, and small again. */
	if (lull_hash_resize(&prices, 16384) != 0 || lull_hash_resize(&prices, 1024) != 0)
		abort();

	lull_store_relaxed(&finished, true);
	for (int i = 0; i < READERS; i++) {
		pthread_join(thread[i], NULL);
		if (wrong[i]) {
			fprintf(stderr, "a reader missed a price, or saw half of one\n");
			return 1;
		}
	}
	lull_rcu_read_lock();
	lull_hash_for_each_entry(price, &iter, &prices, node)
		sum += price->bid;
	lull_rcu_read_unlock();
	printf("%zu shares in %zu buckets, bids add up to %ld\n", lull_hash_count(&prices),
	       lull_hash_buckets(&prices), sum);

	lull_hash_destroy(&prices, price_gone, NULL);
	lull_rcu_barrier(); /* the last old prices are freed: nothing is leaked */
	return 0;
}
