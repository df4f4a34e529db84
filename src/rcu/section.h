/* SPDX-License-Identifier: MIT */
/*
 * section.h - what the rest of the library asks of read sections.
 */
#ifndef LULL_SECTION_H
#define LULL_SECTION_H

#include <lull/rcu.h>

extern uint32_t lull__rcu_event; /* changes when a thread that is waited for leaves its section */

/* Abort if the calling thread is in a read section, where @call would never end. */
void lull__rcu_no_section(const char *call);

/* Leave an endless section before a wait, and enter the next one after it: an online thread that waits holds no pointer. */
void lull__rcu_end_section(uint64_t word); /* with LULL__RCU_REST */
void lull__rcu_enter_online(void);

/* At the end of the section that the calling thread is in, let the reclaimer call in what the thread owes it. */
void lull__rcu_owe(void);

/* For life.c. */
void lull__rcu_thread_exit(void); /* end the calling thread's section, if it is in one */
void lull__rcu_unregister(const char *call);

#endif /* LULL_SECTION_H */
