/* SPDX-License-Identifier: MIT */
/*
 * test_urcu_call.c - threads that run callbacks: whose they run, where, how they end, and fork.
 */
#include "reader.h"

#include <errno.h>
#include <sched.h>

/* Without URCU_API_MAP: by its prefix only. */
#include <urcu/urcu-memb.h>
#include <urcu/urcu-qsbr.h>

#include <urcu-bp.h>

#include <lull/detail/ground.h>

#include "child.h"

static int called, inside;
static pthread_t called_on;

static void callback(struct rcu_head *head)
{
	(void)head;
	lull_store_relaxed(&called_on, pthread_self());
	lull_add_release(&called, 1);
}

static struct rcu_head heads[100];

static void at_fork_of_another_copy(void)
{
}

TEST(second_copy)
{
	EXPECT_ABORT("two copies of liblull-urcu") {
		lull__ground.at_fork_child(at_fork_of_another_copy);
	}
}

/* A thread of the program's own: pinned, known by its pthread_t, for the threads that are told so. */
TEST(of_thread)
{
	struct call_rcu_data *crdp = create_call_rcu_data(0, 0);
	cpu_set_t set;

	assert_non_null(crdp);
	assert_int_equal(pthread_getaffinity_np(get_call_rcu_thread(crdp), sizeof(set), &set), 0);
	assert_true(CPU_ISSET(0, &set));
	assert_int_equal(CPU_COUNT(&set), 1);
	called = 0;
	assert_null(get_thread_call_rcu_data());
	set_thread_call_rcu_data(crdp);
	assert_ptr_equal(get_thread_call_rcu_data(), crdp);
	assert_ptr_equal(get_call_rcu_data(), crdp);
	for (int i = 0; i < 100; i++)
		call_rcu(&heads[i], callback);
	rcu_barrier();
	assert_int_equal(called, 100);
	assert_true(pthread_equal(called_on, get_call_rcu_thread(crdp)));
	set_thread_call_rcu_data(NULL);
	call_rcu_data_free(crdp);
	assert_null(get_thread_call_rcu_data());
	call_rcu_data_free(NULL);
}

static pthread_t waiting_reader;

static void *lets_go(void *unused)
{
	nap_ms(30);
	end_hold_up(waiting_reader);
	return unused;
}

/* It waits for a grace period before the callbacks, and what it has not run when it ends goes to others. */
TEST(free_joins)
{
	struct call_rcu_data *crdp = create_call_rcu_data(URCU_CALL_RCU_RT, -1);
	pthread_t helper;

	called = 0;
	waiting_reader = start_hold_up();
	set_thread_call_rcu_data(crdp);
	call_rcu(&heads[0], callback);
	nap_ms(20); /* it has this one, and waits */
	call_rcu(&heads[1], callback);
	assert_int_equal(lull_load_acquire(&called), 0);
	set_thread_call_rcu_data(NULL);
	helper = start_thread(lets_go, NULL);
	call_rcu_data_free(crdp); /* joins */
	join_thread(helper);
	rcu_barrier();
	assert_int_equal(called, 2);
}

/* A thread that is still that of a CPU, or of the caller, when it ends is then no one's. */
TEST(free_assigned)
{
	struct call_rcu_data *crdp = create_call_rcu_data(0, -1);

	set_thread_call_rcu_data(crdp);
	assert_int_equal(set_cpu_call_rcu_data(0, crdp), 0);
	call_rcu_data_free(crdp);
	assert_null(get_cpu_call_rcu_data(0));
	assert_null(get_thread_call_rcu_data());
	called = 0;
	call_rcu(&heads[0], callback);
	rcu_barrier();
	assert_int_equal(called, 1);
}

