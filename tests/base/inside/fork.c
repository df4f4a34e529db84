/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * fork.c - children, also those that are not told of the fork: _Fork(), and fork handlers that run before lull's. The program
 * contains lull, so that it can register such handlers.
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "child.h"
#include "threads.h"

#include <lull/hazptr.h>
#include <lull/mutex_robust.h>
#include <lull/percpu_ref.h>
#include <lull/shazptr.h>

/* ---- handlers that are registered before lull's ------------------------------------------------------------- */

static int early_handler_on;
static char object;

static void uses_lull(void)
{
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	lull_rcu_synchronize();
	lull_hazptr_synchronize(&object);
	lull_rcu_barrier();
}

static void early_child(void)
{
	alarm(60);
	if (early_handler_on)
		uses_lull();
}

__attribute__((constructor(101))) static void register_early(void)
{
	pthread_atfork(NULL, NULL, early_child);
}

/* ---- another thread, which the child does not have ---------------------------------------------------------- */

static int is_in, may_leave;

static void *stays(void *unused)
{
	struct lull_hazptr_hold hold;
	struct lull_shazptr_guard guard;
	char *source = &object;

	lull_rcu_read_lock();
	lull_hazptr_acquire(&hold, &source);
	guard = lull_shazptr_acquire(&object);
	lull_store_release(&is_in, 1);
	await_flag(&may_leave, 1);
	lull_shazptr_clear(guard);
	lull_hazptr_release(&hold, &object);
	lull_rcu_read_unlock();
	return unused;
}

static pthread_t a_reader(void)
{
	pthread_t thread;

	is_in = may_leave = 0;
	thread = start_thread(stays, NULL);
	await_flag(&is_in, 1);
	return thread;
}

static void end_reader(pthread_t thread)
{
	lull_store_release(&may_leave, 1);
	join_thread(thread);
}

/* Of a child that is made in other ways than child.h's. */
static void expect_exit_0(pid_t child)
{
	int status;

	must(child > 0);
	must(waitpid(child, &status, 0) == child && status == 0);
}

/* Returns true in the child; in the parent, once that has ended well, false. */
static bool in_child_by(pid_t (*how)(void))
{
	pid_t child = how();

	if (child != 0)
		expect_exit_0(child);
	else
		alarm(60);
	return child == 0;
}

#define IN_CHILD_BY(how) for (bool in_it_ = in_child_by(how); in_it_; in_it_ = (_exit(0), false))

/* ---- what all children must be able to do ------------------------------------------------------------------- */

static int called;
static bool no_threads; /* in the child */
static struct lull_mutex shared_lock = { 0, LULL_MUTEX_SHARED, 0 }, own_lock;

static void counts(struct lull_rcu_head *head)
{
	(void)head;
	lull_add_release(&called, 1);
}

static void released(struct lull_percpu_ref *ref)
{
	(void)ref;
	lull_add_release(&called, 10);
}

static void *reads_once(void *unused)
{
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	return unused;
}

static void locks(struct lull_mutex *m)
{
	lull_mutex_lock(m);
	must(lull_mutex_owner(m) == (uint32_t)syscall(SYS_gettid));
	lull_mutex_unlock(m);
}

/* Other threads' sections and holds do not exist in a child, and everything works there. */
static void works_as_ever(void)
{
	static struct lull_rcu_head head;
	struct lull_mutex_robust robust;
	struct lull_percpu_ref ref;

	called = 0;
	if (no_threads) {
		must(lull_thread_count() <= 1);
		reads_once(NULL);
		lull_rcu_synchronize();
		return;
	}
	uses_lull();
	lull_shazptr_synchronize(&object);
	must(lull_thread_count() >= 1 && lull_thread_count() <= 2); /* lull's own thread, perhaps */
	lull_rcu_free(malloc(100));
	lull_rcu_call(&head, counts);
	lull_rcu_barrier();
	must(called == 1);
	must(lull_percpu_ref_init(&ref, released, 0) == 0);
	lull_percpu_ref_kill(&ref);
	lull_rcu_barrier(); /* without rseq it takes a grace period */
	must(called == 11);
	lull_percpu_ref_exit(&ref);
	lull_mutex_robust_init(&robust, 0);
	must(lull_mutex_robust_lock(&robust) == 0);
	must(lull_mutex_owner(&robust.mutex) == (uint32_t)syscall(SYS_gettid));
	lull_mutex_robust_unlock(&robust);
	locks(&shared_lock);
	lull_mutex_unlock(&own_lock); /* the forking thread has it */
	locks(&own_lock);
	join_thread(start_thread(reads_once, NULL));
	lull_rcu_synchronize();
}

