/* SPDX-License-Identifier: MIT */
/* deep_plugin.c - a plugin that uses liburcu-memb by calls. */
#include <urcu/urcu-memb.h>

void plug_read(void);
void plug_wait(void);

void plug_read(void)
{
	urcu_memb_register_thread();
	urcu_memb_read_lock();
	urcu_memb_read_unlock();
	urcu_memb_unregister_thread();
}

void plug_wait(void)
{
	urcu_memb_synchronize_rcu();
}
