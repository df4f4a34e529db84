// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What can be said of hazard pointers without a race: each test is one task, and takes the steps of
 * reader and updater in the order that matters. Where the two must meet in the middle of a
 * function, the build with faults stops there (hazptr_on_step), and a wait asks the test for the
 * next step.
 */
#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/smp.h>

#include "hazptr.h"

struct object {
	int value;
	struct callback_head head;
	bool freed;
};

static void free_object(struct callback_head *head)
{
	WRITE_ONCE(container_of(head, struct object, head)->freed, true);
}

/* ---- contexts ---- */

static void context_has_eight_slots(struct kunit *test)
{
	hazptr_t *slot[HAZPTR_SLOTS_PER_CONTEXT];
	struct hazptr_context ctx;
	int n, m;

	init_hazptr_context(&ctx);
	for (n = 0; n < HAZPTR_SLOTS_PER_CONTEXT; n++) {
		slot[n] = hazptr_alloc(&ctx);
		KUNIT_ASSERT_NOT_NULL(test, slot[n]);
		for (m = 0; m < n; m++)
			KUNIT_EXPECT_PTR_NE(test, slot[n], slot[m]);
	}
	KUNIT_EXPECT_TRUE(test, !hazptr_alloc(&ctx));
	hazptr_free(&ctx, slot[3]);
	KUNIT_EXPECT_PTR_EQ(test, hazptr_alloc(&ctx), slot[3]);
	cleanup_hazptr_context(&ctx);
}

static void tryprotect_names_the_head(struct kunit *test)
{
	struct object a = {}, *gp = &a, *none = NULL;
	struct hazptr_context ctx;
	hazptr_t *slot;

	init_hazptr_context(&ctx);
	slot = hazptr_alloc(&ctx);
	KUNIT_EXPECT_TRUE(test, !hazptr_tryprotect(slot, none, head));
	KUNIT_EXPECT_TRUE(test, !*slot);
	KUNIT_EXPECT_PTR_EQ(test, hazptr_tryprotect(slot, gp, head), &a);
	KUNIT_EXPECT_PTR_EQ(test, *slot, (void *)&a.head);
	hazptr_clear(slot);
	KUNIT_EXPECT_TRUE(test, !*slot);
	KUNIT_EXPECT_PTR_EQ(test, hazptr_protect(slot, gp, head), &a);
	hazptr_free(&ctx, slot);
	KUNIT_EXPECT_TRUE(test, !*slot);
	cleanup_hazptr_context(&ctx);
}

static void unnamed_object_is_freed(struct kunit *test)
{
	struct object a = {};

	call_hazptr(&a.head, free_object);
	hazptr_barrier();
	KUNIT_EXPECT_TRUE(test, a.freed);
}

static void cleanup_ends_protection(struct kunit *test)
{
	struct object a = {}, *gp = &a;
	struct hazptr_context ctx;

	init_hazptr_context(&ctx);
	KUNIT_EXPECT_PTR_EQ(test, hazptr_tryprotect(hazptr_alloc(&ctx), gp, head), &a);
	gp = NULL;
	call_hazptr(&a.head, free_object);
	cleanup_hazptr_context(&ctx);
	hazptr_barrier();
	KUNIT_EXPECT_TRUE(test, a.freed);
}

/* ---- acquire ---- */

#define NESTED 7 /* more than a CPU has slots */

static void acquire_never_fails(struct kunit *test)
{
	struct object a[NESTED] = {}, *gp, *none = NULL;
	struct hazptr_ctx ctx[NESTED] = {};
	int n;

	for (n = 0; n < NESTED; n++) {
		gp = &a[n];
		KUNIT_EXPECT_PTR_EQ(test, hazptr_acquire(&ctx[n], (void **)&gp), (void *)&a[n]);
	}
	for (n = 0; n < NESTED; n += 2)
		hazptr_release(&ctx[n], &a[n]);
	for (n = 1; n < NESTED; n += 2)
		hazptr_release(&ctx[n], &a[n]);
	KUNIT_EXPECT_TRUE(test, !hazptr_acquire(&ctx[0], (void **)&none));
	hazptr_release(&ctx[0], NULL);
	for (n = 0; n < NESTED; n++)
		hazptr_synchronize(&a[n]);
}

