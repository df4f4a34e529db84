/* SPDX-License-Identifier: MIT */
/* runs: full-fences, no-rseq, alone */
/*
 * hostile.c - rcu_domain.h in a forked child, where no thread can be started, without memory, misused. This program has its
 * own pthread_create(), which the library uses, too.
 */
#include <dlfcn.h>
#include <errno.h>

#include "child.h"
#include "domain/stay.h"

static int fails; /* calls, of lull's threads */

#if !UNDER_TSAN /* which has its own */
/* The attributes tell lull's threads from those of the test. */
int pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*func)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	if (attr && lull_load_relaxed(&fails))
		return EAGAIN;
	return real(id, attr, func, arg);
}
#endif

static void end_stay(pthread_t thread)
{
	lull_store_release(&leave, 1);
	join_thread(thread);
}

static int gone;
static pthread_t caller;

static void counts(struct lull_head *unused)
{
	(void)unused;
	caller = pthread_self();
	lull_store_release(&gone, gone + 1);
}

SETUP
{
	assert_int_equal(lull_rcu_domain_init(&d, "files"), 0);
	gone = 0;
}

TEARDOWN
{
	if (d.data)
		lull_rcu_domain_destroy(&d);
}

/* ---- fork --------------------------------------------------------------------------------------------- */

/* Sections of the parent's threads are not open in the child, nor is the one in which its thread forked; new ones are. */
static void check_child(int phase)
{
	lull_rcu_cookie cookie;
	int own;

	alarm(60);
	lull_rcu_domain_synchronize(&d);
	own = lull_rcu_domain_read_lock(&d);
	lull_rcu_domain_read_unlock(&d, phase);
	cookie = lull_rcu_domain_gp_start(&d);
	must(!lull_rcu_domain_gp_poll(&d, cookie));
	lull_rcu_domain_read_unlock(&d, own);
	must(lull_rcu_domain_gp_poll(&d, cookie));
}

static int childs_phase, parents_phase;

/* Ends of the parent's and of the parent's parent's sections mean nothing beside an open one. */
static void check_grandchild(void)
{
	int own = lull_rcu_domain_read_lock(&d);
	lull_rcu_cookie cookie = lull_rcu_domain_gp_start(&d);

	lull_rcu_domain_read_unlock(&d, parents_phase);
	lull_rcu_domain_read_unlock(&d, childs_phase);
	for (int i = 0; i < 4; i++)
		must(!lull_rcu_domain_gp_poll(&d, cookie));
	lull_rcu_domain_read_unlock(&d, own);
	must(lull_rcu_domain_gp_poll(&d, cookie));
	check_child(childs_phase);
}

TEST(fork_in_sections)
{
	pthread_t reader = start_stay();

	for (int periods = 0; periods < 3; periods++) {
		int phase = lull_rcu_domain_read_lock(&d);
		lull_rcu_cookie cookie = lull_rcu_domain_gp_start(&d);

		EXPECT_FINE {
			check_child(phase);
			childs_phase = lull_rcu_domain_read_lock(&d);
			parents_phase = phase;
			expect_fine(check_grandchild);
		}
		assert_false(lull_rcu_domain_gp_poll(&d, cookie));
		lull_rcu_domain_read_unlock(&d, phase);
	}
	end_stay(reader);
}

/* What waits is called in both, also what is deferred in the child, by the child's own thread. */
TEST(fork_with_callbacks)
{
	static struct lull_head heads[20], more;
	pthread_t reader;

	NEEDS_THREADS_IN_CHILD();
	reader = start_stay();
	for (int i = 0; i < 20; i++) {
		lull_rcu_domain_call(&d, &heads[i], counts);
		if (i == 10)
			nap_ms(5); /* some are in a batch */
	}
	EXPECT_FINE {
		alarm(60);
		lull_rcu_domain_barrier(&d);
		must(gone == 20 && !pthread_equal(caller, pthread_self()));
		lull_rcu_domain_call(&d, &more, counts);
		AWAIT(lull_load_acquire(&gone) == 21);
		lull_rcu_domain_destroy(&d);
	}
	assert_int_equal(gone, 0);
	end_stay(reader);
	lull_rcu_domain_barrier(&d);
	assert_int_equal(gone, 20);
}

static pid_t forked;

static void forks(struct lull_head *unused)
{
	(void)unused;
	forked = fork();
	if (forked == 0)
		alarm(60);
	counts(NULL);
}

static void ends_child(struct lull_head *unused)
{
	(void)unused;
	if (forked)
		return;
	_exit(lull_load_relaxed(&gone) == 2 ? 7 : 1);
}

