/* SPDX-License-Identifier: MIT */
/*
 * hazard_pointers.cc - holds and contexts stay where they are: updaters scan them there.
 */
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <lull/hazptr.h>

struct reader {
	lull_hazptr_context own;
	lull_hazptr_hold current = {};
};

int *shared;

static lull_hazptr_hold make_hold()
{
	WRONG("deleted", lull_hazptr_hold hold; (void)lull_hazptr_acquire(&hold, &shared); return hold;)
	return {}; /* one that holds nothing, made in place */
}

int main()
{
	std::deque<lull_hazptr_hold> holds; /* does not move what it has when it grows */
	std::vector<lull_hazptr_context> contexts(2);
	std::unique_ptr<lull_hazptr_hold> hold(new lull_hazptr_hold);
	reader a, b;

	holds.emplace_back();
	lull_hazptr_context_init(&contexts[0]);
	lull_hazptr_context_init(&a.own);
	WRONG("deleted|result type must be constructible", std::vector<lull_hazptr_hold> few; few.emplace_back();)
	WRONG("deleted|result type must be constructible", contexts.resize(3);)
	WRONG("deleted", b.own = a.own;)
	WRONG("deleted", reader c = std::move(a); (void)c;)
	WRONG("deleted", *lull_hazptr_alloc(&b.own) = *lull_hazptr_alloc(&a.own);)
	(void)make_hold;
	(void)b;
	return 0;
}
