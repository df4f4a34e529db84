/* SPDX-License-Identifier: MIT */
/*
 * debug.c - debug.h: who holds something up is named, again and again, at growing intervals, and what that
 * thread does instead; callbacks that do not return; the hard limit.
 */
#include "child.h"
#include "threads.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <lull/hazptr.h>
#include <lull/shazptr.h>

static int inside, leave;
static pid_t reader_tid;

static void *sleeps_inside(void *arg)
{
	reader_tid = gettid();
	pthread_setname_np(pthread_self(), "sleepy");
	if (arg)
		lull_rcu_online();
	else
		lull_rcu_read_lock();
	lull_rcu_read_lock();
	lull_store_release(&inside, 1);
	await_flag(&leave, 1);
	lull_rcu_read_unlock();
	if (arg)
		lull_rcu_offline();
	else
		lull_rcu_read_unlock();
	return NULL;
}

static int stalls;
static struct lull_stall last;
static char last_name[64], last_where[256], last_site[256];
static uint64_t ages[16];

/* Several threads may report at once. */
static pthread_mutex_t noting = PTHREAD_MUTEX_INITIALIZER;

static void note_stall(const struct lull_stall *stall, void *arg)
{
	assert_ptr_equal(arg, &stalls);
	pthread_mutex_lock(&noting);
	last = *stall;
	snprintf(last_name, sizeof(last_name), "%s", stall->thread_name);
	snprintf(last_where, sizeof(last_where), "%s", stall->where);
	snprintf(last_site, sizeof(last_site), "%s", stall->site_name);
	if (stalls < 16)
		ages[stalls] = stall->age_ms;
	lull_add_release(&stalls, 1);
	pthread_mutex_unlock(&noting);
}

static void *waits(void *unused)
{
	lull_rcu_synchronize();
	return unused;
}

static void stall_with(void *online)
{
	pthread_t reader, waiter;

	inside = leave = stalls = 0;
	lull_debug_set_stall_hook(note_stall, &stalls);
	lull_debug_set_stall_ms(20);
	reader = start_thread(sleeps_inside, online);
	await_flag(&inside, 1);
	lull_rcu_free(malloc(1000));
	/* The waiter needs a newer grace period, which waits for the same reader: the same stall goes on. */
	AWAIT(lull_load_acquire(&stalls) >= 1);
	waiter = start_thread(waits, NULL);
	AWAIT(lull_load_acquire(&stalls) >= 3);
	lull_store_release(&leave, 1);
	join_thread(waiter);
	join_thread(reader);
	lull_debug_set_stall_hook(NULL, NULL);
	lull_debug_set_stall_ms(1000);
	assert_int_equal(last.what, LULL_WAIT_GP);
	assert_string_equal(last.kind, "rcu grace period");
	assert_true(last.since_ns + last.age_ms * 1000000 <= now_ns());
	assert_string_equal(last_name, "sleepy");
	assert_int_equal(last.tid, reader_tid);
	assert_true(last.waiting_items >= 1);
	assert_true(last.waiting_bytes >= 1000);
	/* 20, 40, 80: each at least that old. */
	assert_true(ages[0] >= 20 && ages[1] >= 40 && ages[2] >= 80);
}

TEST(stall)
{
	stall_with(NULL);
	assert_int_equal(last.depth, 2);
	assert_int_equal(last.slots, 0);
#ifdef LULL_DEBUG
	assert_non_null(last.site);
	/* In this program, and not where the library registers a thread. */
	assert_true(strncmp(last_site, program_invocation_short_name, strlen(program_invocation_short_name)) == 0 &&
		    strstr(last_site, "+0x"));
#else
	assert_null(last.site);
	assert_string_equal(last_site, "");
#endif
}

TEST(stall_online)
{
	stall_with(&inside);
	assert_int_equal(last.depth, 1);
}

#define READERS 3

static pid_t readers_tid[READERS];
static int readers_inside;
static uint32_t named[READERS];

static void *reads_as_one_of_several(void *number)
{
	lull_rcu_read_lock();
	readers_tid[(intptr_t)number] = gettid();
	lull_add_release(&readers_inside, 1);
	await_flag(&leave, 1);
	lull_rcu_read_unlock();
	return NULL;
}

