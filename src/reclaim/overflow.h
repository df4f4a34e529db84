/* SPDX-License-Identifier: MIT */
/*
 * overflow.h - callbacks that were deferred when there was no memory for a queue.
 */
#ifndef LULL_OVERFLOW_H
#define LULL_OVERFLOW_H

#include <lull/rcu.h>

void lull__overflow_push(struct lull_head *head);

/* Count those that were pushed, and those that have not run yet; they are items of the backlog, of no bytes. */
uint64_t lull__overflow_put(void);
uint64_t lull__overflow_waiting(void);

/* Run all. Waits for readers. Returns how many there were. */
size_t lull__overflow_run(void);
/* Run at most @most of those that wait for no reader any more. Returns how many. */
size_t lull__overflow_poll(size_t most);

void lull__overflow_fork_child(void);

#endif /* LULL_OVERFLOW_H */
