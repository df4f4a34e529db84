/* SPDX-License-Identifier: MIT */
/* lull torture: updaters of RCU, which send elements down the pipe of ages. See torture_rcu.h. */
#include "torture/rcu/torture_rcu.h"

#include <sched.h>
#include <stdlib.h>

#include <lull/reclaim.h>

#include "common/options.h"

#define DRAIN_MS 50u

struct flag {
	struct lull_rcu_head head;
	uint32_t ran;
};

struct updater {
	struct torturer *t;
	struct torture_mailbox *box;
	uint64_t letters;
	struct element *removed; /* grow older with each grace period that this thread waits for */
	struct element *waiting; /* each for its own cookie */
	struct flag *flag;
};

static const char *const form_doing[TORTURE_FORMS] = {
	[FORM_SYNC] = "lull_rcu_synchronize",	[FORM_CALL] = "lull_rcu_call",
	[FORM_POLL] = "polling a grace period", [FORM_WAIT] = "lull_rcu_gp_wait",
	[FORM_COOKIE] = "lull_rcu_gp_start",	[FORM_STREAM] = "a stream of cookies",
	[FORM_BARRIER] = "lull_rcu_barrier",	[FORM_DRAIN] = "lull_reclaim_drain",
};

static void element_called(struct lull_rcu_head *head)
{
	struct element *e = lull_container_of(head, struct element, head);

	if (!torture_element_ran(e))
		return;
	lull_add_relaxed(&torture.callbacks, (uint64_t)1);
	if (torture_grow_older(e))
		return;
	torture_element_defer(e);
	lull_rcu_call(head, element_called);
}

/* A grace period has passed since all of them were removed. */
static void age_removed(struct updater *u)
{
	struct element **link = &u->removed;

	while (*link) {
		struct element *e = *link, *next = e->next;

		if (torture_grow_older(e))
			*link = next;
		else
			link = &e->next;
	}
}

/* Make the elements older by one whose cookie's grace period is over, and ask for another one for them. */
static void age_waiting(struct updater *u)
{
	struct element **link = &u->waiting;

	while (*link) {
		struct element *e = *link, *next = e->next;

		if (!lull_rcu_gp_poll(e->cookie)) {
			link = &e->next;
		} else if (torture_grow_older(e)) {
			*link = next;
		} else {
			e->cookie = lull_rcu_gp_start();
			link = &e->next;
		}
	}
}

static struct element *swap_element(struct torture_slot *slot)
{
	struct element *fresh = torture_pool_get(), *old;

	if (!fresh)
		return NULL;
	torture_fill_element(fresh);
	pthread_mutex_lock(&slot->update);
	old = lull_rcu_replace(slot->element, fresh);
	pthread_mutex_unlock(&slot->update);
	torture_grow_older(old);
	return old;
}

static void swap_blob(struct torture_slot *slot)
{
	struct blob *fresh = torture_new_blob(), *old;

	pthread_mutex_lock(&slot->update);
	old = lull_rcu_replace(slot->blob, fresh);
	pthread_mutex_unlock(&slot->update);
	lull_add_relaxed(&torture.blobs, (uint64_t)1);
	lull_rcu_free(old);
}

static void poll_grace_period(uint64_t *rng)
{
	lull_rcu_cookie cookie = lull_rcu_gp_start();

	while (!lull_rcu_gp_poll(cookie)) {
		if (torture_once_in(rng, 4))
			sched_yield();
		else if (torture_once_in(rng, 16))
			torture_sleep_us(torture_random(rng, 200));
		else
			torture_spin_ns(torture_random(rng, 2000));
	}
}

static void flag_called(struct lull_rcu_head *head)
{
	lull_store_relaxed(&lull_container_of(head, struct flag, head)->ran, 1u);
}

/*
 * Defer a callback, and wait for it with a barrier. Its head is not on the stack: a forked child runs the callback,
 * too, and gives the stacks of threads that it does not have to others.
 */
static void barrier_grace_period(struct updater *u, bool drain)
{
	lull_store_relaxed(&u->flag->ran, 0u);
	lull_rcu_call(&u->flag->head, flag_called);
	if (!drain)
		lull_rcu_barrier();
	else
		while (lull_reclaim_drain(DRAIN_MS) != 0)
			;
	if (lull_load_relaxed(&u->flag->ran))
		return;
	torture_fail("%s has returned and a callback from before it has not run",
		     drain ? "lull_reclaim_drain" : "lull_rcu_barrier");
	/* That callback may yet come. */
	u->flag = options_alloc(1, sizeof(*u->flag));
}