static void note_tid(const struct lull_stall *stall, void *arg)
{
	(void)arg;
	assert_int_equal(stall->depth, 1);
	if (stalls < READERS)
		named[stalls] = stall->tid;
	lull_add_release(&stalls, 1);
}

/* One report after the other, all by the thread that waits: it names each reader once before it names any again. */
TEST(each_holdout)
{
	pthread_t readers[READERS], waiter;

	leave = stalls = readers_inside = 0;
	for (intptr_t i = 0; i < READERS; i++)
		readers[i] = start_thread(reads_as_one_of_several, (void *)i);
	await_flag(&readers_inside, READERS);
	lull_debug_set_stall_hook(note_tid, NULL);
	lull_debug_set_stall_ms(20);
	waiter = start_thread(waits, NULL);
	AWAIT(lull_load_acquire(&stalls) >= READERS);
	lull_store_release(&leave, 1);
	join_thread(waiter);
	lull_debug_set_stall_hook(NULL, NULL);
	lull_debug_set_stall_ms(1000);
	for (int i = 0; i < READERS; i++) {
		int times = 0;

		join_thread(readers[i]);
		for (int j = 0; j < READERS; j++)
			times += named[j] == (uint32_t)readers_tid[i];
		assert_int_equal(times, 1);
	}
}

/* ---- what the thread does instead ------------------------------------------------------------------------------ */

static int ends[2], others[2];

static bool reads_a_pipe(void)
{
	char text;

	return read(ends[0], &text, 1) == 1;
}

static bool splices_pipes(void)
{
	return splice(ends[0], NULL, others[1], NULL, 1, 0) == 1;
}

static void *sleeps_in_call(void *call)
{
	lull_rcu_read_lock();
	lull_store_release(&inside, 1);
	if (!(*(bool (**)(void))call)())
		abort();
	lull_rcu_read_unlock();
	return NULL;
}

/* A reader that sleeps in @call is reported to be at a place that begins with @words. */
static void check_asleep(bool (*call)(void), const char *words)
{
	pthread_t reader, waiter;

	inside = stalls = 0;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pipe(others), 0);
	lull_debug_set_stall_hook(note_stall, &stalls);
	lull_debug_set_stall_ms(20);
	reader = start_thread(sleeps_in_call, &call);
	await_flag(&inside, 1);
	waiter = start_thread(waits, NULL);
	AWAIT(lull_load_acquire(&stalls) >= 2);
	lull_debug_set_stall_hook(NULL, NULL);
	assert_int_equal(write(ends[1], "x", 1), 1);
	join_thread(waiter);
	join_thread(reader);
	for (int i = 0; i < 2; i++) {
		close(ends[i]);
		close(others[i]);
	}
	lull_debug_set_stall_ms(1000);
	assert_int_equal(last.state, LULL_THREAD_SLEEPS);
#ifndef LULL_TEST_EMULATED
	if (strncmp(last_where, words, strlen(words)))
		print_error("%s, and not %s\n", last_where, words);
	assert_int_equal(strncmp(last_where, words, strlen(words)), 0);
#else
	(void)words;
#endif
}

/* By its name, if threads often sleep in it, and else by its number. */
TEST(asleep_in_a_call)
{
	char words[64];

	check_asleep(reads_a_pipe, "in read at ");
	snprintf(words, sizeof(words), "in system call %ld at ", (long)SYS_splice);
	check_asleep(splices_pipes, words);
}

static void *spins_inside(void *unused)
{
	lull_rcu_read_lock();
	lull_store_release(&inside, 1);
	while (!lull_load_acquire(&leave))
		lull_cpu_relax();
	lull_rcu_read_unlock();
	return unused;
}

TEST(running)
{
	pthread_t reader, waiter;

	inside = leave = stalls = 0;
	lull_debug_set_stall_hook(note_stall, &stalls);
	lull_debug_set_stall_ms(20);
	reader = start_thread(spins_inside, NULL);
	await_flag(&inside, 1);
	waiter = start_thread(waits, NULL);
	AWAIT(lull_load_acquire(&stalls) >= 1);
	lull_debug_set_stall_hook(NULL, NULL);
	lull_store_release(&leave, 1);
	join_thread(waiter);
	join_thread(reader);
	lull_debug_set_stall_ms(1000);
	assert_int_equal(last.state, LULL_THREAD_RUNS);
	assert_string_equal(last_where, "");
}

