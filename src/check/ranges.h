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
	uint32_t count; /* changes under the lock; may be read without it */
	struct lull__range *root;
	struct lull__range *unused; /* list of free elements, linked by `left` */
	size_t size; /* of an element, which begins with a struct lull__range */
};

/*
 * Take the lock, and release it. try_enter() is for code that signal handlers run too: a handler may have
 * interrupted its thread while that holds such a lock. Then, and if another thread holds the lock for long,
 * it gives up, and nothing is checked.
 */
void lull__ranges_enter(struct lull__ranges *set);
bool lull__ranges_try_enter(struct lull__ranges *set);
void lull__ranges_leave(struct lull__ranges *set);

/* All below with the lock held. Find a range that overlaps [@from, @to), or NULL. */
struct lull__range *lull__ranges_find(const struct lull__ranges *set, uintptr_t from, uintptr_t to);
struct lull__range *lull__ranges_new(struct lull__ranges *set); /* NULL: no memory */
void lull__ranges_insert(struct lull__ranges *set, struct lull__range *range);
void lull__ranges_remove(struct lull__ranges *set, struct lull__range *range); /* and give it back */

/*
 * Take the lock before a fork, so that the child finds the set complete. Returns false if that fails, in a
 * signal handler in the middle of a change, say: then fork_child() empties the child's set.
 */
bool lull__ranges_fork_prepare(struct lull__ranges *set);
void lull__ranges_fork_child(struct lull__ranges *set, bool whole);

#endif /* LULL_RANGES_H */
