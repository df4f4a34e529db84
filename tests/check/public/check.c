/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences */
/*
 * check.c - the mistakes with data that debug builds find: read outside a section, changed without the lock
 * that guards it, used after its end. Each ends with one line, and that is compared in full. (threads.c:
 * with what a thread holds. twice.c, retired.c: with what is retired.)
 */
#include "check/support.h"

#include <lull/bridge.h>
#include <lull/check.h>
#include <lull/hash.h>
#include <lull/hlist.h>
#include <lull/list.h>
#include <lull/mutex.h>
#include <lull/mutex_robust.h>
#include <lull/percpu_ref.h>

static int object, *pointer = &object;

/* ---- outside a read section ----------------------------------------------------------------- */

static struct lull_hash table;
static struct lull_hash_node node;

static bool any_match(const struct lull_hash_node *found, const void *key)
{
	(void)found;
	(void)key;
	return true;
}

/* With one node in. */
static void fill_table(void)
{
	lull_hash_init(&table, NULL);
	lull_hash_insert(&table, &node, 1, any_match, NULL);
}

TEST(outside)
{
	struct lull_hash_iter iter;
	struct lull_hash_node *at;

	NEEDS_DEBUG();
	fill_table();
	EXPECT_MISTAKE("lull_rcu_dereference", "outside a read section", (void)lull_rcu_dereference(pointer));
	EXPECT_MISTAKE("lull_hazptr_protect_rcu", "outside a read section",
		       (void)lull_hazptr_protect_rcu_ptr(lull_hazptr_alloc(lull_hazptr_thread_context()), pointer));
	EXPECT_MISTAKE("lull_hash_lookup", "outside a read section", lull_hash_lookup(&table, 1, any_match, NULL));
	EXPECT_MISTAKE("lull_hash_for_each", "outside a read section", lull_rcu_read_lock();
		       lull_hash_for_each(at, &iter, &table) lull_rcu_read_unlock());
	EXPECT_MISTAKE("lull_hash_for_each_match", "outside a read section", lull_rcu_read_lock();
		       lull_hash_for_each_match(at, &iter, &table, 1, any_match, NULL) lull_rcu_read_unlock());
	EXPECT_MISTAKE("lull_rcu_online_read_lock", "thread is not online", lull_rcu_online_read_lock());
	lull_hash_destroy(&table, NULL, NULL);
}

/* ---- without the lock that guards it -------------------------------------------------------- */

static struct lull_mutex lock;
static pthread_mutex_t pthread_lock = PTHREAD_MUTEX_INITIALIZER;
static struct guarded {
	int *pointer;
	struct lull_list_head list;
	struct lull_hlist_head hlist;
	struct lull_hash table;
} guarded;
static struct lull_list_head list_node;
static struct lull_hlist_node hlist_node;

static void want_unlocked(const char *call, const char *what, const void *at, const void *guard)
{
	want("%s: %p is %s without the lock that guards it, %p (thread \"%s\", tid %u)", call, at, what, guard, own_name(),
	     own_tid());
}

/* With both nodes in, and the lock free. */
static void declare(void)
{
	lull_hash_init(&guarded.table, NULL);
	lull_list_init(&guarded.list);
	lull_mutex_lock(&lock);
	lull_check_guarded_by(&guarded, sizeof(guarded), lull_check_mutex_held, &lock);
	lull_list_add_rcu(&list_node, &guarded.list);
	lull_hlist_add_head_rcu(&hlist_node, &guarded.hlist);
	lull_mutex_unlock(&lock);
}

static void *locks_pthread_lock(void *unused)
{
	pthread_mutex_lock(&pthread_lock);
	return unused;
}

#define EXPECT_UNLOCKED(call, what, at, ...)                                                        \
	EXPECT_END {                                                                               \
		declare();                                                                         \
		want_unlocked(call, what, at, &lock);                                              \
		__VA_ARGS__;                                                                       \
	}

