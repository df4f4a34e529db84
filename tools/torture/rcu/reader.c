/* SPDX-License-Identifier: MIT */
/* lull torture: readers of RCU, ordinary, online, and in signal handlers. See torture.h. */
#include "torture/torture.h"

#include <sched.h>
#include <sys/mman.h>

#include "common/options.h"

/* ---- what a section sees --------------------------------------------------------------------- */

void torture_glimpse(struct glimpse *g, uint64_t *rng)
{
	struct torture_slot *slot = &torture.slot[torture_random(rng, TORTURE_SLOTS)];

	g->element = lull_rcu_dereference(slot->element);
	g->serial = lull_load_relaxed(&g->element->serial);
	if (g->element->contents != ~g->serial)
		torture_fail("element %u was seen before its contents", g->element->index);
	g->blob = lull_rcu_dereference(slot->blob);
	g->blob_serial = g->blob->serial;
	g->number = lull__self.rcu & ~(uint64_t)LULL__RCU_LOW;
}

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

void torture_glimpse_end(const struct glimpse *g, struct torture_tally *tally, const char *where)
{
	uint64_t batch = (lull_load_relaxed(&lull__rcu_gp) - g->number) / LULL__RCU_STEP;

	tally->sections++;
	tally->batch[batch < TORTURE_AGES ? batch : TORTURE_AGES]++;
	torture_check_element(g->element, g->serial, tally, where);
	torture_check_blob(g->blob, g->blob_serial, where);
}

/* ---- delays ---------------------------------------------------------------------------------- */

void torture_linger(uint64_t *rng)
{
	uint64_t dice = torture_random(rng, 2000);

	if (torture.read_delay_us)
		torture_sleep_us(torture_random(rng, torture.read_delay_us + 1));
	if (dice < 800)
		return;
	else if (dice < 1800)
		torture_spin_ns(torture_random(rng, 4000));
	else if (dice < 1960)
		torture_spin_ns(torture_random(rng, 30000));
	else if (dice < 1990)
		sched_yield();
	else if (dice < 1999)
		torture_sleep_us(torture_random(rng, 200));
	else
		torture_sleep_us(torture_random(rng, 20000));
}

#define COLD_BYTES ((size_t)32 << 20) /* more than fits into the caches */
#define COLD_STORES 48u		      /* about as many as a store buffer holds */

static char *cold;

void torture_read_init(void)
{
	cold = mmap(NULL, COLD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (cold == MAP_FAILED)
		options_fail("out of memory");
	/*
	 * Else each fork makes every store to it a page fault, and a fault empties the store
	 * buffer.
	 */
	madvise(cold, COLD_BYTES, MADV_DONTFORK);
}

void torture_fill_store_buffer(uint64_t *rng)
{
	unsigned i;

	for (i = 0; i < COLD_STORES; i++)
		lull_store_relaxed(&cold[torture_random(rng, COLD_BYTES)], (char)i);
}

/* ---- sections -------------------------------------------------------------------------------- */

void torture_read_mailbox(uint64_t *rng)
{
	const struct torture_mailbox *box = &torture.mailbox[torture_random(rng, torture.updaters)];
	uint64_t before, after;

	if (torture_once_in(rng, 2)) {
		before = lull_load_relaxed(&box->before);
		torture_linger(rng);
		after = lull_load_relaxed(&box->after);
	} else {
		after = lull_load_relaxed(&box->after);
		torture_linger(rng);
		before = lull_load_relaxed(&box->before);
	}
	if (after > before)
		torture_fail("a section saw letter %llu, written after a grace period, and before "
			     "it only letter %llu",
			     (unsigned long long)after, (unsigned long long)before);
}

/* A grace period asked for in a section cannot end in it. */
static void poll_in_section(uint64_t *rng)
{
	lull_rcu_cookie cookie = lull_rcu_gp_start();
	unsigned n;

	for (n = (unsigned)torture_random(rng, 4); n; n--) {
		torture_spin_ns(torture_random(rng, 2000));
		if (lull_rcu_gp_poll(cookie)) {
			torture_fail("a grace period asked for in a section ended in it");
			return;
		}
	}
}

static void nested_section(struct torturer *t, unsigned depth)
{
	struct glimpse g;

	lull_rcu_read_lock();
	torture_glimpse(&g, &t->rng);
	if (depth)
		nested_section(t, depth - 1);
	torture_linger(&t->rng);
	torture_glimpse_end(&g, &t->tally, "nested section");
	lull_rcu_read_unlock();
}

void torture_section(struct torturer *t)
{
	uint64_t *rng = &t->rng;
	bool fill = torture_once_in(rng, 3);
	struct glimpse g;

	if (fill)
		torture_fill_store_buffer(rng);
	lull_rcu_read_lock();
	torture_glimpse(&g, rng);
	if (fill)
		torture_spin_ns(torture_random(rng, 4000));
	else
		torture_linger(rng);
	if (torture_once_in(rng, 8))
		nested_section(t, (unsigned)torture_random(rng, 4));
	if (torture_once_in(rng, 8))
		torture_read_mailbox(rng);
	if (torture_once_in(rng, 64))
		poll_in_section(rng);
	torture_glimpse_end(&g, &t->tally, "section");
	lull_rcu_read_unlock();
}

/*
 * What a fence between the word and the first load is for: the word waits in the store buffer, the
 * load does not. Short and always the same, on what updater 0 changes most, because everything has
 * to meet within a fraction of a microsecond.
 */
static void duel(struct torturer *t)
{
	const struct torture_mailbox *box = &torture.mailbox[0];
	uint64_t before, after, ns = torture_random(&t->rng, 2000);

	torture_fill_store_buffer(&t->rng);
	lull_rcu_read_lock();
	before = lull_load_relaxed(&box->before);
	torture_spin_ns(ns);
	after = lull_load_relaxed(&box->after);
	if (after > before)
		torture_fail("a section saw letter %llu, written after a grace period, and before "
			     "it only letter %llu",
			     (unsigned long long)after, (unsigned long long)before);
	lull_rcu_read_unlock();
}

/* ---- readers --------------------------------------------------------------------------------- */

static void ordinary_burst(struct torturer *t)
{
	uint64_t n;

	if (torture_once_in(&t->rng, 2))
		for (n = 200; n; n--)
			duel(t);
	for (n = torture_random(&t->rng, 100); n; n--)
		torture_section(t);
}

static void burst(struct torturer *t)
{
	torture_doing("reading");
	if (!torture.without[PART_ONLINE] && torture_once_in(&t->rng, 3))
		torture_online_burst(t);
	else
		ordinary_burst(t);
}

void *torture_reader(void *arg)
{
	return torture_rounds(arg, &torture.active_readers, burst);
}

/* ---- in passing ------------------------------------------------------------------------------ */

void torture_short_section(struct torturer *t, const char *where)
{
	struct glimpse g;

	lull_rcu_read_lock();
	torture_glimpse(&g, &t->rng);
	torture_spin_ns(torture_random(&t->rng, torture_once_in(&t->rng, 4) ? 30000 : 2000));
	torture_glimpse_end(&g, &t->tally, where);
	lull_rcu_read_unlock();
}

void torture_section_in_handler(struct torturer *t)
{
	struct glimpse g;

	lull_rcu_read_lock();
	torture_glimpse(&g, &t->handler_rng);
	torture_spin_ns(torture_random(&t->handler_rng, 3000));
	torture_glimpse_end(&g, &t->handler_tally, "signal handler");
	lull_rcu_read_unlock();
}
