/* SPDX-License-Identifier: MIT */
/*
 * full_objects.h - for inside/everything.c: objects that are deferred in each way and kept by each kind of slot, and all else that a
 * process has: refs, locks, a table, a domain, a batch of callbacks that runs.
 */
#ifndef TESTS_LIFE_FULL_OBJECTS_H
#define TESTS_LIFE_FULL_OBJECTS_H

#include <errno.h>

#include <lull/cohort.h>
#include <lull/cond.h>
#include <lull/hazptr_pool.h>
#include <lull/percpu_ref.h>
#include <lull/percpu_rwsem.h>
#include <lull/rcu_domain.h>
#include <lull/shazptr.h>
#include <lull/stats.h>

#include "child.h"
#include "hash/support.h"
#include "threads.h"

#include "../src/base/registry.h"
#include "../src/domain/domain.h"
#include "../src/hazptr/shazptr_scan.h"
#include "../src/reclaim/backlog.h"

/* ---- deferred objects, and who keeps them ------------------------------------------------------------------- */

/* In this order: those that a child keeps, and those that are gone there. */
enum keeper {
	NOBODY,
	OWN_SLOT, OWN_HOLD, DETACHED_HOLD, HEAP_CONTEXT, STACK_CONTEXT, OWN_POOL, THEIR_POOL, ENDED_POOL,
	THEIR_SLOT, THEIR_HOLD, THEIR_CONTEXT,
	KEEPERS
};

enum deferrer { BY_MAIN, BY_READER, BY_ENDED, DEFERRERS };

struct object {
	struct lull_cohort_head c; /* slots name its address, the object's */
	enum keeper keeper;
	enum deferrer deferrer;
	const struct kind *kind;
	struct lull_hazptr *slot;
	struct lull_hazptr_hold hold;
	void *memory; /* of a kind that frees: it stands for the object */
	int ran;
};

static struct lull_cohort cohort;

static void ran(struct lull_head *head)
{
	lull_add_release(&lull_container_of(head, struct object, c.head)->ran, 1);
}

static void member_ran(struct lull_cohort_head *head)
{
	ran(&head->head);
}

static void by_rcu_call(struct object *o, size_t bytes)
{
	lull_rcu_call_sized(&o->c.head, ran, bytes);
}

static void by_rcu_pure(struct object *o, size_t bytes)
{
	lull_rcu_call_pure_sized(&o->c.head, ran, bytes);
}

static void by_rcu_free(struct object *o, size_t bytes)
{
	lull_rcu_free_sized(o->memory, bytes);
}

static void by_hazptr_call(struct object *o, size_t bytes)
{
	lull_hazptr_call_sized(&o->c.head, ran, bytes);
}

static void by_hazptr_pure(struct object *o, size_t bytes)
{
	lull_hazptr_call_pure_sized(&o->c.head, ran, bytes);
}

static void by_retire(struct object *o, size_t bytes)
{
	lull_hazptr_retire_sized(o->memory, bytes);
}

static void by_bridge(struct object *o, size_t bytes)
{
	lull_rcu_call_hazptr_sized(&o->c.head, ran, bytes);
}

static void by_cohort_rcu(struct object *o, size_t bytes)
{
	lull_cohort_call_rcu_sized(&cohort, &o->c, member_ran, bytes);
}

static void by_cohort_hazptr(struct object *o, size_t bytes)
{
	lull_cohort_call_hazptr_sized(&cohort, &o->c, member_ran, bytes);
}

static void by_cohort_bridge(struct object *o, size_t bytes)
{
	lull_cohort_call_rcu_hazptr_sized(&cohort, &o->c, member_ran, bytes);
}

static const struct kind {
	void (*defer)(struct object *o, size_t bytes);
	bool slots; /* keep it */
	bool frees;
	bool soon; /* nothing holds one up that nobody keeps: its own thread may reclaim it at any time */
	bool is_member;
} kinds[] = {
	{ by_rcu_call, false, false, false, false },
	{ by_rcu_pure, false, false, false, false },
	{ by_rcu_free, false, true, false, false },
	{ by_hazptr_call, true, false, false, false },
	{ by_hazptr_pure, true, false, true, false },
	{ by_retire, true, true, true, false },
	{ by_bridge, true, false, false, false },
	{ by_cohort_rcu, false, false, false, true },
	{ by_cohort_hazptr, true, false, false, true },
	{ by_cohort_bridge, true, false, false, true },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), MOST = KINDS * (KEEPERS + DEFERRERS) };

static struct object objects[MOST];
static int many;

static struct lull_hazptr_context *context[KEEPERS];

static size_t size_of(const struct object *o)
{
	return 100 + 16 * (size_t)(o - objects);
}

static const void *name_of(const struct object *o)
{
	return o->memory ? o->memory : o;
}

static bool child_keeps(const struct object *o)
{
	return o->keeper != NOBODY && o->keeper < THEIR_SLOT;
}

