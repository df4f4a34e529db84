/* SPDX-License-Identifier: MIT */
/*
 * locks.cc - a copy of a lock is locked by nobody who will unlock it.
 */
#include <mutex>
#include <utility>

#include <lull/cond.h>
#include <lull/mutex_robust.h>

// wrong 1: use of deleted function|deleted (copy |move )?constructor
// wrong 2: use of deleted function|is implicitly deleted|selected deleted operator
// wrong 3: use of deleted function|deleted (copy |move )?constructor
// wrong 4: use of deleted function|deleted (copy |move )?constructor
// wrong 5: use of deleted function|deleted (copy |move )?constructor

struct account {
	lull_mutex lock;
	lull_cond changed = LULL_COND_INIT;
	lull_mutex_robust shared;
	int money;
	account() : money(0) {}
};

lull_mutex a, b = LULL_MUTEX_INIT;
lull_cond c = LULL_COND_INIT;
lull_mutex_robust r = LULL_MUTEX_ROBUST_INIT;
lull_mutex many[4] = {};

static_assert(sizeof(lull_mutex) == 8 && sizeof(lull_mutex_robust) == 40, "as in C");
static_assert(sizeof(lull_cond) == 8 + sizeof(void *), "as in C");

int main()
{
	account mine, yours;

	std::lock_guard<lull_mutex> hold(mine.lock);
	std::unique_lock<lull_mutex> later(a, std::defer_lock);
#if defined WRONG && WRONG == 1
	lull_mutex copy = a;
#elif defined WRONG && WRONG == 2
	b = a;
#elif defined WRONG && WRONG == 3
	lull_cond copy = c;
#elif defined WRONG && WRONG == 4
	lull_mutex_robust copy(std::move(r));
#elif defined WRONG && WRONG == 5
	account copy = mine;
#endif
	(void)yours;
	return 0;
}
