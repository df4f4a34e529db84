/* SPDX-License-Identifier: MIT */
/*
 * watchdog.h - callbacks that do not return; hooks.h says when these are called.
 */
#ifndef LULL_WATCHDOG_H
#define LULL_WATCHDOG_H

#include <stdint.h>

void lull__watchdog_stop(void); /* stop the thread, and wait for its end, but not for long */
void lull__watchdog_callbacks_begin(void);
void lull__watchdog_callbacks_end(void);
void lull__watchdog_fork_child(uint32_t old_tid);

#endif /* LULL_WATCHDOG_H */