/* ---- ways to fork ------------------------------------------------------------------------------------------- */

/* Locks are held in the parent by the thread that forks, too: it has used everything before. */
BEFORE_ALL
{
	static struct lull_rcu_head head;

	lull_mutex_lock(&shared_lock);
	lull_mutex_unlock(&shared_lock);
	lull_rcu_call(&head, counts);
	lull_rcu_barrier();
}

static pid_t early(void)
{
	pid_t child;

	early_handler_on = 1;
	child = fork();
	early_handler_on = 0;
	return child;
}

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
#define HAS_UNDERSCORE_FORK 1

/* A child that has not noticed has a child of its own. */
static pid_t twice(void)
{
	pid_t child = _Fork(), grandchild;

	if (child != 0)
		return child;
	grandchild = _Fork();
	if (grandchild == 0)
		return 0;
	expect_exit_0(grandchild);
	_exit(0);
}
#endif

static const struct way {
	pid_t (*fork)(void);
	bool tells; /* handlers */
} ways[] = {
	{ fork, true },
	{ early, true },
#ifdef HAS_UNDERSCORE_FORK
	{ _Fork, false },
	{ _Fork, false },
	{ twice, false },
#endif
};

static void fork_by(pid_t (*how)(void))
{
	lull_rcu_free(malloc(100));
	lull_mutex_lock(&own_lock);
	IN_CHILD_BY(how)
		works_as_ever();
	lull_mutex_unlock(&own_lock);
}

TEST(works_as_ever)
{
	pthread_t thread;

	NEEDS_THREADS_IN_CHILD();
	thread = a_reader();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (ways[i].tells || !no_threads)
			fork_by(ways[i].fork);
	end_reader(thread);
	lull_rcu_barrier();
}

static int churn_stop;

static void *churn(void *unused)
{
	while (!lull_load_relaxed(&churn_stop)) {
		lull_rcu_free(malloc(64));
		lull_rcu_synchronize();
		join_thread(start_thread(reads_once, NULL));
	}
	return unused;
}

/*
 * Other threads lead grace periods, retire, come and go. Under AddressSanitizer such a child cannot start threads, because
 * the sanitizer's own lock may have been held by another one; under ThreadSanitizer no child can.
 */
TEST(under_load)
{
	pthread_t threads[2];

	churn_stop = 0;
	start_threads(threads, 2, churn, NULL);
	for (int i = 0; i < 100; i++) {
		no_threads = i % 2 || !THREADS_IN_CHILD || UNDER_ASAN;
		fork_by(fork);
	}
	lull_store_relaxed(&churn_stop, 1);
	join_threads(threads, 2);
}

/* ---- a handler that forks while its thread waits ------------------------------------------------------------ */

static pthread_t waiter;
static pid_t child_of_handler;
static int has_forked;

static void forks_in_wait(int signal)
{
	(void)signal;
	if (lull_load_relaxed(&has_forked))
		return;
	child_of_handler = fork();
	if (child_of_handler == 0)
		alarm(60);
	lull_store_release(&has_forked, 1);
}

static void *interrupts(void *unused)
{
	nap_ms(20); /* it sleeps by then, most often */
	interrupt_until(waiter, SIGUSR1, &has_forked, 1);
	lull_store_release(&may_leave, 1);
	return unused;
}

static void waits_for_barrier(void)
{
	static struct lull_rcu_head head;

	lull_rcu_call(&head, counts);
	lull_rcu_barrier();
}

static void waits_for_hazptr(void)
{
	lull_hazptr_synchronize(&object);
}

static void waits_for_shazptr(void)
{
	lull_shazptr_synchronize(&object);
}

/* The child has no reader to wait for, nor who would wake it: its thread goes on where it was, and is done. */
TEST(fork_amid_wait)
{
	static void (*const waits[])(void) = { lull_rcu_synchronize, waits_for_barrier, waits_for_hazptr, waits_for_shazptr };
	struct sigaction action = { .sa_handler = forks_in_wait, .sa_flags = SA_RESTART }, before;

	NEEDS_THREADS_IN_CHILD();
	waiter = pthread_self();
	sigaction(SIGUSR1, &action, &before);
	for (int i = 0; i < 12; i++) {
		pthread_t reader = a_reader(), kicker;

		has_forked = 0;
		kicker = start_thread(interrupts, NULL);
		waits[i % 4]();
		if (child_of_handler == 0)
			_exit(0);
		join_thread(kicker);
		join_thread(reader);
		expect_exit_0(child_of_handler);
	}
	sigaction(SIGUSR1, &before, NULL);
}

