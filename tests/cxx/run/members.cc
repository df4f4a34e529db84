/* SPDX-License-Identifier: MIT */
/*
 * members.cc - locks that are members of a class, of which no constructor speaks, are free and work, also in
 * memory that was used before; and holds that are.
 */
#include <cstring>
#include <mutex>
#include <new>

#include <lull/cond.h>
#include <lull/hazptr.h>
#include <lull/mutex_robust.h>

#include "must.hpp"

namespace
{

struct counter {
	lull_mutex lock;
	lull_cond changed;
	lull_mutex_robust shared;
	int count;
	counter() : count(0) {}
	void add()
	{
		std::lock_guard<lull_mutex> hold(lock);

		count++;
		lull_cond_broadcast(&changed);
	}
};

/* Before main(), too: the first is set by the compiler, not by code. */
lull_mutex global;
struct early {
	early()
	{
		std::lock_guard<lull_mutex> hold(global);
	}
} an_early_one;

} // namespace

int main()
{
	alignas(counter) static unsigned char memory[sizeof(counter)];
	counter *c;

	std::memset(memory, 0x5a, sizeof(memory));
	c = new (memory) counter;
	MUST(!lull_mutex_is_locked(&c->lock));
	MUST(c->changed.waiters == 0 && c->changed.mutex == 0);
	MUST(lull_mutex_robust_owner(&c->shared) == 0);
	MUST(c->shared.prev == 0 && c->shared.next == 0);
	c->add();
	MUST(c->count == 1);
	MUST(lull_mutex_robust_lock(&c->shared) == 0);
	lull_mutex_robust_unlock(&c->shared);
	lull_cond_destroy(&c->changed);
	lull_mutex_destroy(&c->lock);
	return 0;
}