static int told[2];

/* Ends well when the reader, which is stopped in its section, is reported as stopped. */
static void waits_for_a_thread_that_is_stopped(void)
{
	pthread_t reader, waiter;

	alarm(60);
	inside = leave = 0;
	lull_debug_set_stall_hook(note_stall, &stalls);
	lull_debug_set_stall_ms(20);
	must(pthread_create(&reader, NULL, sleeps_inside, NULL) == 0);
	await_flag(&inside, 1);
	must(write(told[1], &reader_tid, sizeof(reader_tid)) == sizeof(reader_tid));
	must(pthread_create(&waiter, NULL, waits, NULL) == 0);
	for (;; nap_ms(1)) {
		pthread_mutex_lock(&noting);
		if (last.state == LULL_THREAD_STOPPED && last.tid == (uint32_t)reader_tid)
			_exit(0);
		pthread_mutex_unlock(&noting);
	}
}

/* As by a debugger, which this process is for its child. */
TEST(stopped)
{
	pid_t child, tid, waited;
	int status = 0;

	NEEDS_THREADS_IN_CHILD();
	if (under_valgrind())
		SKIP("valgrind traces no processor");
	memset(&last, 0, sizeof(last));
	assert_int_equal(pipe(told), 0);
	child = fork();
	if (child == 0)
		waits_for_a_thread_that_is_stopped();
	assert_int_equal(read(told[0], &tid, sizeof(tid)), sizeof(tid));
	close(told[0]);
	close(told[1]);
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) { /* not allowed here */
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		SKIP("ptrace() is not allowed here");
	}
	assert_int_equal(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL), 0);
	do
		waited = waitpid(-1, &status, __WALL);
	while (waited > 0 && waited != child);
	assert_int_equal(waited, child);
	assert_int_equal(status, 0);
}

static void *is_gone_inside(void *unused)
{
	lull_rcu_read_lock();
	lull_store_release(&inside, 1);
	syscall(SYS_exit, 0); /* no destructor runs: lull does not hear of it */
	return unused;
}

/* Its memory is there as long as nobody joins it. */
static void waits_for_a_thread_that_is_gone(void)
{
	pthread_t thread;

	lull_debug_set_stall_ms(20);
	must(pthread_create(&thread, NULL, is_gone_inside, NULL) == 0);
	await_flag(&inside, 1);
	lull_rcu_gp_poll(lull_rcu_gp_start());
	alarm(1);
	lull_rcu_synchronize();
}

TEST(gone)
{
	char text[4096];
	int status;

	NEEDS_THREADS_IN_CHILD();
	inside = 0;
	status = run_child(waits_for_a_thread_that_is_gone, text, sizeof(text));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
	assert_non_null(strstr(text, "for thread \"?\" (tid "));
	assert_non_null(strstr(text, "; it has exited, so this wait will never end; 0 objects"));
}

/* ---- other waits ----------------------------------------------------------------------------------------------- */

static int object;
static int *place = &object;

static void *protects(void *unused)
{
	struct lull_hazptr *hazptr = lull_hazptr_alloc(&lull__self.hazptr);

	reader_tid = gettid();
	pthread_setname_np(pthread_self(), "protector");
	lull_hazptr_protect_ptr(hazptr, place);
	lull_store_release(&inside, 1);
	await_flag(&leave, 1);
	lull_hazptr_free(&lull__self.hazptr, hazptr);
	return unused;
}

static void *acquires(void *unused)
{
	struct lull_shazptr_guard guard = lull_shazptr_acquire(&object);

	reader_tid = gettid();
	pthread_setname_np(pthread_self(), "protector");
	lull_store_release(&inside, 1);
	await_flag(&leave, 1);
	lull_shazptr_clear(guard);
	return unused;
}

static void *waits_for_hazptr(void *unused)
{
	lull_hazptr_synchronize(&object);
	return unused;
}

static void *waits_for_shazptr(void *unused)
{
	lull_shazptr_synchronize(&object);
	return unused;
}

static void do_nothing(struct lull_rcu_head *head)
{
	(void)head;
}

static struct lull_rcu_head protected_head;

static void *waits_for_barrier(void *unused)
{
	lull_hazptr_call(&protected_head, do_nothing);
	lull_hazptr_barrier();
	return unused;
}

