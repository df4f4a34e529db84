/* SPDX-License-Identifier: MIT */
/*
 * plugin.c - a module that has a copy of lull of its own inside, for copies.c.
 */
#include <stdlib.h>

#include <lull/rcu.h>
#include <lull/thread.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void plugin_use(void);
EXPORT void plugin_wait(void);

/* Use the copy so that the calling thread leaves something to do when it exits. */
void plugin_use(void)
{
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	lull_rcu_free(malloc(100));
}

void plugin_wait(void)
{
	lull_rcu_synchronize();
}
