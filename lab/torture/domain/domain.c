/* SPDX-License-Identifier: MIT */
/*
 * lull torture: readers, updaters, threads and children of domains. Each of two domains has half of the slots: a
 * section keeps what is found in the slots of its own domain. See torture.h.
 */
#include "torture/flavors.h"
#include "torture/torture.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <lull/rcu_domain.h>

#include "common/options.h"

#define DOMAINS	   2u
#define DEPTH_MOST 4u
#define DUELS	   200u

enum domain_form { DOM_SYNC, DOM_CALL, DOM_POLL, DOM_WAIT, DOM_FREE };

static struct lull_rcu_domain domains[DOMAINS];

static unsigned domain_of(unsigned slot)
{
	return slot % DOMAINS;
}

/* ---- readers --------------------------------------------------------------------------------- */

struct dom {
	struct torture_held held;
	unsigned which;
	int phase;
	struct element *element;
	struct blob *blob;
	uint64_t serial, blob_serial;
};

static void dom_begin(struct dom *s, uint64_t *rng)
{
	unsigned nr = (unsigned)torture_random(rng, TORTURE_SLOTS);
	struct torture_slot *slot = &torture.slot[nr];

	s->which = domain_of(nr);
	s->phase = lull_rcu_domain_read_lock(&domains[s->which]);
	s->element = lull_rcu_dereference(slot->element);
	s->serial = lull_load_relaxed(&s->element->serial);
	if (s->element->contents != ~s->serial)
		torture_fail("element %u was seen before its contents", s->element->index);
	s->blob = lull_rcu_dereference(slot->blob);
	s->blob_serial = s->blob->serial;
}

static void dom_end(struct dom *s, struct torture_tally *tally, const char *where)
{
	tally->sections++;
	torture_check_element(s->element, s->serial, tally, where);
	torture_check_blob(s->blob, s->blob_serial, where);
	lull_rcu_domain_read_unlock(&domains[s->which], s->phase);
}

static void dom_nested(struct torturer *t, unsigned depth)
{
	struct dom s;

	dom_begin(&s, &t->rng);
	torture_linger(&t->rng);
	if (depth)
		dom_nested(t, depth - 1);
	if (depth && torture_once_in(&t->rng, 2))
		dom_nested(t, depth - 1);
	if (s.which == 0 && torture_once_in(&t->rng, 8))
		torture_read_mailbox(&t->rng);
	dom_end(&s, &t->tally, depth ? "section of a domain" : "innermost section of a domain");
}

/* The one that began first ends first. */
static void dom_crossed(struct torturer *t)
{
	struct dom first, second;

	dom_begin(&first, &t->rng);
	dom_begin(&second, &t->rng);
	dom_end(&first, &t->tally, "section of a domain");
	torture_linger(&t->rng);
	dom_end(&second, &t->tally, "section of a domain that began in another");
}

static void end_handed(struct torture_held *held, struct torturer *t)
{
	struct dom *s = lull_container_of(held, struct dom, held);

	dom_end(s, &t->tally, "section of a domain that another thread began");
	free(s);
}

static void dom_handed(struct torturer *t)
{
	struct dom *s = options_alloc(1, sizeof(*s));

	s->held.end = end_handed;
	dom_begin(s, &t->rng);
	torture_linger(&t->rng);
	torture_pass_on(&s->held, t);
}

/* A grace period that is asked for in a section cannot end in it. */
static void dom_polled(struct torturer *t)
{
	lull_rcu_cookie cookie;
	struct dom s;
	unsigned n;

	dom_begin(&s, &t->rng);
	cookie = lull_rcu_domain_gp_start(&domains[s.which]);
	for (n = (unsigned)torture_random(&t->rng, 4); n; n--) {
		torture_spin_ns(torture_random(&t->rng, 2000));
		if (lull_rcu_domain_gp_poll(&domains[s.which], cookie))
			torture_fail("a grace period of a domain asked for in a section ended in it");
	}
	dom_end(&s, &t->tally, "section of a domain that polls");
}

static void torture_dom(struct torturer *t)
{
	switch (torture_random(&t->rng, 32)) {
	case 0:
		dom_crossed(t);
		break;
	case 1:
		dom_handed(t);
		break;
	case 2:
		dom_polled(t);
		break;
	default:
		dom_nested(t, torture_once_in(&t->rng, 4) ? (unsigned)torture_random(&t->rng, DEPTH_MOST) : 0);
	}
}

static void torture_dom_shortly(struct torturer *t, const char *where)
{
	struct dom s;

	dom_begin(&s, &t->rng);
	torture_spin_ns(torture_random(&t->rng, torture_once_in(&t->rng, 4) ? 30000 : 2000));
	dom_end(&s, &t->tally, where);
}

