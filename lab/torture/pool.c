/* SPDX-License-Identifier: MIT */
/* lull torture: the pool of elements, what they and other objects contain, and how they grow old. See torture.h. */
#include "torture/torture.h"

#include <stdlib.h>
#include <string.h>

#include <lull/reclaim.h>

#include "common/options.h"

#define ELEMENTS_PER_UPDATER 64u

/* ---- the pool -------------------------------------------------------------------------------- */

static struct {
	pthread_mutex_t lock;
	struct element *first;
	unsigned count;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

void torture_pool_lock(void)
{
	pthread_mutex_lock(&pool.lock);
}

void torture_pool_unlock(void)
{
	pthread_mutex_unlock(&pool.lock);
}

struct element *torture_pool_get(void)
{
	struct element *e;

	torture_pool_lock();
	e = pool.first;
	if (e) {
		pool.first = e->next;
		pool.count--;
	}
	torture_pool_unlock();
	return e;
}

static void pool_put(struct element *e)
{
	torture_pool_lock();
	e->next = pool.first;
	pool.first = e;
	pool.count++;
	torture_pool_unlock();
}

/* ---- elements and blobs ---------------------------------------------------------------------- */

/* Unique in the run, and never 0. */
static uint64_t new_serial(void)
{
	static uint64_t serials;

	return lull_add_relaxed(&serials, (uint64_t)1) + 1;
}

void torture_fill_element(struct element *e)
{
	uint64_t serial = new_serial();

	e->contents = ~serial;
	lull_store_relaxed(&e->serial, serial);
}

struct blob *torture_new_blob(void)
{
	struct blob *b = malloc(sizeof(*b));

	if (!b)
		options_fail("out of memory");
	b->serial = new_serial();
	b->check[0] = b->check[1] = b->check[2] = ~b->serial;
	return b;
}

struct parcel *torture_new_parcel(void)
{
	struct parcel *p = malloc(sizeof(*p));

	if (!p)
		options_fail("out of memory");
	p->serial = new_serial();
	p->check[0] = p->check[1] = p->check[2] = ~p->serial;
	return p;
}

void torture_pool_init(void)
{
	unsigned i;

	torture.nr_elements = TORTURE_SLOTS + ELEMENTS_PER_UPDATER * torture.updaters;
	torture.elements = options_alloc(torture.nr_elements, sizeof(*torture.elements));
	torture.mailbox = aligned_alloc(TORTURE_LINE, torture.updaters * sizeof(*torture.mailbox));
	if (!torture.mailbox)
		options_fail("out of memory");
	memset(torture.mailbox, 0, torture.updaters * sizeof(*torture.mailbox));
	for (i = 0; i < torture.nr_elements; i++) {
		torture.elements[i].index = i;
		pool_put(&torture.elements[i]);
	}
	for (i = 0; i < TORTURE_SLOTS; i++) {
		struct torture_slot *slot = &torture.slot[i];

		pthread_mutex_init(&slot->update, NULL);
		slot->element = torture_pool_get();
		torture_fill_element(slot->element);
		slot->blob = torture_new_blob();
		slot->parcel = torture_new_parcel();
	}
}

void torture_pool_check(const char *when)
{
	struct lull_reclaim_counts stats;
	unsigned back;

	torture_pool_lock();
	back = pool.count + TORTURE_SLOTS;
	torture_pool_unlock();
	if (back != torture.nr_elements)
		torture_fail("%s: %u elements of %u are published or back in the pool", when, back,
			     torture.nr_elements);
	lull_reclaim_stats(&stats);
	if (stats.items)
		torture_fail("%s: after a barrier lull_reclaim_stats() counts %zu deferred objects",
			     when, stats.items);
}

void torture_pool_free(void)
{
	unsigned i;

	for (i = 0; i < TORTURE_SLOTS; i++) {
		free(torture.slot[i].blob);
		free(torture.slot[i].parcel);
	}
	free(torture.mailbox);
	free(torture.elements);
}

bool torture_grow_older(struct element *e)
{
	uint32_t age = lull_load_relaxed(&e->age) + 1;

	lull_add_relaxed(&torture.circulation[age], (uint64_t)1);
	lull_store_relaxed(&e->age, age);
	if (age < TORTURE_AGES)
		return false;
	lull_store_relaxed(&e->age, 0u);
	pool_put(e);
	return true;
}

void torture_element_defer(struct element *e)
{
	lull_store_relaxed(&e->is_deferred, 1u);
}

bool torture_element_ran(struct element *e)
{
	if (lull_xchg_relaxed(&e->is_deferred, 0u))
		return true;
	torture_fail("the callback of element %u ran twice", e->index);
	return false;
}

void torture_put_in(struct element **list, struct element *e)
{
	e->next = *list;
	*list = e;
}

/* ---- what was found whole is still that ------------------------------------------------------ */

void torture_check_element(const struct element *e, uint64_t serial, struct torture_tally *tally,
			   const char *where)
{
	uint32_t age = lull_load_relaxed(&e->age);

	tally->age[age]++;
	if (age > 1)
		torture_fail("%s: element %u was removed and %u %s%s ended while it was read",
			     where, e->index, age - 1, torture.flavor->wait, age > 2 ? "s" : "");
	else if (lull_load_relaxed(&e->serial) != serial || e->contents != ~serial)
		torture_fail("%s: element %u was used again while it was read", where, e->index);
}

void torture_check_blob(const struct blob *b, uint64_t serial, const char *where)
{
	if (b->serial != serial || b->check[0] != ~serial || b->check[1] != ~serial ||
	    b->check[2] != ~serial)
		torture_fail("%s: memory to be freed later was freed while it was read", where);
}