TEST(of_cpus)
{
	struct call_rcu_data *crdp;
	cpu_set_t set;

	assert_int_equal(create_all_cpu_call_rcu_data(0), 0);
	crdp = get_cpu_call_rcu_data(0);
	assert_non_null(crdp);
	assert_int_equal(set_cpu_call_rcu_data(0, crdp), -EEXIST);
	assert_int_equal(errno, EEXIST);
	assert_int_equal(set_cpu_call_rcu_data(-1, crdp), -EINVAL);
	assert_int_equal(set_cpu_call_rcu_data(1 << 20, crdp), -EINVAL);
	assert_null(get_cpu_call_rcu_data(-1));
	assert_null(get_cpu_call_rcu_data(1 << 20));
	/* The thread of the CPU where the caller is. */
	assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof(set), &set), 0);
	if (CPU_ISSET(0, &set)) {
		cpu_set_t zero;

		CPU_ZERO(&zero);
		CPU_SET(0, &zero);
		assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof(zero), &zero), 0);
		assert_ptr_equal(get_call_rcu_data(), crdp);
		called = 0;
		call_rcu(&heads[0], callback);
		rcu_barrier();
		assert_int_equal(called, 1);
		assert_true(pthread_equal(called_on, get_call_rcu_thread(crdp)));
		assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof(set), &set), 0);
	}
	assert_int_equal(create_all_cpu_call_rcu_data(0), 0); /* those that are there stay */
	assert_ptr_equal(get_cpu_call_rcu_data(0), crdp);
	free_all_cpu_call_rcu_data();
	assert_null(get_cpu_call_rcu_data(0));
	called = 0;
	call_rcu(&heads[0], callback);
	rcu_barrier();
	assert_int_equal(called, 1);
}

/* ---- an end in the middle of a barrier ---------------------------------------------------------------- */

struct blocker {
	struct rcu_head head;
	int entered, may_go;
};

static void blocks(struct rcu_head *head)
{
	struct blocker *blocker = caa_container_of(head, struct blocker, head);

	lull_store_release(&blocker->entered, 1);
	await_flag(&blocker->may_go, 1);
}

static int barrier_returned;

static void *runs_barrier(void *unused)
{
	rcu_barrier();
	lull_store_release(&barrier_returned, 1);
	return unused;
}

static void *frees(void *crdp)
{
	call_rcu_data_free(crdp);
	return NULL;
}

/*
 * The barrier is at the default thread, which is the newer one, while the other one ends and gives its rest to the default
 * one, behind the barrier's own callback. The barrier waits for that, too. In a process that has no default one yet.
 */
static void barrier_at_end(void)
{
	static struct blocker on_default, on_other, rest;
	struct call_rcu_data *crdp = create_call_rcu_data(0, -1);
	long pause_ms = under_valgrind() ? 1000 : 30; /* it runs one thread at a time */
	pthread_t barrier, freer;

	set_thread_call_rcu_data(get_default_call_rcu_data());
	call_rcu(&on_default.head, blocks);
	await_flag(&on_default.entered, 1);
	set_thread_call_rcu_data(crdp);
	call_rcu(&on_other.head, blocks);
	await_flag(&on_other.entered, 1);
	call_rcu(&rest.head, blocks);
	set_thread_call_rcu_data(NULL);
	must(pthread_create(&barrier, NULL, runs_barrier, NULL) == 0);
	nap_ms(pause_ms); /* it is in the queue of the default one */
	must(pthread_create(&freer, NULL, frees, crdp) == 0);
	nap_ms(pause_ms); /* the other one is to stop */
	lull_store_release(&on_other.may_go, 1);
	must(pthread_join(freer, NULL) == 0);
	lull_store_release(&on_default.may_go, 1);
	await_flag(&rest.entered, 1);
	nap_ms(30);
	must(!lull_load_acquire(&barrier_returned));
	lull_store_release(&rest.may_go, 1);
	must(pthread_join(barrier, NULL) == 0);
}

TEST(barrier_at_end)
{
	NEEDS_THREADS_IN_CHILD();
	expect_fine(barrier_at_end);
}

/* Before it is asked for, lull's reclaimer is the default; then it is a thread that has a name. */
TEST(default)
{
	struct call_rcu_data *crdp;

	crdp = get_default_call_rcu_data();
	assert_non_null(crdp);
	assert_ptr_equal(get_default_call_rcu_data(), crdp);
	assert_ptr_equal(get_call_rcu_data(), crdp);
	called = 0;
	call_rcu(&heads[0], callback);
	rcu_barrier();
	assert_int_equal(called, 1);
	assert_true(pthread_equal(called_on, get_call_rcu_thread(crdp)));
	call_rcu_data_free(crdp); /* the default one stays, as in liburcu */
	assert_ptr_equal(get_default_call_rcu_data(), crdp);
	assert_ptr_not_equal(urcu_qsbr_get_default_call_rcu_data(), crdp);
}

