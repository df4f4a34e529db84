/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, core */
/*
 * thread.c - thread.h: records come by themselves and go with their threads; late readers, fork.
 */
#include <limits.h>

#include <lull/hazptr.h>
#include <lull/shazptr.h>

#include "child.h"
#include "threads.h"

/* ---- first use --------------------------------------------------------------------------------------- */

static void read_first(void)
{
	lull_rcu_cookie cookie;

	lull_rcu_read_lock();
	must(lull_rcu_read_lock_held());
	cookie = lull_rcu_gp_start();
	must(!lull_rcu_gp_poll(cookie));
	lull_rcu_read_unlock();
	must(lull_rcu_gp_poll(cookie));
}

static void defer_first(void)
{
	lull_rcu_free(malloc(16));
	lull_rcu_synchronize();
}

static void go_online_first(void)
{
	lull_rcu_online();
	lull_rcu_offline();
}

/*
 * Does a thread register when it first does this? After it has unregistered, that is so for reading only for as long as it
 * lasts. A thread that only updates never does.
 */
static const struct {
	void (*use)(void);
	bool registers[2];
} uses[] = {
	{ read_first, { true, false } },
	{ defer_first, { false, false } },
	{ go_online_first, { true, true } },
	{ lull_thread_register, { true, true } },
};
static int which;

static void *uses_first(void *unused)
{
	unsigned before = lull_thread_count();

	must(lull__self.next == NULL);
	for (int again = 0; again < 2; again++) {
		uses[which].use();
		must(lull_thread_count() == before + uses[which].registers[again]);
		lull_thread_register();
		for (int i = 0; i < 2; i++) { /* it is there to stay */
			must(lull_thread_count() == before + 1);
			read_first();
		}
		lull_thread_unregister();
		must(lull_thread_count() == before);
		lull_thread_unregister(); /* once more is nothing */
		lull_rcu_read_lock();
		must(lull_thread_count() == before + 1); /* for as long as the section lasts */
		lull_rcu_read_unlock();
		must(lull_thread_count() == before);
	}
	uses[which].use();
	return unused;
}

/* In a process of its own, in which no thread of lull's comes and goes. */
TEST(first_use)
{
	EXPECT_FINE {
		set_mode(LULL_RECLAIM_POLL);
		lull_thread_register();
		lull_thread_register();
		must(lull_thread_count() == 1);
		lull_thread_unregister();
		must(lull_thread_count() == 0);
	}
	NEEDS_THREADS_IN_CHILD();
	EXPECT_FINE {
		unsigned before;

		set_mode(LULL_RECLAIM_POLL);
		before = lull_thread_count();
		for (which = 0; which < 4; which++) {
			join_thread(start_thread(uses_first, NULL));
			must(lull_thread_count() == before);
		}
		lull_rcu_barrier();
	}
}

/* ---- unregistered ------------------------------------------------------------------------------------- */

static int object, *object_pointer = &object;

static void *is_protected(void *unused)
{
	(void)unused;
	return lull_hazptr_synchronize_timeout(&object, 0) ? &object : NULL;
}

static bool ask_another(void)
{
	void *answer;

	assert_int_equal(pthread_join(start_thread(is_protected, NULL), &answer), 0);
	return answer != NULL;
}

/* An unregistered thread has no slots of its own, but those of holds and of contexts that it makes. */
static void *unregistered_protects(void *unused)
{
	struct lull_hazptr_context ctx;
	struct lull_hazptr_hold hold;
	struct lull_hazptr *slot;

	(void)unused;
	lull_thread_register();
	lull_thread_unregister();
	assert_null(lull_hazptr_alloc(lull_hazptr_thread_context()));
	lull_hazptr_context_init(&ctx);
	slot = lull_hazptr_alloc(&ctx);
	assert_non_null(slot);
	assert_ptr_equal(lull_hazptr_protect_ptr(slot, object_pointer), &object);
	assert_true(ask_another());
	lull_hazptr_free(&ctx, slot);
	lull_hazptr_context_cleanup(&ctx);
	assert_false(ask_another());
	assert_ptr_equal(lull_hazptr_acquire(&hold, &object_pointer), &object);
	assert_true(ask_another());
	lull_hazptr_release(&hold, &object);
	assert_false(ask_another());
	return NULL;
}

TEST(unregistered_slots)
{
	join_thread(start_thread(unregistered_protects, NULL));
}