static void null_keeps_no_slot(struct kunit *test)
{
	struct object a = {}, *gp = &a, *none = NULL;
	struct hazptr_ctx ctx[NESTED] = {};
	int n;

	for (n = 0; n < NESTED; n++)
		KUNIT_EXPECT_PTR_EQ(test, hazptr_acquire(&ctx[n], (void **)&gp), (void *)&a);
	for (n = 0; n < 100; n++) {
		struct hazptr_ctx more = {};

		KUNIT_EXPECT_TRUE(test, !hazptr_acquire(&more, (void **)&none));
	}
	for (n = 0; n < NESTED; n++)
		hazptr_release(&ctx[n], &a);
	hazptr_synchronize(&a);
}

struct handed_over {
	struct hazptr_ctx *ctx;
	void *addr;
};

static void release_here(void *arg)
{
	struct handed_over *it = arg;

	hazptr_release(it->ctx, it->addr);
}

static void acquire_there(void *arg)
{
	struct handed_over *it = arg;

	it->addr = hazptr_acquire(it->ctx, (void **)&it->addr);
	hazptr_detach(it->ctx);
}

/* An interrupt handler on the last CPU releases, and another acquires for us. */
static void detached_is_released_elsewhere(struct kunit *test)
{
	struct object a = {}, *gp = &a;
	struct hazptr_ctx ctx = {};
	struct handed_over it = { &ctx, &a };
	int cpu = cpumask_last(cpu_online_mask);

	hazptr_detach(&ctx); /* nothing is acquired */
	KUNIT_EXPECT_PTR_EQ(test, hazptr_acquire(&ctx, (void **)&gp), (void *)&a);
	hazptr_detach(&ctx);
	KUNIT_EXPECT_PTR_EQ(test, ctx.slot, &ctx.parked);
	hazptr_detach(&ctx); /* again: nothing more to do */
	KUNIT_EXPECT_PTR_EQ(test, ctx.parked, (void *)&a);
	KUNIT_EXPECT_EQ(test, smp_call_function_single(cpu, release_here, &it, 1), 0);
	hazptr_synchronize(&a);
	KUNIT_EXPECT_EQ(test, smp_call_function_single(cpu, acquire_there, &it, 1), 0);
	hazptr_release(&ctx, &a);
	hazptr_synchronize(&a);
}

/* What a task names moves with it, so that others find the slots of the CPU free. */
static void sleeper_leaves_its_cpu(struct kunit *test)
{
	struct object a = {}, *gp = &a;
	struct hazptr_ctx ctx = {};

	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		kunit_skip(test, "no tracepoints in this kernel");
	KUNIT_EXPECT_PTR_EQ(test, hazptr_acquire(&ctx, (void **)&gp), (void *)&a);
	msleep(20);
	KUNIT_EXPECT_PTR_EQ(test, ctx.slot, &ctx.parked);
	KUNIT_EXPECT_PTR_EQ(test, ctx.parked, (void *)&a);
	hazptr_release(&ctx, &a);
	hazptr_synchronize(&a);
}

#ifdef HAZPTR_FAULTS

/* ---- contexts, step by step ---- */

static struct {
	struct object a, b, *gp;
	struct hazptr_context ctx;
	hazptr_t *slot[2];
	int waits;
} it;

static void begin(bool (*on_step)(enum hazptr_step step))
{
	memset(&it, 0, sizeof(it));
	it.gp = &it.a;
	init_hazptr_context(&it.ctx);
	it.slot[0] = hazptr_alloc(&it.ctx);
	it.slot[1] = hazptr_alloc(&it.ctx);
	WRITE_ONCE(hazptr_on_step, on_step);
}

static void end(void)
{
	WRITE_ONCE(hazptr_on_step, NULL);
	hazptr_barrier();
}

static void named_object_stays(struct kunit *test)
{
	int n;

	begin(NULL);
	/* In the second slot. */
	KUNIT_EXPECT_PTR_EQ(test, hazptr_tryprotect(it.slot[1], it.gp, head), &it.a);
	it.gp = NULL;
	call_hazptr(&it.a.head, free_object);
	for (n = 0; n < 3; n++)
		hazptr_pass_once();
	KUNIT_EXPECT_FALSE(test, READ_ONCE(it.a.freed));
	hazptr_clear(it.slot[1]);
	hazptr_barrier();
	KUNIT_EXPECT_TRUE(test, it.a.freed);
	cleanup_hazptr_context(&it.ctx);
	end();
}