/* A callback's own deferrals come back to the thread that runs it. */
static pthread_t second_on;

static void second(struct rcu_head *head)
{
	(void)head;
	lull_store_relaxed(&second_on, pthread_self());
	lull_add_release(&called, 1);
}

static void first(struct rcu_head *head)
{
	lull_store_relaxed(&called_on, pthread_self());
	call_rcu(head, second);
}

TEST(callback_defers)
{
	struct call_rcu_data *crdp = create_call_rcu_data(0, -1);

	called = 0;
	set_thread_call_rcu_data(crdp);
	call_rcu(&heads[0], first);
	set_thread_call_rcu_data(NULL);
	rcu_barrier();
	AWAIT(lull_load_acquire(&called) == 1);
	assert_true(pthread_equal(called_on, second_on));
	call_rcu_data_free(crdp);
}

/* Callbacks from before the barrier have been called after it, also if the thread that had them has ended meanwhile. */
static int deferred, churns;

static void *churn(void *unused)
{
	static struct rcu_head own[200][4];

	for (int i = 0; i < 200; i++) {
		struct call_rcu_data *crdp = create_call_rcu_data(0, -1);

		set_thread_call_rcu_data(crdp);
		for (int j = 0; j < 4; j++)
			call_rcu(&own[i][j], callback);
		lull_add_release(&deferred, 4);
		set_thread_call_rcu_data(NULL);
		call_rcu_data_free(crdp);
	}
	lull_store_release(&churns, 0);
	return unused;
}

TEST(barrier_beside_free)
{
	pthread_t thread;

	called = deferred = 0;
	churns = 1;
	thread = start_thread(churn, NULL);
	while (lull_load_acquire(&churns)) {
		int before_barrier = lull_load_acquire(&deferred);

		rcu_barrier();
		assert_true(lull_load_acquire(&called) >= before_barrier);
	}
	join_thread(thread);
	rcu_barrier();
	assert_int_equal(called, 800);
}

/* Barriers of several threads at once: each waits for all. */
static void *barriers(void *wrong)
{
	for (int i = 0; i < 200; i++) {
		int before_barrier = lull_load_acquire(&deferred);

		rcu_barrier();
		if (lull_load_acquire(&called) < before_barrier)
			lull_store_relaxed((int *)wrong, 1);
	}
	return NULL;
}

TEST(barriers_at_once)
{
	static struct rcu_head own[400];
	struct call_rcu_data *crdp = create_call_rcu_data(0, -1);
	pthread_t thread;
	int wrong = 0;

	called = deferred = 0;
	set_thread_call_rcu_data(crdp);
	thread = start_thread(barriers, &wrong);
	for (int i = 0; i < 400; i++) {
		call_rcu(&own[i], callback);
		lull_add_release(&deferred, 1);
		if (i % 4 == 0)
			rcu_barrier();
		if (i % 4 == 0 && lull_load_acquire(&called) <= i)
			wrong = 1;
	}
	join_thread(thread);
	rcu_barrier();
	assert_int_equal(called, 400);
	assert_int_equal(wrong, 0);
	set_thread_call_rcu_data(NULL);
	call_rcu_data_free(crdp);
}

static void barrier_in_callback(struct rcu_head *head)
{
	(void)head;
	rcu_barrier();
}

static void frees_itself(struct rcu_head *head)
{
	(void)head;
	call_rcu_data_free(get_thread_call_rcu_data());
}

static void run_on_thread(void (*func)(struct rcu_head *))
{
	set_thread_call_rcu_data(create_call_rcu_data(0, -1));
	call_rcu(&heads[0], func);
	nap_ms(60000);
}

static void barrier_on_thread(void)
{
	run_on_thread(barrier_in_callback);
}

static void free_on_thread(void)
{
	run_on_thread(frees_itself);
}

static void free_in_section(void)
{
	struct call_rcu_data *crdp = create_call_rcu_data(0, -1);

	rcu_read_lock();
	call_rcu_data_free(crdp);
}