static void torture_dom_in_handler(struct torturer *t)
{
	struct dom s;

	dom_begin(&s, &t->handler_rng);
	torture_spin_ns(torture_random(&t->handler_rng, 3000));
	dom_end(&s, &t->handler_tally, "signal handler");
}

/* As that of flavor rcu: the begin waits in the store buffer, the load does not. */
static void duel(struct torturer *t)
{
	uint64_t ns = torture_random(&t->rng, 2000);
	unsigned n;

	for (n = DUELS; n; n--) {
		int phase;

		torture_fill_store_buffer(&t->rng);
		phase = lull_rcu_domain_read_lock(&domains[0]);
		torture_check_mailbox(&torture.mailbox[0], ns);
		lull_rcu_domain_read_unlock(&domains[0], phase);
	}
}

static void burst(struct torturer *t)
{
	uint64_t n;

	torture_doing("reading");
	if (torture_once_in(&t->rng, 2))
		duel(t);
	for (n = torture_random(&t->rng, 100); n; n--)
		torture_dom(t);
}

static void *torture_dom_reader(void *arg)
{
	return torture_rounds(arg, &torture.active_readers, burst);
}

/* ---- updaters -------------------------------------------------------------------------------- */

struct dom_updater {
	struct torturer *t;
	struct torture_mailbox *box;
	uint64_t letters;
	struct element *removed;
};

static void element_called(struct lull_head *head)
{
	struct element *e = lull_container_of(head, struct element, head);

	if (!torture_element_ran(e))
		return;
	lull_add_relaxed(&torture.callbacks, (uint64_t)1);
	if (torture_grow_older(e))
		return;
	torture_element_defer(e);
	lull_rcu_domain_call(&domains[domain_of(e->slot)], head, element_called);
}

static struct element *swap_element(unsigned nr)
{
	struct torture_slot *slot = &torture.slot[nr];
	struct element *fresh = torture_pool_get(), *old;

	if (!fresh)
		return NULL;
	torture_fill_element(fresh);
	pthread_mutex_lock(&slot->update);
	old = lull_rcu_replace(slot->element, fresh);
	pthread_mutex_unlock(&slot->update);
	old->slot = nr;
	torture_grow_older(old);
	return old;
}

/* Make the elements of domain @which older by one, after a grace period of it. */
static void age(struct dom_updater *u, unsigned which)
{
	struct element **link = &u->removed;

	while (*link) {
		struct element *e = *link, *next = e->next;

		if (domain_of(e->slot) == which && torture_grow_older(e))
			*link = next;
		else
			link = &e->next;
	}
}

static void dom_wait(struct dom_updater *u, unsigned which, enum domain_form form)
{
	struct lull_rcu_domain *d = &domains[which];
	uint64_t *rng = &u->t->rng;
	lull_rcu_cookie cookie;

	if (form == DOM_SYNC || form == DOM_FREE) {
		lull_rcu_domain_synchronize(d);
		return;
	}
	cookie = lull_rcu_domain_gp_start(d);
	if (form == DOM_WAIT) {
		torture_spin_ns(torture_random(rng, 5000));
		lull_rcu_domain_gp_wait(d, cookie);
	}
	while (!lull_rcu_domain_gp_poll(d, cookie)) {
		if (torture_once_in(rng, 4))
			sched_yield();
		else
			torture_spin_ns(torture_random(rng, 2000));
	}
}

/* Wait, between two letters if it is for domain 0, and then make what was removed older. */
static void wait_and_age(struct dom_updater *u, unsigned which, enum domain_form form)
{
	if (which == 0)
		lull_store_relaxed(&u->box->before, ++u->letters);
	dom_wait(u, which, form);
	if (which == 0)
		lull_store_relaxed(&u->box->after, u->letters);
	age(u, which);
}

static void swap_blob(struct dom_updater *u, unsigned nr)
{
	struct torture_slot *slot = &torture.slot[nr];
	struct blob *fresh = torture_new_blob(), *old;

	pthread_mutex_lock(&slot->update);
	old = lull_rcu_replace(slot->blob, fresh);
	pthread_mutex_unlock(&slot->update);
	wait_and_age(u, domain_of(nr), DOM_FREE);
	lull_add_relaxed(&torture.blobs, (uint64_t)1);
	old->check[0] = 0;
	free(old);
}

static void update(struct dom_updater *u)
{
	unsigned nr = (unsigned)torture_random(&u->t->rng, TORTURE_SLOTS);
	enum domain_form form = (enum domain_form)torture_random(&u->t->rng, DOM_FREE + 1);
	struct element *old = NULL;

	if (torture_once_in(&u->t->rng, 2))
		form = DOM_SYNC;
	torture_doing(torture.flavor->form[form]);
	lull_add_relaxed(&torture.forms[form], (uint64_t)1);
	if (form == DOM_FREE) {
		swap_blob(u, nr);
		return;
	}
	old = swap_element(nr);
	if (old && form == DOM_CALL) {
		torture_element_defer(old);
		lull_rcu_domain_call(&domains[domain_of(nr)], &old->head, element_called);
		return;
	}
	if (old)
		torture_put_in(&u->removed, old);
	wait_and_age(u, domain_of(nr), form);
}

