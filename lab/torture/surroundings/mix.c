/* SPDX-License-Identifier: MIT */
/*
 * lull torture --flavor wild: a bit of everything, by threads that live with anything that fails. See surroundings.h.
 *
 * Things are published in slots, one kind of protection each, replaced, and retired in the ways that this protection
 * has. A reader that found a thing must find it unchanged until it releases it. A callback marks a thing before it
 * frees it.
 */
#include "torture/surroundings/surroundings.h"

#include <stdlib.h>
#include <string.h>

#include <lull/bridge.h>
#include <lull/cond.h>
#include <lull/hash.h>
#include <lull/hazptr.h>
#include <lull/mutex.h>
#include <lull/percpu_ref.h>
#include <lull/reclaim.h>
#include <lull/shazptr.h>

#include "common/clock.h"

#define KEYS 64u
#define LINGER_NS 20000u
#define SOON_NS 200000u
#define SELDOM 64u /* a callback in so many waits for a grace period itself */

enum kind { BY_RCU, BY_HAZPTR, BY_BRIDGE, BY_SHAZPTR, BY_RCU_FREE, BY_RETIRE, NR_KINDS };
enum state { IN_USE = 0x11fe, RETIRED = 0x2e71, DEAD = 0xdead };

struct thing {
	struct lull_rcu_head head;
	struct lull_hash_node node;
	uint64_t serial, contents; /* ~serial */
	uint32_t state;
	uint32_t key;
	uint32_t process;    /* that owned it when it was retired */
	uint32_t takes_lock; /* its callback does, like the thread that deferred it */
};

static struct {
	struct thing *slot[NR_KINDS];
	struct lull_hash table;
	bool has_table;
	struct lull_percpu_ref ref;
	bool has_ref;
	uint32_t ref_is_gone;
	struct lull_mutex lock;
	struct lull_cond changed;
	uint64_t left, right; /* under the lock, the same */
	uint32_t process;
	uint64_t serials, posted, ran;
} mix;

/* ---- things ---------------------------------------------------------------------------------- */

static struct thing *new_thing(uint32_t key, size_t bytes)
{
	struct thing *t = calloc(1, bytes > sizeof(*t) ? bytes : sizeof(*t));

	if (!t)
		return NULL;
	t->serial = lull_add_relaxed(&mix.serials, (uint64_t)1) + 1;
	t->contents = ~t->serial;
	t->key = key;
	lull_store_relaxed(&t->state, (uint32_t)IN_USE);
	return t;
}

/* Free @t. With a fault in the library keep the memory, so that a callback that comes too often finds something. */
static void free_thing(struct thing *t)
{
	lull_store_relaxed(&t->state, (uint32_t)DEAD);
	t->contents = 0;
	if (!torture.fault_name || torture.use_fault)
		free(t);
}

static void thing_gone(struct lull_rcu_head *head)
{
	struct thing *t = lull_container_of(head, struct thing, head);

	if (lull_load_relaxed(&t->state) != RETIRED) {
		torture_fail("a callback ran twice, or was never deferred");
		return;
	}
	if (t->takes_lock) {
		lull_mutex_lock(&mix.lock);
		lull_mutex_unlock(&mix.lock);
	}
	if (t->serial % SELDOM == 0 && !wild_has(WILD_CALLER))
		lull_rcu_synchronize();
	if (t->process == mix.process)
		lull_add_relaxed(&mix.ran, (uint64_t)1);
	free_thing(t);
}

/* Mark @t as retired: no new reader can find it. */
static void will_be_gone(struct thing *t)
{
	t->process = mix.process;
	lull_store_relaxed(&t->state, (uint32_t)RETIRED);
	lull_add_relaxed(&mix.posted, (uint64_t)1);
}

static void check(const struct thing *t, uint64_t serial, const char *where)
{
	if (t->serial != serial || t->contents != ~serial)
		torture_fail("%s: a thing was freed or changed while it was read", where);
	else if (lull_load_relaxed(&t->state) == DEAD)
		torture_fail("%s: a thing was freed while it was read", where);
}

static void linger(uint64_t *rng)
{
	if (torture_once_in(rng, 4))
		torture_spin_ns(torture_random(rng, LINGER_NS));
	if (torture_once_in(rng, 64))
		torture_sleep_us(torture_random(rng, 500));
}

/* ---- readers --------------------------------------------------------------------------------- */

static void look_twice(const struct thing *t, uint64_t *rng, const char *where)
{
	uint64_t serial;

	if (!t)
		return;
	serial = t->serial;
	check(t, serial, where);
	linger(rng);
	check(t, serial, where);
}

static void read_section(enum kind kind, uint64_t *rng)
{
	lull_rcu_read_lock();
	look_twice(lull_rcu_dereference(mix.slot[kind]), rng, "read section");
	lull_rcu_read_unlock();
}

static void read_held(enum kind kind, uint64_t *rng)
{
	struct lull_hazptr_hold hold;
	struct thing *t = lull_hazptr_acquire_member(&hold, &mix.slot[kind], head);

	look_twice(t, rng, "hold");
	lull_hazptr_release(&hold, t);
}