#ifdef HAS_UNDERSCORE_FORK
/* A child whose first call is a poll takes over the parent's open grace period; then its own wait for its readers. */
static void polls_in_child(lull_rcu_cookie of_parent)
{
	lull_rcu_cookie cookie;
	pthread_t thread;

	lull_rcu_gp_poll(of_parent);
	thread = a_reader();
	cookie = lull_rcu_gp_start();
	for (int i = 0; i < 3; i++) {
		must(!lull_rcu_gp_poll(cookie));
		lull_rcu_gp_start();
	}
	end_reader(thread);
	AWAIT(lull_rcu_gp_poll(cookie) && lull_rcu_gp_poll(of_parent));
}

TEST(underscore_fork_polls)
{
	lull_rcu_cookie cookie;
	pthread_t thread;

	NEEDS_THREADS_IN_CHILD();
	lull_rcu_synchronize();
	thread = a_reader();
	lull_rcu_gp_start();
	cookie = lull_rcu_gp_start();
	end_reader(thread);
	IN_CHILD_BY(_Fork)
		polls_in_child(cookie);
	lull_rcu_gp_wait(cookie);
}

/* The parent does not wait for the callback: the child starts a thread of its own, though the parent's was awake. */
static void runs_callback(void)
{
	static struct lull_rcu_head head;

	lull_store_relaxed(&called, 0);
	lull_rcu_call(&head, counts);
	await_flag(&called, 1);
}

TEST(underscore_fork_calls)
{
	NEEDS_THREADS_IN_CHILD();
	runs_callback();
	IN_CHILD_BY(_Fork) {
		lull_thread_register();
		runs_callback();
	}
}

#define CROWD 8

static int crowd_in;

static void *is_registered(void *unused)
{
	lull_thread_register();
	lull_add_release(&crowd_in, 1);
	await_flag(&may_leave, 1);
	return unused;
}

/* A child that only retires has the parent's threads no more when it has done so 64 times. */
TEST(underscore_fork_defers)
{
	enum { MOST = 64, CHILDREN = 10 }; /* some may notice earlier, by chance: the reclaimer is about to do something */
	pthread_t threads[CROWD];

	if (UNDER_TSAN)
		SKIP(TSAN_OVER_FORK);
#ifdef LULL_TEST_EMULATED
	SKIP("the emulator does not know MADV_WIPEONFORK");
#endif
	crowd_in = may_leave = 0;
	start_threads(threads, CROWD, is_registered, NULL);
	await_flag(&crowd_in, CROWD);
	assert_true(lull_thread_count() > CROWD);
	for (int n = 0; n < CHILDREN; n++) {
		IN_CHILD_BY(_Fork) {
			for (int i = 0; i < MOST; i++)
				lull_hazptr_retire(malloc(16));
			must(lull_thread_count() <= CROWD);
		}
		nap_ms(5);
	}
	lull_store_release(&may_leave, 1);
	join_threads(threads, CROWD);
}

#endif

/* ---- the first use finds no memory -------------------------------------------------------------------------- */

static bool without_memory;

static void use_without_memory(void)
{
	struct lull_mutex m = LULL_MUTEX_INIT;
	struct rlimit before, none;

	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	none = (struct rlimit){ 0, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	assert_ptr_equal(mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), MAP_FAILED);
	lull_thread_register();
	lull_mutex_lock(&m);
	lull_mutex_unlock(&m);
#ifdef HAS_UNDERSCORE_FORK
	IN_CHILD_BY(_Fork) { /* before the next try */
		lull_thread_register();
		lull_mutex_lock(&m);
		must(lull_mutex_owner(&m) == (uint32_t)getpid());
	}
#endif
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

/* All tests once more in a process where lull could not have at once what tells it of children. */
FIRST_TEST(without_memory_at_first)
{
#if UNDER_TSAN || UNDER_ASAN || defined(LULL_TEST_EMULATED)
	SKIP(OWN_MEMORY);
#endif
	if (without_memory) /* this is the other process */
		return;
	if (under_valgrind())
		SKIP(OWN_MEMORY);
	IN_CHILD_BY(fork) {
		dup2(2, 1); /* cmocka's own report */
		execl(test_program, test_program, "--file", test_file_here.name, "without memory", NULL);
		_exit(2);
	}
}

WITH_ARGUMENTS(argc, argv)
{
	(void)argc;
	(void)argv;
	without_memory = true;
	use_without_memory();
	return RUN_TESTS;
}
