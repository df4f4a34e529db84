/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * hazptr.c - the kernel's three forms of hazard pointers, and its counts.
 */
#include "threads.h"

#include <lull/compat/kernel.h>

struct object {
	long value;
	struct callback_head head;
};

static struct object *gp;
static int freed;

static void object_free(struct callback_head *head)
{
	lull_add_relaxed(&freed, 1);
	free(container_of(head, struct object, head));
}

static struct object *publish(void)
{
	struct object *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	smp_store_release(&gp, p);
	return p;
}

/* ---- 2024 --------------------------------------------------------------------------------------- */

TEST(context)
{
	struct hazptr_context ctx;
	hazptr_t *h[LULL_HAZPTR_SLOTS];
	struct object *p = publish();

	freed = 0;
	init_hazptr_context(&ctx);
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++) {
		h[i] = hazptr_alloc(&ctx);
		assert_non_null(h[i]);
	}
	assert_null(hazptr_alloc(&ctx));
	hazptr_free(&ctx, h[1]);
	assert_ptr_equal(hazptr_tryprotect(h[0], gp, head), p);
	WRITE_ONCE(gp, NULL);
	assert_null(hazptr_tryprotect(h[2], gp, head));
	call_hazptr(&p->head, object_free);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&freed), 0);
	hazptr_clear(h[0]);
	lull_hazptr_barrier();
	assert_int_equal(freed, 1);

	/* cleanup ends what is still protected. */
	p = publish();
	assert_ptr_equal(hazptr_protect(h[0], gp, head), p);
	WRITE_ONCE(gp, NULL);
	call_hazptr(&p->head, object_free);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&freed), 1);
	cleanup_hazptr_context(&ctx);
	lull_hazptr_barrier();
	assert_int_equal(freed, 2);
}

/* ---- 2026 --------------------------------------------------------------------------------------- */

static int synchronized;

static void *synchronizes(void *p)
{
	hazptr_synchronize(p);
	lull_store_release(&synchronized, 1);
	return NULL;
}

/* Acquired here, by either type of address, and released there. */
static void check_acquired(struct object *p, struct hazptr_ctx *ctx)
{
	pthread_t updater;

	synchronized = 0;
	WRITE_ONCE(gp, NULL);
	updater = start_thread(synchronizes, p);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&synchronized), 0);
	hazptr_release(ctx, p);
	join_thread(updater);
	free(p);
}

static void *releases(void *ctx)
{
	struct object *p = publish();

	(void)p;
	hazptr_release(ctx, gp);
	free(p);
	return NULL;
}

TEST(acquire)
{
	struct hazptr_ctx ctx, other;
	struct object *p = publish();

	assert_ptr_equal(hazptr_acquire(&ctx, &gp), p);
	check_acquired(p, &ctx);
	p = publish();
	assert_ptr_equal(hazptr_acquire(&ctx, (void *const *)(uintptr_t)&gp), p);
	check_acquired(p, &ctx);
	WRITE_ONCE(gp, NULL);
	assert_null(hazptr_acquire(&ctx, &gp));
	hazptr_release(&ctx, NULL);

	p = publish();
	assert_ptr_equal(hazptr_acquire(&other, &gp), p);
	hazptr_detach(&other);
	join_thread(start_thread(releases, &other));
	hazptr_synchronize(p);
	free(p);
}

/* ---- simple ones ---------------------------------------------------------------------------------- */

static int bucket, other_bucket;

static void *waits_for(void *place)
{
	synchronize_shazptr(place);
	lull_store_release(&synchronized, 1);
	return NULL;
}

static void check_blocks(void *place, bool blocks)
{
	pthread_t updater;

	synchronized = 0;
	updater = start_thread(waits_for, place);
	if (!blocks) {
		join_thread(updater);
		return;
	}
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&synchronized), 0);
	/* The caller releases it. */
	pthread_detach(updater);
}

TEST(shazptr)
{
	struct shazptr_guard held = shazptr_acquire(&bucket);

	check_blocks(&other_bucket, false);
	check_blocks(&bucket, true);
	shazptr_clear(held);
	await_flag(&synchronized, 1);
	held = shazptr_acquire(SHAZPTR_WILDCARD);
	check_blocks(&other_bucket, true);
	shazptr_clear(held);
	await_flag(&synchronized, 1);
	{
		guard(shazptr)(&bucket);
		check_blocks(&bucket, true);
	}
	await_flag(&synchronized, 1);
	scoped_guard(shazptr, &bucket)
		check_blocks(&bucket, true);
	await_flag(&synchronized, 1);
	check_blocks(&bucket, false);
}

/* ---- counts ----------------------------------------------------------------------------------------- */

static refcount_t defined = REFCOUNT_INIT(3);