static void read_kept(uint64_t *rng)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *h = lull_hazptr_alloc(ctx);
	const struct thing *t;
	uint64_t serial = 0;

	if (!h)
		return;
	lull_rcu_read_lock();
	t = lull_hazptr_protect_rcu(h, lull_rcu_dereference(mix.slot[BY_BRIDGE]), head);
	if (t)
		serial = t->serial;
	lull_rcu_read_unlock();
	linger(rng);
	if (t)
		check(t, serial, "bridge");
	lull_hazptr_free(ctx, h);
}

static void read_named(uint64_t *rng)
{
	struct lull_shazptr_guard guard = lull_shazptr_acquire(&mix.slot[BY_SHAZPTR]);

	look_twice(lull_load_acquire(&mix.slot[BY_SHAZPTR]), rng, "simple hazard pointer");
	lull_shazptr_clear(guard);
}

static void read_one(uint64_t *rng)
{
	enum kind kind = (enum kind)torture_random(rng, NR_KINDS);

	if (kind == BY_HAZPTR || kind == BY_RETIRE)
		read_held(kind, rng);
	else if (kind == BY_BRIDGE)
		read_kept(rng);
	else if (kind == BY_SHAZPTR)
		read_named(rng);
	else
		read_section(kind, rng);
}

/* ---- updaters -------------------------------------------------------------------------------- */

static void defer(struct thing *t, enum kind kind, size_t bytes)
{
	will_be_gone(t);
	if (torture.use_fault == FAULT_FREE_AT_ONCE)
		thing_gone(&t->head);
	else if (kind == BY_HAZPTR)
		lull_hazptr_call_sized(&t->head, thing_gone, bytes);
	else if (kind == BY_BRIDGE)
		lull_rcu_call_hazptr_sized(&t->head, thing_gone, bytes);
	else
		lull_rcu_call_sized(&t->head, thing_gone, bytes);
}

/* A callback that takes a lock may be deferred under it, unless it runs there. */
static void defer_locked(struct thing *t)
{
	t->takes_lock = 1;
	lull_mutex_lock(&mix.lock);
	mix.left++;
	defer(t, BY_RCU, sizeof(*t));
	mix.right++;
	lull_mutex_unlock(&mix.lock);
}

static void wait_for_rcu(uint64_t *rng)
{
	if (torture_once_in(rng, 2)) {
		lull_rcu_synchronize();
	} else {
		lull_rcu_cookie cookie = lull_rcu_gp_start();

		if (!lull_rcu_gp_poll(cookie))
			lull_rcu_gp_wait(cookie);
	}
}

static void retire(struct thing *t, enum kind kind, uint64_t *rng)
{
	if (kind == BY_RCU_FREE) {
		lull_rcu_free(t);
	} else if (kind == BY_RETIRE) {
		lull_hazptr_retire(t);
	} else if (kind == BY_SHAZPTR) {
		lull_shazptr_synchronize(&mix.slot[kind]);
		free_thing(t);
	} else if (kind == BY_RCU && torture_once_in(rng, 8)) {
		wait_for_rcu(rng);
		free_thing(t);
	} else if (kind == BY_HAZPTR && torture_once_in(rng, 8)) {
		lull_hazptr_synchronize(&t->head);
		free_thing(t);
	} else if (kind == BY_RCU && torture_once_in(rng, 4) && !wild_has(WILD_CALLER)) {
		defer_locked(t);
	} else {
		defer(t, kind, sizeof(*t));
	}
}

static void replace_one(uint64_t *rng)
{
	enum kind kind = (enum kind)torture_random(rng, NR_KINDS);
	struct thing *fresh = new_thing(0, 0), *old;

	if (!fresh)
		return;
	old = lull_xchg_acq_rel(&mix.slot[kind], fresh);
	if (old)
		retire(old, kind, rng);
}

