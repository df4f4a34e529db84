/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * twice.c - debug builds find what is deferred although it is so already: whole or in part, in whatever
 * two ways, by whomever, and in a forked child. The line of each is compared in full. (retired.c: the
 * other mistakes with what is retired.)
 */
#include "check/retired.h"

static const struct way *second;

static void want_twice(const char *part)
{
	want("%s of %p%s, which %s already (thread \"%s\", tid %u)", second->name, named(second), part, story(), own_name(),
	     own_tid());
}

TEST(twice)
{
	NEEDS_DEBUG();
	for (int i = 0; i < WAYS; i++) {
		first = &ways[i];
		second = &ways[i % 2 ? i : (i + 5) % WAYS];
		/* In a read section, so that the first one waits. For those that await slots only a slot does. */
		EXPECT_END {
			struct lull_hazptr *slot = lull_hazptr_alloc(lull_hazptr_thread_context());
			const void *pointer;
			char part[64] = "";

			make_thing();
			pointer = named(first);
			lull_rcu_read_lock();
			must(lull_hazptr_protect_ptr(slot, pointer));
			if (first->is_call != second->is_call)
				snprintf(part, sizeof(part), ", which %s %p", second->is_call ? "is part of" : "contains", named(first));
			want_twice(part);
			first->defer();
			second->defer();
		}
	}
}

static void *defers_second(void *unused)
{
	second->defer();
	return unused;
}

/* The line names the first thread, and the one that did it again. */
static void *defers_after_another(void *unused)
{
	pthread_setname_np(pthread_self(), "second");
	want("%s of %p, which thread \"first\" (tid %d) gave to %s at " SITE " already (thread \"second\", tid %u)",
	     second->name, named(second), (int)getpid(), first->name, own_tid());
	return defers_second(unused);
}

TEST(twice_elsewhere)
{
	NEEDS_DEBUG();
	first = second = &ways[0];
	EXPECT_END {
		make_thing();
		pthread_setname_np(pthread_self(), "first");
		wanted->site_of = (const char *)(uintptr_t)first->defer;
		lull_rcu_read_lock();
		first->defer();
		join_thread(start_thread(defers_after_another, NULL));
	}
	/* A child knows what its parent has deferred. */
	EXPECT_END {
		pid_t child;
		int status;

		make_thing();
		lull_rcu_read_lock();
		first->defer();
		child = fork();
		if (child == 0) {
			want("%s of %p, which thread \"?\" (tid %d) gave to %s at " SITE " already (thread \"%s\", tid %u)",
			     second->name, named(second), (int)getppid(), first->name, own_name(), own_tid());
			wanted->site_of = (const char *)(uintptr_t)first->defer;
			second->defer();
		}
		must(waitpid(child, &status, 0) == child);
		abort();
	}
}

/* ---- again, when it is right ---------------------------------------------------------------- */

static int rounds;
static struct lull_rcu_head again;

static void goes_again(struct lull_rcu_head *head)
{
	if (++rounds < 10)
		lull_rcu_call(head, goes_again);
	else if (rounds < 15)
		lull_hazptr_call(head, goes_again);
}

static void free_thing_later(struct lull_rcu_head *head)
{
	lull_rcu_free(lull_container_of(head, struct thing, rcu));
}

TEST(again)
{
	NEEDS_THREADS_IN_CHILD();
	/* In its own callback, after it, and what has the same address by chance. */
	EXPECT_NOTHING {
		lull_rcu_call(&again, goes_again);
		lull_rcu_barrier();
		must(rounds == 15);
		lull_rcu_call(&again, goes_again);
		lull_hazptr_barrier();
		for (int i = 0; i < 1000; i++) {
			make_thing();
			if (i % 3 == 0)
				lull_rcu_free(thing);
			else if (i % 3 == 1)
				lull_hazptr_call(&thing->rcu, free_thing_later);
			else
				lull_rcu_call_hazptr(&thing->rcu, thing_gone);
		}
		lull_hazptr_barrier();
	}
}