TEST(guarded)
{
	struct lull_list_head other, *at;
	struct lull_hlist_node other_node;
	int **here = &guarded.pointer;

	NEEDS_DEBUG();
	EXPECT_UNLOCKED("lull_rcu_assign", "used", here, lull_rcu_assign(*here, &object));
	EXPECT_UNLOCKED("lull_rcu_assign", "used", here, (void)lull_rcu_replace(*here, &object));
	EXPECT_UNLOCKED("lull_rcu_dereference_protected", "used", here, (void)lull_rcu_dereference_protected(*here));
	EXPECT_UNLOCKED("lull_list_add_rcu", "used", &guarded.list, lull_list_add_tail_rcu(&other, &guarded.list));
	EXPECT_UNLOCKED("lull_list_del_rcu", "used", &guarded.list, lull_list_del_rcu(&list_node));
	EXPECT_UNLOCKED("lull_list_replace_rcu", "used", &guarded.list, lull_list_replace_rcu(&list_node, &other));
	EXPECT_UNLOCKED("lull_list_next_rcu", "read outside a read section", &guarded.list,
			lull_list_for_each_rcu(at, &guarded.list) (void)at);
	EXPECT_UNLOCKED("lull_hlist_add_rcu", "used", &guarded.hlist, lull_hlist_add_head_rcu(&other_node, &guarded.hlist));
	EXPECT_UNLOCKED("lull_hlist_del_rcu", "used", &guarded.hlist, lull_hlist_del_rcu(&hlist_node));
	EXPECT_UNLOCKED("an update of a lull_hash", "used", &guarded.table, lull_hash_insert_dup(&guarded.table, &node, 1));
	EXPECT_END {
		join_thread(start_thread(locks_pthread_lock, NULL));
		lull_check_guarded_by(&pointer, sizeof(pointer), lull_check_pthread_mutex_held, &pthread_lock);
		want_unlocked("lull_rcu_assign", "used", &pointer, &pthread_lock);
		lull_rcu_assign(pointer, NULL);
	}
}

TEST(done_right)
{
	/* Do all with the lock, or in a section where that will do; and what is no longer guarded, without. */
	EXPECT_NOTHING {
		struct lull_list_head other, *at;
		struct guarded *on_heap = (struct guarded *)malloc(sizeof(*on_heap));

		declare();
		lull_mutex_lock(&lock);
		lull_rcu_assign(guarded.pointer, &object);
		must(lull_rcu_dereference_protected(guarded.pointer) == &object);
		lull_list_replace_rcu(&list_node, &other);
		lull_list_for_each_rcu(at, &guarded.list)
			must(at == &other);
		lull_list_del_rcu(&other);
		lull_hlist_del_rcu(&hlist_node);
		lull_hash_insert_dup(&guarded.table, &node, 1);
		lull_mutex_unlock(&lock);
		lull_rcu_read_lock();
		lull_list_for_each_rcu(at, &guarded.list)
			must(false);
		lull_rcu_read_unlock();
		lull_check_unguarded(&guarded, sizeof(guarded));
		lull_rcu_assign(guarded.pointer, NULL);

		pthread_mutex_lock(&pthread_lock);
		lull_check_guarded_by(on_heap, sizeof(*on_heap), lull_check_pthread_mutex_held, &pthread_lock);
		lull_rcu_assign(on_heap->pointer, NULL);
		/* A child's thread has what its parent's thread had. */
		if (fork() == 0) {
			lull_rcu_assign(on_heap->pointer, NULL);
			_exit(0);
		}
		pthread_mutex_unlock(&pthread_lock);
		must(wait(NULL) > 0);
		/* Freed memory is guarded no more. By this thread, whose next malloc() gives the same address. */
		set_mode(LULL_RECLAIM_POLL);
		lull_rcu_free(on_heap);
		lull_rcu_barrier();
		lull_check_guarded_by(&object, 1, lull_check_mutex_held, &lock);
		for (int i = 0; i < 100; i++) {
			on_heap = (struct guarded *)malloc(sizeof(*on_heap));
			lull_rcu_assign(on_heap->pointer, NULL);
			free(on_heap);
		}
		lull_hash_destroy(&guarded.table, NULL, NULL);
	}
}

/* ---- which lock, and who has it --------------------------------------------------------------- */

static bool is_held;
static int asked;

/* Say whether the program holds the lock @what. lull must call this with the signal mask of its own caller. */
static bool own_held(const void *what)
{
	sigset_t mask;

	must(what == &lock);
	must(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, SIGUSR1) == 0);
	asked++;
	return is_held;
}

static void *holds_none(void *unused)
{
	must(!lull_check_mutex_held(&lock));
	must(!lull_check_pthread_mutex_held(&pthread_lock));
	return unused;
}

