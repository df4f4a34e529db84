/* SPDX-License-Identifier: MIT */
/*
 * domain.h - the inside of a domain: its grace periods (domain.c) and its callbacks (domain_call.c).
 */
#ifndef LULL_DOMAIN_H
#define LULL_DOMAIN_H

#include <lull/rcu_domain.h>

#include "../base/lock.h"
#include "../base/wait.h"
#include "../count/percpu_cells.h"

#define LULL__DOMAIN_PHASES 4u

struct lull__domain_phase {
	struct lull__percpu cell;
	uint64_t begins, ends; /* of sections that could not count on their CPU */
};

enum lull__domain_stage {
	DOMAIN_IDLE,	   /* no grace period is open */
	DOMAIN_STRAGGLERS, /* it waits for sections of the phase that is not current */
	DOMAIN_FLIPPED,	   /* ... for those of the phase that was current when it began: not current now */
};

struct lull__domain {
	struct lull_rcu_domain *domain;
	struct lull__domain *next; /* of all */
	const char *name;
	uintptr_t slow; /* LULL__DOMAIN_SLOW: threads have the counters */
	struct lull__domain_phase phase[LULL__DOMAIN_PHASES];

	/* Grace periods; all but `started` and `completed` are the leader's. */
	struct lull__lock leader;
	enum lull__domain_stage stage;
	uint64_t started, completed; /* how many */
	struct lull__wait wait;

	/* Callbacks. */
	struct lull__lock lock; /* guards the queue, and nothing waits with it */
	struct lull_head *first, **last; /* those that no grace period has been asked for, the oldest first */
	uint64_t called, returned; /* how many were deferred, and how many have returned */
	uint32_t event;		   /* changes when some have returned */
	uint32_t forks;		   /* from the process that made the domain to this one */
	struct lull__lock serving; /* held by the thread that serves this domain: */
	const struct lull__thread *server;
	struct lull_head *batch;   /* those that wait for `cookie`, or run */
	lull_rcu_cookie cookie;
	uint64_t since_ns; /* when the batch began to wait */
	bool is_listed; /* among those that have callbacks; under the list's lock */
	struct lull__domain *next_listed;
};

/*
 * Take the grace period of @cookie on without a wait. Returns whether it is over. @waits: the caller comes
 * again until it is, so this is a wait that may be reported.
 */
bool lull__domain_advance(struct lull__domain *data, lull_rcu_cookie cookie, bool waits);
/* Return the cookie of the first grace period that begins after this. */
lull_rcu_cookie lull__domain_cookie(struct lull__domain *data);
/* Return how long to sleep before the next look, after a wait that began at @since_ns. */
uint64_t lull__domain_nap_ns(uint64_t since_ns);

/* Return how many sections are open; some more or less, while they come and go. */
unsigned lull__domain_open_sections(const struct lull__domain *data);

/* Of @d, in use; @call is for the line if it is not. */
struct lull__domain *lull__domain_of(const struct lull_rcu_domain *d, const char *call);

void lull__domain_calls_init(struct lull__domain *data);
/* Wait until the thread that runs callbacks has left @data, which has none. */
void lull__domain_calls_end(struct lull__domain *data);
/* In a forked child: @data has the queue as it was in the middle of a push or of a take, perhaps. */
void lull__domain_calls_fork_child(struct lull__domain *data);

#endif /* LULL_DOMAIN_H */
