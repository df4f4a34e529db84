/* SPDX-License-Identifier: MIT */
/* The code of urcu-names.c, with lull's names. */
#include <lull/lull.h>

struct o {
	long key, value;
	struct lull_rcu_head head;
	struct lull_list_head list;
};

struct o *gp;
struct lull_list_head head;

long f_read(void);
long f_read(void)
{
	long value;

	lull_rcu_online_read_lock();
	value = lull_rcu_dereference(gp)->value;
	lull_rcu_online_read_unlock();
	return value;
}

void f_assign(struct o *p);
void f_assign(struct o *p)
{
	lull_rcu_assign(gp, p);
}

struct o *f_exchange(struct o *p);
struct o *f_exchange(struct o *p)
{
	return lull_xchg_acq_rel(&gp, p);
}

long f_list(long key);
long f_list(long key)
{
	struct o *p;

	lull_list_for_each_entry_rcu(p, &head, list)
		if (p->key == key)
			return p->value;
	return 0;
}

int f_polled(void);
int f_polled(void)
{
	lull_rcu_cookie cookie = lull_rcu_gp_start();

	return lull_rcu_gp_poll(cookie);
}
