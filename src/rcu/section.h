/* SPDX-License-Identifier: MIT */
/*
 * section.h - what the rest of the library asks of read sections.
 */
#ifndef LULL_SECTION_H
#define LULL_SECTION_H

#include <lull/rcu.h>

extern uint32_t lull__rcu_event; /* changes when a thread that is waited for leaves its section */

void lull__rcu_no_section(const char *call); /* abort when waiting here would never end */

/* Around a wait of an online thread, which holds nothing meanwhile. */
void lull__rcu_leave_online(void);
void lull__rcu_enter_online(void);

/* For life.c. */
void lull__rcu_thread_exit(void); /* the calling thread's section, if any, is dropped */
void lull__rcu_unregister(const char *call);

#endif /* LULL_SECTION_H */