/* A callback forks: it goes on in both, and so do those behind it. */
TEST(callback_forks)
{
	static struct lull_head heads[3], last;
	int status, phase;

	NEEDS_THREADS_IN_CHILD();
	phase = lull_rcu_domain_read_lock(&d);
	lull_rcu_domain_call(&d, &heads[0], forks);
	lull_rcu_domain_call(&d, &heads[1], counts);
	lull_rcu_domain_call(&d, &last, ends_child);
	lull_rcu_domain_read_unlock(&d, phase);
	lull_rcu_domain_barrier(&d);
	assert_int_equal(gone, 2);
	assert_int_equal(waitpid(forked, &status, 0), forked);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void forks_too(struct lull_head *unused)
{
	(void)unused;
	forked = fork();
	lull_store_release(&gone, gone + 1);
}

/* The child's count of what has returned is right: a barrier there waits for what it must. */
static void *child_goes_on(void *unused)
{
	static struct lull_head late;

	lull_rcu_domain_call(&d, &late, counts);
	lull_rcu_domain_barrier(&d);
	_exit(lull_load_relaxed(&gone) == 2 ? 7 : 1);
	return unused;
}

static void starts_in_child(struct lull_head *unused)
{
	(void)unused;
	if (forked == 0)
		start_thread(child_goes_on, NULL);
}

TEST(callback_forks_and_child_waits)
{
	static struct lull_head heads[2];
	int status, phase;

	NEEDS_THREADS_IN_CHILD();
	if (under_valgrind())
		SKIP("valgrind has no threads in a child of a thread");
	phase = lull_rcu_domain_read_lock(&d);
	lull_rcu_domain_call(&d, &heads[0], forks_too);
	lull_rcu_domain_call(&d, &heads[1], starts_in_child);
	lull_rcu_domain_read_unlock(&d, phase);
	lull_rcu_domain_barrier(&d);
	assert_int_equal(waitpid(forked, &status, 0), forked);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* ---- no thread, no memory ------------------------------------------------------------------------------ */

/* Barriers call, and a later call starts the thread when that can be done. */
TEST_BARE(no_thread)
{
	NEEDS_THREADS_IN_CHILD();
	EXPECT_FINE {
		static struct lull_head heads[10], late;

		alarm(60);
		gone = 0;
		must(lull_rcu_domain_init(&d, "files") == 0);
		lull_store_relaxed(&fails, 1);
		for (int i = 0; i < 10; i++)
			lull_rcu_domain_call(&d, &heads[i], counts);
		nap_ms(10);
		must(gone == 0);
		lull_rcu_domain_barrier(&d);
		must(gone == 10 && pthread_equal(caller, pthread_self()));
		lull_store_relaxed(&fails, 0);
		nap_ms(20);
		lull_rcu_domain_call(&d, &late, counts);
		AWAIT(lull_load_acquire(&gone) == 11);
		must(!pthread_equal(caller, pthread_self()));
		lull_rcu_domain_destroy(&d);
	}
}

static void no_memory(void)
{
	struct rlimit none = { 0, 0 };
	struct lull_rcu_domain other;
	int got = 0, err = 0;
	static struct lull_rcu_domain many[100000];

	setrlimit(RLIMIT_AS, &none);
	while (got < 100000 && !(err = lull_rcu_domain_init(&many[got], "many")))
		got++;
	must(err == -ENOMEM);
	if (got)
		lull_rcu_domain_destroy(&many[0]); /* nothing of the one that failed is left behind */
	must(!got || lull_rcu_domain_init(&other, "other") == 0);
}

TEST(without_memory)
{
#ifdef LULL_TEST_EMULATED
	SKIP("qemu-user knows no limits");
#endif
	if (SANITIZED || under_valgrind())
		SKIP(OWN_MEMORY);
	expect_fine(no_memory);
}

/* ---- misuse -------------------------------------------------------------------------------------------- */

static void destroys_in_section(void)
{
	(void)lull_rcu_domain_read_lock(&d);
	(void)lull_rcu_domain_read_lock(&d);
	lull_rcu_domain_destroy(&d);
}

static void destroys_twice(void)
{
	lull_rcu_domain_destroy(&d);
	lull_rcu_domain_destroy(&d);
}

static void reads_destroyed(void)
{
	lull_rcu_domain_destroy(&d);
	(void)lull_rcu_domain_read_lock(&d);
}

#if !UNDER_TSAN && !defined(LULL_TEST_EMULATED) /* a child has no threads there */
#define CHILD_HAS_THREADS 1

static void waits_in_callback(struct lull_head *unused)
{
	(void)unused;
	lull_rcu_domain_barrier(&d);
}

static void barrier_in_callback(void)
{
	static struct lull_head head;

	lull_rcu_domain_call(&d, &head, waits_in_callback);
	alarm(60);
	pause();
}
#endif

TEST(misuse)
{
	expect_abort(destroys_in_section, "domain \"files\" has 2 open sections");
	expect_abort(destroys_twice, "is used after lull_rcu_domain_destroy()");
	expect_abort(reads_destroyed, "is used after lull_rcu_domain_destroy()");
#ifdef CHILD_HAS_THREADS
	expect_misuse(barrier_in_callback, "lull_rcu_domain_barrier in a callback would wait for itself for ever");
#endif
}