TEST(misuse)
{
	NEEDS_THREADS_IN_CHILD();
	expect_misuse(barrier_on_thread, "rcu_barrier in a callback would wait for itself for ever");
	expect_misuse(free_on_thread, "call_rcu_data_free in a callback would wait for itself for ever");
	expect_misuse(free_in_section, "call_rcu_data_free in a read section would wait for itself for ever");
}

/* An online thread waits for callback threads without being in their way. */
TEST(online_caller)
{
	struct call_rcu_data *crdp;
	pthread_t helper;

	urcu_qsbr_register_thread();
	crdp = urcu_qsbr_create_call_rcu_data(0, -1);
	urcu_qsbr_set_thread_call_rcu_data(crdp);
	called = 0;
	urcu_qsbr_call_rcu(&heads[0], callback);
	urcu_qsbr_barrier();
	assert_int_equal(called, 1);
	waiting_reader = start_hold_up();
	urcu_qsbr_call_rcu(&heads[0], callback);
	nap_ms(20); /* it waits for a grace period, and that for the reader */
	helper = start_thread(lets_go, NULL);
	urcu_qsbr_call_rcu_data_free(crdp);
	join_thread(helper);
	urcu_qsbr_barrier();
	assert_int_equal(called, 2);
	assert_true(urcu_qsbr_read_ongoing());
	urcu_qsbr_unregister_thread();
}

/* ---- fork ------------------------------------------------------------------------------------------- */

static int before, after_parent, after_child;

static void count(void *priv)
{
	lull_add_relaxed((int *)priv, 1);
}

static void count_before(void *priv)
{
	(void)priv;
	before++;
}

static void count_parent(void *priv)
{
	(void)priv;
	after_parent++;
}

static void count_child(void *priv)
{
	(void)priv;
	after_child++;
}

/*
 * In the child: everything that was deferred before is called, and everything after it. With liburcu's calls it has lost
 * the worker, as in liburcu.
 */
static void check_child(bool with_calls)
{
	if (with_calls)
		call_rcu_after_fork_child();
	must(after_child == (with_calls ? 1 : 0));
	call_rcu(&heads[50], callback);
	urcu_qsbr_call_rcu(&heads[51], callback);
	rcu_barrier();
	urcu_qsbr_barrier();
	must(called == 6);
	must((get_thread_call_rcu_data() == NULL) == with_calls);
	call_rcu_data_free(get_thread_call_rcu_data());
	call_rcu(&heads[52], callback);
	rcu_barrier();
	must(called == 7);
	_exit(0);
}

static void check_fork(bool with_calls)
{
	struct urcu_atfork atfork = { count_before, count_parent, count_child, NULL };
	pthread_t reader = start_hold_up();
	int status = 0;
	pid_t child;

	before = after_parent = after_child = called = 0;
	urcu_register_rculfhash_atfork(&atfork);
	urcu_register_rculfhash_atfork(&atfork); /* one for each table */
	urcu_unregister_rculfhash_atfork(&atfork);
	set_thread_call_rcu_data(create_call_rcu_data(0, -1));
	call_rcu(&heads[0], callback);
	urcu_qsbr_call_rcu(&heads[1], callback);
	nap_ms(20);
	call_rcu(&heads[2], callback);
	urcu_qsbr_call_rcu(&heads[3], callback);
	if (with_calls) {
		end_hold_up(reader);
		/* Two flavors of one kind, and one of the other. */
		call_rcu_before_fork();
		urcu_memb_call_rcu_before_fork();
		urcu_qsbr_call_rcu_before_fork();
	}
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (with_calls) {
			urcu_qsbr_call_rcu_after_fork_child();
			urcu_memb_call_rcu_after_fork_child();
		}
		check_child(with_calls);
	}
	if (with_calls) {
		urcu_qsbr_call_rcu_after_fork_parent();
		urcu_memb_call_rcu_after_fork_parent();
		call_rcu_after_fork_parent();
	} else {
		end_hold_up(reader);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	rcu_barrier();
	urcu_qsbr_barrier();
	assert_int_equal(called, 4);
	assert_int_equal(before, with_calls);
	assert_int_equal(after_parent, with_calls);
	call_rcu_data_free(get_thread_call_rcu_data());
	urcu_unregister_rculfhash_atfork(&atfork);
}

