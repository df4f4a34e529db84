/* SPDX-License-Identifier: MIT */
/*
 * hazard_pointers.cc - holds and contexts stay where they are: updaters scan them there.
 */
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <lull/hazptr.h>

// wrong 1: use of deleted function|deleted (copy |move )?constructor|result type must be constructible
// wrong 2: use of deleted function|deleted (copy |move )?constructor|result type must be constructible
// wrong 3: use of deleted function|deleted (copy |move )?constructor
// wrong 4: use of deleted function|is implicitly deleted|selected deleted operator
// wrong 5: use of deleted function|deleted (copy |move )?constructor
// wrong 6: use of deleted function|is implicitly deleted|selected deleted operator

struct reader {
	lull_hazptr_context own;
	lull_hazptr_hold current = {};
};

int *shared;

static lull_hazptr_hold make_hold()
{
#if defined WRONG && WRONG == 3
	lull_hazptr_hold hold;

	(void)lull_hazptr_acquire(&hold, &shared);
	return hold;
#else
	return {}; /* one that holds nothing, made in place */
#endif
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
#if defined WRONG && WRONG == 1
	std::vector<lull_hazptr_hold> few;
	few.emplace_back();
#elif defined WRONG && WRONG == 2
	contexts.resize(3);
#elif defined WRONG && WRONG == 4
	b.own = a.own;
#elif defined WRONG && WRONG == 5
	reader c = std::move(a);
	(void)c;
#elif defined WRONG && WRONG == 6
	*lull_hazptr_alloc(&b.own) = *lull_hazptr_alloc(&a.own);
#endif
	(void)make_hold;
	(void)b;
	return 0;
}
