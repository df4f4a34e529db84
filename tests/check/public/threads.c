/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * threads.c - the mistakes with what a thread holds that debug builds find, and some that every build
 * finds: released what it does not have, ended with it, slept with it. The line of each is compared in full.
 */
#include <errno.h>

#include "check/support.h"

#include <lull/cond.h>
#include <lull/hazptr.h>
#include <lull/mutex.h>
#include <lull/shazptr.h>

static int object, *pointer = &object;
static struct lull_mutex lock;

/* ---- let go of what one does not have ------------------------------------------------------- */

static struct lull_shazptr_guard guard;
static struct lull_hazptr_hold hold;

static void *clears_another_s(void *unused)
{
	want_call("lull_shazptr_clear", "acquired by another thread");
	lull_shazptr_clear(guard);
	return unused;
}

static void *releases_another_s(void *unused)
{
	want_call("lull_hazptr_release", "another thread holds it; detach it first");
	lull_hazptr_release(&hold, pointer);
	return unused;
}

TEST(not_held)
{
	struct lull_hazptr_context *own, other;
	struct lull_hazptr *slot;

	lull_thread_register();
	own = lull_hazptr_thread_context();
	EXPECT_MISTAKE("lull_hazptr_free", "the slot is free already", slot = lull_hazptr_alloc(own);
		       lull_hazptr_free(own, slot); lull_hazptr_free(own, slot));
	EXPECT_MISTAKE("lull_hazptr_free", "the slot is not from this context", lull_hazptr_context_init(&other);
		       lull_hazptr_free(&other, lull_hazptr_alloc(own)));
	if (!UNDER_TSAN) /* which says so first */
		EXPECT_END {
			want("thread \"%s\" (tid %u) unlocks mutex %p, which no thread holds", own_name(), own_tid(), (void *)&lock);
			lull_mutex_unlock(&lock);
		}
	if (THREADS_IN_CHILD)
		EXPECT_END {
			lull_hazptr_acquire(&hold, &pointer);
			join_thread(start_thread(releases_another_s, NULL));
		}
	NEEDS_DEBUG();
	EXPECT_MISTAKE("lull_rcu_read_unlock", "not in a read section", lull_rcu_read_lock(); lull_rcu_read_unlock();
		       lull_rcu_read_unlock());
	EXPECT_MISTAKE("lull_rcu_online_read_unlock", "thread is not online", lull_rcu_online_read_unlock());
	EXPECT_MISTAKE("lull_shazptr_clear", "cleared already", guard = lull_shazptr_acquire(&object);
		       lull_shazptr_clear(guard); lull_shazptr_clear(guard));
	EXPECT_END {
		guard = lull_shazptr_acquire(&object);
		join_thread(start_thread(clears_another_s, NULL));
	}
	EXPECT_MISTAKE("lull_hazptr_release", "nothing is held", (void)lull_hazptr_acquire(&hold, &pointer);
		       lull_hazptr_release(&hold, pointer); lull_hazptr_release(&hold, pointer));
}

/* ---- the end of a thread -------------------------------------------------------------------- */

static void want_exit(const char *what)
{
	want("thread \"%s\" (tid %u) exits %s", own_name(), own_tid(), what);
}

static void *exits_in_section(void *unused)
{
	want_exit("in a read section (depth 2); the section ends here");
	lull_rcu_read_lock();
	lull_rcu_read_lock();
	return unused;
}

static void *exits_in_online_section(void *unused)
{
	want_exit("in a read section (depth 2); the section ends here");
	lull_rcu_online();
	lull_rcu_read_lock();
	return unused;
}

static void *exits_with_slot(void *unused)
{
	want_exit("while it protects 1 object by hazard pointers; the protection ends here");
	lull_hazptr_acquire(&hold, &pointer);
	return unused;
}

static void *exits_with_simple_slot(void *unused)
{
	want_exit("with its simple hazard pointer in use (depth 2); it is cleared here");
	lull_shazptr_acquire(&object);
	lull_shazptr_acquire(&object);
	return unused;
}

static void *exits_with_context_on_stack(void *unused)
{
	struct lull_hazptr_context ctx;

	want_exit("with a hazard pointer context or hold left on its stack");
	lull_hazptr_context_init(&ctx);
	pthread_exit(unused);
}

static void ends_thread(void *(*exits)(void *))
{
	join_thread(start_thread(exits, NULL));
	lull_rcu_synchronize();
}

