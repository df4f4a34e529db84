/* SPDX-License-Identifier: MIT */
/*
 * plugin.c - a module that a program loads and unloads, with a callback in it (check/public), and a
 * constructor that waits with the loader's lock held (watch/public).
 */
#include <lull/rcu.h>

struct thing {
	int before;
	struct lull_rcu_head rcu;
	int after;
};

void plugin_callback(struct lull_rcu_head *head);

__attribute__((visibility("default"))) void plugin_callback(struct lull_rcu_head *head)
{
	lull_container_of(head, struct thing, rcu)->after = 42;
}

__attribute__((constructor)) static void wait_for_readers(void)
{
	lull_rcu_synchronize();
}
