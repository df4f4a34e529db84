/* SPDX-License-Identifier: MIT */
/*
 * storm.c - liburcu-cds' hash table, with all that can be done to it at once: storm FLAVOR MILLISECONDS [THREADS]
 *
 * Each thread owns the keys that leave a certain rest, and knows at any time which of them are in the table: a lookup
 * of an own key must find exactly what was put there. Keys of the others are looked up, walked over and read as well.
 * Objects are freed after call_rcu, or after a grace period that a thread waits for; some of each. Another thread
 * resizes the table all the while. In the end the counts must add up, and the table must be empty and destroyed.
 *
 * It is built with AddressSanitizer, which sees an object that is read after it was freed. Without it, the mark that
 * is wiped before an object is freed is seen.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <time.h>

#include <urcu/call-rcu.h>
#include <urcu/flavor.h>
#include <urcu/rculfhash.h>

/* The headers of the flavors declare the first of them that is included only. */
extern const struct rcu_flavor_struct urcu_memb_flavor, urcu_mb_flavor, urcu_bp_flavor, urcu_qsbr_flavor;

enum { KEYS = 512, THREADS_MAX = 16, MARK = 0x600df00d, WIPED = 0xdeadbeef };

struct object {
	struct cds_lfht_node node;
	struct rcu_head head;
	uint32_t mark;
	uint32_t key;
	uint64_t value;
};

static const struct rcu_flavor_struct *flavor;
static const char *flavor_name;
static struct cds_lfht *table;
static unsigned int threads = 4;
static bool over;
static unsigned long wrong;

struct thread {
	pthread_t id;
	unsigned int number;
	uint64_t random;
	struct object *own[KEYS]; /* what is in the table under this key, if it is one of this thread's */
	unsigned long operations, seen;
};

static void complain(const char *what, uint32_t key)
{
	if (__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED) <= 10)
		fprintf(stderr, "storm: wrong: %s, key %u\n", what, key);
}

static bool qsbr(void)
{
	return flavor->register_thread == urcu_qsbr_flavor.register_thread;
}

static uint64_t next_random(struct thread *thread)
{
	thread->random ^= thread->random << 13;
	thread->random ^= thread->random >> 7;
	thread->random ^= thread->random << 17;
	return thread->random;
}

static unsigned long hash_of(uint32_t key)
{
	return key * 2654435761UL;
}

static int matches(struct cds_lfht_node *node, const void *key)
{
	return caa_container_of(node, struct object, node)->key == *(const uint32_t *)key;
}

static void wipe(struct object *object)
{
	object->mark = WIPED;
	free(object);
}

static void after_grace_period(struct rcu_head *head)
{
	wipe(caa_container_of(head, struct object, head));
}

static void discard(struct thread *thread, struct cds_lfht_node *node)
{
	struct object *object = caa_container_of(node, struct object, node);

	if (next_random(thread) % 64) {
		flavor->update_call_rcu(&object->head, after_grace_period);
	} else {
		flavor->update_synchronize_rcu();
		wipe(object);
	}
}

static struct object *new_object(uint32_t key, uint64_t value)
{
	struct object *object = malloc(sizeof(*object));

	if (!object)
		abort();
	cds_lfht_node_init(&object->node);
	object->mark = MARK;
	object->key = key;
	object->value = value;
	return object;
}

/* Put something new under an own key. The former content goes. */
static void put(struct thread *thread, uint32_t key)
{
	struct object *object = new_object(key, next_random(thread));
	struct cds_lfht_node *old = NULL;
	struct cds_lfht_iter iter;

	flavor->read_lock();
	if (thread->own[key] && next_random(thread) % 2) {
		cds_lfht_lookup(table, hash_of(key), matches, &key, &iter);
		old = cds_lfht_iter_get_node(&iter);
		if (old != &thread->own[key]->node || cds_lfht_replace(table, &iter, hash_of(key), matches, &key, &object->node))
			complain("an own object cannot be replaced", key);
	} else if (thread->own[key] || next_random(thread) % 2) {
		old = cds_lfht_add_replace(table, hash_of(key), matches, &key, &object->node);
		if (old != (thread->own[key] ? &thread->own[key]->node : NULL))
			complain("add_replace gives another object", key);
	} else if (cds_lfht_add_unique(table, hash_of(key), matches, &key, &object->node) != &object->node) {
		complain("add_unique finds an object that is not there", key);
	}
	flavor->read_unlock();
	thread->own[key] = object;
	if (old)
		discard(thread, old);
}

static void take(struct thread *thread, uint32_t key)
{
	struct object *object = thread->own[key];

	if (!object)
		return;
	flavor->read_lock();
	if (cds_lfht_del(table, &object->node))
		complain("an own object cannot be deleted", key);
	if (!cds_lfht_is_node_deleted(&object->node))
		complain("a deleted object does not say so", key);
	flavor->read_unlock();
	thread->own[key] = NULL;
	discard(thread, &object->node);
}

