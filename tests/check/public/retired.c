/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * retired.c - the mistakes with what is retired that debug builds find: found, read, changed or protected
 * too late; callbacks of a module that has been unloaded. The line of each is compared in full.
 * (twice.c: retired again.)
 */
#include <dlfcn.h>

#include "check/retired.h"

/* ---- found although it is retired ----------------------------------------------------------- */

static struct thing *published;

static int found, retired;

static void *retires_what_is_found(void *unused)
{
	await_flag(&found, 1);
	lull_rcu_free(thing);
	lull_rcu_gp_start();
	lull_store_release(&retired, 1);
	return unused;
}

TEST(found)
{
	NEEDS_THREADS_IN_CHILD();
	/* In a section from before, what was retired since is found and stays. */
	EXPECT_NOTHING {
		pthread_t thread = start_thread(retires_what_is_found, NULL);

		make_thing();
		published = thing;
		lull_rcu_read_lock();
		(void)lull_rcu_dereference(published);
		lull_store_release(&found, 1);
		await_flag(&retired, 1);
		must(lull_rcu_dereference(published)->before == 0);
		lull_rcu_read_unlock();
		join_thread(thread);
		lull_rcu_barrier();
	}
	NEEDS_DEBUG();
	/* The updater forgot to unlink what it retired. */
	EXPECT_END {
		set_mode(LULL_RECLAIM_POLL);
		first = &ways[0];
		make_thing();
		published = thing;
		want("lull_rcu_dereference: found %p, which %s before this read section began: it was not unlinked first "
		     "(thread \"%s\", tid %u)",
		     (void *)thing, story(), own_name(), own_tid());
		first->defer();
		lull_rcu_read_lock();
		(void)lull_rcu_dereference(published); /* no grace period has begun: it might have been found before */
		lull_rcu_gp_start();
		lull_rcu_read_unlock();
		lull_rcu_read_lock();
		(void)lull_rcu_dereference(published);
	}
}

/* ---- protected by the retiring thread ------------------------------------------------------ */

static void protect_thing(void)
{
	must(lull_hazptr_protect_ptr(lull_hazptr_alloc(lull_hazptr_thread_context()), thing));
}

TEST(own)
{
	NEEDS_THREADS_IN_CHILD();
	/* Algorithms do this that unlink what they have found, and release it. */
	EXPECT_NOTHING {
		struct lull_hazptr *slot = lull_hazptr_alloc(lull_hazptr_thread_context());

		lull_debug_set_stall_ms(60000);
		for (int i = 0; i < 200; i++) {
			make_thing();
			must(lull_hazptr_protect_ptr(slot, thing));
			lull_hazptr_retire(thing);
			lull_hazptr_retire(malloc(1)); /* before it releases the other */
		}
		must(lull_hazptr_barrier_timeout(1) != 0);
		lull_hazptr_clear(slot);
		lull_hazptr_barrier();
	}
	NEEDS_DEBUG();
	EXPECT_SAID {
		first = &ways[2];
		lull_debug_set_stall_ms(1);
		make_thing();
		protect_thing();
		want("thread \"%s\" (tid %u) still protects %p, which %s: it cannot be reclaimed", own_name(), own_tid(), (void *)thing,
		     story());
		first->defer();
		lull_hazptr_retire(malloc(1)); /* too early to say so */
		nap_ms(2);
		lull_hazptr_retire(malloc(1));
		lull_hazptr_retire(malloc(1)); /* said once */
	}
	for (int i = 2; i < 6; i++) {
		first = &ways[i];
		EXPECT_END {
			make_thing();
			protect_thing();
			want("lull_hazptr_barrier would wait for itself for ever: thread \"%s\" (tid %u) protects %p, which %s", own_name(),
			     own_tid(), (void *)thing, story());
			first->defer();
			lull_hazptr_barrier();
		}
	}
}

/* ---- used while it waits, and after --------------------------------------------------------- */

TEST(changed)
{
	NEEDS_DEBUG();
	EXPECT_END {
		first = &ways[6];
		make_thing();
		want("%p, which %s, was freed or changed while it waited: its function was %p and is (nil)", (void *)&thing->rcu,
		     story(), (void *)(uintptr_t)thing_gone);
		lull_rcu_read_lock();
		first->defer();
		memset(thing, 0, sizeof(*thing));
		lull_rcu_read_unlock();
		lull_rcu_barrier();
	}
}

TEST(read_too_late)
{
	struct child child;

#if !UNDER_ASAN || !defined(LULL_DEBUG)
	SKIP("only a debug build with AddressSanitizer has this check");
#endif
	/* And those that are freed are as others. */
	EXPECT_NOTHING {
		for (int i = 0; i < 1000; i++)
			lull_rcu_free_hazptr(calloc(10, sizeof(int)));
		lull_hazptr_barrier();
	}
	/* Their grace period is over, and none but the first has been freed. */
	if (child_begin(&child)) {
		int *objects[3];

		set_mode(LULL_RECLAIM_POLL);
		for (int i = 0; i < 3; i++) {
			objects[i] = (int *)calloc(10, sizeof(int));
			lull_rcu_free(objects[i]);
		}
		must(objects[2][9] == 0);
		must(lull_reclaim_poll(1, 0) == 1);
		want("use-after-poison on address %p", (void *)&objects[2][9]);
		must(lull_load_relaxed(&objects[2][9]) == 0);
		_exit(0);
	}
	child_await(&child);
	judge_child(child.status != 0 && strstr(child.text, wanted->line), &child, wanted->line, __FILE__, __LINE__);
}

/* ---- callbacks of an unloaded module -------------------------------------------------------- */

static void (*plugin_callback)(struct lull_rcu_head *);

static __attribute__((noinline)) void defer_plugin_s(void)
{
	lull_rcu_call(&thing->rcu, plugin_callback);
	lull_compiler_barrier();
}

static void *load_plugin(void)
{
	void *plugin = dlopen(LULL_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);

	if (!plugin)
		fprintf(stderr, "%s\n", dlerror());
	must(plugin);
	*(void **)&plugin_callback = dlsym(plugin, "plugin_callback");
	must(plugin_callback);
	return plugin;
}

TEST(unloaded)
{
	NEEDS_THREADS_IN_CHILD();
	EXPECT_NOTHING {
		void *plugin = load_plugin();

		make_thing();
		defer_plugin_s();
		lull_rcu_barrier();
		must(thing->after == 42);
		free(thing);
		dlclose(plugin);
	}
	NEEDS_DEBUG();
	EXPECT_END {
		void *plugin = load_plugin();

		make_thing();
		wanted->site_of = (const char *)(uintptr_t)defer_plugin_s;
		want("callback %p of %p, which thread \"%s\" (tid %u) gave to lull_rcu_call at " SITE
		     ", is in a module that has been unloaded: lull_rcu_barrier() before dlclose()",
		     (void *)(uintptr_t)plugin_callback, (void *)&thing->rcu, own_name(), own_tid());
		lull_rcu_read_lock();
		defer_plugin_s();
		dlclose(plugin);
		lull_rcu_read_unlock();
		lull_rcu_barrier();
	}
}