static void stall_of(enum lull_wait_kind what, void *(*holds)(void *), void *(*wait)(void *))
{
	pthread_t holder, waiter;
	uint64_t began_ns = now_ns();

	inside = leave = stalls = 0;
	lull_debug_set_stall_hook(note_stall, &stalls);
	lull_debug_set_stall_ms(20);
	holder = start_thread(holds, NULL);
	await_flag(&inside, 1);
	waiter = start_thread(wait, NULL);
	AWAIT(lull_load_acquire(&stalls) >= 2);
	lull_debug_set_stall_hook(NULL, NULL);
	lull_store_release(&leave, 1);
	join_thread(waiter);
	join_thread(holder);
	lull_debug_set_stall_ms(1000);
	assert_int_equal(last.what, what);
	assert_string_equal(last.kind, lull_wait_kind_name(what));
	assert_string_equal(last_name, "protector");
	assert_int_equal(last.tid, reader_tid);
	assert_int_equal(last.slots, 1);
	assert_int_equal(last.depth, what == LULL_WAIT_SHAZPTR);
	assert_true(last.since_ns >= began_ns && last.since_ns <= now_ns());
	assert_true(ages[0] >= 20 && ages[1] >= 40);
}

TEST(hazptr)
{
	stall_of(LULL_WAIT_HAZPTR, protects, waits_for_hazptr);
}

TEST(shazptr)
{
	stall_of(LULL_WAIT_SHAZPTR, acquires, waits_for_shazptr);
}

/* A hold that no thread owns: then nobody is named, and what nobody does is not known. */
TEST(nobody_named)
{
	struct lull_hazptr_hold hold;
	pthread_t waiter;

	stalls = 0;
	lull_debug_set_stall_hook(note_stall, &stalls);
	lull_debug_set_stall_ms(20);
	lull_hazptr_acquire(&hold, &place);
	lull_hazptr_detach(&hold);
	waiter = start_thread(waits_for_hazptr, NULL);
	AWAIT(lull_load_acquire(&stalls) >= 1);
	lull_debug_set_stall_hook(NULL, NULL);
	lull_hazptr_release(&hold, place);
	join_thread(waiter);
	lull_debug_set_stall_ms(1000);
	assert_int_equal(last.what, LULL_WAIT_HAZPTR);
	assert_int_equal(last.tid, 0);
	assert_int_equal(last.slots, 1);
	assert_int_equal(last.state, LULL_THREAD_UNKNOWN);
	assert_string_equal(last_name, "?");
	assert_string_equal(last_where, "");
	assert_null(last.site);
	assert_string_equal(last_site, "");
}

TEST(hazptr_barrier)
{
	int *saved = place;

	place = (int *)(void *)&protected_head;
	stall_of(LULL_WAIT_HAZPTR_BARRIER, protects, waits_for_barrier);
	place = saved;
}

/* ---- callbacks that do not return ------------------------------------------------------------------------------- */

static void sleepy_callback(struct lull_rcu_head *head)
{
	(void)head;
	reader_tid = gettid();
	await_flag(&leave, 1);
}

static bool is_on_page(enum lull_wait_kind kind)
{
	for (unsigned i = 0; i < LULL_STATS_WAITS; i++)
		if (lull_load_relaxed(&lull_stats_page()->waits[i].kind) == (uint32_t)kind)
			return true;
	return false;
}

TEST(callback)
{
	static struct lull_rcu_head head, next;
	int reported;

	leave = stalls = 0;
	lull_debug_set_stall_hook(note_stall, &stalls);
	lull_debug_set_stall_ms(20);
	lull_rcu_call(&head, sleepy_callback);
	AWAIT(lull_load_acquire(&stalls) >= 2);
	lull_rcu_call_sized(&next, do_nothing, 1000);
	/* One may be on its way that has counted already. */
	reported = lull_load_acquire(&stalls);
	AWAIT(lull_load_acquire(&stalls) >= reported + 2);
	assert_true(is_on_page(LULL_WAIT_CALLBACK));
	lull_debug_set_stall_hook(NULL, NULL);
	lull_store_release(&leave, 1);
	lull_rcu_barrier();
	AWAIT(!is_on_page(LULL_WAIT_CALLBACK));
	lull_debug_set_stall_ms(1000);
	assert_int_equal(last.what, LULL_WAIT_CALLBACK);
	assert_string_equal(last_name, "lull-reclaim");
	assert_int_equal(last.tid, reader_tid);
	assert_ptr_equal(last.site, (const void *)(uintptr_t)sleepy_callback);
	assert_non_null(strstr(last_site, "+0x"));
	assert_int_equal(last.waiting_items, 2);
	assert_int_equal(last.waiting_bytes, sizeof(head) + 1000);
	assert_true(ages[0] >= 20 && ages[1] >= 40 && ages[2] >= 80);
}

