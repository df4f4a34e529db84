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

static void dereferences(void)
{
	want_call("lull_rcu_dereference", "outside a read section");
	(void)lull_rcu_dereference(pointer);
}

static void protects_rcu(void)
{
	want_call("lull_hazptr_protect_rcu", "outside a read section");
	lull_hazptr_protect_rcu_ptr(lull_hazptr_alloc(lull_hazptr_thread_context()), pointer);
}

static void looks_up(void)
{
	want_call("lull_hash_lookup", "outside a read section");
	lull_hash_init(&table, NULL);
	lull_hash_lookup(&table, 1, any_match, NULL);
}

static void walks_on(void)
{
	struct lull_hash_iter iter;
	struct lull_hash_node *at;

	want_call("lull_hash_for_each", "outside a read section");
	lull_hash_init(&table, NULL);
	lull_hash_insert(&table, &node, 1, any_match, NULL);
	lull_rcu_read_lock();
	lull_hash_for_each(at, &iter, &table)
		lull_rcu_read_unlock();
}

static void walks_matches_on(void)
{
	struct lull_hash_iter iter;
	struct lull_hash_node *at;

	want_call("lull_hash_for_each_match", "outside a read section");
	lull_hash_init(&table, NULL);
	lull_hash_insert(&table, &node, 1, any_match, NULL);
	lull_rcu_read_lock();
	lull_hash_for_each_match(at, &iter, &table, 1, any_match, NULL)
		lull_rcu_read_unlock();
}

static void online_reader_locks(void)
{
	want_call("lull_rcu_online_read_lock", "thread is not online");
	lull_rcu_online_read_lock();
}

