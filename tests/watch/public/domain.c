/* SPDX-License-Identifier: MIT */
/* domain.c - a wait for the sections of a domain is reported: how many are open, and of which domain. */
#include "domain/stay.h"

static void does_nothing(struct lull_head *unused)
{
	(void)unused;
}

static struct lull_stall told;
static char told_name[32];
static int tells;

static void tell(const struct lull_stall *stall, void *unused)
{
	(void)unused;
	told = *stall;
	snprintf(told_name, sizeof(told_name), "%s", stall->site_name);
	lull_add_release(&tells, 1);
}

static void *synchronizes(void *unused)
{
	lull_rcu_domain_synchronize(&d);
	return unused;
}

/* A long wait is reported, that of callbacks too, with how many sections are open. */
TEST(reports)
{
	static struct lull_head head;

	assert_int_equal(lull_rcu_domain_init(&d, "files"), 0);
	lull_debug_set_stall_ms(20);
	lull_debug_set_stall_hook(tell, NULL);
	for (int callback = 0; callback < 2; callback++) {
		pthread_t reader = start_stay(), waiter = reader;
		int phase = lull_rcu_domain_read_lock(&d);

		tells = 0;
		if (callback)
			lull_rcu_domain_call(&d, &head, does_nothing);
		else
			waiter = start_thread(synchronizes, NULL);
		AWAIT(lull_load_acquire(&tells) >= 1);
		assert_int_equal(told.what, LULL_WAIT_DOMAIN);
		assert_string_equal(told.kind, "rcu domain");
		assert_string_equal(told_name, "files");
		assert_int_equal(told.slots, 2);
		assert_int_equal(told.tid, 0);
		lull_rcu_domain_read_unlock(&d, phase);
		lull_store_release(&leave, 1);
		if (!callback)
			join_thread(waiter);
		join_thread(reader);
	}
	lull_rcu_domain_barrier(&d);
	lull_debug_set_stall_hook(NULL, NULL);
	lull_debug_set_stall_ms(1000);
	lull_rcu_domain_destroy(&d);
}
