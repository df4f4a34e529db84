/* SPDX-License-Identifier: MIT */
/*
 * task.h - what a thread of this process is doing.
 */
#ifndef LULL_TASK_H
#define LULL_TASK_H

#include <lull/debug.h>

struct lull__task {
	char name[32]; /* "?" when the thread is gone */
	char where[192];
	enum lull_thread_state state;
};

void lull__task_read(uint32_t tid, struct lull__task *task);  /* @tid 0: the thread is not known */

/*
 * Put into @buf which wait of lull's @tid is in, and which thread has what it waits for: `for mutex 0x2a, which thread
 * "name" (tid 7) has`. "": none that is known. It may be over by now.
 */
void lull__task_awaits(uint32_t tid, char *buf, size_t size);

#endif /* LULL_TASK_H */