TEST(unregister_misuse)
{
	EXPECT_MISUSE("lull_thread_unregister: slots of the thread's own context are in use") {
		lull_thread_register();
		must(lull_hazptr_alloc(lull_hazptr_thread_context()) != NULL);
		lull_thread_unregister();
	}
	EXPECT_MISUSE("lull_thread_unregister while the thread's simple hazard pointer is in use") {
		(void)lull_shazptr_acquire(&object);
		lull_thread_unregister();
	}
}

/* Registered for good: a grace period sees each section, and sections are as fast as before. */
static void check_registered(void)
{
	static int any;
	struct lull_shazptr_guard guard = lull_shazptr_acquire(&any);
	lull_rcu_cookie cookie;

	lull_shazptr_clear(guard);
	assert_non_null(lull__self.next);
	lull_rcu_read_lock();
	cookie = lull_rcu_gp_start();
	assert_false(lull_rcu_gp_poll(cookie));
	lull_rcu_read_unlock();
	assert_true(lull_rcu_gp_poll(cookie));
	assert_int_equal(lull__self.rcu, lull_fence_strategy() == LULL_FENCE_MEMBARRIER ? 0 : LULL__RCU_REST);
	assert_non_null(lull__self.next);
}

/* A thread may register again in a section, as deep as it is. */
static void *registers_inside(void *unused)
{
	struct lull_hazptr *slot;
	lull_rcu_cookie cookie;

	(void)unused;
	lull_thread_register();
	lull_thread_unregister();
	lull_rcu_read_lock();
	lull_rcu_read_lock();
	cookie = lull_rcu_gp_start();
	lull_thread_register();
	slot = lull_hazptr_alloc(lull_hazptr_thread_context());
	assert_non_null(slot);
	lull_hazptr_free(lull_hazptr_thread_context(), slot);
	lull_rcu_read_unlock();
	assert_false(lull_rcu_gp_poll(cookie));
	lull_rcu_read_unlock();
	assert_true(lull_rcu_gp_poll(cookie));
	check_registered();
	return NULL;
}

static int name, others_done;

static void *waits_for_name(void *unused)
{
	(void)unused;
	lull_shazptr_synchronize(&name);
	lull_store_release(&others_done, 1);
	return NULL;
}

/* ... and so may one that uses its simple hazard pointer, which keeps what it names and its waiters. */
static void *registers_while_used(void *online)
{
	struct lull_shazptr_guard guard;
	pthread_t other;

	lull_thread_register();
	lull_thread_unregister();
	guard = lull_shazptr_acquire(&name);
	lull_store_relaxed(&others_done, 0);
	other = start_thread(waits_for_name, NULL);
	nap_ms(20);
	if (online) {
		lull_rcu_online();
		assert_int_equal(lull_load_acquire(&others_done), 0);
		lull_shazptr_clear(guard);
		lull_rcu_offline();
	} else {
		lull_thread_register();
		assert_int_equal(lull_shazptr_synchronize_timeout(&others_done, 0), 0);
		assert_int_equal(lull_load_acquire(&others_done), 0);
		lull_shazptr_clear(guard);
	}
	join_thread(other);
	check_registered();
	return NULL;
}

TEST(register_late)
{
	static int online;

	join_thread(start_thread(registers_inside, NULL));
	join_thread(start_thread(registers_while_used, NULL));
	join_thread(start_thread(registers_while_used, &online));
}

static void *reads_once(void *unused)
{
	(void)unused;
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	return NULL;
}

static void *touches_nothing(void *unused)
{
	(void)unused;
	return NULL;
}

TEST(short_lived)
{
	unsigned before;

	lull_thread_register();
	before = lull_thread_count();
	for (int i = 0; i < 2000; i++)
		join_thread(start_thread(i % 3 ? reads_once : touches_nothing, NULL));
	assert_true(lull_thread_count() <= before); /* a thread of the library's may have ended meanwhile */
	lull_rcu_synchronize();
}

/* ---- readers after exit handling -------------------------------------------------------------------------- */

static pthread_key_t late_key;
static int late_runs;
static int *late_pointer;

/*
 * Asks for another round as long as glibc gives one, so the last ones come after lull's own destructor. (In the
 * last round of all ThreadSanitizer is gone from the thread.)
 */
#ifdef LULL__TSAN
#define LATE_ROUNDS 2
#else
#define LATE_ROUNDS 100
#endif
static __thread int late_round;

static void late_reader(void *value)
{
	lull_rcu_read_lock();
	lull_rcu_read_lock();
	assert_int_equal(*lull_rcu_dereference(late_pointer), 7);
	lull_rcu_read_unlock();
	lull_rcu_read_unlock();
	lull_rcu_free(malloc(32));
	lull_rcu_synchronize();
	lull_add_relaxed(&late_runs, 1);
	if (++late_round < LATE_ROUNDS)
		pthread_setspecific(late_key, value);
}

