/* SPDX-License-Identifier: MIT */
/*
 * vigil.h - waits that last: told to those who look (the page of stats.h), and reported when they
 * have lasted for stall_ms, and for twice, four, eight ... times that.
 */
#ifndef LULL_VIGIL_H
#define LULL_VIGIL_H

#include <lull/debug.h>

/* One wait. It begins when somebody is about to sleep, not before. */
struct lull__vigil {
	enum lull_wait_kind kind;
	int place; /* on the page; -1: all are taken */
	uint64_t since_ns;
	uint64_t report_ms; /* after how long; 0: never */
};

/* @since_ns: 0 for now. */
void lull__vigil_begin(struct lull__vigil *vigil, enum lull_wait_kind kind, uint64_t since_ns);
void lull__vigil_end(struct lull__vigil *vigil);

/* When the next report is due; 0: never. */
static inline uint64_t lull__vigil_report_ns(const struct lull__vigil *vigil)
{
	return vigil->report_ms ? vigil->since_ns + vigil->report_ms * 1000000u : 0;
}

/* Is it due? Then it counts as made: the caller makes it now. */
bool lull__vigil_due(struct lull__vigil *vigil);

/* Tell the page for whom: one of @holders. Of @stall: tid, depth, site. */
void lull__vigil_holder(const struct lull__vigil *vigil, const struct lull_stall *stall, unsigned holders);

/*
 * Report @stall, of which the caller has set what only it knows: tid, depth, slots, site. The rest is
 * found out here.
 */
void lull__vigil_report(const struct lull__vigil *vigil, struct lull_stall *stall) __attribute__((cold));

/*
 * Callbacks that do not return. While a pass runs some, a thread of its own looks at whether they
 * get on; it is there as long as the reclaimer's thread is, and sleeps while none are run.
 */
void lull__watchdog_start(void);
void lull__watchdog_stop(void); /* and wait for its end, but not for long */
void lull__watchdog_enter(void);
void lull__watchdog_leave(void);
void lull__watchdog_fork_child(uint32_t old_tid);

#endif /* LULL_VIGIL_H */
