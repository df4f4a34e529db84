/* SPDX-License-Identifier: MIT */
/* stay.h - a domain, and a section of it that stays open until the test sets `leave`. */
#ifndef LULL_TEST_DOMAIN_STAY_H
#define LULL_TEST_DOMAIN_STAY_H

#include "threads.h"

#include <lull/rcu_domain.h>

static struct lull_rcu_domain d;
static int inside, leave;

static void *stays(void *unused)
{
	int phase = lull_rcu_domain_read_lock(&d);

	lull_store_release(&inside, 1);
	while (!lull_load_acquire(&leave))
		nap_ms(1);
	lull_rcu_domain_read_unlock(&d, phase);
	return unused;
}

static pthread_t start_stay(void)
{
	pthread_t thread;

	inside = leave = 0;
	thread = start_thread(stays, NULL);
	await_flag(&inside, 1);
	return thread;
}

#endif /* LULL_TEST_DOMAIN_STAY_H */