static void the_last_of_two_slots_counts(struct kunit *test)
{
	begin(NULL);
	hazptr_tryprotect(it.slot[0], it.gp, head);
	hazptr_tryprotect(it.slot[1], it.gp, head);
	it.gp = NULL;
	call_hazptr(&it.a.head, free_object);
	hazptr_pass_once();
	hazptr_clear(it.slot[0]);
	hazptr_pass_once();
	hazptr_pass_once();
	KUNIT_EXPECT_FALSE(test, READ_ONCE(it.a.freed));
	hazptr_clear(it.slot[1]);
	hazptr_barrier();
	KUNIT_EXPECT_TRUE(test, it.a.freed);
	cleanup_hazptr_context(&it.ctx);
	end();
}

static bool replace_when_named(enum hazptr_step step)
{
	if (step == HAZPTR_STEP_NAMED)
		WRITE_ONCE(it.gp, &it.b);
	return false;
}

/* The object is replaced between the first load and the second. */
static void changed_pointer_is_noticed(struct kunit *test)
{
	struct object *p;

	begin(replace_when_named);
	p = hazptr_tryprotect(it.slot[0], it.gp, head);
	KUNIT_EXPECT_TRUE(test, !p);
	KUNIT_EXPECT_TRUE(test, !*it.slot[0]);
	cleanup_hazptr_context(&it.ctx);
	end();
}

static bool clear_in_the_third_pass(enum hazptr_step step)
{
	if (step == HAZPTR_STEP_SEEN && ++it.waits == 3)
		hazptr_clear(it.slot[0]);
	return false;
}

static void barrier_waits_for_what_is_named(struct kunit *test)
{
	begin(NULL);
	hazptr_tryprotect(it.slot[0], it.gp, head);
	it.gp = NULL;
	call_hazptr(&it.a.head, free_object);
	WRITE_ONCE(hazptr_on_step, clear_in_the_third_pass);
	hazptr_barrier();
	KUNIT_EXPECT_TRUE(test, READ_ONCE(it.a.freed));
	WRITE_ONCE(hazptr_on_step, NULL);
	hazptr_clear(it.slot[0]);
	end();
	cleanup_hazptr_context(&it.ctx);
}

static bool retire_when_taken(enum hazptr_step step)
{
	if (step == HAZPTR_STEP_SEEN && it.gp) {
		/* A reader comes after the snapshot, and then the object is retired. */
		hazptr_tryprotect(it.slot[0], it.gp, head);
		it.gp = NULL;
		call_hazptr(&it.a.head, free_object);
	}
	return false;
}

/* A snapshot says nothing of what was retired after it. */
static void what_comes_after_the_snapshot_waits(struct kunit *test)
{
	begin(retire_when_taken);
	hazptr_pass_once();
	hazptr_pass_once();
	KUNIT_EXPECT_TRUE(test, !it.gp);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(it.a.freed));
	hazptr_clear(it.slot[0]);
	end();
	KUNIT_EXPECT_TRUE(test, it.a.freed);
	cleanup_hazptr_context(&it.ctx);
}

static bool cleanup_when_seen(enum hazptr_step step)
{
	if (step == HAZPTR_STEP_SEEN && it.gp) {
		it.gp = NULL;
		cleanup_hazptr_context(&it.ctx);
		memset(&it.ctx, 0x6b, sizeof(it.ctx)); /* as a stack does */
	}
	return false;
}

/* A context leaves while its snapshots are in the tree. */
static void context_leaves_in_a_pass(struct kunit *test)
{
	begin(NULL);
	hazptr_tryprotect(it.slot[0], it.gp, head);
	hazptr_tryprotect(it.slot[1], it.gp, head);
	call_hazptr(&it.a.head, free_object);
	call_hazptr(&it.b.head, free_object);
	WRITE_ONCE(hazptr_on_step, cleanup_when_seen);
	hazptr_pass_once();
	end();
	KUNIT_EXPECT_TRUE(test, it.a.freed);
	KUNIT_EXPECT_TRUE(test, it.b.freed);
}