bool wild_post(uint64_t *rng, size_t bytes)
{
	struct thing *t = new_thing(0, bytes);

	(void)rng;
	if (t)
		defer(t, BY_RCU, bytes);
	return t;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static bool has_key(const struct lull_hash_node *node, const void *key)
{
	return lull_hash_entry(node, struct thing, node)->key == *(const uint32_t *)key;
}

static void use_hash(uint64_t *rng)
{
	uint32_t key = (uint32_t)torture_random(rng, KEYS);
	uint64_t hash = lull_hash_mix64(key);
	struct lull_hash_node *node;
	struct thing *t;

	if (!mix.has_table)
		return;
	lull_rcu_read_lock();
	node = lull_hash_lookup(&mix.table, hash, has_key, &key);
	look_twice(lull_hash_entry_or_null(node, struct thing, node), rng, "hash table");
	lull_rcu_read_unlock();
	if (torture_once_in(rng, 2)) {
		node = lull_hash_remove(&mix.table, hash, has_key, &key);
		if (node)
			defer(lull_hash_entry(node, struct thing, node), BY_RCU, sizeof(struct thing));
		return;
	}
	t = new_thing(key, 0);
	if (t && lull_hash_insert(&mix.table, &t->node, hash, has_key, &key) != 0)
		free(t);
}

static void use_lock(uint64_t *rng)
{
	uint64_t soon_ns = bench_now_ns() + torture_random(rng, SOON_NS);

	if (torture_once_in(rng, 2))
		lull_mutex_lock(&mix.lock);
	else if (lull_mutex_timedlock(&mix.lock, soon_ns) != 0)
		return;
	if (mix.left != mix.right)
		torture_fail("two threads were inside of one mutex");
	mix.left++;
	linger(rng);
	mix.right++;
	if (torture_once_in(rng, 8))
		lull_cond_timedwait(&mix.changed, &mix.lock, soon_ns);
	lull_mutex_unlock(&mix.lock);
	lull_cond_signal(&mix.changed);
}

static void ref_gone(struct lull_percpu_ref *ref)
{
	(void)ref;
	lull_add_release(&mix.ref_is_gone, 1u);
}

static void use_ref(uint64_t *rng)
{
	struct lull_percpu_ref own;

	if (mix.has_ref && lull_percpu_ref_tryget_live(&mix.ref)) {
		linger(rng);
		lull_percpu_ref_put(&mix.ref);
	}
	if (!torture_once_in(rng, 8) || lull_percpu_ref_init(&own, ref_gone, 0) != 0)
		return;
	lull_percpu_ref_get(&own);
	lull_percpu_ref_put(&own);
	lull_percpu_ref_exit(&own);
}

void wild_mix(uint64_t *rng, unsigned n)
{
	while (n-- && !torture_failed()) {
		switch (torture_random(rng, 10)) {
		case 0:
			use_hash(rng);
			break;
		case 1:
			use_lock(rng);
			break;
		case 2:
			use_ref(rng);
			break;
		case 3:
		case 4:
			replace_one(rng);
			break;
		default:
			read_one(rng);
		}
	}
}

/* ---- its begin and end ----------------------------------------------------------------------- */

void wild_mix_init(void)
{
	static const struct lull_hash_config small = { .buckets = 2, .flags = LULL_HASH_SHRINK };

	mix.has_table = lull_hash_init(&mix.table, &small) == 0;
	mix.has_ref = lull_percpu_ref_init(&mix.ref, ref_gone, 0) == 0;
}

void wild_mix_child(void)
{
	uint32_t process = mix.process + 1;

	/* Threads that are not here may have held its locks. */
	memset(&mix, 0, sizeof(mix));
	mix.process = process;
	wild_mix_init();
}

static void gone(struct lull_hash_node *node, void *unused)
{
	(void)unused;
	free(lull_hash_entry(node, struct thing, node));
}

/* Callbacks run without anybody's help, unless it was said that the program helps. */
static void wait_until_all_ran(void)
{
	uint64_t since_ns = bench_now_ns();

	while (lull_load_relaxed(&mix.ran) != lull_load_relaxed(&mix.posted)) {
		if (wild_is_overdue(since_ns)) {
			torture_fail("%llu callbacks of %llu have run, and the others are left lying",
				     (unsigned long long)mix.ran, (unsigned long long)mix.posted);
			return;
		}
		if (wild_has(WILD_POLL))
			lull_reclaim_poll(SIZE_MAX, 0);
		/* The library tries again to make a thread only when it is used, so use it. */
		if (wild_has(WILD_NO_THREADS) || wild_has(WILD_NO_MEMORY) || wild_has(WILD_FAIL_THREADS))
			lull_rcu_synchronize();
		torture_sleep_us(1000);
	}
}

void wild_mix_settle(bool alone)
{
	struct lull_reclaim_counts waiting;

	if (alone && !wild_has(WILD_CALLER))
		wait_until_all_ran();
	if (torture_failed())
		return;
	lull_hazptr_barrier();
	if (mix.ran != mix.posted)
		torture_fail("%llu callbacks of %llu have run after a barrier", (unsigned long long)mix.ran,
			     (unsigned long long)mix.posted);
	lull_reclaim_stats(&waiting);
	if (waiting.items)
		torture_fail("after a barrier lull_reclaim_stats() counts %zu deferred objects", waiting.items);
	if (mix.left != mix.right)
		torture_fail("a mutex was left with a thread inside");
}

void wild_mix_end(void)
{
	unsigned i;

	for (i = 0; i < NR_KINDS; i++)
		free(mix.slot[i]);
	if (mix.has_table)
		lull_hash_destroy(&mix.table, gone, NULL);
	if (mix.has_ref) {
		uint32_t before = lull_load_relaxed(&mix.ref_is_gone);
		uint64_t since_ns = bench_now_ns();

		lull_percpu_ref_kill(&mix.ref);
		while (lull_load_acquire(&mix.ref_is_gone) == before && !wild_is_overdue(since_ns)) {
			lull_reclaim_poll(SIZE_MAX, 0);
			torture_sleep_us(100);
		}
		if (lull_load_acquire(&mix.ref_is_gone) == before)
			torture_fail("the last reference of a percpu_ref was dropped, and nobody released it");
		lull_percpu_ref_exit(&mix.ref);
	}
	memset(mix.slot, 0, sizeof(mix.slot));
	mix.has_table = mix.has_ref = false;
}
