/* SPDX-License-Identifier: MIT */
/*
 * refcount.c - saturate a count of refcount.h after misuse, and report it.
 */
#include <stdlib.h>

#include <lull/refcount.h>

#include "../base/message.h"

/* Is @count as close to SATURATED as gets and puts that are under way can have left it? */
static bool is_saturated(int count)
{
	return count < LULL_REFCOUNT_SATURATED / 2 && count > LULL_REFCOUNT_SATURATED + LULL_REFCOUNT_SATURATED / 2;
}

void lull__refcount_misuse(struct lull_refcount *r, const char *call, int old, int change)
{
	/* If several threads find it wrong at the same time, one of them finds it not saturated yet. */
	int before = lull_xchg_relaxed(&r->count, LULL_REFCOUNT_SATURATED);
	const char *what = change > 0 ? (old == 0 ? "it was at its end" : "too many") :
			   old == -change ? "the last one was dropped without a test" : "more were put than got";

	if (is_saturated(before) || is_saturated(old))
		return;
	lull__say("%s: refcount %p had %d references: %s. It stays saturated, and its object is never freed", call,
		  (void *)r, old, what);
}
