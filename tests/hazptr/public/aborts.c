/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, core */
/*
 * aborts.c - hazptr.h, hazptr_fenced.h, shazptr.h: calls that abort, the situation in which each does, and its words.
 */
#include "hazptr/fixture.h"

#include <lull/hazptr_fenced.h>
#include <lull/shazptr.h>

/* A child that gets into @situation aborts in @call. */
#define ABORTS(words, situation, call)                                                              \
	EXPECT_ABORT(words) {                                                                      \
		situation;                                                                         \
		call;                                                                              \
	}

static struct thing *source = &first;
static struct lull_hazptr *slot;
static struct lull_hazptr_hold hold;
static struct lull_hazptr_context *context;

static void protects(void)
{
	must(slot = lull_hazptr_alloc(own()));
	must(lull_hazptr_fenced_protect_ptr(lull_hazptr_alloc(own()), source));
}

static void holds(void)
{
	must(lull_hazptr_acquire(&hold, &source));
}

static void holds_more_than_slots(void)
{
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		must(lull_hazptr_alloc(own()));
	holds();
}

static void holds_detached(void)
{
	holds();
	lull_hazptr_detach(&hold);
}

static void releases(void)
{
	lull_hazptr_release(&hold, &first);
}

static void releases_twice(void)
{
	releases();
	releases();
}

static void frees_twice(void)
{
	lull_hazptr_free(own(), slot);
	lull_hazptr_free(own(), slot);
}

/* Not on a stack, on which a thread must not leave it. */
static void has_context(void)
{
	context = (struct lull_hazptr_context *)malloc(sizeof(*context));
	lull_hazptr_context_init(context);
	must(slot = lull_hazptr_alloc(context));
}

static void was_nested(void)
{
	lull_shazptr_acquire(&second);
	lull_shazptr_clear(lull_shazptr_acquire(&second));
}

static void nothing(void)
{
}

TEST(misuse)
{
	ABORTS("lull_hazptr_release: ", holds(), releases_twice());
	ABORTS("lull_hazptr_release: ", holds_more_than_slots(), releases_twice());
	ABORTS("lull_hazptr_release: ", holds_detached(), releases_twice());
	ABORTS("lull_hazptr_free: the slot is free already", protects(), frees_twice());
	ABORTS("lull_hazptr_free: the slot is not from this context", has_context(), lull_hazptr_free(own(), slot));
	ABORTS("lull_hazptr_context_cleanup: the thread's own", nothing(), lull_hazptr_context_cleanup(own()));
	ABORTS("lull_hazptr_context_detach: the thread's own", nothing(), lull_hazptr_context_detach(own()));

	ABORTS("lull_hazptr_synchronize of ", protects(), lull_hazptr_synchronize(&first));
	ABORTS("lull_hazptr_synchronize of ", holds(), lull_hazptr_synchronize(&first));
	ABORTS("lull_hazptr_synchronize_range of ", protects(), lull_hazptr_synchronize_range((void *)((uintptr_t)&first - 8), 16));
	ABORTS("lull_hazptr_synchronize_timeout of ", protects(), lull_hazptr_synchronize_timeout(&first, 1000));
	ABORTS("lull_hazptr_synchronize_range_timeout of ", protects(), lull_hazptr_synchronize_range_timeout(&first, 1, 1000));
	ABORTS("lull_hazptr_fenced_synchronize of ", protects(), lull_hazptr_fenced_synchronize(&first));
	ABORTS("lull_hazptr_fenced_synchronize_range_timeout of ", protects(),
	       lull_hazptr_fenced_synchronize_range_timeout(&first, 1, 1000));
	ABORTS("lull_hazptr_barrier in a read section", lull_rcu_read_lock(), lull_hazptr_barrier());
	ABORTS("lull_hazptr_barrier_timeout in a read section", lull_rcu_read_lock(), lull_hazptr_barrier_timeout(10));
	ABORTS("lull_thread_unregister: slots", protects(), lull_thread_unregister());
}

