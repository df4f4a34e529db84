/* SPDX-License-Identifier: MIT */
/*
 * throws.cc - a debug build ends the program where an exception leaves a callback, which up to C++14 compiles.
 * Without that the program would go on with a bucket locked, or with a callback that is never over.
 */
#include <lull/hash.h>
#include <lull/rcu.h>
#include <lull/reclaim.h>

#include "child.hpp"

namespace
{

struct item {
	lull_hash_node node;
	lull_rcu_head rcu;
};

lull_hash table;
item one;

bool match(const lull_hash_node *, const void *)
{
	throw 1;
}

void gone(lull_hash_node *, void *)
{
	throw 1;
}

void reclaim(lull_rcu_head *)
{
	throw 1;
}

/* @work throws, and catches that, as programs do. (By a pointer: a compiler that saw it would believe that it throws nothing.) */
void is_found(void (*work)())
{
	must_end("was left by an exception", [&] {
		lull_hash_init(&table, nullptr);
		try {
			work();
		} catch (int) {
			/* nothing has seen it */
		}
	});
}

} // namespace

int main()
{
	is_found([] {
		lull_hash_insert_dup(&table, &one.node, 1);
		lull_hash_remove(&table, 1, match, nullptr);
	});
	is_found([] {
		lull_hash_insert_dup(&table, &one.node, 1);
		lull_hash_destroy(&table, gone, nullptr);
	});
	is_found([] {
		lull_reclaim_config config;

		lull_reclaim_default_config(&config);
		config.mode = LULL_RECLAIM_POLL;
		lull_reclaim_configure(&config);
		lull_rcu_call(&one.rcu, reclaim);
		lull_reclaim_poll(100, 0);
	});
	return 0;
}