TEST(fork)
{
	NEEDS_THREADS_IN_CHILD();
	check_fork(false);
	check_fork(true);
}

/*
 * A fork that no worker is told of, in the middle of whatever one does with a long queue. The child calls all that is in
 * it, but for the one that was being called, perhaps.
 */
#define LONG 200000

static int in_order, misplaced;

static void check_order(struct rcu_head *head)
{
	static struct rcu_head *last;

	misplaced += in_order && head <= last;
	last = head;
	in_order = 1;
	lull_add_release(&called, 1);
}

static pid_t child_of_long_queue(void)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		rcu_barrier();
		_exit(called >= LONG - 1 && called <= LONG && !misplaced ? 0 : 1);
	}
	return child;
}

/* Until the first callback has been called the worker takes them all, and turns them round. */
static void forks_amid_queue(struct rcu_head *many)
{
	struct blocker blocker = { .entered = 0 };
	pid_t children[20];
	int count = 0, status;

	called = misplaced = in_order = 0;
	call_rcu(&blocker.head, blocks);
	await_flag(&blocker.entered, 1);
	for (int i = 0; i < LONG; i++)
		call_rcu(&many[i], check_order);
	lull_store_release(&blocker.may_go, 1);
	do
		children[count++] = child_of_long_queue();
	while (count < 20 && !lull_load_acquire(&called));
	while (count-- > 0) {
		assert_int_equal(waitpid(children[count], &status, 0), children[count]);
		assert_int_equal(status, 0);
	}
	rcu_barrier();
	assert_int_equal(called, LONG);
}

TEST(fork_amid_queue)
{
	static struct rcu_head many[LONG];
	struct call_rcu_data *crdp;

	NEEDS_THREADS_IN_CHILD();
	crdp = create_call_rcu_data(0, -1);
	set_thread_call_rcu_data(crdp);
	for (int i = 0; i < 5; i++)
		forks_amid_queue(many);
	set_thread_call_rcu_data(NULL);
	call_rcu_data_free(crdp);
}

/* A callback forks: its thread goes on in both, and runs the rest of what it had. */
static pid_t forked;
static pthread_t forked_on;

static void forks(struct rcu_head *head)
{
	(void)head;
	forked_on = pthread_self();
	forked = fork();
}

static void child_end(struct rcu_head *head)
{
	(void)head;
	_exit(pthread_equal(pthread_self(), forked_on) && called == 1 ? 0 : 1);
}

/* There, no second thread comes beside it. */
static void ends_child(struct rcu_head *head)
{
	if (forked == 0) {
		call_rcu(head, child_end);
		nap_ms(50);
	}
}

TEST(callback_forks)
{
	pthread_t reader;
	int status = 0;

	NEEDS_THREADS_IN_CHILD();
	reader = start_hold_up();
	called = -1; /* the first one makes it 0 */
	set_thread_call_rcu_data(create_call_rcu_data(0, -1));
	call_rcu(&heads[0], callback);
	nap_ms(20); /* the next ones are of one batch */
	call_rcu(&heads[1], forks);
	call_rcu(&heads[2], callback);
	call_rcu(&heads[3], ends_child);
	end_hold_up(reader);
	rcu_barrier();
	assert_int_equal(called, 1);
	assert_true(forked > 0);
	assert_int_equal(waitpid(forked, &status, 0), forked);
	assert_int_equal(status, 0);
	call_rcu_data_free(get_thread_call_rcu_data());
}

/* A callback that runs is not in the middle of anything when the process forks between the calls. */
static void slow(struct rcu_head *head)
{
	(void)head;
	lull_store_release(&inside, 1);
	nap_ms(30);
	lull_store_release(&inside, 0);
	lull_add_release(&called, 1);
}

static int online_again;

static void waits_for_readers(struct rcu_head *head)
{
	(void)head;
	lull_store_release(&inside, 1);
	await_flag(&online_again, 1);
	urcu_qsbr_synchronize_rcu();
	lull_store_release(&inside, 0);
	lull_add_release(&called, 1);
}

