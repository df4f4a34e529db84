/* SPDX-License-Identifier: MIT */
/*
 * From hazard pointer to reference count. The current session is replaced now and then; whoever
 * wants to use it for long, or hand it on, takes a reference. To take one the count has to be
 * touched, and to touch it the session has to be there: that is what a hazard pointer is for. It
 * is needed for the moment of the increment only; lull_ref_handoff_hazptr() does both.
 *
 * Zero means that the last reference has gone: the session is on its way out and cannot be had back.
 * It has been replaced then, so the reader looks again. The last put retires the session instead of
 * freeing it, because another reader may be looking at the count just now.
 */
#include <lull/ref_handoff.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct session {
	struct lull_rcu_head rcu;
	struct lull_refcount refs;
	uint32_t serial, check; /* check is ~serial while it is alive */
};

static struct session *current; /* has a reference of its own */
static uint32_t made, gone;
static int finished;

static struct session *session_new(uint32_t serial)
{
	struct session *s = malloc(sizeof(*s));

	if (!s)
		abort();
	lull_refcount_set(&s->refs, 1);
	s->serial = serial;
	s->check = ~serial;
	made++;
	return s;
}

static void session_gone(struct lull_rcu_head *rcu)
{
	struct session *s = lull_container_of(rcu, struct session, rcu);

	s->check = 0;
	free(s);
	gone++;
}

/* All use of the session, by whatever thread, is over when the last reference goes. */
static void session_put(struct session *s)
{
	if (lull_refcount_dec_and_test(&s->refs))
		lull_hazptr_call(&s->rcu, session_gone);
}

/* The current session with a reference, for as long as the caller likes; NULL: there is none. */
static struct session *session_get(void)
{
	return lull_ref_handoff_hazptr(&current, rcu, refs);
}

static void session_replace(struct session *s)
{
	struct session *old = current; /* main() alone changes it */

	lull_hazptr_publish(current, s);
	if (old)
		session_put(old);
}

struct user {
	pthread_t thread;
	uint64_t uses;
	bool wrong;
};

/* Keeps a few sessions at a time, all by reference. */
static void *user_run(void *arg)
{
	struct session *kept[4] = { NULL, NULL, NULL, NULL };
	struct user *user = arg;

	while (!lull_load_relaxed(&finished)) {
		struct session **s = &kept[user->uses++ % 4];

		if (*s) {
			user->wrong |= (*s)->check != ~(*s)->serial;
			session_put(*s);
		}
		*s = session_get();
		user->wrong |= *s && (*s)->check != ~(*s)->serial;
	}
	for (int i = 0; i < 4; i++)
		if (kept[i])
			session_put(kept[i]);
	return NULL;
}

int main(void)
{
	struct user user[2] = { { 0 }, { 0 } };
	bool wrong = false;

	session_replace(session_new(0));
	for (int i = 0; i < 2; i++)
		if (pthread_create(&user[i].thread, NULL, user_run, &user[i]) != 0)
			abort();
	for (uint32_t serial = 1; serial <= 20000; serial++)
		session_replace(session_new(serial));
	session_replace(NULL);
	lull_store_relaxed(&finished, 1);
	for (int i = 0; i < 2; i++) {
		pthread_join(user[i].thread, NULL);
		wrong |= user[i].wrong;
	}
	lull_hazptr_barrier(); /* the last references have gone, and so have the sessions */
	printf("%llu uses of %u sessions, of which %u have ended\n",
	       (unsigned long long)(user[0].uses + user[1].uses), made, gone);
	return wrong || made != gone;
}
