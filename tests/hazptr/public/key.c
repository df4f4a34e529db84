/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, core */
/*
 * key.c - hazptr.h: readers that name what their pointer does not: by lull_hazptr_set(). What else that
 * does is in slots.c.
 */
#include "hazptr/fixture.h"

/* Pointers to a thing that are not its address: so many bytes further. */
static const struct {
	const char *what;
	size_t bytes;
} pointers[] = { { "marked", 1 }, { "marked twice", 3 }, { "to a member", offsetof(struct thing, value) } };

TEST(pointers_that_are_not_the_address)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());

	for (size_t i = 0; i < ARRAY_SIZE(pointers); i++) {
		struct thing *thing = new_thing(&gone);
		char *source = (char *)thing + pointers[i].bytes, *p;

		print_message("%s\n", pointers[i].what);
		do {
			p = lull_load_relaxed(&source);
			lull_hazptr_set(h, p - pointers[i].bytes);
		} while (lull_load_acquire(&source) != p);
		lull_store_relaxed(&source, (char *)NULL);
		lull_hazptr_call(&thing->rcu, thing_gone);
		await_waiting(1);
		check_alive(thing);
		lull_hazptr_clear(h);
		await_count(&gone, (int)i + 1);
	}
	lull_hazptr_free(own(), h);
}
