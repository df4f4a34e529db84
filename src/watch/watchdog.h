/* SPDX-License-Identifier: MIT */
/*
 * watchdog.h - callbacks that do not return; hooks.h says when these are called.
 */
#ifndef LULL_WATCHDOG_H
#define LULL_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

bool lull__watchdog_start(void); /* start the thread, if it is not there, before it is needed: is it there now? */
void lull__watchdog_stop(void); /* stop the thread, and wait for its end, but not for long */
void lull__watchdog_callbacks_begin(void);
void lull__watchdog_callbacks_end(void);
void lull__watchdog_fork_child(uint32_t old_tid);

#endif /* LULL_WATCHDOG_H */
