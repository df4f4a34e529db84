/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, core */
/*
 * key.c - readers that name what their pointer does not, by lull_hazptr_set() of hazptr.h, and what waits for a key that is
 * not the address of its head: hazptr_key.h. What else these calls do is in slots.c.
 */
#include "hazptr/fixture.h"

#include <lull/hazptr_key.h>

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

static struct lull_hazptr_key keyed[2];

static void keyed_gone(struct lull_head *head)
{
	struct lull_hazptr_key *k = lull_container_of(head, struct lull_hazptr_key, head);

	must(k >= keyed && k < keyed + ARRAY_SIZE(keyed));
	lull_add_release(&gone, 1);
}

static char memory[64]; /* that has no room for a head */

/* Any address: of foreign memory, its beginning or not; a number; an address that is nothing's. */
static const void *const keys[] = { memory, memory + 17, (const void *)3, (const void *)UINTPTR_MAX, &keyed[1].head };

/* A slot that names the key holds the call up. One that names another does not: not even the head's address. */
static void check_key(const void *key, const void *other, enum lull_reclaim_mode mode)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	int was = gone;

	set_mode(mode);
	lull_hazptr_set(h, key);
	lull_hazptr_call_key(&keyed[0], key, keyed_gone);
	lull_hazptr_call_key(&keyed[1], other, keyed_gone);
	await_waiting(1);
	assert_int_equal(lull_load_acquire(&gone), was + 1);
	lull_hazptr_set(h, NULL);
	lull_hazptr_barrier();
	assert_int_equal(lull_load_acquire(&gone), was + 2);
	lull_hazptr_free(own(), h);
}

TEST(any_key)
{
	static const enum lull_reclaim_mode modes[] = { LULL_RECLAIM_THREAD, LULL_RECLAIM_CALLER };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		for (size_t j = 0; j < ARRAY_SIZE(modes); j++)
			check_key(keys[i], keys[(i + 1) % ARRAY_SIZE(keys)], modes[j]);
}

/* No key: no slot can name it. */
TEST(null_is_never_named)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own()), *other = lull_hazptr_alloc(own());

	lull_hazptr_set(h, NULL);
	lull_hazptr_set(other, memory);
	lull_hazptr_call_key(&keyed[0], NULL, keyed_gone);
	await_count(&gone, 1);
	lull_hazptr_free(own(), other);
	lull_hazptr_free(own(), h);
}

/* Nobody looks again and again: the reclaimer sleeps until the slot changes. */
TEST(quiet_while_named)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());

	lull_hazptr_set(h, memory);
	lull_hazptr_call_key(&keyed[0], memory, keyed_gone);
	check_quiet(1);
	lull_hazptr_set(h, NULL);
	await_count(&gone, 1);
	lull_hazptr_free(own(), h);
}

/* The pointer is the key: it is named as an object that has no head. */
TEST(named_as_an_object)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	struct lull_hazptr_hold hold;
	char *source = memory, *held = lull_hazptr_acquire(&hold, &source);

	assert_ptr_equal(lull_hazptr_protect_ptr(h, source), memory);
	lull_hazptr_call_key(&keyed[0], memory, keyed_gone);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	lull_hazptr_clear(h);
	assert_int_equal(lull_hazptr_barrier_timeout(20), -ETIMEDOUT);
	assert_int_equal(lull_load_acquire(&gone), 0);
	lull_hazptr_release(&hold, held);
	await_count(&gone, 1);
	lull_hazptr_free(own(), h);
}
