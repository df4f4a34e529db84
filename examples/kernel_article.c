/* SPDX-License-Identifier: MIT */
/*
 * kernel_article.c - RCU as the kernel had it in 2003, unchanged in user space.
 *
 * After "Using RCU in the Linux 2.5 Kernel" (Linux Journal, October 2003), in words of our own: the calls of listing 1, the
 * list functions of listing 2, the element of listing 3, and the handler of listings 4 and 5, which is switched off
 * without a lock. Where the article has a non-maskable interrupt, there is a signal here: it comes at any instruction
 * as well, and its handler can take no lock either. (article.c is the same article with lull's own names.)
 */
#define LULL_KERNEL_2003
#include <lull/compat/kernel.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- listing 3: what is protected -------------------------------------------------------------- */

struct el {
	struct list_head list;
	long key, data;
	struct rcu_head my_rcu_head;
};

static LIST_HEAD(head);
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* a spinlock_t in the article */
static int freed;

/* ---- listings 1 and 2: how ---------------------------------------------------------------------- */

static void my_free(void *arg)
{
	free(arg);
	freed++;
}

static long search(long key)
{
	struct el *p;
	long data = -1;

	rcu_read_lock();
	list_for_each_entry_rcu(p, &head, list)
		if (p->key == key)
			data = p->data;
	rcu_read_unlock();
	return data;
}

static void insert(long key)
{
	struct el *p = malloc(sizeof(*p));

	if (!p)
		abort();
	p->key = key;
	p->data = key * key;
	pthread_mutex_lock(&mutex);
	if (key % 4 == 1)
		list_add_rcu(&p->list, &head);
	else
		list_add_rcu_tail(&p->list, &head);
	pthread_mutex_unlock(&mutex);
}

/* call_rcu() never sleeps: it may be called with the lock held. */
static int delete_key(long key)
{
	struct list_head *pos, *n;
	int found = 0;

	pthread_mutex_lock(&mutex);
	list_for_each_safe_rcu(pos, n, &head) {
		struct el *p = list_entry(pos, struct el, list);

		if (p->key == key) {
			list_del_rcu(pos);
			call_rcu(&p->my_rcu_head, my_free, p);
			found++;
		}
	}
	pthread_mutex_unlock(&mutex);
	return found;
}

/* How many elements stand behind the first one with @key. */
static int behind(long key)
{
	struct list_head *pos;
	int n = 0;

	rcu_read_lock();
	list_for_each_rcu(pos, &head)
		if (list_entry(pos, struct el, list)->key == key)
			break;
	if (pos != &head)
		list_for_each_continue_rcu(pos, &head)
			n++;
	rcu_read_unlock();
	return n;
}

/* ---- listings 4 and 5: a handler goes, and then what it used -------------------------------------- */

typedef void (*nmi_callback_t)(void);
static nmi_callback_t nmi_callback;
static unsigned long *cpu_buffer;

static void profile_tick(void)
{
	unsigned long *count = READ_ONCE(cpu_buffer);

	WRITE_ONCE(*count, *count + 1);
}

/* Where the kernel's handler counts as a reader, a signal's says so. */
static void on_nmi(int sig)
{
	nmi_callback_t callback;

	rcu_read_lock();
	callback = rcu_dereference(nmi_callback);
	if (callback && sig == SIGPROF)
		callback();
	rcu_read_unlock();
}

/* When this returns, no handler runs the callback any more. */
static void timer_stop(void)
{
	rcu_assign_pointer(nmi_callback, (nmi_callback_t)NULL);
	synchronize_kernel();
}

static void oprofile_shutdown(void)
{
	timer_stop();
	printf("%lu ticks\n", *cpu_buffer);
	free(cpu_buffer);
	WRITE_ONCE(cpu_buffer, NULL);
}

/* ---- readers beside it ---------------------------------------------------------------------------- */

/* Even keys are always there, odd ones come and go; the data is the square of the key. */
enum { KEYS = 32, ROUNDS = 20000 };
static int wrong;

static void *reader(void *arg)
{
	for (long i = 0; i < ROUNDS; i++) {
		long key = i % KEYS, data = search(key);

		if (data != key * key && (data != -1 || key % 2 == 0))
			WRITE_ONCE(wrong, 1);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;
	int deleted = 0;

	cpu_buffer = calloc(1, sizeof(*cpu_buffer));
	if (!cpu_buffer || signal(SIGPROF, on_nmi) == SIG_ERR)
		return 1;
	rcu_assign_pointer(nmi_callback, profile_tick);
	for (long key = 0; key < KEYS; key += 2)
		insert(key);
	if (pthread_create(&thread, NULL, reader, NULL))
		return 1;
	for (long i = 0; i < ROUNDS; i++) {
		long key = (i * 7 % KEYS) | 1;

		if (!delete_key(key))
			insert(key);
		else
			deleted++;
		pthread_kill(thread, SIGPROF);
		if (i == ROUNDS / 2)
			oprofile_shutdown();
	}
	pthread_join(thread, NULL);
	wrong |= behind(-1) != 0 || behind(0) < KEYS / 2 - 1;
	for (long key = 0; key < KEYS; key++)
		deleted += delete_key(key);
	lull_rcu_barrier(); /* the kernel had none yet */
	printf("%d elements deleted, %d freed%s\n", deleted, freed, wrong ? ", wrong answers" : "");
	return wrong || deleted != freed || !list_empty(&head);
}