static void look(struct thread *thread, uint32_t key)
{
	struct cds_lfht_node *node;
	struct cds_lfht_iter iter;
	struct object *object;

	flavor->read_lock();
	cds_lfht_lookup(table, hash_of(key), matches, &key, &iter);
	node = cds_lfht_iter_get_node(&iter);
	object = node ? caa_container_of(node, struct object, node) : NULL;
	if (key % threads == thread->number && object != thread->own[key])
		complain("a lookup gives another object than the own one", key);
	if (object && (object->mark != MARK || object->key != key))
		complain("a lookup gives an object that is gone", key);
	flavor->read_unlock();
}

static void walk(struct thread *thread)
{
	struct cds_lfht_iter iter;
	struct object *object;
	unsigned int most = 64;

	flavor->read_lock();
	cds_lfht_for_each_entry(table, &iter, object, node) {
		if (object->mark != MARK || object->key >= KEYS)
			complain("a walk meets an object that is gone", object->key);
		thread->seen++;
		if (!--most)
			break;
	}
	flavor->read_unlock();
}

static void *storm(void *argument)
{
	struct thread *thread = argument;

	flavor->register_thread();
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		uint64_t chance = next_random(thread) % 100;
		uint32_t any = next_random(thread) % KEYS, own = any - any % threads + thread->number;

		if (chance < 20 && own < KEYS)
			put(thread, own);
		else if (chance < 35 && own < KEYS)
			take(thread, own);
		else if (chance < 97)
			look(thread, chance < 60 && own < KEYS ? own : any);
		else
			walk(thread);
		thread->operations++;
		if (qsbr())
			flavor->read_quiescent_state();
	}
	for (uint32_t key = 0; key < KEYS; key++)
		take(thread, key);
	flavor->unregister_thread();
	return NULL;
}

static void rest(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static void *resize(void *argument)
{
	unsigned long *times = argument;

	flavor->register_thread();
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		cds_lfht_resize(table, 1UL << (++*times % 11));
		if (qsbr())
			flavor->thread_offline();
		rest(1);
		if (qsbr())
			flavor->thread_online();
	}
	flavor->unregister_thread();
	return NULL;
}

static void choose(const char *name)
{
	static const struct { const char *name; const struct rcu_flavor_struct *flavor; } all[] = {
		{ "memb", &urcu_memb_flavor }, { "mb", &urcu_mb_flavor },
		{ "bp", &urcu_bp_flavor }, { "qsbr", &urcu_qsbr_flavor },
	};

	for (size_t at = 0; at < sizeof(all) / sizeof(all[0]); at++)
		if (!strcmp(all[at].name, name))
			flavor = all[at].flavor;
	flavor_name = name;
}

static unsigned long run(long ms, unsigned long *resizes, unsigned long *seen)
{
	static struct thread all[THREADS_MAX];
	unsigned long operations = 0;
	pthread_t resizer;

	for (unsigned int at = 0; at < threads; at++) {
		all[at].number = at;
		all[at].random = 88172645463325252ULL + at * 977;
		if (pthread_create(&all[at].id, NULL, storm, &all[at]))
			abort();
	}
	if (pthread_create(&resizer, NULL, resize, resizes))
		abort();
	if (qsbr())
		flavor->thread_offline();
	rest(ms);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	pthread_join(resizer, NULL);
	for (unsigned int at = 0; at < threads; at++) {
		pthread_join(all[at].id, NULL);
		operations += all[at].operations;
		*seen += all[at].seen;
	}
	if (qsbr())
		flavor->thread_online();
	return operations;
}

int main(int count, char **words)
{
	unsigned long operations, resizes = 0, seen = 0, elements = 0;
	long before, after;

	choose(count > 1 ? words[1] : "");
	if (count < 3 || !flavor) {
		fprintf(stderr, "usage: storm memb|mb|bp|qsbr MILLISECONDS [THREADS]\n");
		return 2;
	}
	if (count > 3)
		threads = atoi(words[3]) > THREADS_MAX ? THREADS_MAX : atoi(words[3]);

	flavor->register_thread();
	/*
	 * With QSBR only one thread resizes. The table's own worker waits for a grace period while it holds a
	 * mutex, and an online thread that waits for the mutex would hold that up for ever: with liburcu, too.
	 */
	table = cds_lfht_new_flavor(16, 1, 0, qsbr() ? 0 : CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, flavor, NULL);
	if (!table)
		abort();
	operations = run(atol(words[2]), &resizes, &seen);
	flavor->read_lock();
	cds_lfht_count_nodes(table, &before, &elements, &after);
	flavor->read_unlock();
	if (elements)
		complain("objects are left over", elements);
	if (cds_lfht_destroy(table, NULL))
		complain("the table cannot be destroyed", 0);
	flavor->barrier();
	flavor->unregister_thread();
	printf("storm: %s, %lu operations, %lu resizes, %lu objects walked over, %lu wrong\n", flavor_name, operations,
	       resizes, seen, wrong);
	return wrong ? 1 : 0;
}
