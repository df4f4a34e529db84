/* SPDX-License-Identifier: MIT */
/*
 * members.cc - locks that are members of a class, of which no constructor speaks, are free and work, also in
 * memory that was used before; and holds that are.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include <lull/cond.h>
#include <lull/hazptr.h>
#include <lull/mutex_robust.h>

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

void must(bool condition, const char *what)
{
	if (!condition) {
		std::fprintf(stderr, "members: %s\n", what);
		std::exit(1);
	}
}

} // namespace

int main()
{
	alignas(counter) static unsigned char memory[sizeof(counter)];
	counter *c;

	std::memset(memory, 0x5a, sizeof(memory));
	c = new (memory) counter;
	must(!lull_mutex_is_locked(&c->lock), "a mutex begins locked");
	must(c->changed.waiters == 0 && c->changed.mutex == 0, "a condition begins with waiters");
	must(lull_mutex_robust_owner(&c->shared) == 0, "a robust mutex begins locked");
	must(c->shared.prev == 0 && c->shared.next == 0, "a robust mutex begins on a list");
	c->add();
	must(c->count == 1, "a count");
	must(lull_mutex_robust_lock(&c->shared) == 0, "a robust mutex");
	lull_mutex_robust_unlock(&c->shared);
	lull_cond_destroy(&c->changed);
	lull_mutex_destroy(&c->lock);
	return 0;
}
