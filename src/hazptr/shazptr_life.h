/* SPDX-License-Identifier: MIT */
/*
 * shazptr_life.h - simple hazard pointers in the lives of threads and processes; for life.c and reclaim/.
 */
#ifndef LULL_SHAZPTR_LIFE_H
#define LULL_SHAZPTR_LIFE_H

#include <stdint.h>

void lull__shazptr_thread_enter(void);		/* set up the calling thread's slot; registry lock held */
void lull__shazptr_unregister(const char *call); /* abort in the name of @call if the slot is in use */
void lull__shazptr_thread_exit(void);		/* clear the calling thread's slot */
void lull__shazptr_thread_leave(void);		/* allow no more acquisitions; registry lock held */
void lull__shazptr_fork_child(uint32_t old_tid);

#endif /* LULL_SHAZPTR_LIFE_H */