TEST(held)
{
	NEEDS_DEBUG();
	/* Held by this thread: before, meanwhile, for another one, after. */
	EXPECT_NOTHING {
		static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK };
		struct lull_mutex_robust robust;

		must(!lull_check_mutex_held(&lock));
		lull_mutex_lock(&lock);
		must(lull_check_mutex_held(&lock));
		lull_mutex_robust_init(&robust, 0);
		must(!lull_check_mutex_held(&robust.mutex));
		must(lull_mutex_robust_lock(&robust) == 0);
		must(lull_check_mutex_held(&robust.mutex));
		lull_mutex_robust_unlock(&robust);
		must(!lull_check_mutex_held(&robust.mutex));
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
			pthread_mutexattr_t attr;
			pthread_mutex_t mutex;

			pthread_mutexattr_init(&attr);
			pthread_mutexattr_settype(&attr, types[i]);
			pthread_mutex_init(&mutex, &attr);
			must(!lull_check_pthread_mutex_held(&mutex));
			pthread_mutex_lock(&mutex);
			must(lull_check_pthread_mutex_held(&mutex));
			pthread_mutex_unlock(&mutex);
			must(!lull_check_pthread_mutex_held(&mutex));
		}
		pthread_mutex_lock(&pthread_lock);
		must(lull_check_pthread_mutex_held(&pthread_lock));
		if (THREADS_IN_CHILD)
			join_thread(start_thread(holds_none, NULL));
		pthread_mutex_unlock(&pthread_lock);
		lull_mutex_unlock(&lock);
		holds_none(NULL);
	}
}

TEST(own_held)
{
	NEEDS_DEBUG();
	EXPECT_END {
		lull_check_guarded_by(&guarded, sizeof(guarded), own_held, &lock);
		is_held = true;
		lull_rcu_assign(guarded.pointer, &object);
		must(asked == 1);
		is_held = false;
		want_unlocked("lull_rcu_assign", "used", &guarded.pointer, &lock);
		lull_rcu_assign(guarded.pointer, &object);
	}
	/* The latest declaration counts, for the part that it is about and for nothing beside it. */
	EXPECT_END {
		static int *words[3];

		is_held = true;
		lull_check_guarded_by(words, sizeof(words), lull_check_pthread_mutex_held, &pthread_lock);
		lull_check_guarded_by(&words[1], sizeof(words[1]), own_held, &lock);
		lull_rcu_assign(words[1], &object);
		lull_check_guarded_by(&words[1], sizeof(words[1]), lull_check_pthread_mutex_held, &pthread_lock);
		lull_check_guarded_by(words, sizeof(words), own_held, &lock);
		for (int i = 0; i < 3; i++)
			lull_rcu_assign(words[i], &object);
		must(asked == 4);
		is_held = false;
		lull_rcu_assign(pointer, &object); /* never declared */
		want_unlocked("lull_rcu_assign", "used", &words[2], &lock);
		lull_rcu_assign(words[2], &object);
	}
}

TEST(without_debug)
{
#ifdef LULL_DEBUG
	SKIP("debug builds have the checks, which are tested instead");
#endif
	/* No question is asked, and everything goes through. */
	EXPECT_NOTHING {
		lull_check_guarded_by(&guarded, sizeof(guarded), own_held, &lock);
		lull_rcu_assign(guarded.pointer, &object);
		must(lull_rcu_dereference_protected(guarded.pointer) == &object);
		lull_list_init(&guarded.list);
		lull_list_add_rcu(&list_node, &guarded.list);
		lull_list_del_rcu(&list_node);
		must(!asked);
		must(lull_check_mutex_held(&lock) && lull_check_pthread_mutex_held(&pthread_lock));
	}
}

/* ---- used after its end --------------------------------------------------------------------- */

static void want_hash_gone(void)
{
	want("hash table %p is used, but it was destroyed or never set up (thread \"%s\", tid %u)", (void *)&table, own_name(),
	     own_tid());
}

static void removes_from_hash(struct lull_rcu_head *unused)
{
	(void)unused;
	want_hash_gone();
	lull_hash_remove(&table, 1, any_match, NULL);
}

static struct lull_percpu_ref ref;

static void released(struct lull_percpu_ref *unused)
{
	(void)unused;
}

static void kills_ref(struct lull_rcu_head *unused)
{
	(void)unused;
	want("lull_percpu_ref_kill: percpu_ref %p is used after lull_percpu_ref_exit()", (void *)&ref);
	lull_percpu_ref_kill(&ref);
}

TEST(gone)
{
	NEEDS_THREADS_IN_CHILD();
	EXPECT_END {
		static struct lull_rcu_head head;

		must(lull_percpu_ref_init(&ref, released, 0) == 0);
		lull_rcu_read_lock();
		lull_rcu_call(&head, kills_ref);
		lull_percpu_ref_exit(&ref);
		lull_rcu_read_unlock();
		lull_rcu_barrier();
	}
	NEEDS_DEBUG();
	/* A callback wants a table that is there no more. */
	EXPECT_END {
		static struct lull_rcu_head head;

		lull_hash_init(&table, NULL);
		lull_rcu_read_lock();
		lull_rcu_call(&head, removes_from_hash);
		lull_hash_destroy(&table, NULL, NULL);
		lull_rcu_read_unlock();
		lull_rcu_barrier();
	}
	EXPECT_END {
		want_hash_gone();
		lull_rcu_read_lock();
		lull_hash_lookup(&table, 1, any_match, NULL);
	}
}
