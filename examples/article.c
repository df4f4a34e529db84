/* SPDX-License-Identifier: MIT */
/*
 * article.c - a list under a reader-writer lock and the same list under RCU, side by side.
 *
 * After "Using RCU in the Linux 2.5 Kernel" (Linux Journal, October 2003): its element (listing
 * 3), its operations in both forms (tables 2 and 3), and its handler that is switched off without
 * a lock (listings 4 and 5), a signal's instead of an NMI's.
 *
 * It can be done step by step: free the elements by lull_rcu_call(), use the _rcu forms to link and
 * unlink, and the one reader that hurts (in the article: `ls /proc`, which kept fork() waiting)
 * can leave the lock alone, while all others go on taking it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <lull/list.h>
#include <lull/rcu.h>

struct el {
	struct lull_list_head list;
	long key, data;
	struct lull_rcu_head my_rcu_head;
};

/* The reader-writer lock form */
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static LULL_LIST_HEAD(rw_list);

static long rw_search(long key)
{
	struct el *p;
	long data = -1;

	pthread_rwlock_rdlock(&rwlock);
	lull_list_for_each_entry(p, &rw_list, list)
		if (p->key == key)
			data = p->data;
	pthread_rwlock_unlock(&rwlock);
	return data;
}

static void rw_insert(struct el *p)
{
	pthread_rwlock_wrlock(&rwlock);
	lull_list_add(&p->list, &rw_list);
	pthread_rwlock_unlock(&rwlock);
}

static int rw_delete(long key)
{
	struct el *p;

	pthread_rwlock_wrlock(&rwlock);
	lull_list_for_each_entry(p, &rw_list, list)
		if (p->key == key) {
			lull_list_del(&p->list);
			pthread_rwlock_unlock(&rwlock);
			free(p);
			return 1;
		}
	pthread_rwlock_unlock(&rwlock);
	return 0;
}

/* The RCU form: line by line the same, but that the memory is freed after a grace period. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static LULL_LIST_HEAD(rcu_list);

static long rcu_search(long key)
{
	struct el *p;
	long data = -1;

	lull_rcu_read_lock();
	lull_list_for_each_entry_rcu(p, &rcu_list, list)
		if (p->key == key)
			data = p->data;
	lull_rcu_read_unlock();
	return data;
}

static void rcu_insert(struct el *p)
{
	pthread_mutex_lock(&mutex);
	lull_list_add_rcu(&p->list, &rcu_list);
	pthread_mutex_unlock(&mutex);
}

static void my_free(struct lull_rcu_head *head)
{
	free(lull_container_of(head, struct el, my_rcu_head));
}

static int rcu_delete(long key)
{
	struct el *p;

	pthread_mutex_lock(&mutex);
	lull_list_for_each_entry(p, &rcu_list, list)
		if (p->key == key) {
			lull_list_del_rcu(&p->list);
			pthread_mutex_unlock(&mutex);
			lull_rcu_call(&p->my_rcu_head, my_free);
			return 1;
		}
	pthread_mutex_unlock(&mutex);
	return 0;
}

/* A profiler's tick comes at any instruction, so its handler can take no lock. */
static unsigned long *tick_buffer;

static void on_tick(int sig)
{
	LULL_RCU_GUARD();
	unsigned long *buffer = lull_rcu_dereference(tick_buffer);

	if (buffer && sig == SIGPROF)
		lull_add_relaxed(buffer, 1ul);
}

/* After the grace period no handler has the buffer any more: it may go. */
static void profile_shutdown(void)
{
	unsigned long *buffer = lull_rcu_replace(tick_buffer, NULL);

	lull_rcu_synchronize();
	printf("%lu ticks\n", *buffer);
	free(buffer);
}

/* Even keys are always there, odd ones come and go; an element's data is the square of its key. */
enum { KEYS = 32, ROUNDS = 20000 };
static int wrong;

static void check(long key, long data)
{
	if (data != key * key && (data != -1 || key % 2 == 0))
		lull_store_relaxed(&wrong, 1);
}

static void *reader(void *arg)
{
	for (long i = 0; i < ROUNDS; i++) {
		check(i % KEYS, rw_search(i % KEYS));
		check(i % KEYS, rcu_search(i % KEYS));
	}
	return arg;
}

static struct el *el_new(long key)
{
	struct el *p = (struct el *)calloc(1, sizeof(*p));

	if (!p)
		abort();
	p->key = key;
	p->data = key * key;
	return p;
}

int main(void)
{
	pthread_t readers[2];
	long i, key;

	tick_buffer = (unsigned long *)calloc(1, sizeof(*tick_buffer));
	if (!tick_buffer || signal(SIGPROF, on_tick) == SIG_ERR)
		return 1;
	for (key = 0; key < KEYS; key += 2) {
		rw_insert(el_new(key));
		rcu_insert(el_new(key));
	}
	for (i = 0; i < 2; i++)
		if (pthread_create(&readers[i], NULL, reader, NULL))
			return 1;
	for (i = 0; i < ROUNDS; i++) {
		key = (i * 7 % KEYS) | 1;
		if (!rw_delete(key))
			rw_insert(el_new(key));
		if (!rcu_delete(key))
			rcu_insert(el_new(key));
		pthread_kill(readers[i % 2], SIGPROF);
		if (i == ROUNDS / 2)
			profile_shutdown();
	}
	pthread_join(readers[0], NULL);
	pthread_join(readers[1], NULL);
	for (key = 0; key < KEYS; key++)
		wrong |= rw_search(key) != rcu_search(key) || rw_delete(key) != rcu_delete(key);
	lull_rcu_barrier();
	printf("both lists %s\n", wrong ? "differ" : "gave the same answers");
	return wrong;
}