static void *ends_late(void *unused)
{
	(void)unused;
	pthread_setspecific(late_key, &late_key);
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	return NULL;
}

/* Fifty threads, each of which has a destructor that reads. */
static void read_late(void (*destroy)(void *), void *(*ends)(void *))
{
	unsigned before;
	int seven = 7;

	late_pointer = &seven;
	late_runs = 0;
	lull_thread_register();
	lull_rcu_free(malloc(32));
	lull_rcu_barrier();
	before = lull_thread_count();
	assert_int_equal(pthread_key_create(&late_key, destroy), 0);
	for (int i = 0; i < 50; i++) {
		join_thread(start_thread(ends, NULL));
		assert_true(lull_thread_count() <= before + 1); /* a thread of the library's may begin, or end */
		lull_rcu_synchronize();
	}
	pthread_key_delete(late_key);
	lull_rcu_barrier();
}

TEST(late_readers)
{
	read_late(late_reader, ends_late);
	assert_true(late_runs >= 100); /* some of them after the record was given back */
}

/* The first use of all is in the last round of destructors: no further one would take the record out. */
static void last_minute_reader(void *value)
{
	if (++late_round < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(late_key, value);
	else
		late_reader(value);
}

static void *begins_late(void *unused)
{
	(void)unused;
	late_round = 0;
	pthread_setspecific(late_key, &late_key);
	return NULL;
}

TEST(last_minute)
{
#ifdef LULL__TSAN
	SKIP("ThreadSanitizer leaves a thread before its last destructors run");
#endif
	read_late(last_minute_reader, begins_late);
	assert_int_equal(late_runs, 50);
}

/* ---- exit inside a section ----------------------------------------------------------------------------------- */

/* A signal that arrives when a thread has left its last section, and exits. */
static void reads_in_exit(const char *line)
{
	static int any;
	struct lull_shazptr_guard guard;

	hear(line);
	if (!strstr(line, "by hazard pointers"))
		return;
	assert_int_equal(lull__self.rcu, LULL__RCU_REST); /* its sections go out of line, where the full fence is */
	guard = lull_shazptr_acquire(&any);
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	lull_shazptr_clear(guard);
}

static void reads_after_exit(void *unused)
{
	lull_rcu_cookie cookie;

	(void)unused;
	lull_rcu_read_lock();
	cookie = lull_rcu_gp_start();
	assert_false(lull_rcu_gp_poll(cookie));
	lull_rcu_read_unlock();
	assert_true(lull_rcu_gp_poll(cookie));
}

static void *exits_online(void *key)
{
	pthread_setspecific(*(pthread_key_t *)key, key);
	lull_rcu_online();
	assert_ptr_equal(lull_hazptr_protect_ptr(lull_hazptr_alloc(lull_hazptr_thread_context()), object_pointer),
			 &object);
	return NULL;
}

static void *exits_in_late_section(void *key)
{
	static struct lull_hazptr_context ctx;

	pthread_setspecific(*(pthread_key_t *)key, key);
	lull_thread_register();
	lull_thread_unregister();
	lull_hazptr_context_init(&ctx);
	assert_ptr_equal(lull_hazptr_protect_ptr(lull_hazptr_alloc(&ctx), object_pointer), &object);
	lull_rcu_read_lock();
	return NULL;
}

TEST(handler_reads_in_exit)
{
	pthread_key_t key;

	assert_int_equal(pthread_key_create(&key, reads_after_exit), 0);
	start_hearing();
	lull_debug_set_message_hook(reads_in_exit);
	join_thread(start_thread(exits_online, &key));
	assert_int_equal(heard_lines, 1);
	join_thread(start_thread(exits_in_late_section, &key));
	assert_int_equal(heard_lines, 3);
	stop_hearing();
	pthread_key_delete(key);
}

/* ---- fork -------------------------------------------------------------------------------------------------- */

TEST(fork_in_section)
{
	lull_rcu_read_lock();
	/* The forking thread's own section goes on in the child. */
	EXPECT_FINE {
		must(lull_rcu_read_lock_held());
		lull_rcu_cookie cookie = lull_rcu_gp_start();
		must(!lull_rcu_gp_poll(cookie));
		lull_rcu_read_unlock();
		must(lull_rcu_gp_poll(cookie));
	}
	lull_rcu_read_unlock();
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
