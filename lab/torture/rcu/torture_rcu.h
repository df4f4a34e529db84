/* SPDX-License-Identifier: MIT */
/* lull torture: what the parts of flavors rcu and rcu-qsbr share. */
#ifndef LULL_LAB_TORTURE_RCU_H
#define LULL_LAB_TORTURE_RCU_H

#include "torture/torture.h"

/* Ways to wait. */
enum torture_form {
	FORM_SYNC,
	FORM_CALL,
	FORM_POLL,
	FORM_WAIT,
	FORM_COOKIE,
	FORM_STREAM,
	FORM_BARRIER,
	FORM_DRAIN,
};

void *torture_reader(void *arg);
void *torture_qsbr_reader(void *arg);
void *torture_updater(void *arg);
/* Go online for a while, and read. */
void torture_online_burst(struct torturer *t);
/* The life of a thread that is online, but for the times when it blocks. */
void *torture_online_life(struct torturer *t);

#endif