TEST(thread_exit)
{
	static void *(*const exits[])(void *) = { exits_in_section, exits_in_online_section, exits_with_slot,
						  exits_with_simple_slot };

	NEEDS_THREADS_IN_CHILD();
	for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++)
		EXPECT_SAID
			ends_thread(exits[i]);
	EXPECT_END
		ends_thread(exits_with_context_on_stack);
}

/* ---- a callback that ends its thread ---------------------------------------------------------- */

static void ends_its_thread(struct lull_head *head)
{
	(void)head;
	want("a deferred callback was left by an exception, or by the end of its thread (thread \"%s\", tid %u)", own_name(),
	     own_tid());
	pthread_exit(NULL);
}

static void *runs_callback(void *unused)
{
	static struct lull_head head;

	set_mode(LULL_RECLAIM_POLL);
	lull_rcu_call(&head, ends_its_thread);
	lull_rcu_barrier();
	return unused;
}

TEST(left_callback)
{
	NEEDS_DEBUG();
	NEEDS_THREADS_IN_CHILD();
	EXPECT_END
		join_thread(start_thread(runs_callback, NULL));
}

/* ---- online threads that sleep -------------------------------------------------------------- */

enum { HEARD_MS = 10000 }; /* after this no thread will be */

static int ready, done;
static struct lull_cond cond;

static void hear_aloud(const char *line)
{
	char text[LINE_BYTES + 8];

	snprintf(text, sizeof(text), "lull: %s\n", line);
	must(write(2, text, strlen(text)) == (ssize_t)strlen(text));
	lull_store_release(&done, 1);
}

static void want_sleep(const char *call)
{
	want("%s: thread \"%s\" (tid %u) sleeps while it is online, and grace periods wait for it: lull_rcu_offline() first",
	     call, own_name(), own_tid());
}

/* Have it until the other thread has been heard to sleep. */
static void *has_all(void *unused)
{
	lull_mutex_lock(&lock);
	lull_hazptr_acquire(&hold, &pointer);
	guard = lull_shazptr_acquire(&object);
	lull_store_release(&ready, 1);
	for (int ms = 0; ms < HEARD_MS && !lull_load_acquire(&done); ms++)
		nap_ms(1);
	lull_shazptr_clear(guard);
	lull_hazptr_release(&hold, pointer);
	lull_mutex_unlock(&lock);
	return unused;
}

/* For what happens online, told once per thread. */
static void sleeps_in(const char *call, void (*sleep)(void))
{
	pthread_t thread = start_thread(has_all, NULL);

	await_flag(&ready, 1);
	lull_debug_set_message_hook(hear_aloud);
	want_sleep(call);
	lull_rcu_online();
	sleep();
	sleep();
	lull_rcu_offline();
	join_thread(thread);
}

static void locks(void)
{
	lull_mutex_lock(&lock);
	lull_mutex_unlock(&lock);
}

static void locks_in_time(void)
{
	must(lull_mutex_timedlock(&lock, UINT64_MAX - 1) == 0);
	lull_mutex_unlock(&lock);
}

static void waits_for_slots(void)
{
	lull_hazptr_synchronize(&object);
}

static void waits_for_simple_slots(void)
{
	lull_shazptr_synchronize(&object);
}

TEST(online)
{
	static const struct {
		const char *call;
		void (*sleep)(void);
	} waits[] = {
		{ "lull_mutex_lock", locks },
		{ "lull_mutex_lock", locks_in_time },
		{ "lull_hazptr_synchronize", waits_for_slots },
		{ "lull_shazptr_synchronize", waits_for_simple_slots },
	};

	NEEDS_THREADS_IN_CHILD();
	/* A thread that goes offline by itself, and one that is offline. */
	EXPECT_NOTHING {
		lull_rcu_online();
		lull_rcu_synchronize();
		lull_rcu_free(malloc(1));
		lull_rcu_barrier();
		lull_hazptr_barrier();
		must(lull_reclaim_drain(10000) == 0);
		lull_rcu_offline();
		lull_mutex_lock(&lock);
		must(lull_cond_timedwait(&cond, &lock, 1) == -ETIMEDOUT);
		lull_mutex_unlock(&lock);
	}
	NEEDS_DEBUG();
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		EXPECT_SAID
			sleeps_in(waits[i].call, waits[i].sleep);
	EXPECT_SAID {
		lull_debug_set_message_hook(hear_aloud);
		want_sleep("lull_cond_wait");
		lull_rcu_online();
		lull_mutex_lock(&lock);
		must(lull_cond_timedwait(&cond, &lock, 1) == -ETIMEDOUT);
		lull_mutex_unlock(&lock);
		lull_rcu_offline();
	}
}
