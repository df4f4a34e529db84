/* SPDX-License-Identifier: MIT */
/*
 * ORDER HAZ-1, HAZ-7, HAZ-8
 * scan.c - protection against looks, bounded, for cbmc: one reader protects an object, moves the
 * protection to the hold's own slot (detach), protects once more with its thread's slot, which has
 * perhaps been said WAITED to, and lets go in either order.  One updater unlinks, takes the time, and
 * looks at most three times, at the slot and then at the list.
 * Where: lull__hazptr_set(), lull__hazptr_protect(), lull__hazptr_slow(), lull__hazptr_protect_again(),
 * lull_hazptr_detach(), link_hold(), lull__hazptr_for_each_slot(), lull__hazptr_wait(), visit_held()
 *
 * cbmc takes no pointers between threads, so slots and objects are variables.  Fences are full ones
 * (LULL_FENCE=full).  Another waiter may have moved the clock and said WAITED before; it may do so
 * again at any time.  Never: the reader uses what is freed.
 * The clock ticks by a read-modify-write, which these memory models take for a fence: what the heavy
 * fence is for, protect.tpl tells.
 * Must hold; with each of these it must not:
 * Busted NO_LIGHT: tso
 * Busted NO_SECOND_LOOK: sc
 * Busted LISTS_FIRST: sc
 * Busted CLEAR_BEFORE_LINK: sc
 * Busted SUM_OF_LOOKS: sc
 * Busted NEW_STAMP_ON_DETACH: sc
 * Busted STAMP_AFTER_SECOND_LOOK: sc
 * Busted OLDER_STAMP_PASSES: sc
 * Busted TICK_BEFORE_UNLINKING: sc
 */
#include "../harness.h"
#ifdef OLDER_STAMP_PASSES
#define YOUNG_ENOUGH(stamp, tick) ((stamp) + 1 >= (tick))
#else
#define YOUNG_ENOUGH(stamp, tick) ((stamp) >= (tick))
#endif

int unlinked;		/* the pointer to the object */
int freed;		/* the object's memory */
int slot, stamp;	/* the thread's slot: 1 is the object; and the stamp in its state */
int waited;		/* WAITED in its state */
int backup, old_stamp;	/* the hold's slot, when it is linked */
int linked;		/* into the list */
int shard;		/* the list's lock */
int tick = 1;		/* synchronize's clock */

void slow(void)
{
	int now = tick;

	AT_ONCE(stamp = now; waited = 0);
	FULL();
}

void set(int addr)
{
	RELEASE();
	slot = addr;
	LIGHT();
#ifndef STAMP_AFTER_SECOND_LOOK
	if (waited)
		slow();
#endif
}

/* Returns whether the object is protected. */
int protect(void)
{
#ifdef NO_SECOND_LOOK
	int found = !unlinked;

	set(1);
#else
	int found;

	set(1);
	found = !unlinked;
#endif
#ifdef STAMP_AFTER_SECOND_LOOK
	if (waited)
		slow();
#endif
	if (!found)
		set(0);
	return found;
}

/* A slot that says nothing may be stamped: it is as young as this from its next address on. */
void stamp_empty_slot(void)
{
	int now = tick;

	AT_ONCE(stamp = now);
	FULL();
}

void detach(void)
{
#ifdef CLEAR_BEFORE_LINK
	set(0);
#endif
	backup = 1;
#ifdef NEW_STAMP_ON_DETACH
	old_stamp = tick;
#else
	old_stamp = stamp;
#endif
	LOCK(shard);
	linked = 1;
	UNLOCK(shard);
#ifndef CLEAR_BEFORE_LINK
	set(0);
#endif
	if (nondet_int())
		stamp_empty_slot();
}

void release_detached(void)
{
	RELEASE();
	backup = 0;
	LOCK(shard);
	linked = 0;
	UNLOCK(shard);
}

void reader(void)
{
	int again, which = nondet_int();

	if (!protect())
		return;
	assert(!freed);
	detach();
	assert(!freed);
	again = protect();
	if (again)
		assert(!freed);
	if (which) {
		set(0);
		assert(!freed);
		release_detached();
	} else {
		release_detached();
		if (again)
			assert(!freed);
		set(0);
	}
}

int look_at_slot(int since)
{
	int addr = slot, when = stamp;

	return addr == 1 && !YOUNG_ENOUGH(when, since);
}

int look_at_list(int since)
{
	int held;

	LOCK(shard);
	held = linked && backup == 1 && !YOUNG_ENOUGH(old_stamp, since);
	UNLOCK(shard);
	return held;
}

/* A complete look; tells whether the object is free to go. */
#ifdef LISTS_FIRST
#define LOOK()                                                                                     \
	{                                                                                          \
		list_held = look_at_list(since);                                                   \
		slot_held = look_at_slot(since);                                                   \
	}
#elif defined(SUM_OF_LOOKS)
#define LOOK()                                                                                     \
	{                                                                                          \
		if (slot_held)                                                                     \
			slot_held = look_at_slot(since);                                           \
		if (list_held)                                                                     \
			list_held = look_at_list(since);                                           \
	}
#else
#define LOOK()                                                                                     \
	{                                                                                          \
		slot_held = look_at_slot(since);                                                   \
		list_held = look_at_list(since);                                                   \
	}
#endif

#define FLAG()                                                                                     \
	{                                                                                          \
		AT_ONCE(waited = 1);                                                               \
		HEAVY();                                                                           \
	}

int take_the_time(void)
{
	int since;

	RELEASE();
	AT_ONCE(tick = tick + 1; since = tick);
	return since;
}

void updater(void)
{
	int since, slot_held = 1, list_held = 1;

#ifdef TICK_BEFORE_UNLINKING
	since = take_the_time();
	unlinked = 1;
#else
	unlinked = 1;
	since = take_the_time();
#endif
	HEAVY();
	LOOK();
	if (slot_held || list_held) {
		FLAG();
		LOOK();
	}
	if (slot_held || list_held)
		LOOK();
	if (!slot_held && !list_held)
		freed = 1;
}

void other_waiter(void)
{
	take_the_time();
	FLAG();
}

int main(void)
{
	waited = nondet_int() ? 1 : 0;
__CPROVER_ASYNC_1:
	reader();
__CPROVER_ASYNC_2:
	other_waiter();
	updater();
	return 0;
}
