/* SPDX-License-Identifier: MIT */
/*
 * check.h - where the library asks the checks of debug builds. Elsewhere nothing is left of them.
 */
#ifndef LULL_SRC_CHECK_H
#define LULL_SRC_CHECK_H

#include <lull/check.h>
#include <lull/rcu.h>

struct lull__queue;
struct lull__ranges;

/* ---- check.c -------------------------------------------------------------------------------- */

#ifdef LULL_DEBUG
/* This thread goes to sleep in @call: is it online? One line per thread. */
void lull__check_may_block(const char *call);
/* What was declared of memory that is about to be freed holds no more. */
void lull__check_freed(uintptr_t from, uintptr_t to);

/* Around a fork, with signals blocked. */
void lull__check_fork_prepare(void);
void lull__check_fork_parent(void);
void lull__check_fork_child(void);
#else
static inline void lull__check_may_block(const char *call)
{
	(void)call;
}

static inline void lull__check_fork_prepare(void)
{
}

static inline void lull__check_fork_parent(void)
{
}

static inline void lull__check_fork_child(void)
{
}
#endif

/* ---- outstanding.c -------------------------------------------------------------------------- */

/*
 * Not in a library with faults (LULL_BUSTED): the checks' own lock and fence, at every deferral, would hide
 * that one is missing.
 */
#if defined(LULL_DEBUG) && !defined(LULL_BUSTED)
#define LULL__CHECK_OUTSTANDING 1
#else
#define LULL__CHECK_OUTSTANDING 0
#endif

extern struct lull__ranges lull__outstanding;

#if LULL__CHECK_OUTSTANDING
/* @item is about to be deferred, from @site: is it so already, whole or in part? @func: of a call. */
void lull__check_deferred(int kind, void *item, lull_rcu_func func, const void *site);
/* [q->ready, @ready) waits for nothing any more: who reads what is to be freed comes too late. */
void lull__check_ready(const struct lull__queue *q, uint64_t ready);
/* It is about to be freed, or its callback called. */
void lull__check_reclaimed(void *item);
/* @call is about to wait until nothing is protected that has been retired. */
void lull__check_protects_none(const char *call);
#else
static inline void lull__check_deferred(int kind, void *item, lull_rcu_func func, const void *site)
{
	(void)kind;
	(void)item;
	(void)func;
	(void)site;
}

static inline void lull__check_ready(const struct lull__queue *q, uint64_t ready)
{
	(void)q;
	(void)ready;
}

static inline void lull__check_reclaimed(void *item)
{
	(void)item;
}

static inline void lull__check_protects_none(const char *call)
{
	(void)call;
}
#endif

#endif /* LULL_SRC_CHECK_H */