TEST(refcount)
{
	refcount_t r;

	assert_int_equal(refcount_read(&defined), 3);
	refcount_set(&r, 1);
	refcount_inc(&r);
	refcount_add(3, &r);
	assert_int_equal(refcount_read(&r), 5);
	refcount_dec(&r);
	assert_false(refcount_sub_and_test(2, &r));
	assert_int_equal(refcount_read(&r), 2);
	assert_true(refcount_inc_not_zero(&r));
	assert_true(refcount_inc_not_zero_acquire(&r));
	assert_true(refcount_add_not_zero(2, &r));
	assert_int_equal(refcount_read(&r), 6);
	assert_true(refcount_dec_not_one(&r));
	assert_false(refcount_dec_if_one(&r));
	assert_false(refcount_dec_and_test(&r));
	assert_true(refcount_sub_and_test(4, &r));
	assert_false(refcount_inc_not_zero(&r));
	assert_false(refcount_add_not_zero(2, &r));
	refcount_set_release(&r, 1);
	assert_false(refcount_dec_not_one(&r));
	assert_true(refcount_dec_if_one(&r));
	refcount_set(&r, 1);
	assert_true(refcount_dec_and_test(&r));
	start_hearing();
	refcount_inc(&r);
	stop_hearing();
	assert_int_equal((int)refcount_read(&r), REFCOUNT_SATURATED);
	assert_int_equal(heard_lines, 1);
	assert_int_equal(REFCOUNT_MAX, INT_MAX);
}

static int released;

static void kref_gone(struct kref *kref)
{
	assert_int_equal(kref_read(kref), 0);
	released++;
}

TEST(kref)
{
	struct kref kref = KREF_INIT(5);

	released = 0;
	assert_int_equal(kref_read(&kref), 5);
	kref_init(&kref);
	kref_get(&kref);
	assert_true(kref_get_unless_zero(&kref));
	assert_int_equal(kref_read(&kref), 3);
	assert_int_equal(kref_put(&kref, kref_gone), 0);
	assert_int_equal(kref_put(&kref, kref_gone), 0);
	assert_int_equal(released, 0);
	assert_int_equal(kref_put(&kref, kref_gone), 1);
	assert_int_equal(released, 1);
	assert_false(kref_get_unless_zero(&kref));
}

static int confirmed;

static void ref_released(struct percpu_ref *ref)
{
	(void)ref;
	lull_add_relaxed(&released, 1);
}

static void ref_confirmed(struct percpu_ref *ref)
{
	(void)ref;
	lull_add_relaxed(&confirmed, 1);
}

TEST(percpu_ref)
{
	struct percpu_ref ref;
	percpu_ref_func_t func = ref_released;
	const int GFP_KERNEL = 0;

	(void)GFP_KERNEL;
	released = confirmed = 0;
	assert_int_equal(percpu_ref_init(&ref, func, PERCPU_REF_ALLOW_REINIT, GFP_KERNEL), 0);
	percpu_ref_get(&ref);
	percpu_ref_get_many(&ref, 2);
	assert_true(percpu_ref_tryget(&ref) && percpu_ref_tryget_many(&ref, 2));
	assert_true(percpu_ref_tryget_live(&ref) && percpu_ref_tryget_live_rcu(&ref));
	percpu_ref_switch_to_atomic(&ref, NULL);
	percpu_ref_switch_to_atomic_sync(&ref);
	percpu_ref_switch_to_percpu(&ref);
	percpu_ref_kill(&ref);
	assert_true(percpu_ref_is_dying(&ref));
	percpu_ref_put_many(&ref, 7);
	assert_int_equal(released, 0);
	percpu_ref_put(&ref);
	rcu_barrier();
	assert_int_equal(released, 1);
	assert_true(percpu_ref_is_zero(&ref));
	percpu_ref_reinit(&ref);
	assert_false(percpu_ref_is_dying(&ref));
	percpu_ref_get(&ref);
	percpu_ref_kill_and_confirm(&ref, ref_confirmed);
	rcu_barrier();
	assert_int_equal(confirmed, 1);
	percpu_ref_resurrect(&ref);
	percpu_ref_put(&ref);
	percpu_ref_kill(&ref);
	rcu_barrier();
	assert_int_equal(released, 2);
	percpu_ref_exit(&ref);
	assert_int_equal(percpu_ref_init(&ref, func, PERCPU_REF_INIT_DEAD, GFP_KERNEL), 0);
	assert_true(percpu_ref_is_dying(&ref));
	percpu_ref_exit(&ref);
	assert_int_equal(percpu_ref_init(&ref, func, PERCPU_REF_INIT_ATOMIC, GFP_KERNEL), 0);
	assert_false(percpu_ref_is_zero(&ref));
	percpu_ref_put(&ref);
	assert_true(percpu_ref_is_zero(&ref));
	percpu_ref_exit(&ref);
}