/* The forms in which the caller itself waits for the grace period. */
static void wait_grace_period(struct updater *u, enum torture_form form)
{
	uint64_t *rng = &u->t->rng;
	bool often = torture.flavor->online_readers;
	bool online = !torture.without[PART_ONLINE] && form != FORM_POLL && torture_once_in(rng, often ? 2 : 8);
	lull_rcu_cookie cookie;

	/* A waiting thread is quiescent, online or not. */
	if (online)
		lull_rcu_online();
	if (form == FORM_SYNC) {
		torture_wait_begin();
		lull_rcu_synchronize();
		torture_wait_end();
	} else if (form == FORM_POLL) {
		poll_grace_period(rng);
	} else if (form == FORM_WAIT) {
		cookie = lull_rcu_gp_start();
		torture_spin_ns(torture_random(rng, 5000));
		torture_wait_begin();
		lull_rcu_gp_wait(cookie);
		torture_wait_end();
	} else {
		barrier_grace_period(u, form == FORM_DRAIN);
	}
	if (online)
		lull_rcu_offline();
}

static struct torture_slot *any_slot(struct updater *u)
{
	return &torture.slot[torture_random(&u->t->rng, TORTURE_SLOTS)];
}

/*
 * Take a cookie for each element that is removed, without a wait, until the first cookie is over. If new cookies kept
 * old ones from ending, this would hang.
 */
static void stream_of_cookies(struct updater *u)
{
	lull_rcu_cookie first = lull_rcu_gp_start();

	do {
		struct element *old = swap_element(any_slot(u));
		lull_rcu_cookie cookie = lull_rcu_gp_start();

		if (old) {
			old->cookie = cookie;
			torture_put_in(&u->waiting, old);
		}
		torture_spin_ns(torture_random(&u->t->rng, 2000));
	} while (!lull_rcu_gp_poll(first));
}

static void update(struct updater *u, enum torture_form form)
{
	struct element *old = swap_element(any_slot(u));

	if (!old && (form == FORM_CALL || form == FORM_COOKIE))
		form = FORM_SYNC; /* the pool is empty: nothing was removed */
	lull_add_relaxed(&torture.forms[form], (uint64_t)1);
	torture_doing(form_doing[form]);
	if (form == FORM_CALL) {
		torture_element_defer(old);
		if (torture_once_in(&u->t->rng, 3))
			lull_rcu_call(&old->head, element_called);
		else if (torture_once_in(&u->t->rng, 2))
			lull_rcu_call_pure(&old->head, element_called);
		else
			lull_rcu_call_sized(&old->head, element_called, sizeof(*old));
		return;
	}
	if (form == FORM_COOKIE) {
		old->cookie = lull_rcu_gp_start();
		torture_put_in(&u->waiting, old);
		return;
	}
	if (old)
		torture_put_in(&u->removed, old);
	if (form == FORM_STREAM) {
		stream_of_cookies(u);
		return;
	}
	lull_store_relaxed(&u->box->before, ++u->letters);
	lull_store_relaxed(&u->t->rests, 1u);
	wait_grace_period(u, form);
	lull_store_relaxed(&u->t->rests, 0u);
	lull_store_relaxed(&u->box->after, u->letters);
	age_removed(u);
}

/* Mostly the quick ones: they meet readers most often. */
static enum torture_form pick_form(uint64_t *rng)
{
	if (torture_once_in(rng, 2))
		return FORM_SYNC;
	if (torture_once_in(rng, 32))
		return torture_once_in(rng, 2) ? FORM_BARRIER : FORM_DRAIN;
	return (enum torture_form)torture_random(rng, FORM_BARRIER);
}

/* Send all that this thread removed down the pipe, before a pause and at the end. */
static void flush(struct updater *u)
{
	torture_doing("sending what it removed down the pipe");
	while (u->removed || u->waiting) {
		torture_wait_begin();
		lull_rcu_synchronize();
		torture_wait_end();
		age_removed(u);
		age_waiting(u);
	}
}

void *torture_updater(void *arg)
{
	struct updater u = { .t = arg };

	torture_me = u.t;
	u.box = &torture.mailbox[u.t->index];
	u.flag = options_alloc(1, sizeof(*u.flag));
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
		update(&u, pick_form(&u.t->rng));
		age_waiting(&u);
		if (torture_once_in(&u.t->rng, 4))
			swap_blob(&torture.slot[torture_random(&u.t->rng, TORTURE_SLOTS)]);
		if (torture_once_in(&u.t->rng, 8))
			torture_spin_ns(torture_random(&u.t->rng, 20000));
		torture_update_delay(u.t);
		lull_store_relaxed(&u.t->work, u.t->work + 1);
	}
	flush(&u);
	free(u.flag);
	return NULL;
}
