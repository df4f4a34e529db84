/* SPDX-License-Identifier: MIT */
/*
 * memory.cc - lull_rcu_free() and its like end in free(3), which calls no destructor and takes nothing that
 * comes from new. That an object has a destructor can be seen; where plain memory comes from cannot.
 */
#include <cstdlib>
#include <cstring>
#include <string>

#include <lull/bridge.h>
#include <lull/hazptr.h>
#include <lull/hazptr_fenced.h>
#include <lull/rcu.h>

struct config {
	std::string name;
	lull_rcu_head rcu;
};

struct plain {
	int values[4];
};

struct hidden; /* a C library's, say */

static void drop(lull_rcu_head *head) noexcept
{
	delete lull_container_of(head, config, rcu);
}

void (*frees)(void *) = lull_rcu_free;

void retire(hidden *in_a_c_library, config *c);

void retire(hidden *in_a_c_library, config *c)
{
	auto *p = static_cast<plain *>(std::malloc(sizeof(plain)));

	lull_rcu_free(p);
	lull_rcu_free(std::malloc(1));
	lull_rcu_free(nullptr);
	lull_rcu_free(NULL);
	lull_rcu_free(strdup("text"));
	lull_rcu_free(static_cast<void *>(in_a_c_library));
	lull_rcu_free_sized(p, sizeof(*p));
	lull_hazptr_retire(p);
	lull_hazptr_retire_sized(p, sizeof(*p));
	lull_hazptr_fenced_retire(p);
	lull_rcu_free_hazptr(p);
	WRONG("deleted function", lull_rcu_free(c);)
	WRONG("deleted function", lull_rcu_free_sized(c, sizeof(*c));)
	WRONG("deleted function", lull_hazptr_retire(c);)
	WRONG("deleted function", lull_hazptr_retire_sized(c, sizeof(*c));)
	WRONG("deleted function", lull_hazptr_fenced_retire(c);)
	WRONG("deleted function", lull_rcu_free_hazptr(c);)
	lull_rcu_call(&c->rcu, drop);
}
