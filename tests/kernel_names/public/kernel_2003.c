/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * kernel_2003.c - the names of Linux 2.5: an argument for the callback, synchronize_kernel(), its lists.
 */
#include "reader.h"

#define LULL_KERNEL_2003
#include <lull/compat/kernel.h>

struct el {
	long key;
	struct list_head list;
	struct rcu_head my_rcu_head;
};

static LIST_HEAD(els);
static int called;
static void *called_with;

static void my_func(void *arg)
{
	called_with = arg;
	lull_add_release(&called, 1);
}

TEST(call)
{
	struct el el = { .key = 7 };
	pthread_t reader = start_hold_up();
	long arg;

	call_rcu(&el.my_rcu_head, my_func, &arg);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&called), 0);
	end_hold_up(reader);
	lull_rcu_barrier();
	assert_int_equal(called, 1);
	assert_ptr_equal(called_with, &arg);
}

static int returned;

static void *synchronizes(void *unused)
{
	synchronize_kernel();
	lull_store_release(&returned, 1);
	return unused;
}

TEST(synchronize)
{
	pthread_t reader = start_hold_up(), updater = start_thread(synchronizes, NULL);

	nap_ms(20);
	assert_int_equal(lull_load_acquire(&returned), 0);
	end_hold_up(reader);
	join_thread(updater);
}

TEST(lists)
{
	struct el el[4];
	struct list_head *pos, *n;
	struct el *p;
	long sum = 0;

	rcu_read_lock();
	for (int i = 0; i < 4; i++) {
		el[i].key = i;
		list_add_rcu_tail(&el[i].list, &els);
	}
	list_for_each_entry_rcu(p, &els, list)
		sum = sum * 10 + p->key;
	assert_int_equal(sum, 123);
	pos = &el[1].list;
	sum = 0;
	list_for_each_continue_rcu(pos, &els)
		sum = sum * 10 + list_entry(pos, struct el, list)->key;
	assert_int_equal(sum, 23);
	list_for_each_safe_rcu(pos, n, &els) {
		list_del_rcu(pos);
		pos->next = NULL; /* no other thread reads: the loop has what it needs */
	}
	assert_true(list_empty(&els));
	rcu_read_unlock();
}