/* An online thread that waits for a callback, which waits for readers, is not one of them. */
TEST(fork_waits_online)
{
	called = inside = 0;
	urcu_qsbr_register_thread();
	urcu_qsbr_call_rcu(&heads[0], waits_for_readers);
	urcu_qsbr_thread_offline();
	await_flag(&inside, 1);
	urcu_qsbr_thread_online();
	lull_store_release(&online_again, 1);
	urcu_qsbr_call_rcu_before_fork();
	assert_int_equal(called, 1);
	assert_true(urcu_qsbr_read_ongoing());
	urcu_qsbr_call_rcu_after_fork_parent();
	urcu_qsbr_unregister_thread();
}

TEST(fork_waits)
{
	called = 0;
	urcu_qsbr_call_rcu(&heads[0], slow);
	await_flag(&inside, 1);
	urcu_qsbr_call_rcu_before_fork();
	assert_int_equal(lull_load_acquire(&inside), 0);
	assert_int_equal(called, 1);
	urcu_qsbr_call_rcu(&heads[1], slow);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&inside), 0); /* it pauses */
	urcu_qsbr_call_rcu_after_fork_parent();
	urcu_qsbr_barrier();
	assert_int_equal(called, 2);
}

/* ---- memory and threads are short --------------------------------------------------------------------- */

/* Fill the heap, down to the last 16 bytes. */
static void use_up_memory(void)
{
	static void *volatile last; /* else clang leaves the calls out */
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_AS, &none);
	for (size_t bytes = 1 << 20; bytes >= 16; bytes /= 2)
		while ((last = malloc(bytes)) != NULL)
			;
}

static int section_ended;

static void *short_reader(void *unused)
{
	lull_rcu_read_lock();
	lull_store_release(&inside, 1);
	nap_ms(30);
	lull_store_relaxed(&section_ended, 1);
	lull_rcu_read_unlock();
	return unused;
}

static void note_end(void *done)
{
	*(int *)done = lull_load_relaxed(&section_ended) + 1;
}

static void defer_without_memory(void)
{
	pthread_t reader;
	int done = 0;

	inside = 0;
	must(pthread_create(&reader, NULL, short_reader, NULL) == 0);
	await_flag(&inside, 1);
	use_up_memory();
	defer_rcu(note_end, &done);
	must(done == 2); /* it has been called, and was when the reader had gone */
}

static void defer_without_memory_inside(void)
{
	use_up_memory();
	rcu_read_lock();
	defer_rcu(count, NULL);
}

FIRST_TEST(without_memory)
{
#ifdef LULL_TEST_EMULATED
	SKIP(OWN_MEMORY);
#endif
	if (SANITIZED || under_valgrind())
		SKIP(OWN_MEMORY);
	inside = section_ended = 0;
	expect_fine(defer_without_memory);
	expect_misuse(defer_without_memory_inside, "defer_rcu without memory in a read section *");
}

static void without_threads(void)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_NPROC, &none);
	if (setuid(65534) != 0)
		_exit(0);
	called = 0;
	lull_debug_set_message_hook(hear); /* the reclaimer cannot start either, and says so */
	urcu_qsbr_call_rcu(&heads[0], callback);
	urcu_qsbr_barrier(); /* runs it here */
	must(called == 1 && pthread_equal(called_on, pthread_self()));
	must(!urcu_qsbr_read_ongoing());
	urcu_qsbr_set_thread_call_rcu_data(urcu_qsbr_create_call_rcu_data(0, -1));
	must(urcu_qsbr_get_thread_call_rcu_data() != NULL);
	urcu_qsbr_call_rcu(&heads[0], callback);
	urcu_qsbr_barrier();
	must(called == 2);
	urcu_qsbr_call_rcu(&heads[0], callback);
	urcu_qsbr_call_rcu_data_free(urcu_qsbr_get_thread_call_rcu_data());
	must(urcu_qsbr_get_thread_call_rcu_data() == NULL);
	urcu_qsbr_barrier(); /* the default one has it */
	must(called == 3);
}

/* Where no thread can be started, a barrier runs the callbacks. */
FIRST_TEST(without_threads)
{
	if (geteuid() != 0)
		SKIP(ROOT_ONLY);
	NEEDS_THREADS_IN_CHILD();
	expect_fine(without_threads);
}