static void new_object(const struct kind *kind, enum keeper keeper, enum deferrer deferrer)
{
	struct object *o = &objects[many++];

	o->kind = kind;
	o->keeper = keeper;
	o->deferrer = deferrer;
	o->memory = kind->frees ? malloc(size_of(o)) : NULL;
}

static void make_objects(void)
{
	for (const struct kind *kind = kinds; kind < kinds + KINDS; kind++) {
		for (int deferrer = 0; deferrer < DEFERRERS && !kind->soon; deferrer++)
			new_object(kind, NOBODY, (enum deferrer)deferrer);
		for (int keeper = NOBODY + 1; keeper < KEEPERS && kind->slots; keeper++)
			new_object(kind, (enum keeper)keeper, BY_MAIN);
	}
}

static struct lull_hazptr *slot_for(enum keeper keeper)
{
	if (keeper == OWN_POOL || keeper == THEIR_POOL || keeper == ENDED_POOL)
		return lull_hazptr_pool_get();
	return lull_hazptr_alloc(context[keeper] ? context[keeper] : lull_hazptr_thread_context());
}

static bool is_hold(enum keeper keeper)
{
	return keeper == OWN_HOLD || keeper == DETACHED_HOLD || keeper == THEIR_HOLD;
}

static void keep(enum keeper keeper)
{
	for (struct object *o = objects; o < objects + many; o++) {
		const void *source = name_of(o);

		if (o->keeper != keeper)
			continue;
		if (is_hold(keeper)) {
			must(lull_hazptr_acquire(&o->hold, &source) == name_of(o));
			if (keeper == DETACHED_HOLD)
				lull_hazptr_detach(&o->hold);
			continue;
		}
		o->slot = slot_for(keeper);
		must(o->slot);
		lull_hazptr_set(o->slot, source);
	}
}

static void let_go(enum keeper keeper)
{
	for (struct object *o = objects; o < objects + many; o++) {
		if (o->keeper != keeper)
			continue;
		if (is_hold(keeper))
			lull_hazptr_release(&o->hold, name_of(o));
		else if (keeper == OWN_POOL || keeper == THEIR_POOL || keeper == ENDED_POOL)
			lull_hazptr_pool_put(o->slot);
		else
			lull_hazptr_free(context[keeper] ? context[keeper] : lull_hazptr_thread_context(), o->slot);
	}
}

/* What one keeps, or what nobody does. */
static void defer(enum deferrer deferrer, bool kept)
{
	for (struct object *o = objects; o < objects + many; o++)
		if (o->deferrer == deferrer && (o->keeper != NOBODY) == kept)
			o->kind->defer(o, size_of(o));
}

/* ---- all else ----------------------------------------------------------------------------------------------- */

enum { HASHED = 66, REFS = 3, CALLED = 6, PLAIN = 300, PLAIN_BYTES = 16 }; /* more than a chunk of a queue has */

static struct lull_hash table;
static struct lull_mutex own_lock, their_lock, cond_lock;
static struct lull_cond cond;
static struct lull_percpu_rwsem read_by_two, own_written, their_written;
static struct lull_rcu_domain domain;
static struct lull_head domain_heads[CALLED];
static int domain_gone, released, child_may, stage, arrived, domain_starting, domain_may_start, woken;
static struct lull_percpu_ref refs[REFS]; /* lives; killed, and used; killed or about to be when readers came */
static const int references[REFS] = { 8, 5, 3 };
static char own_simple, their_simple;
static struct lull_shazptr_guard own_guard;
static struct lull_hazptr *spare[3 * LULL_HAZPTR_SLOTS];

static void counts_domain(struct lull_head *unused)
{
	(void)unused;
	lull_add_release(&domain_gone, 1);
}

static void note_release(struct lull_percpu_ref *unused)
{
	(void)unused;
	lull_add_release(&released, 1);
}

/* The thread of the domains is not yet there at the fork. */
static void starts(const char *name)
{
	if (strcmp(name, "lull-domain") != 0 || lull_load_acquire(&child_may))
		return;
	lull_store_release(&domain_starting, 1);
	await_flag(&domain_may_start, 1);
}

static void set_mode_and_start(enum lull_reclaim_mode mode)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.mode = mode;
	config.thread_start = starts;
	must(lull_reclaim_configure(&config) == 0);
}

/* ---- a batch of callbacks, the second of which is running ---------------------------------------------------- */

enum { BATCH = 5, BATCH_BYTES = 48 };

static struct object batch[BATCH];
static int begun, may_return;

static void runs_long(struct lull_head *head)
{
	lull_store_release(&begun, 1);
	await_flag(&may_return, 1);
	ran(head);
}

static void start_batch(void)
{
	set_mode_and_start(LULL_RECLAIM_POLL);
	for (int i = 0; i < BATCH; i++)
		lull_hazptr_call_sized(&batch[i].c.head, i == 1 ? runs_long : ran, BATCH_BYTES);
	set_mode_and_start(LULL_RECLAIM_THREAD);
	await_flag(&begun, 1);
}

#endif
