/* SPDX-License-Identifier: MIT */
/*
 * locks.cc - a copy of a lock would have no owner to unlock it.
 */
#include <mutex>
#include <utility>

#include <lull/cond.h>
#include <lull/mutex_robust.h>

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

static_assert(sizeof(lull_mutex) == 12 && sizeof(lull_mutex_robust) == 40, "as in C");
static_assert(sizeof(lull_cond) == 8 + sizeof(void *), "as in C");

int main()
{
	account mine, yours;

	std::lock_guard<lull_mutex> hold(mine.lock);
	std::unique_lock<lull_mutex> later(a, std::defer_lock);
	WRONG("deleted", lull_mutex copy = a;)
	WRONG("deleted", b = a;)
	WRONG("deleted", lull_cond copy = c;)
	WRONG("deleted", lull_mutex_robust copy(std::move(r));)
	WRONG("deleted", account copy = mine;)
	(void)yours;
	return 0;
}
