/* SPDX-License-Identifier: MIT */
/*
 * lull torture: readers, updaters, threads and children of shazptr. A name is either the place where an element is
 * found, or the element. See torture.h.
 */
#include "torture/flavors.h"
#include "torture/torture.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/options.h"

#define DEPTH_MOST 4u

/* The ways to wait. */
enum shaz_form { SHAZ_SYNC, SHAZ_ALL, SHAZ_FREE };

static bool is_named_by_place(unsigned slot)
{
	return slot < TORTURE_SLOTS / 2;
}

/* ---- readers --------------------------------------------------------------------------------- */

struct shaz {
	struct lull_shazptr_guard guard;
	struct element *element;
	struct blob *blob; /* NULL: only what is named is safe */
	uint64_t serial, blob_serial;
};

/* The second look tells whether the element was named in time. */
static struct element *name_element(struct lull_shazptr_guard *guard, struct element **where)
{
	for (;;) {
		struct element *e = lull_load_relaxed(where);

		*guard = lull_shazptr_acquire(e);
		if (lull_load_acquire(where) == e)
			return e;
		lull_shazptr_clear(*guard);
	}
}

static void shaz_begin(struct shaz *s, uint64_t *rng)
{
	unsigned nr = (unsigned)torture_random(rng, TORTURE_SLOTS);
	struct torture_slot *slot = &torture.slot[nr];
	bool all = is_named_by_place(nr);

	if (torture_once_in(rng, 8)) {
		s->guard = lull_shazptr_acquire_wildcard();
		all = true;
	} else if (all) {
		s->guard = lull_shazptr_acquire(slot);
	} else {
		s->element = name_element(&s->guard, &slot->element);
	}
	if (all)
		s->element = lull_load_acquire(&slot->element);
	s->blob = is_named_by_place(nr) ? lull_load_acquire(&slot->blob) : NULL;
	s->serial = lull_load_relaxed(&s->element->serial);
	if (s->element->contents != ~s->serial)
		torture_fail("element %u was seen before its contents", s->element->index);
	if (s->blob)
		s->blob_serial = s->blob->serial;
}

static void shaz_end(struct shaz *s, struct torture_tally *tally, const char *where)
{
	tally->sections++;
	torture_check_element(s->element, s->serial, tally, where);
	if (s->blob)
		torture_check_blob(s->blob, s->blob_serial, where);
	lull_shazptr_clear(s->guard);
}

static void shaz_nested(struct torturer *t, unsigned depth)
{
	struct shaz s;

	shaz_begin(&s, &t->rng);
	torture_linger(&t->rng);
	if (depth)
		shaz_nested(t, depth - 1);
	if (depth && torture_once_in(&t->rng, 2))
		shaz_nested(t, depth - 1);
	if (torture_once_in(&t->rng, 2))
		torture_linger(&t->rng);
	shaz_end(&s, &t->tally, depth ? "element that is named" : "element that is named last");
}

/* The one that came first ends first; what the other found stays. */
static void shaz_crossed(struct torturer *t)
{
	struct shaz first, second;

	shaz_begin(&first, &t->rng);
	shaz_begin(&second, &t->rng);
	shaz_end(&first, &t->tally, "element that is named");
	torture_linger(&t->rng);
	shaz_end(&second, &t->tally, "element that was named inside");
}

static void torture_shaz(struct torturer *t)
{
	bool nest = torture_once_in(&t->rng, 4);

	if (torture_once_in(&t->rng, 16))
		shaz_crossed(t);
	else
		shaz_nested(t, nest ? (unsigned)torture_random(&t->rng, DEPTH_MOST) : 0);
}

static void torture_shaz_shortly(struct torturer *t, const char *where)
{
	struct shaz s;

	shaz_begin(&s, &t->rng);
	torture_spin_ns(torture_random(&t->rng, torture_once_in(&t->rng, 4) ? 30000 : 2000));
	shaz_end(&s, &t->tally, where);
}

static void torture_shaz_in_handler(struct torturer *t)
{
	struct shaz s;

	shaz_begin(&s, &t->handler_rng);
	torture_spin_ns(torture_random(&t->handler_rng, 3000));
	shaz_end(&s, &t->handler_tally, "signal handler");
}

static void burst(struct torturer *t)
{
	uint64_t n;

	torture_doing("reading");
	for (n = torture_random(&t->rng, 100); n; n--)
		torture_shaz(t);
}

static void *torture_shaz_reader(void *arg)
{
	return torture_rounds(arg, &torture.active_readers, burst);
}

/* ---- updaters -------------------------------------------------------------------------------- */

struct shaz_updater {
	struct torturer *t;
	struct element *removed;
};

static const void *name_of(const struct element *e)
{
	return is_named_by_place(e->slot) ? (const void *)&torture.slot[e->slot] : e;
}

static void swap_element(struct shaz_updater *u, unsigned nr)
{
	struct torture_slot *slot = &torture.slot[nr];
	struct element *fresh = torture_pool_get(), *old;

	if (!fresh)
		return;
	torture_fill_element(fresh);
	pthread_mutex_lock(&slot->update);
	old = slot->element;
	lull_store_release(&slot->element, fresh);
	pthread_mutex_unlock(&slot->update);
	old->slot = nr;
	torture_grow_older(old);
	torture_put_in(&u->removed, old);
}

/* Make the elements called @name older by one, after a wait for @name. */
static void age(struct shaz_updater *u, const void *name)
{
	struct element **link = &u->removed;

	while (*link) {
		struct element *e = *link, *next = e->next;

		if (name_of(e) == name && torture_grow_older(e))
			*link = next;
		else
			link = &e->next;
	}
}

