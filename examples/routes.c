/* SPDX-License-Identifier: MIT */
/*
 * A routing table: a list that every packet searches and that changes now and then. Lookups take no
 * lock and write nothing that another thread reads. Updaters keep each other out with a mutex, and what they
 * take off the list is freed once no lookup can still stand on it.
 */
#include <lull/list.h>
#include <lull/rcu.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct route {
	struct lull_list_head list;
	struct lull_rcu_head rcu;
	uint32_t network; /* with the mask's zero bits 0 */
	uint32_t mask;
	int interface;
};

static struct lull_list_head routes = { &routes, &routes };
static pthread_mutex_t routes_lock = PTHREAD_MUTEX_INITIALIZER;
static bool finished;

/* The interface that packets to @address leave by, or -1 when there is no route. */
static int route_lookup(uint32_t address)
{
	const struct route *r;
	int interface = -1;

	lull_rcu_read_lock();
	lull_list_for_each_entry_rcu(r, &routes, list) {
		if ((address & r->mask) == r->network) {
			interface = r->interface;
			break;
		}
	}
	lull_rcu_read_unlock();
	return interface;
}

/* Newer routes go first: they hide older ones for the same addresses. */
static void route_add(uint32_t network, uint32_t mask, int interface)
{
	struct route *r = malloc(sizeof(*r));

	if (!r)
		abort();
	r->network = network & mask;
	r->mask = mask;
	r->interface = interface;
	pthread_mutex_lock(&routes_lock);
	lull_list_add_rcu(&r->list, &routes);
	pthread_mutex_unlock(&routes_lock);
}

static void route_free(struct lull_rcu_head *rcu)
{
	free(lull_container_of(rcu, struct route, rcu));
}

/* Delete the newest route to exactly this network; false when there is none. */
static bool route_delete(uint32_t network, uint32_t mask)
{
	struct route *r;
	bool found = false;

	pthread_mutex_lock(&routes_lock);
	lull_list_for_each_entry(r, &routes, list) {
		if (r->network == network && r->mask == mask) {
			lull_list_del_rcu(&r->list);
			lull_rcu_call(&r->rcu, route_free);
			found = true;
			break;
		}
	}
	pthread_mutex_unlock(&routes_lock);
	return found;
}

static uint32_t ipv4(unsigned a, unsigned b, unsigned c, unsigned d)
{
	return a << 24 | b << 16 | c << 8 | d;
}

/*
 * Forward packets to 10.1.2.3 until told to stop. The route to 10.0.0.0/8 (interface 1) is always there, the
 * one to 10.1.0.0/16 (interface 2) comes and goes: any other answer is a broken list.
 */
static void *forwarder(void *wrong)
{
	while (!lull_load_relaxed(&finished)) {
		int interface = route_lookup(ipv4(10, 1, 2, 3));

		if (interface != 1 && interface != 2)
			*(bool *)wrong = true;
	}
	return NULL;
}

int main(void)
{
	const uint32_t mask8 = ipv4(255, 0, 0, 0), mask16 = ipv4(255, 255, 0, 0);
	bool wrong[2] = { false, false };
	pthread_t threads[2];

	route_add(ipv4(192, 168, 0, 0), mask16, 3);
	route_add(ipv4(10, 0, 0, 0), mask8, 1);
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&threads[i], NULL, forwarder, &wrong[i]) != 0)
			abort();
	}

	for (int i = 0; i < 10000; i++) {
		route_add(ipv4(10, 1, 0, 0), mask16, 2);
		if (route_lookup(ipv4(10, 1, 2, 3)) != 2)
			abort();
		if (!route_delete(ipv4(10, 1, 0, 0), mask16))
			abort();
	}

	lull_store_relaxed(&finished, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	if (wrong[0] || wrong[1]) {
		fprintf(stderr, "a packet found no route\n");
		return 1;
	}
	printf("10.1.2.3 leaves by interface %d, 192.168.7.7 by %d, 8.8.8.8 by %d\n",
	       route_lookup(ipv4(10, 1, 2, 3)), route_lookup(ipv4(192, 168, 7, 7)),
	       route_lookup(ipv4(8, 8, 8, 8)));

	route_delete(ipv4(10, 0, 0, 0), mask8);
	route_delete(ipv4(192, 168, 0, 0), mask16);
	lull_rcu_barrier(); /* the last callbacks have run: nothing is leaked */
	return 0;
}
