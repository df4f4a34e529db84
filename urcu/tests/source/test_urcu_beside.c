/* SPDX-License-Identifier: MIT */
/*
 * test_urcu_beside.c - liburcu's own headers, and its hash table, beside lull's: queues, atomics, and liburcu-cds on a
 * flavor of lull.
 */
#include "child.h"
#include "threads.h"

#include <urcu.h>

#ifdef LULL__URCU_BESIDE
#include <urcu/lfstack.h>
#include <urcu/rculfqueue.h>
#include <urcu/ref.h>
#include <urcu/tls-compat.h>
#include <urcu/uatomic.h>
#include <urcu/wfcqueue.h>
#include <urcu/wfstack.h>

/* Behind the flavor, as its documentation says. */
#include <urcu/rculfhash.h>

struct node {
	struct cds_lfht_node node;
	struct rcu_head head;
	unsigned long key, check; /* check is ~key while it lives */
};

static int freed, wrong, finished;

static void node_free(struct rcu_head *head)
{
	struct node *p = caa_container_of(head, struct node, head);

	p->check = 0;
	free(p);
	uatomic_inc(&freed);
}

static int match(struct cds_lfht_node *node, const void *key)
{
	return caa_container_of(node, struct node, node)->key == *(const unsigned long *)key;
}

static unsigned long hash(unsigned long key)
{
	return key * 0x9e3779b97f4a7c15ul >> 20;
}

#ifdef LULL_TEST_CDS
enum { KEYS = 512, ROUNDS = 20000 };

/* Even keys are always there. */
static void *looks_up(void *table)
{
	struct cds_lfht *ht = table;
	unsigned long key = 0;

	rcu_register_thread();
	while (!uatomic_read(&finished)) {
		struct cds_lfht_iter iter;
		struct cds_lfht_node *found;

		key = (key + 7) % KEYS;
		rcu_read_lock();
		cds_lfht_lookup(ht, hash(key), match, &key, &iter);
		found = cds_lfht_iter_get_node(&iter);
		if (found) {
			struct node *p = caa_container_of(found, struct node, node);

			if (p->key != key || p->check != ~key)
				uatomic_set(&wrong, 1);
		} else if (key % 2 == 0) {
			uatomic_set(&wrong, 1);
		}
		rcu_read_unlock();
	}
	rcu_unregister_thread();
	return NULL;
}

static struct node *node_new(unsigned long key)
{
	struct node *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->key = key;
	p->check = ~key;
	cds_lfht_node_init(&p->node);
	return p;
}

/* Replace or remove the node with @key. */
static void remove_key(struct cds_lfht *ht, unsigned long key)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *found;

	rcu_read_lock();
	cds_lfht_lookup(ht, hash(key), match, &key, &iter);
	found = cds_lfht_iter_get_node(&iter);
	if (found && cds_lfht_del(ht, found) == 0)
		call_rcu(&caa_container_of(found, struct node, node)->head, node_free);
	rcu_read_unlock();
}

static void put_key(struct cds_lfht *ht, unsigned long key)
{
	struct node *fresh = node_new(key);
	struct cds_lfht_node *old;

	rcu_read_lock();
	old = cds_lfht_add_replace(ht, hash(key), match, &key, &fresh->node);
	if (old)
		call_rcu(&caa_container_of(old, struct node, node)->head, node_free);
	rcu_read_unlock();
}

static void storm(const struct rcu_flavor_struct *flavor)
{
	struct cds_lfht *ht = cds_lfht_new_flavor(1, 1, 0, CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, flavor, NULL);
	unsigned long made = 0;
	pthread_t reader;

	assert_non_null(ht);
	freed = wrong = finished = 0;
	for (unsigned long key = 0; key < KEYS; key += 2, made++)
		put_key(ht, key);
	reader = start_thread(looks_up, ht);
	for (unsigned long i = 0; i < ROUNDS; i++) {
		unsigned long key = i * 13 % KEYS;

		if (key % 2 && i % 3 == 0) {
			remove_key(ht, key);
		} else {
			put_key(ht, key);
			made++;
		}
		if (i % 5000 == 0)
			cds_lfht_resize(ht, 1ul << (i / 5000 + 4));
	}
	uatomic_set(&finished, 1);
	join_thread(reader);
	for (unsigned long key = 0; key < KEYS; key++)
		remove_key(ht, key);
	rcu_barrier();
	assert_int_equal(cds_lfht_destroy(ht, NULL), 0);
	assert_int_equal(wrong, 0);
	assert_int_equal(freed, made);
}

TEST(hash)
{
	storm(&rcu_flavor);
	storm(&urcu_memb_flavor);
}

/* By the name that the header of the table uses itself. */
TEST(hash_plain)
{
	struct cds_lfht *ht = cds_lfht_new(1, 1, 0, CDS_LFHT_AUTO_RESIZE, NULL);

	assert_non_null(ht);
	put_key(ht, 1);
	remove_key(ht, 1);
	rcu_barrier();
	assert_int_equal(cds_lfht_destroy(ht, NULL), 0);
}
#else
TEST(hash)
{
	(void)node_free;
	(void)match;
	(void)hash;
	(void)finished;
	(void)wrong;
	SKIP("liburcu-cds is not here, or not for this processor");
}

TEST(hash_plain)
{
	test_hash();
}
#endif

static void put_ref(struct urcu_ref *ref)
{
	(void)ref;
	uatomic_inc(&freed);
}

#ifdef LULL_TEST_CDS
/* A queue of liburcu's own. */
static void check_queue(void)
{
	struct cds_wfcq_head head;
	struct cds_wfcq_tail tail;
	struct cds_wfcq_node node;

	cds_wfcq_init(&head, &tail);
	cds_wfcq_node_init(&node);
	assert_false(cds_wfcq_enqueue(&head, &tail, &node));
	assert_ptr_equal(cds_wfcq_dequeue_blocking(&head, &tail), &node);
	assert_true(cds_wfcq_empty(&head, &tail));
	cds_wfcq_destroy(&head, &tail);
}
#else
static void check_queue(void)
{
}
#endif

TEST(headers)
{
	struct urcu_ref ref;
	unsigned long word = 1;

	check_queue();
	assert_int_equal(uatomic_add_return(&word, 2), 3);
	assert_int_equal(uatomic_cmpxchg(&word, 3, 4), 3);
	CMM_STORE_SHARED(word, 5);
	assert_int_equal(CMM_LOAD_SHARED(word), 5);
	cmm_smp_mb();
	cmm_barrier();
	caa_cpu_relax();
	freed = 0;
	urcu_ref_init(&ref);
	urcu_ref_put(&ref, put_ref);
	assert_int_equal(freed, 1);
	/* A head of ours is one of theirs: compiled code of theirs links it. */
	assert_int_equal(sizeof(struct rcu_head), sizeof(struct cds_wfcq_node) + sizeof(void (*)(void)));
}
#else
TEST(headers)
{
	SKIP("liburcu-dev is not installed");
}

TEST(hash)
{
	test_headers();
}

TEST(hash_plain)
{
	test_headers();
}
#endif