/* ---- the hard limit --------------------------------------------------------------------------------------------- */

TEST(hard_limit)
{
	struct lull_reclaim_config config;
	pthread_t reader;

	inside = leave = stalls = 0;
	reader = start_thread(sleeps_inside, NULL);
	await_flag(&inside, 1);
	lull_reclaim_default_config(&config);
	config.soft_items = 100;
	config.hard_items = 200;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	lull_debug_set_stall_ms(0);
	lull_debug_set_stall_hook(note_stall, &stalls);
	lull_rcu_read_lock(); /* else it would wait for a moment at each */
	for (int i = 0; i < 300; i++)
		lull_rcu_free(malloc(10));
	lull_rcu_read_unlock();
	lull_debug_set_stall_hook(NULL, NULL);
	lull_store_release(&leave, 1);
	join_thread(reader);
	lull_rcu_barrier();
	lull_reclaim_default_config(&config);
	assert_int_equal(lull_reclaim_configure(&config), 0);
	lull_debug_set_stall_ms(1000);
	assert_int_equal(stalls, 1);
	assert_int_equal(last.what, LULL_WAIT_LIMIT);
	assert_int_equal(last.tid, gettid());
	assert_in_range(last.waiting_items, 201, 201 + 64);
}

/* ---- what reports must not do ----------------------------------------------------------------------------------- */

static pthread_t begin_stall(void)
{
	pthread_t reader;

	inside = leave = stalls = 0;
	lull_debug_set_stall_ms(10);
	reader = start_thread(sleeps_inside, NULL);
	await_flag(&inside, 1);
	return reader;
}

static void end_stall(pthread_t reader)
{
	lull_debug_set_stall_hook(NULL, NULL);
	lull_store_release(&leave, 1);
	join_thread(reader);
	lull_debug_set_stall_ms(1000);
}

static void hook_that_sleeps(const struct lull_stall *stall, void *arg)
{
	(void)stall;
	(void)arg;
	lull_add_release(&stalls, 1);
	nap_ms(20); /* a cancellation point anywhere else */
}

/* Who waits in synchronize has locks that nobody else would give back. */
TEST(cancelled)
{
	pthread_t reader = begin_stall(), waiter;

	lull_debug_set_stall_hook(hook_that_sleeps, NULL);
	waiter = start_thread(waits, NULL);
	AWAIT(lull_load_acquire(&stalls) >= 1);
	pthread_cancel(waiter);
	AWAIT(lull_load_acquire(&stalls) >= 2);
	end_stall(reader);
	join_thread(waiter);
	lull_rcu_synchronize();
}

static void hook_that_defers(const struct lull_stall *stall, void *arg)
{
	(void)stall;
	(void)arg;
	for (int i = 0; i < 300; i++)
		lull_rcu_free(malloc(10));
	lull_add_release(&stalls, 1);
}

/* Over the hard limit a deferral helps and waits, but not in here, for the grace period that it is called by. */
TEST(hook_defers)
{
	struct lull_reclaim_config config;
	pthread_t reader = begin_stall(), waiter;

	lull_reclaim_default_config(&config);
	config.soft_items = 100;
	config.hard_items = 200;
	config.on_hard = LULL_RECLAIM_HELP;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	lull_debug_set_stall_hook(hook_that_defers, NULL);
	waiter = start_thread(waits, NULL);
	AWAIT(lull_load_acquire(&stalls) >= 2);
	end_stall(reader);
	join_thread(waiter);
	lull_rcu_barrier();
	lull_reclaim_default_config(&config);
	assert_int_equal(lull_reclaim_configure(&config), 0);
}

static pthread_t other;

static void *waits_for_other_barrier(void *unused)
{
	lull_hazptr_barrier();
	return unused;
}

