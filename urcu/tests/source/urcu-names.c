/* SPDX-License-Identifier: MIT */
/* The code of lull-urcu-names.c, with liburcu's names. */
#include <urcu-qsbr.h>
#include <urcu/rculist.h>

struct o {
	long key, value;
	struct rcu_head head;
	struct cds_list_head list;
};

struct o *gp;
struct cds_list_head head;

long f_read(void);
long f_read(void)
{
	long value;

	rcu_read_lock();
	value = rcu_dereference(gp)->value;
	rcu_read_unlock();
	return value;
}

void f_assign(struct o *p);
void f_assign(struct o *p)
{
	rcu_assign_pointer(gp, p);
}

struct o *f_exchange(struct o *p);
struct o *f_exchange(struct o *p)
{
	return rcu_xchg_pointer(&gp, p);
}

long f_list(long key);
long f_list(long key)
{
	struct o *p;

	cds_list_for_each_entry_rcu(p, &head, list)
		if (p->key == key)
			return p->value;
	return 0;
}

int f_polled(void);
int f_polled(void)
{
	struct urcu_gp_poll_state gp_state = start_poll_synchronize_rcu();

	return poll_state_synchronize_rcu(gp_state);
}