/* With the look by the caller and without. */
TEST(name_misuse)
{
	for (int skip = 0; skip < 2; skip++) {
		lull_shazptr_set_skip_self_scan(skip);
		ABORTS("lull_shazptr_synchronize of ", lull_shazptr_acquire(&first), lull_shazptr_synchronize(&first));
		ABORTS("would wait for itself for ever", lull_shazptr_acquire(&first), lull_shazptr_synchronize(&first));
		ABORTS("would wait for itself for ever", lull_shazptr_acquire_wildcard(), lull_shazptr_synchronize(&first));
		ABORTS("lull_shazptr_synchronize_timeout of ", was_nested(), lull_shazptr_synchronize_timeout(&first, 1));
		ABORTS("lull_thread_unregister while the thread's simple hazard pointer", lull_shazptr_acquire(&first),
		       lull_thread_unregister());
	}
}

/* ---- in other threads, and in callbacks --------------------------------------------------------------------- */

static void (*call_there)(void);

static void *calls_in_thread(void *unused)
{
	lull_thread_register();
	call_there();
	return unused;
}

static void in_thread(void (*call)(void))
{
	call_there = call;
	join_thread(start_thread(calls_in_thread, NULL));
}

static void calls_in_callback(struct lull_rcu_head *unused)
{
	(void)unused;
	call_there();
}

static void in_callback(void (*call)(void))
{
	call_there = call;
	lull_hazptr_call(&new_thing(&gone)->rcu, calls_in_callback);
	nap_ms(5000);
}

static void waits_for_itself(void)
{
	holds();
	lull_hazptr_synchronize(&first);
}

static void protects_in_context(void)
{
	lull_hazptr_clear(slot);
	lull_hazptr_protect(slot, source, rcu);
}

static int is_holding;

static void *is_cancelled(void *unused)
{
	struct lull_hazptr_hold on_stack[LULL_HAZPTR_SLOTS + 1];

	for (int i = 0; i <= LULL_HAZPTR_SLOTS; i++)
		lull_hazptr_acquire(&on_stack[i], &source);
	lull_store_release(&is_holding, 1);
	for (;;)
		pause();
	return unused;
}

static void cancels(void)
{
	pthread_t thread = start_thread(is_cancelled, NULL);

	await_count(&is_holding, 1);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

TEST(misuse_elsewhere)
{
	NEEDS_THREADS_IN_CHILD();
	ABORTS("lull_hazptr_release: another thread holds it", holds(), in_thread(releases));
	ABORTS("lull_hazptr_release: another thread holds it", holds_more_than_slots(), in_thread(releases));
	ABORTS("lull_hazptr_synchronize of ", nothing(), in_callback(waits_for_itself));
	ABORTS("lull_hazptr_barrier in a callback", nothing(), in_callback(lull_hazptr_barrier));
	/* A slot of a thread that is gone protects nothing. */
	ABORTS("lull_hazptr_protect: a slot of a thread that is no longer registered", in_thread(has_context), protects_in_context());
	ABORTS("with a hazard pointer context or hold left on its stack", nothing(), cancels());
}

#ifdef LULL_DEBUG
static void allocs_of_context(void)
{
	lull_hazptr_alloc(context);
}

static void frees_of_context(void)
{
	lull_hazptr_free(context, slot);
}

static void cleans_up_context(void)
{
	lull_hazptr_context_cleanup(context);
}

static struct lull_shazptr_guard guard;

static void is_named(void)
{
	guard = lull_shazptr_acquire(&first);
}

static void clears(void)
{
	lull_shazptr_clear(guard);
}

TEST(debug_checks)
{
	ABORTS("lull_shazptr_acquire: not an address", nothing(), lull_shazptr_acquire(NULL));
	ABORTS("lull_shazptr_acquire: not an address", nothing(), lull_shazptr_acquire((void *)~(uintptr_t)1));
	ABORTS("lull_shazptr_acquire: not an address", nothing(), lull_shazptr_acquire((void *)~(uintptr_t)0));
	ABORTS("lull_shazptr_clear: cleared already", (is_named(), clears()), clears());
	NEEDS_THREADS_IN_CHILD();
	ABORTS("lull_shazptr_clear: acquired by another thread", is_named(), in_thread(clears));
	ABORTS("lull_hazptr_alloc: the context belongs to another thread", has_context(), in_thread(allocs_of_context));
	ABORTS("lull_hazptr_free: the context belongs to another thread", has_context(), in_thread(frees_of_context));
	ABORTS("lull_hazptr_context_cleanup: the context belongs to another", has_context(), in_thread(cleans_up_context));
}
#endif

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
