/* SPDX-License-Identifier: MIT */
/*
 * A configuration that every request uses from its beginning to its end. Requests last long, and may
 * be handed from thread to thread, so each holds a reference; and all hold the same one, so the
 * reference must not be a count that all processors write to. percpu_ref.h counts on each processor
 * for itself, as long as the configuration is in use.
 *
 * Now and then it is replaced. The old one is killed: its counters are added up, and from then on
 * it is known when the last request that has it ends. That one's put calls config_released(), which
 * frees it, not at once, but when no hazard pointer names it: a request may just have found it, and
 * be about to see that it is dead, whereupon it takes the new one.
 */
#include <lull/ref_handoff.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct config {
	struct lull_percpu_ref refs;
	struct lull_rcu_head head;
	int serial;
	int limit, limit_twice; /* a configuration is all of one piece */
};

struct request {
	struct config *config;
	int left; /* still to do */
};

static struct config *current; /* main() alone changes it */
static int finished, made, gone;

static void config_free(struct lull_rcu_head *head)
{
	struct config *c = lull_container_of(head, struct config, head);

	c->limit = -1;
	free(c);
	lull_add_relaxed(&gone, 1);
}

/* Free a configuration that no request has any more. Runs where the last request ended, or in the kill. */
static void config_released(struct lull_percpu_ref *refs)
{
	struct config *c = lull_container_of(refs, struct config, refs);

	lull_percpu_ref_exit(refs);
	lull_hazptr_call(&c->head, config_free);
}

static struct config *config_new(int serial)
{
	struct config *c = malloc(sizeof(*c));

	if (!c || lull_percpu_ref_init(&c->refs, config_released, 0) != 0)
		abort();
	c->serial = serial;
	c->limit = serial % 100;
	c->limit_twice = 2 * c->limit;
	made++;
	return c;
}

static void config_replace(struct config *c)
{
	struct config *old = current;

	lull_hazptr_publish(current, c);
	if (old)
		lull_percpu_ref_kill(&old->refs);
}

static void request_begin(struct request *r)
{
	r->config = lull_ref_handoff_hazptr_percpu(&current, head, refs);
	r->left = 1 + r->config->serial % 7;
}

/* Does a part of the request. False: it was served from two configurations, or one that was freed. */
static bool request_go_on(struct request *r)
{
	bool right = r->config->limit_twice == 2 * r->config->limit && r->config->limit >= 0;

	if (--r->left == 0) {
		lull_percpu_ref_put(&r->config->refs);
		r->config = NULL;
	}
	return right;
}

struct server {
	pthread_t thread;
	long served;
	bool wrong;
};

/* Several requests at a time, each a bit further in its turn; those that are there are finished. */
static void *server_run(void *arg)
{
	struct request requests[8] = { { NULL, 0 } };
	struct server *server = arg;
	int busy;

	do {
		bool more = !lull_load_relaxed(&finished);

		busy = 0;
		for (int i = 0; i < 8; i++) {
			struct request *r = &requests[i];

			if (!r->config && more) {
				request_begin(r);
				server->served++;
			}
			if (r->config)
				server->wrong |= !request_go_on(r);
			busy += r->config != NULL || more;
		}
	} while (busy);
	return NULL;
}

int main(void)
{
	struct server servers[2] = { { 0 }, { 0 } };
	bool wrong = false;
	long served = 0;

	config_replace(config_new(0));
	for (int i = 0; i < 2; i++)
		if (pthread_create(&servers[i].thread, NULL, server_run, &servers[i]) != 0)
			abort();
	for (int serial = 1; serial <= 2000; serial++)
		config_replace(config_new(serial));
	lull_store_relaxed(&finished, 1);
	for (int i = 0; i < 2; i++) {
		pthread_join(servers[i].thread, NULL);
		served += servers[i].served;
		wrong |= servers[i].wrong;
	}
	config_replace(NULL);
	lull_hazptr_barrier(); /* no kill is under way, and what was released is freed */
	printf("%ld requests with %d configurations, of which %d have gone, counted %s\n", served, made, gone,
	       lull_percpu_ref_per_cpu() ? "per processor" : "per thread");
	return wrong || made != gone;
}
