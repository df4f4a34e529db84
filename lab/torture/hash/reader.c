/* SPDX-License-Identifier: MIT */
/* lull torture: who looks something up in the hash table. See torture_hash.h. */
#include "torture/hash/torture_hash.h"

#define DUELS 100u

/* ---- one lookup ------------------------------------------------------------------------------ */

static enum hash_turn turn_of(uint32_t turn)
{
	return (enum hash_turn)(turn % TURNS);
}

/* Compare the turns that the updater of @key announced before and after a lookup with its result, @item. */
static void check_turns(uint32_t key, uint32_t before, uint32_t after, const struct hash_item *item)
{
	if (before != after)
		return;
	if (!item && turn_of(before) == TURN_THERE)
		torture_fail("a lookup did not find key %u, which was in the table all the time", key);
	else if (item && turn_of(before) == TURN_GONE)
		torture_fail("a lookup found key %u, which was never in the table meanwhile", key);
}

/* In a read section. Half of the time one that is always there. */
static struct hash_item *look_up(uint32_t key, uint64_t *serial)
{
	uint32_t before = lull_load_acquire(&torture_hashes.key[key].turn), after;
	struct hash_item *item = lull_hash_lookup_entry(&torture_hashes.table, torture_hash_of(key),
							torture_hash_match, &key, struct hash_item, node);

	/* All that the lookup loaded, it loaded as an acquire. */
	after = lull_load_relaxed(&torture_hashes.key[key].turn);
	check_turns(key, before, after, item);
	if (!item)
		return NULL;
	*serial = item->serial;
	if (item->contents != ~*serial)
		torture_fail("a reader saw the item of key %u before its contents", key);
	return item;
}

static uint32_t any_key(uint64_t *rng)
{
	return (uint32_t)torture_random(rng, torture_once_in(rng, 2) ? HASH_STEADY : HASH_KEYS);
}

static void count_found(const struct hash_item *item)
{
	lull_add_relaxed(item ? &torture_hashes.found : &torture_hashes.missed, (uint64_t)1);
}

/* @t: whose tally; @rng: the handler's or not. */
static void lookup_shortly(struct torture_tally *tally, uint64_t *rng, uint64_t ns, const char *where)
{
	uint32_t key = any_key(rng);
	struct hash_item *item;
	uint64_t serial;

	lull_rcu_read_lock();
	item = look_up(key, &serial);
	torture_spin_ns(torture_random(rng, ns));
	if (item)
		torture_item_check(item, key, serial, tally, where);
	tally->sections++;
	lull_rcu_read_unlock();
	count_found(item);
}

/* ---- others ---------------------------------------------------------------------------------- */

/* Found in a section, and kept beyond it. */
static void keep(struct torturer *t)
{
	struct lull_hazptr *h = lull_hazptr_alloc(lull_hazptr_thread_context());
	uint32_t key = any_key(&t->rng) & ~3u;
	struct hash_item *item;
	uint64_t serial;

	if (!h)
		return;
	lull_rcu_read_lock();
	item = look_up(key, &serial);
	if (item)
		lull_hazptr_protect_rcu(h, item, head);
	lull_rcu_read_unlock();
	torture_linger(&t->rng);
	if (item)
		torture_item_check(item, key, serial, &t->tally, "kept by a hazard pointer");
	lull_hazptr_free(lull_hazptr_thread_context(), h);
	t->tally.sections++;
	lull_add_relaxed(&torture_hashes.kept, (uint64_t)1);
}

/* Each steady key is met, whatever else happens. */
static void walk(struct torturer *t)
{
	bool met[HASH_STEADY] = { false };
	struct lull_hash_iter iter;
	struct hash_item *item;
	uint32_t key;

	lull_rcu_read_lock();
	lull_hash_for_each_entry(item, &iter, &torture_hashes.table, node) {
		torture_item_check(item, item->key, item->serial, &t->tally, "met in a walk");
		if (item->key < HASH_STEADY)
			met[item->key] = true;
	}
	lull_rcu_read_unlock();
	for (key = 0; key < HASH_STEADY; key++)
		if (!met[key]) {
			torture_fail("a walk did not meet key %u, which was in the table all the time", key);
			break;
		}
	t->tally.sections++;
	lull_add_relaxed(&torture_hashes.walks, (uint64_t)1);
}

void torture_hash(struct torturer *t)
{
	uint32_t key = any_key(&t->rng);
	struct hash_item *item;
	uint64_t serial;

	if (torture_once_in(&t->rng, 4)) {
		keep(t);
		return;
	}
	if (torture_once_in(&t->rng, 32)) {
		walk(t);
		return;
	}
	lull_rcu_read_lock();
	item = look_up(key, &serial);
	torture_linger(&t->rng);
	if (torture_once_in(&t->rng, 8))
		lookup_shortly(&t->tally, &t->rng, 2000, "inner section");
	if (item)
		torture_item_check(item, key, serial, &t->tally, "section");
	t->tally.sections++;
	lull_rcu_read_unlock();
	count_found(item);
}

void torture_hash_shortly(struct torturer *t, const char *where)
{
	lookup_shortly(&t->tally, &t->rng, torture_once_in(&t->rng, 4) ? 30000 : 2000, where);
}

void torture_hash_in_handler(struct torturer *t)
{
	lookup_shortly(&t->handler_tally, &t->handler_rng, 3000, "signal handler");
}

/* ---- readers --------------------------------------------------------------------------------- */

/* Without delays, so that many meet a resize. */
static void duel(struct torturer *t)
{
	unsigned n;

	for (n = 0; n < DUELS; n++)
		lookup_shortly(&t->tally, &t->rng, 200, "short section");
}

static void burst(struct torturer *t)
{
	uint64_t n;

	torture_doing("looking up");
	if (torture_once_in(&t->rng, 2))
		duel(t);
	for (n = torture_random(&t->rng, 50); n; n--)
		torture_hash(t);
}

void *torture_hash_reader(void *arg)
{
	return torture_rounds(arg, &torture.active_readers, burst);
}