TEST(outside)
{
	NEEDS_DEBUG();
	expect_end(dereferences);
	expect_end(protects_rcu);
	expect_end(looks_up);
	expect_end(walks_on);
	expect_end(walks_matches_on);
	expect_end(online_reader_locks);
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

static void assigns(void)
{
	declare();
	want_unlocked("lull_rcu_assign", "used", &guarded.pointer, &lock);
	lull_rcu_assign(guarded.pointer, &object);
}

static void replaces(void)
{
	declare();
	want_unlocked("lull_rcu_assign", "used", &guarded.pointer, &lock);
	(void)lull_rcu_replace(guarded.pointer, &object);
}

static void reads_protected(void)
{
	declare();
	want_unlocked("lull_rcu_dereference_protected", "used", &guarded.pointer, &lock);
	(void)lull_rcu_dereference_protected(guarded.pointer);
}

static void adds_to_list(void)
{
	struct lull_list_head other;

	declare();
	want_unlocked("lull_list_add_rcu", "used", &guarded.list, &lock);
	lull_list_add_tail_rcu(&other, &guarded.list);
}

static void deletes_from_list(void)
{
	declare();
	want_unlocked("lull_list_del_rcu", "used", &guarded.list, &lock);
	lull_list_del_rcu(&list_node);
}

static void replaces_on_list(void)
{
	struct lull_list_head other;

	declare();
	want_unlocked("lull_list_replace_rcu", "used", &guarded.list, &lock);
	lull_list_replace_rcu(&list_node, &other);
}

static void walks_list(void)
{
	struct lull_list_head *at;

	declare();
	want_unlocked("lull_list_next_rcu", "read outside a read section", &guarded.list, &lock);
	lull_list_for_each_rcu(at, &guarded.list)
		;
}

static void adds_to_hlist(void)
{
	struct lull_hlist_node other;

	declare();
	want_unlocked("lull_hlist_add_rcu", "used", &guarded.hlist, &lock);
	lull_hlist_add_head_rcu(&other, &guarded.hlist);
}

static void deletes_from_hlist(void)
{
	declare();
	want_unlocked("lull_hlist_del_rcu", "used", &guarded.hlist, &lock);
	lull_hlist_del_rcu(&hlist_node);
}

static void inserts_in_hash(void)
{
	declare();
	want_unlocked("an update of a lull_hash", "used", &guarded.table, &lock);
	lull_hash_insert_dup(&guarded.table, &node, 1);
}

static void *locks_pthread_lock(void *unused)
{
	pthread_mutex_lock(&pthread_lock);
	return unused;
}

static void assigns_under_another_s_lock(void)
{
	join_thread(start_thread(locks_pthread_lock, NULL));
	lull_check_guarded_by(&pointer, sizeof(pointer), lull_check_pthread_mutex_held, &pthread_lock);
	want_unlocked("lull_rcu_assign", "used", &pointer, &pthread_lock);
	lull_rcu_assign(pointer, NULL);
}

/* All of that with the lock, or in a section where that will do; and what is no longer guarded, without. */
static void does_it_right(void)
{
	struct lull_list_head other, *at;
	struct guarded *on_heap = (struct guarded *)malloc(sizeof(*on_heap));
	struct lull_reclaim_config config;

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
	/* What has been freed is guarded no more. By this thread, whose next malloc() gives the same address. */
	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	must(lull_reclaim_configure(&config) == 0);
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

TEST(guarded)
{
	NEEDS_DEBUG();
	expect_end(assigns);
	expect_end(replaces);
	expect_end(reads_protected);
	expect_end(adds_to_list);
	expect_end(deletes_from_list);
	expect_end(replaces_on_list);
	expect_end(walks_list);
	expect_end(adds_to_hlist);
	expect_end(deletes_from_hlist);
	expect_end(inserts_in_hash);
	expect_end(assigns_under_another_s_lock);
}

TEST(done_right)
{
	expect_nothing(does_it_right);
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

static void asks_program(void)
{
	lull_check_guarded_by(&guarded, sizeof(guarded), own_held, &lock);
	is_held = true;
	lull_rcu_assign(guarded.pointer, &object);
	must(asked == 1);
	is_held = false;
	want_unlocked("lull_rcu_assign", "used", &guarded.pointer, &lock);
	lull_rcu_assign(guarded.pointer, &object);
}

/* The latest declaration counts, for the part that it is about and for nothing beside it. */
static void declares_again(void)
{
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
	lull_rcu_assign(pointer, &object); /* declared by nobody */
	want_unlocked("lull_rcu_assign", "used", &words[2], &lock);
	lull_rcu_assign(words[2], &object);
}

static void *holds_none(void *unused)
{
	must(!lull_check_mutex_held(&lock));
	must(!lull_check_pthread_mutex_held(&pthread_lock));
	return unused;
}

/* Held by this thread: before, meanwhile, for another one, after. */
static void holds(void)
{
	struct lull_mutex_robust robust;
	static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK };

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

TEST(held)
{
	NEEDS_DEBUG();
	expect_nothing(holds);
}

TEST(own_held)
{
	NEEDS_DEBUG();
	expect_end(asks_program);
	expect_end(declares_again);
}

#ifndef LULL_DEBUG
/* Nobody is asked, and everything goes through. */
static void changes_anything(void)
{
	lull_check_guarded_by(&guarded, sizeof(guarded), own_held, &lock);
	lull_rcu_assign(guarded.pointer, &object);
	must(lull_rcu_dereference_protected(guarded.pointer) == &object);
	lull_list_init(&guarded.list);
	lull_list_add_rcu(&list_node, &guarded.list);
	lull_list_del_rcu(&list_node);
	must(!asked);
	must(lull_check_mutex_held(&lock) && lull_check_pthread_mutex_held(&pthread_lock));
}
#endif

TEST(without_debug)
{
#ifdef LULL_DEBUG
	SKIP("debug builds have the checks, which are tested instead");
#else
	expect_nothing(changes_anything);
#endif
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

/* A callback wants a table that is there no more. */
static void destroys_hash(void)
{
	static struct lull_rcu_head head;

	lull_hash_init(&table, NULL);
	lull_rcu_read_lock();
	lull_rcu_call(&head, removes_from_hash);
	lull_hash_destroy(&table, NULL, NULL);
	lull_rcu_read_unlock();
	lull_rcu_barrier();
}

static void looks_up_in_none(void)
{
	want_hash_gone();
	lull_rcu_read_lock();
	lull_hash_lookup(&table, 1, any_match, NULL);
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

static void gives_ref_up(void)
{
	static struct lull_rcu_head head;

	must(lull_percpu_ref_init(&ref, released, 0) == 0);
	lull_rcu_read_lock();
	lull_rcu_call(&head, kills_ref);
	lull_percpu_ref_exit(&ref);
	lull_rcu_read_unlock();
	lull_rcu_barrier();
}

TEST(gone)
{
	NEEDS_THREADS_IN_CHILD();
	expect_end(gives_ref_up);
	NEEDS_DEBUG();
	expect_end(destroys_hash);
	expect_end(looks_up_in_none);
}
