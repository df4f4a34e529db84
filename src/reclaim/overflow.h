/* SPDX-License-Identifier: MIT */
/*
 * overflow.h - what to do with memory and callbacks that are deferred when there is no memory for a queue.
 */
#ifndef LULL_OVERFLOW_H
#define LULL_OVERFLOW_H

#include <lull/rcu.h>

/* Defer @item, which is of @kind (queue.h), although there is no memory for another chunk of its queue. */
void lull__defer_without_memory(int kind, void *item);
void lull__overflow_push(struct lull_head *head);

/* Count those that were pushed, and those that have not run yet; they are items of the backlog, of no bytes. */
uint64_t lull__overflow_put(void);
uint64_t lull__overflow_waiting(void);

/*
 * Run all that no slot names. Waits for readers in sections. Returns how many there were. @awaited: a barrier waits for
 * the others, too.
 */
size_t lull__overflow_run(bool awaited);
/* In a callback: run those that @is_chosen picks, called with @arg, and that wait for nothing. Returns how many. */
size_t lull__overflow_run_chosen(bool (*is_chosen)(const void *item, const void *arg), const void *arg);
/* Run at most @most of those that wait for no reader any more. Returns how many. */
size_t lull__overflow_poll(size_t most);

void lull__overflow_fork_child(void);
void lull__overflow_each(void (*look)(struct lull_head *head)); /* at all that wait here; in a child, after that */

#endif /* LULL_OVERFLOW_H */