static void wait_for_last(struct shaz_updater *u)
{
	const void *name;

	if (!u->removed)
		return;
	name = name_of(u->removed);
	torture_wait_begin();
	lull_shazptr_synchronize(name);
	torture_wait_end();
	age(u, name);
}

static void wait_for_all(struct shaz_updater *u)
{
	unsigned i;

	for (i = 0; i < TORTURE_SLOTS; i++)
		if (is_named_by_place(i)) {
			lull_shazptr_synchronize(&torture.slot[i]);
			age(u, &torture.slot[i]);
		}
	wait_for_last(u);
}

static void swap_blob(uint64_t *rng)
{
	struct torture_slot *slot = &torture.slot[torture_random(rng, TORTURE_SLOTS / 2)];
	struct blob *fresh = torture_new_blob(), *old;

	pthread_mutex_lock(&slot->update);
	old = slot->blob;
	lull_store_release(&slot->blob, fresh);
	pthread_mutex_unlock(&slot->update);
	lull_shazptr_synchronize(slot);
	lull_add_relaxed(&torture.blobs, (uint64_t)1);
	old->check[0] = 0;
	free(old);
}

static void update(struct shaz_updater *u)
{
	uint64_t *rng = &u->t->rng;
	enum shaz_form form = torture_once_in(rng, 8)  ? SHAZ_ALL
			      : torture_once_in(rng, 8) ? SHAZ_FREE
							: SHAZ_SYNC;

	lull_add_relaxed(&torture.forms[form], (uint64_t)1);
	torture_doing(torture.flavor->form[form]);
	if (form == SHAZ_FREE) {
		swap_blob(rng);
		return;
	}
	swap_element(u, (unsigned)torture_random(rng, TORTURE_SLOTS));
	if (form == SHAZ_ALL)
		wait_for_all(u);
	else
		wait_for_last(u);
}

static void flush(struct shaz_updater *u)
{
	torture_doing("sending what it removed down the pipe");
	while (u->removed)
		wait_for_last(u);
}

static void *torture_shaz_updater(void *arg)
{
	struct shaz_updater u = { .t = arg };

	torture_me = u.t;
	lull_thread_register();
	torture_timer_start(u.t, TORTURE_SIGNAL_US);
	while (!torture_stopped()) {
		/* One look for both: a pause may begin at any time, and finds nothing removed here. */
		if (lull_load_relaxed(&torture.pausing)) {
			flush(&u);
			torture_pause_point();
		}
		if (u.t->index >= lull_load_relaxed(&torture.active_updaters)) {
			torture_rest(u.t);
			continue;
		}
		update(&u);
		if (torture_once_in(&u.t->rng, 8))
			torture_spin_ns(torture_random(&u.t->rng, 20000));
		torture_update_delay(u.t);
		lull_store_relaxed(&u.t->work, u.t->work + 1);
	}
	flush(&u);
	return NULL;
}

static void torture_shaz_change(uint64_t *rng)
{
	lull_shazptr_set_skip_self_scan(torture_once_in(rng, 2));
}

/* ---- short-lived threads, and forked children ------------------------------------------------ */

/* Leave names behind at the thread's exit, which forgets them. */
static void torture_shaz_die(struct torturer *t)
{
	if (!torture_once_in(&t->rng, 16))
		return;
	lull_shazptr_acquire(&torture.slot[0]);
	if (torture_once_in(&t->rng, 2))
		lull_shazptr_acquire(&torture.slot[1]);
	lull_add_relaxed(&torture.dropped, (uint64_t)1);
}

static struct element *torture_shaz_begin(struct torture_use *use, struct element **where)
{
	return name_element(&use->guard, where);
}

static void torture_shaz_end(struct torture_use *use)
{
	lull_shazptr_clear(use->guard);
}

static void torture_shaz_wait_for(struct element *e)
{
	lull_shazptr_synchronize(e);
}

static void torture_shaz_wait_any(void)
{
	static struct element nobodys;

	lull_shazptr_synchronize(&nobodys);
}

/* The child names what the forking thread named. */
static pid_t torture_shaz_fork(struct torturer *t)
{
	uint64_t how = torture_random(&t->rng, 3);
	struct shaz outer, inner;
	pid_t pid;

	if (how)
		shaz_begin(&outer, &t->rng);
	if (how == 2)
		shaz_begin(&inner, &t->rng);
	pid = fork();
	torture.in_child = pid == 0;
	torture_linger(&t->rng);
	if (how == 2)
		shaz_end(&inner, &t->tally, "element named around a fork");
	if (how)
		shaz_end(&outer, &t->tally, "element named around a fork");
	return pid;
}

/* Others' names are gone. */
static void torture_shaz_child(struct torturer *t)
{
	unsigned i;

	(void)t;
	for (i = 0; i < TORTURE_SLOTS; i++)
		lull_shazptr_synchronize(&torture.slot[i]);
}

const struct torture_flavor torture_shazptr = {
	.name = "shazptr",
	.wait = "wait",
	.form = { "synchronize", "synchronize of all", "synchronize and free" },
	.reader = torture_shaz_reader,
	.updater = torture_shaz_updater,
	.handler = torture_shaz_in_handler,
	.use = torture_shaz,
	.use_shortly = torture_shaz_shortly,
	.wait_once = torture_shaz_wait_any,
	.die = torture_shaz_die,
	.begin = torture_shaz_begin,
	.end = torture_shaz_end,
	.wait_for = torture_shaz_wait_for,
	.fork = torture_shaz_fork,
	.child = torture_shaz_child,
	.change = torture_shaz_change,
};