/* ---- acquire, step by step: a wait is when the reader goes on ---- */

static struct {
	struct object a, *gp;
	struct hazptr_ctx ctx, others[4];
	struct object other, *other_gp;
	int step, waits;
	bool released;
} at;

static void begin_acquire(bool (*on_step)(enum hazptr_step step), int others)
{
	int n;

	memset(&at, 0, sizeof(at));
	at.gp = &at.a;
	at.other_gp = &at.other;
	for (n = 0; n < others; n++)
		hazptr_acquire(&at.others[n], (void **)&at.other_gp);
	WRITE_ONCE(hazptr_on_step, on_step);
}

/* The object may be freed now. Whether it was named until here is what the tests ask. */
static void synchronize_and_end(struct kunit *test, int others)
{
	bool named;
	int n;

	at.gp = NULL;
	hazptr_synchronize(&at.a);
	named = !at.released;
	WRITE_ONCE(hazptr_on_step, NULL);
	KUNIT_EXPECT_FALSE_MSG(test, named, "synchronize came back while the object was named");
	if (named && at.step < 1)
		hazptr_settle(&at.ctx, &at.a);
	if (named)
		hazptr_release(&at.ctx, &at.a);
	for (n = 0; n < others; n++)
		hazptr_release(&at.others[n], &at.other);
}

static void release_once(void)
{
	if (!at.released)
		hazptr_release(&at.ctx, &at.a);
	at.released = true;
}

static bool release_after_three(enum hazptr_step step)
{
	if (step != HAZPTR_STEP_WAIT)
		return false;
	at.step = 1;
	if (++at.waits == 3)
		release_once();
	return true;
}

/* A wait that goes on must still be for the object that it began for. */
static void wait_keeps_its_pointer(struct kunit *test)
{
	begin_acquire(release_after_three, 0);
	KUNIT_EXPECT_PTR_EQ(test, hazptr_acquire(&at.ctx, (void **)&at.gp), (void *)&at.a);
	at.step = 1;
	synchronize_and_end(test, 0);
	KUNIT_EXPECT_EQ(test, at.waits, 3);
}

static void wait_in_the_list_keeps_its_pointer(struct kunit *test)
{
	begin_acquire(release_after_three, 0);
	KUNIT_EXPECT_PTR_EQ(test, hazptr_acquire(&at.ctx, (void **)&at.gp), (void *)&at.a);
	hazptr_detach(&at.ctx);
	at.step = 1;
	synchronize_and_end(test, 0);
	KUNIT_EXPECT_EQ(test, at.waits, 3);
}

/* Marked before the synchronize; named and detached when the wildcard changes; released later. */
static bool detach_when_flipped(enum hazptr_step step)
{
	if (step == HAZPTR_STEP_FLIPPED && !at.step) {
		at.step = 1;
		hazptr_settle(&at.ctx, &at.a);
		hazptr_detach(&at.ctx);
	}
	if (step != HAZPTR_STEP_WAIT)
		return false;
	if (!at.step) {
		at.step = 1;
		hazptr_settle(&at.ctx, &at.a);
	} else if (at.step++ == 1) {
		hazptr_detach(&at.ctx);
	} else {
		release_once();
	}
	return true;
}

static void detach_does_not_hide_from_the_scan(struct kunit *test)
{
	begin_acquire(detach_when_flipped, 0);
	hazptr_mark(&at.ctx);
	synchronize_and_end(test, 0);
}

/* As above, but named and detached only in the waits for the slot. */
static bool detach_in_the_wait(enum hazptr_step step)
{
	return step == HAZPTR_STEP_WAIT && detach_when_flipped(step);
}

static void detach_in_a_wait_does_not_hide(struct kunit *test)
{
	begin_acquire(detach_in_the_wait, 0);
	hazptr_mark(&at.ctx);
	synchronize_and_end(test, 0);
}

static bool settle_then_release(enum hazptr_step step)
{
	if (step != HAZPTR_STEP_WAIT)
		return false;
	if (!at.step++)
		hazptr_settle(&at.ctx, &at.a);
	else
		release_once();
	return true;
}

