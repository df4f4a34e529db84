/* SPDX-License-Identifier: MIT */
/*
 * threads.h - hazard pointers in the lives of threads and processes; for life.c.
 */
#ifndef LULL_THREADS_H
#define LULL_THREADS_H

#include <stdint.h>

void lull__hazptr_thread_enter(void);		 /* set up the calling thread's context, on registration */
void lull__hazptr_unregister(const char *call);	 /* abort in the name of @call if slots of it are in use */
void lull__hazptr_thread_exit(void);		 /* drop all that the calling thread still protects */
void lull__hazptr_thread_leave(void);		 /* allow no slots of it from then on */
void lull__hazptr_fork_child(uint32_t old_tid);

#endif /* LULL_THREADS_H */
