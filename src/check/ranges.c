/* SPDX-License-Identifier: MIT */
/*
 * ranges.c - the treap of ranges.h, and the memory of its elements.
 */
#include "ranges.h"

#ifdef LULL_DEBUG
#include <sched.h>
#include <sys/mman.h>

#include <lull/hash.h>

#define BLOCK_BYTES 65536u
#define TRIES	    100
#define FORK_TRIES  10000

/*
 * This thread holds a lock of a set, or tries to. A handler must then not try: if signals come faster than
 * it gives up, its thread would never release the lock.
 */
static __thread bool inside __attribute__((tls_model("initial-exec")));

void lull__ranges_enter(struct lull__ranges *set)
{
	lull_store_relaxed(&inside, true);
	lull_compiler_barrier();
	lull__lock(&set->lock);
}

bool lull__ranges_try_enter(struct lull__ranges *set)
{
	if (inside)
		return false;
	lull_store_relaxed(&inside, true);
	lull_compiler_barrier();
	for (int i = 0; i < TRIES; i++) {
		if (lull__trylock(&set->lock))
			return true;
		lull_cpu_relax();
	}
	lull_store_relaxed(&inside, false);
	return false;
}

void lull__ranges_leave(struct lull__ranges *set)
{
	lull__unlock(&set->lock);
	lull_compiler_barrier();
	lull_store_relaxed(&inside, false);
}

static uint64_t weight(const struct lull__range *range)
{
	return lull_hash_mix64(range->from);
}

struct lull__range *lull__ranges_find(const struct lull__ranges *set, uintptr_t from, uintptr_t to)
{
	struct lull__range *at = set->root, *last = NULL;

	while (at) {
		if (at->from < to) {
			last = at;
			at = at->right;
		} else {
			at = at->left;
		}
	}
	return last && last->to > from ? last : NULL;
}

/*
 * Add memory for more elements. Not by malloc, so that leak checkers and limits on the heap do not count
 * it.
 */
static void add_block(struct lull__ranges *set)
{
	char *block = (char *)mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (block == MAP_FAILED)
		return;
	for (size_t at = 0; at + set->size <= BLOCK_BYTES; at += set->size) {
		struct lull__range *range = (struct lull__range *)(void *)(block + at);

		range->left = set->unused;
		set->unused = range;
	}
}

struct lull__range *lull__ranges_new(struct lull__ranges *set)
{
	struct lull__range *range;

	if (!set->unused)
		add_block(set);
	range = set->unused;
	if (range)
		set->unused = range->left;
	return range;
}

void lull__ranges_insert(struct lull__ranges *set, struct lull__range *range)
{
	struct lull__range **at = &set->root, **left = &range->left, **right = &range->right, *rest;

	while (*at && weight(*at) >= weight(range))
		at = range->from < (*at)->from ? &(*at)->left : &(*at)->right;
	rest = *at;
	*at = range;
	/* Divide the subtree that was here into the parts on the left and on the right of @range. */
	while (rest) {
		if (rest->from < range->from) {
			*left = rest;
			left = &rest->right;
			rest = rest->right;
		} else {
			*right = rest;
			right = &rest->left;
			rest = rest->left;
		}
	}
	*left = *right = NULL;
	lull_store_relaxed(&set->count, set->count + 1);
}

void lull__ranges_remove(struct lull__ranges *set, struct lull__range *range)
{
	struct lull__range **at = &set->root, *left = range->left, *right = range->right;

	while (*at != range)
		at = range->from < (*at)->from ? &(*at)->left : &(*at)->right;
	while (left && right) {
		if (weight(left) >= weight(right)) {
			*at = left;
			at = &left->right;
			left = *at;
		} else {
			*at = right;
			at = &right->left;
			right = *at;
		}
	}
	*at = left ? left : right;
	range->left = set->unused;
	set->unused = range;
	lull_store_relaxed(&set->count, set->count - 1);
}

bool lull__ranges_fork_prepare(struct lull__ranges *set)
{
	/* Signals are blocked, so `inside` need not be set. */
	for (int i = 0; i < FORK_TRIES && !inside; i++) {
		if (lull__trylock(&set->lock))
			return true;
		sched_yield();
	}
	return false;
}

void lull__ranges_fork_child(struct lull__ranges *set, bool whole)
{
	if (!whole) {
		set->root = set->unused = NULL;
		set->count = 0;
	}
	set->lock.word = 0;
}
#endif