static void flush(struct dom_updater *u)
{
	torture_doing("sending what it removed down the pipe");
	while (u->removed)
		wait_and_age(u, domain_of(u->removed->slot), DOM_SYNC);
}

static void *torture_dom_updater(void *arg)
{
	struct dom_updater u = { .t = arg };

	torture_me = u.t;
	u.box = &torture.mailbox[u.t->index];
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

/* ---- short-lived threads, and forked children ------------------------------------------------ */

/* A section goes on when its thread is gone. */
static void torture_dom_die(struct torturer *t)
{
	if (!torture_once_in(&t->rng, 4))
		return;
	dom_handed(t);
	lull_add_relaxed(&torture.dropped, (uint64_t)1);
}

static void torture_dom_wait_once(void)
{
	lull_rcu_domain_synchronize(&domains[0]);
}

/* In a child, whose element is in no slot. */
static struct element *torture_dom_begin(struct torture_use *use, struct element **where)
{
	use->phase = lull_rcu_domain_read_lock(&domains[0]);
	return lull_rcu_dereference(*where);
}

static void torture_dom_end(struct torture_use *use)
{
	lull_rcu_domain_read_unlock(&domains[0], use->phase);
}

static void torture_dom_wait_for(struct element *e)
{
	(void)e;
	lull_rcu_domain_synchronize(&domains[0]);
}

/* In the child the section is not open any more: it ends it, without effect. */
static pid_t torture_dom_fork(struct torturer *t)
{
	bool inside = torture_once_in(&t->rng, 2);
	struct dom s;
	pid_t pid;

	if (inside)
		dom_begin(&s, &t->rng);
	torture_pool_lock(); /* callbacks of the parent run in the child too */
	pid = fork();
	torture.in_child = pid == 0;
	torture_pool_unlock();
	torture_linger(&t->rng);
	if (inside && pid == 0)
		lull_rcu_domain_read_unlock(&domains[s.which], s.phase);
	else if (inside)
		dom_end(&s, &t->tally, "section of a domain around a fork");
	return pid;
}

static uint32_t called_in_child;

static void child_called(struct lull_head *head)
{
	(void)head;
	lull_store_relaxed(&called_in_child, 1u);
}

/* Sections of others are gone, and so is their hold on what waits. */
static void torture_dom_child(struct torturer *t)
{
	static struct lull_head head;
	unsigned i;

	(void)t;
	for (i = 0; i < DOMAINS; i++)
		lull_rcu_domain_synchronize(&domains[i]);
	lull_rcu_domain_call(&domains[0], &head, child_called);
	lull_rcu_domain_barrier(&domains[0]);
	if (!lull_load_relaxed(&called_in_child))
		torture_fail("lull_rcu_domain_barrier has returned and a callback from before it has not run");
}

/* ---- begin, and pauses ------------------------------------------------------------------------- */

static void torture_dom_init(void)
{
	static const char *const names[DOMAINS] = { "even", "odd" };
	unsigned i;

	for (i = 0; i < DOMAINS; i++)
		if (lull_rcu_domain_init(&domains[i], names[i]) != 0)
			options_fail("out of memory");
}

/* Callbacks that wait may each defer again, until they have sent their element all the way. */
static void torture_dom_settle(void)
{
	unsigned i;

	torture_pass_await();
	for (i = 0; i < DOMAINS * TORTURE_AGES; i++)
		lull_rcu_domain_barrier(&domains[i % DOMAINS]);
}

/* A domain that is destroyed says if a section of it is open. */
static void torture_dom_check(const char *when)
{
	unsigned i;

	(void)when;
	/* Threads that pause still get signals, in whose handlers they read. */
	if (!lull_load_acquire(&torture.over))
		return;
	for (i = 0; i < DOMAINS; i++)
		lull_rcu_domain_destroy(&domains[i]);
}

const struct torture_flavor torture_domain = {
	.name = "domain",
	.wait = "grace period",
	.form = { "synchronize", "call", "gp_poll", "gp_wait", "synchronize and free" },
	.is_anonymous = true,
	.reader = torture_dom_reader,
	.updater = torture_dom_updater,
	.handler = torture_dom_in_handler,
	.use = torture_dom,
	.use_shortly = torture_dom_shortly,
	.wait_once = torture_dom_wait_once,
	.die = torture_dom_die,
	.begin = torture_dom_begin,
	.end = torture_dom_end,
	.wait_for = torture_dom_wait_for,
	.fork = torture_dom_fork,
	.child = torture_dom_child,
	.releaser = torture_pass_releaser,
	.init = torture_dom_init,
	.settle = torture_dom_settle,
	.check = torture_dom_check,
};