/* The first report waits until another barrier makes one. */
static void hook_that_waits_for_barrier(const struct lull_stall *stall, void *arg)
{
	(void)arg;
	if (stall->what != LULL_WAIT_HAZPTR_BARRIER || lull_add_release(&stalls, 1))
		return;
	other = start_thread(waits_for_other_barrier, NULL);
	AWAIT(lull_load_acquire(&stalls) >= 2);
}

/* A barrier's report keeps no other barrier from beginning. */
TEST(hook_waits_for_barrier)
{
	int *saved = place;
	pthread_t holder, waiter;

	place = (int *)(void *)&protected_head;
	inside = leave = stalls = 0;
	alarm(60);
	lull_debug_set_stall_hook(hook_that_waits_for_barrier, NULL);
	lull_debug_set_stall_ms(20);
	holder = start_thread(protects, NULL);
	await_flag(&inside, 1);
	waiter = start_thread(waits_for_barrier, NULL);
	AWAIT(lull_load_acquire(&stalls) >= 2);
	alarm(0);
	lull_debug_set_stall_hook(NULL, NULL);
	lull_store_release(&leave, 1);
	join_thread(waiter); /* it has started the other one */
	join_thread(other);
	join_thread(holder);
	lull_debug_set_stall_ms(1000);
	place = saved;
}

static void hook_for_ever(const struct lull_stall *stall, void *arg)
{
	(void)stall;
	(void)arg;
	lull_add_release(&stalls, 1);
	for (;;)
		nap_ms(1000);
}

TEST(exit)
{
	NEEDS_THREADS_IN_CHILD();
	if (UNDER_ASAN)
		SKIP("AddressSanitizer looks for leaks when a forked child exits");
	/* Neither a callback nor a hook that does not return keeps the process from its end. */
	EXPECT_FINE {
		static struct lull_rcu_head head;

		stalls = leave = 0;
		lull_debug_set_stall_ms(10);
		lull_debug_set_stall_hook(hook_for_ever, NULL);
		lull_rcu_call(&head, sleepy_callback);
		AWAIT(lull_load_acquire(&stalls) >= 1);
		exit(0);
	}
}

#ifdef LULL_TEST_PLUGIN
static void *loads_plugin(void *unused)
{
	void *plugin = dlopen(LULL_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);

	assert_non_null(plugin);
	dlclose(plugin);
	return unused;
}

/* The plugin's constructor waits for a grace period with the loader's lock held, which a report must not want. */
TEST(loader)
{
	pthread_t reader = begin_stall(), waiter, loader;

	lull_debug_set_stall_hook(note_stall, &stalls);
	waiter = start_thread(waits, NULL);
	nap_ms(2);
	loader = start_thread(loads_plugin, NULL);
	AWAIT(lull_load_acquire(&stalls) >= 3);
	end_stall(reader);
	join_thread(loader);
	join_thread(waiter);
}
#endif

/* ---- in words --------------------------------------------------------------------------------------------------- */

static void hear_of_stall(const char *line)
{
	hear(line);
	lull_add_release(&stalls, 1);
}

TEST(default_line)
{
	pthread_t reader, waiter;
	char line[256];

	inside = leave = stalls = 0;
	lull_debug_set_message_hook(hear_of_stall);
	lull_debug_set_stall_ms(10);
	reader = start_thread(sleeps_inside, NULL);
	await_flag(&inside, 1);
	waiter = start_thread(waits, NULL);
	AWAIT(lull_load_acquire(&stalls) >= 1);
	lull_store_release(&leave, 1);
	join_thread(waiter);
	join_thread(reader);
	lull_debug_set_message_hook(NULL);
	lull_debug_set_stall_ms(1000);
	snprintf(line, sizeof(line), "rcu grace period has waited [0-9]* ms for thread \"sleepy\" (tid %d), in a read section "
		 "(depth 2)*; it *; 0 objects (0 bytes) wait behind it", (int)reader_tid);
	if (fnmatch(line, heard, 0))
		print_error("heard: %s\n", heard);
	assert_int_equal(fnmatch(line, heard, 0), 0);
}

TEST(version)
{
	char text[32];

	snprintf(text, sizeof(text), "%d.%d.%d", LULL_VERSION_MAJOR, LULL_VERSION_MINOR, LULL_VERSION_PATCH);
	assert_string_equal(lull_version(), text);
}