static void wildcard_in_a_slot_is_waited_for(struct kunit *test)
{
	begin_acquire(settle_then_release, 0);
	hazptr_mark(&at.ctx);
	synchronize_and_end(test, 0);
	KUNIT_EXPECT_EQ(test, at.step, 2);
}

/* All slots of the CPU are taken, so the mark is in the list. */
static void wildcard_in_a_list_is_waited_for(struct kunit *test)
{
	begin_acquire(settle_then_release, 4);
	hazptr_mark(&at.ctx);
	synchronize_and_end(test, 4);
	KUNIT_EXPECT_EQ(test, at.step, 2);
}

/* What was acquired on a CPU stays named when the CPU is gone. */
static void offline_cpu_is_scanned(struct kunit *test)
{
	struct handed_over there = { &at.ctx, &at.a };
	int cpu = cpumask_last(cpu_online_mask), error;

	if (cpu == 0)
		kunit_skip(test, "there is one CPU");
	begin_acquire(NULL, 0);
	KUNIT_ASSERT_EQ(test, smp_call_function_single(cpu, acquire_there, &there, 1), 0);
	at.step = 1;
	error = remove_cpu(cpu);
	if (error) {
		hazptr_release(&at.ctx, &at.a);
		kunit_skip(test, "the last CPU cannot go offline: %d", error);
	}
	WRITE_ONCE(hazptr_on_step, release_after_three);
	synchronize_and_end(test, 0);
	KUNIT_EXPECT_EQ(test, at.waits, 3);
	KUNIT_EXPECT_EQ(test, add_cpu(cpu), 0);
}

static bool mark_when_flipped(enum hazptr_step step)
{
	if (step == HAZPTR_STEP_FLIPPED && !at.step++)
		hazptr_mark(&at.ctx);
	if (step != HAZPTR_STEP_WAIT)
		return false;
	/* No end of the waits but this one: the reader never settles. */
	if (++at.waits == 3) {
		hazptr_settle(&at.ctx, NULL);
		at.released = true;
	}
	return true;
}

/* A reader that comes later cannot have found the object: however long it takes, nobody waits. */
static void later_wildcard_is_not_waited_for(struct kunit *test)
{
	begin_acquire(mark_when_flipped, 0);
	at.gp = NULL;
	hazptr_synchronize(&at.a);
	WRITE_ONCE(hazptr_on_step, NULL);
	KUNIT_EXPECT_EQ(test, at.waits, 0);
	if (!at.released)
		hazptr_settle(&at.ctx, NULL);
}

#endif

static struct kunit_case cases[] = {
	KUNIT_CASE(context_has_eight_slots),
	KUNIT_CASE(tryprotect_names_the_head),
	KUNIT_CASE(unnamed_object_is_freed),
	KUNIT_CASE(cleanup_ends_protection),
	KUNIT_CASE(acquire_never_fails),
	KUNIT_CASE(null_keeps_no_slot),
	KUNIT_CASE(detached_is_released_elsewhere),
	KUNIT_CASE(sleeper_leaves_its_cpu),
#ifdef HAZPTR_FAULTS
	KUNIT_CASE(named_object_stays),
	KUNIT_CASE(the_last_of_two_slots_counts),
	KUNIT_CASE(barrier_waits_for_what_is_named),
	KUNIT_CASE(changed_pointer_is_noticed),
	KUNIT_CASE(what_comes_after_the_snapshot_waits),
	KUNIT_CASE(context_leaves_in_a_pass),
	KUNIT_CASE(wait_keeps_its_pointer),
	KUNIT_CASE(wait_in_the_list_keeps_its_pointer),
	KUNIT_CASE(detach_does_not_hide_from_the_scan),
	KUNIT_CASE(detach_in_a_wait_does_not_hide),
	KUNIT_CASE(wildcard_in_a_slot_is_waited_for),
	KUNIT_CASE(wildcard_in_a_list_is_waited_for),
	KUNIT_CASE(offline_cpu_is_scanned),
	KUNIT_CASE(later_wildcard_is_not_waited_for),
#endif
	{}
};

static struct kunit_suite suite = {
	.name = "hazptr",
	.test_cases = cases,
};

kunit_test_suite(suite);
MODULE_DESCRIPTION("Tests of hazard pointers that need no race");
MODULE_AUTHOR("The lull authors");
MODULE_LICENSE("Dual MIT/GPL");
