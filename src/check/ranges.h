/* SPDX-License-Identifier: MIT */
/*
 * ranges.h - ordered sets of address ranges that do not overlap, for the checks of debug builds.
 *
 * A treap: a search tree by address which is a heap by a hash of the address, so that it is as
 * balanced as a tree that was built in random order. A lookup takes about two steps per doubling.
 */
#ifndef LULL_RANGES_H
#define LULL_RANGES_H

#include <lull/detail/base.h>

#include "../base/lock.h"

struct lull__range {
	uintptr_t from, to;
	struct lull__range *left, *right;
};

struct lull__ranges {
	struct lull__lock lock;
	uint32_t count; /* changes under the lock; others may look */
	struct lull__range *root;
	struct lull__range *unused; /* through `left` */
	size_t size; /* of an element, which begins with a struct lull__range */
};

/*
 * Take the lock, and let it go. try_enter() is for what signal handlers do too, which may have interrupted
 * their thread while it has a lock of these: then, and when another thread has it for long, it gives up,
 * and nothing is checked.
 */
void lull__ranges_enter(struct lull__ranges *set);
bool lull__ranges_try_enter(struct lull__ranges *set);
void lull__ranges_leave(struct lull__ranges *set);

/* The rest with the lock held. */
struct lull__range *lull__ranges_find(const struct lull__ranges *set, uintptr_t from, uintptr_t to); /* that overlaps */
struct lull__range *lull__ranges_new(struct lull__ranges *set); /* NULL: no memory */
void lull__ranges_insert(struct lull__ranges *set, struct lull__range *range);
void lull__ranges_remove(struct lull__ranges *set, struct lull__range *range); /* and give it back */

/*
 * Around a fork, which is to find the set whole. False: it does not, since this is a signal handler in the
 * middle of a change, say. The child's set is empty then.
 */
bool lull__ranges_fork_prepare(struct lull__ranges *set);
void lull__ranges_fork_child(struct lull__ranges *set, bool whole);

#endif /* LULL_RANGES_H */
