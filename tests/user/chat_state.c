/* SPDX-License-Identifier: MIT */
/* chat_state.c - what the threads of the chat server share; see chat.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lull/bridge.h>
#include <lull/hash.h>
#include <lull/rcu.h>

#include "chat.h"

struct stats stats = { .lock = PTHREAD_MUTEX_INITIALIZER };

void die(const char *what)
{
	perror(what);
	exit(1);
}

void count(long *what, long n)
{
	pthread_mutex_lock(&stats.lock);
	*what += n;
	pthread_mutex_unlock(&stats.lock);
}

void start(pthread_t *thread, void *(*func)(void *), void *arg)
{
	int err = pthread_create(thread, NULL, func, arg);

	if (err) {
		errno = err;
		die("pthread_create");
	}
}

/* ---- configuration ---- */

struct config {
	struct lull_rcu_head rcu;
	int version;
	char *greeting;
};

static struct config *config;
static pthread_mutex_t config_lock = PTHREAD_MUTEX_INITIALIZER; /* the replacing thread has it */

static void config_free(struct lull_rcu_head *head)
{
	struct config *c = lull_container_of(head, struct config, rcu);

	free(c->greeting);
	free(c);
	count(&stats.configs_freed, 1);
}

void config_load(void)
{
	struct config *c = malloc(sizeof(*c)), *old;
	char *greeting = malloc(32);

	if (!c || !greeting)
		die("configuration");
	pthread_mutex_lock(&config_lock);
	old = config;
	c->version = old ? old->version + 1 : 1;
	c->greeting = greeting;
	snprintf(c->greeting, 32, "welcome %d", c->version);
	lull_rcu_assign(config, c);
	pthread_mutex_unlock(&config_lock);
	if (old)
		lull_rcu_call(&old->rcu, config_free);
	count(&stats.configs, 1);
}

void config_greet(char *text, size_t size)
{
	const struct config *now;

	lull_rcu_read_lock();
	now = lull_rcu_dereference(config);
	snprintf(text, size, "%s %d", now->greeting, now->version);
	lull_rcu_read_unlock();
}

/* ---- sessions ---- */

struct session {
	struct lull_hash_node node;
	struct lull_rcu_head rcu;
	char *user;
	pthread_mutex_t lock;
	char *last; /* what was said last */
	long said;
};

static struct lull_hash sessions;

static uint64_t user_hash(const char *user)
{
	return lull_hash_string(user, 0);
}

static bool session_match(const struct lull_hash_node *node, const void *user)
{
	return strcmp(lull_hash_entry(node, struct session, node)->user, user) == 0;
}

static void session_free(struct lull_rcu_head *head)
{
	struct session *s = lull_container_of(head, struct session, rcu);

	count(&stats.said_in_sessions, s->said);
	count(&stats.sessions_freed, 1);
	pthread_mutex_destroy(&s->lock);
	free(s->last);
	free(s->user);
	free(s);
}

static struct session *session_new(const char *user)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s || !(s->user = strdup(user)))
		die("session");
	pthread_mutex_init(&s->lock, NULL);
	count(&stats.sessions, 1);
	return s;
}

struct session *session_get(const char *user, struct lull_hazptr_hold *hold)
{
	struct session *s, *fresh = NULL;

	do {
		lull_rcu_read_lock();
		s = lull_hash_lookup_entry(&sessions, user_hash(user), session_match, user, struct session,
					   node);
		s = lull_hazptr_acquire_rcu_member(hold, s, rcu);
		lull_rcu_read_unlock();
		if (!s && !fresh)
			fresh = session_new(user);
		if (!s && lull_hash_insert(&sessions, &fresh->node, user_hash(user), session_match, user) == 0)
			fresh = NULL;
	} while (!s);
	if (fresh)
		session_free(&fresh->rcu);
	return s;
}

long session_say(struct session *s, const char *line)
{
	char *copy = strdup(line);
	long n;

	pthread_mutex_lock(&s->lock);
	free(s->last);
	s->last = copy;
	n = ++s->said;
	pthread_mutex_unlock(&s->lock);
	return n;
}

void session_put(struct session *s, struct lull_hazptr_hold *hold)
{
	lull_hazptr_release(hold, &s->rcu);
}

void sessions_throw_out(bool all)
{
	struct lull_hash_iter iter;
	struct session *s;
	int i = 0;

	lull_rcu_read_lock();
	lull_hash_for_each_entry(s, &iter, &sessions, node)
		if ((all || i++ % 2 == 0) && lull_hash_remove_node(&sessions, &s->node) == 0)
			lull_rcu_call_hazptr(&s->rcu, session_free);
	lull_rcu_read_unlock();
}

void state_init(void)
{
	struct lull_hash_config small = { .buckets = 2, .flags = LULL_HASH_SHRINK };

	if (lull_hash_init(&sessions, &small) != 0)
		die("lull_hash_init");
	config_load();
}

/* All other threads have ended. */
void state_end(void)
{
	sessions_throw_out(true);
	lull_hazptr_barrier(); /* no callback is left that needs the table or the counts */
	lull_hash_destroy(&sessions, NULL, NULL);
	config_free(&config->rcu);
}
