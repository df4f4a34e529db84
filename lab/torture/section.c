/* SPDX-License-Identifier: MIT */
/* lull torture: read sections of RCU, which other flavors have as well. See torture.h. */
#include "torture/torture.h"

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

void torture_glimpse_end(const struct glimpse *g, struct torture_tally *tally, const char *where)
{
	uint64_t batch = (lull_load_relaxed(&lull__rcu_gp) - g->number) / LULL__RCU_STEP;

	tally->sections++;
	tally->batch[batch < TORTURE_AGES ? batch : TORTURE_AGES]++;
	torture_check_element(g->element, g->serial, tally, where);
	torture_check_blob(g->blob, g->blob_serial, where);
}

/* ---- sections -------------------------------------------------------------------------------- */

static void check_letters(uint64_t before, uint64_t after)
{
	if (after > before)
		torture_fail("a section saw letter %llu, written after a grace period, and before "
			     "it only letter %llu",
			     (unsigned long long)after, (unsigned long long)before);
}

void torture_check_mailbox(const struct torture_mailbox *box, uint64_t ns)
{
	uint64_t before = lull_load_relaxed(&box->before);

	torture_spin_ns(ns);
	check_letters(before, lull_load_relaxed(&box->after));
}

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
	check_letters(before, after);
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

void torture_churn_online(struct torturer *t)
{
	lull_rcu_online();
	torture_short_section(t, "online section");
	lull_rcu_quiescent();
	if (torture_once_in(&t->rng, 2))
		lull_rcu_offline(); /* else it exits, or unregisters, online */
}

/* ---- a use in the simplest form, for forked children ----------------------------------------- */

void torture_rcu_wait_for(struct element *e)
{
	static uint32_t count;

	(void)e;
	if (count++ % 2)
		lull_rcu_synchronize();
	else
		lull_rcu_gp_wait(lull_rcu_gp_start());
}

struct element *torture_rcu_begin(struct torture_use *use, struct element **where)
{
	(void)use;
	lull_rcu_read_lock();
	return lull_rcu_dereference(*where);
}

void torture_rcu_end(struct torture_use *use)
{
	(void)use;
	lull_rcu_read_unlock();
}
