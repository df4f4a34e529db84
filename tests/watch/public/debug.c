/* SPDX-License-Identifier: MIT */
/*
 * debug.c - debug.h: a thread that holds something up is named, again and again, at growing intervals, and what that
 * thread does instead; callbacks that do not return; the hard limit.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "watch/stalls.h"

#include <lull/mutex.h>

static void *in_two_sections(void *unused)
{
	lull_rcu_read_lock();
	in_section(NULL);
	lull_rcu_read_unlock();
	return unused;
}

static void *is_online(void *unused)
{
	lull_rcu_online();
	in_section(NULL);
	lull_rcu_offline();
	return unused;
}

static struct lull_stall last;
static char last_name[64], last_where[256], last_site[256];
static uint64_t ages[16];

/* Several threads may report at once. */
static pthread_mutex_t noting = PTHREAD_MUTEX_INITIALIZER;

static void note_stall(const struct lull_stall *stall, void *arg)
{
	assert_ptr_equal(arg, &last);
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

/* The threads of a stall, each of whose reports is noted. */
static pthread_t holder, waiter;

static void begin_stall(void *(*holds)(void *), void *arg)
{
	report_to(note_stall, &last, 20);
	holder = start_holder(holds, arg);
}

/* Hear no more of it, and let it end. */
static void end_stall(void)
{
	lull_debug_set_stall_hook(NULL, NULL);
	let_go();
	join_thread(waiter);
	join_thread(holder);
}

/* Its reports come after 20, 40 and 80 ms, or later. */
static void check_ages(void)
{
	assert_true(ages[0] >= 20 && ages[1] >= 40 && ages[2] >= 80);
}

static void check_held_up(const struct held_up *h)
{
	uint64_t began_ns = now_ns();

	inside = leave = stalls = 0;
	begin_stall(h->holds, NULL);
	if (h->what == LULL_WAIT_GP) {
		lull_rcu_free(malloc(1000));
		/* The waiter needs a newer grace period, which waits for the same reader: the same stall goes on. */
		await_stalls(1);
	}
	waiter = start_waiter(h->wait);
	await_stalls(3);
	end_stall();
	assert_int_equal(last.what, h->what);
	assert_string_equal(last.kind, lull_wait_kind_name(h->what));
	assert_string_equal(last_name, "a holder");
	assert_int_equal(last.tid, holder_tid);
	assert_int_equal(last.slots, h->slots);
	assert_int_equal(last.depth, h->depth);
	assert_true(last.since_ns >= began_ns && last.since_ns + last.age_ms * 1000000 <= now_ns());
	check_ages();
	if (h->what == LULL_WAIT_GP)
		assert_true(last.waiting_items >= 1 && last.waiting_bytes >= 1000);
}

TEST(stall)
{
	static const struct held_up deep = { LULL_WAIT_GP, in_two_sections, lull_rcu_synchronize, 0, 2 },
				    online = { LULL_WAIT_GP, is_online, lull_rcu_synchronize, 0, 1 };

	check_held_up(&deep);
#ifdef LULL_DEBUG
	assert_non_null(last.site);
	/* In this program, and not where the library registers a thread. */
	assert_true(strncmp(last_site, program_invocation_short_name, strlen(program_invocation_short_name)) == 0 &&
		    strstr(last_site, "+0x"));
#else
	assert_null(last.site);
	assert_string_equal(last_site, "");
#endif
	check_held_up(&online);
	for (int i = 0; i < HELD_UP; i++)
		check_held_up(&held_up[i]);
}

#define READERS 3
#define DEPTH 600 /* more than the word counts */

static pid_t readers_tid[READERS];
static int readers_inside;
static uint32_t named[READERS];

static void *reads_as_one_of_several(void *number)
{
	for (int i = 0; i < DEPTH; i++)
		lull_rcu_read_lock();
	readers_tid[(intptr_t)number] = gettid();
	lull_add_release(&readers_inside, 1);
	await_flag(&leave, 1);
	for (int i = 0; i < DEPTH; i++)
		lull_rcu_read_unlock();
	return NULL;
}

static void note_tid(const struct lull_stall *stall, void *arg)
{
	(void)arg;
	assert_int_equal(stall->depth, DEPTH);
	if (stalls < READERS)
		named[stalls] = stall->tid;
	lull_add_release(&stalls, 1);
}

/* One report after the other, all by the thread that waits: it names each reader once before it names any again. */
TEST(each_holdout)
{
	pthread_t readers[READERS];

	for (intptr_t i = 0; i < READERS; i++)
		readers[i] = start_thread(reads_as_one_of_several, (void *)i);
	await_flag(&readers_inside, READERS);
	report_to(note_tid, NULL, 20);
	waiter = start_waiter(lull_rcu_synchronize);
	await_stalls(READERS);
	let_go();
	join_thread(waiter);
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
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pipe(others), 0);
	inside = stalls = 0;
	begin_stall(sleeps_in_call, &call);
	waiter = start_waiter(lull_rcu_synchronize);
	await_stalls(2);
	lull_debug_set_stall_hook(NULL, NULL);
	assert_int_equal(write(ends[1], "x", 1), 1);
	end_stall();
	for (int i = 0; i < 2; i++) {
		close(ends[i]);
		close(others[i]);
	}
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

/* ---- what a holder waits for itself ------------------------------------------------------------------------- */

static struct lull_mutex wanted;

static void *wants_mutex(void *unused)
{
	lull_rcu_read_lock();
	lull_store_release(&inside, 1);
	lull_mutex_lock(&wanted);
	lull_mutex_unlock(&wanted);
	lull_rcu_read_unlock();
	return unused;
}

/* Again and again, until it is told to leave. */
static void *wants_mutex_for_a_while(void *unused)
{
	lull_rcu_read_lock();
	lull_store_release(&inside, 1);
	while (!lull_load_acquire(&leave))
		if (lull_mutex_timedlock(&wanted, now_ns() + 200000000) == 0)
			lull_mutex_unlock(&wanted);
	lull_rcu_read_unlock();
	return unused;
}

static void *wants_slot(void *unused)
{
	lull_rcu_read_lock();
	lull_store_release(&inside, 1);
	lull_hazptr_synchronize(&object);
	lull_rcu_read_unlock();
	return unused;
}

/* Wait for a report that says so at its end. */
static void await_words(const char *words)
{
	static char now[256];
	const char *at;

	AWAIT((pthread_mutex_lock(&noting), memcpy(now, last_where, sizeof(now)), pthread_mutex_unlock(&noting),
	       (at = strstr(now, words)) && !at[strlen(words)]));
}

static const char *thread_words(const char *name, uint32_t tid)
{
	static char words[64];

	snprintf(words, sizeof(words), "thread \"%s\" (tid %u)", name, tid);
	return words;
}

static void synchronize_with_mutex(void)
{
	lull_mutex_lock(&wanted);
	lull_rcu_synchronize();
	lull_mutex_unlock(&wanted);
}

TEST(holder_waits)
{
	struct lull_hazptr_hold hold;
	char words[200];

#ifdef LULL_TEST_EMULATED
	SKIP("process_vm_readv() is not allowed here, which reads the owner in a mutex");
#endif
	pthread_setname_np(pthread_self(), "an owner");
	lull_mutex_lock(&wanted);
	begin_stall(wants_mutex, NULL);
	waiter = start_waiter(lull_rcu_synchronize);
	snprintf(words, sizeof(words), "for mutex %p, which %s has", (void *)&wanted, thread_words("an owner", (uint32_t)gettid()));
	await_words(words);
	lull_mutex_unlock(&wanted);
	end_stall();

	inside = leave = 0;
	waiter_tid = 0;
	begin_stall(wants_mutex_for_a_while, NULL);
	waiter = start_waiter(synchronize_with_mutex);
	AWAIT(lull_load_relaxed(&waiter_tid) != 0);
	pthread_setname_np(waiter, "a waiter");
	snprintf(words, sizeof(words), "for mutex %p, which %s has, the one that waits here", (void *)&wanted,
		 thread_words("a waiter", lull_load_relaxed(&waiter_tid)));
	await_words(words);
	end_stall();

	inside = leave = 0;
	(void)lull_hazptr_acquire(&hold, &place);
	begin_stall(wants_slot, NULL);
	waiter = start_waiter(lull_rcu_synchronize);
	snprintf(words, sizeof(words), "for a wait of kind \"hazptr synchronize\", held up by %s",
		 thread_words("an owner", (uint32_t)gettid()));
	await_words(words);
	lull_hazptr_release(&hold, place);
	end_stall();
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
	begin_stall(spins_inside, NULL);
	waiter = start_waiter(lull_rcu_synchronize);
	await_stalls(1);
	end_stall();
	assert_int_equal(last.state, LULL_THREAD_RUNS);
	assert_string_equal(last_where, "");
}

/* ---- no holder, and callbacks that do not return ----------------------------------------------------------- */

/* A hold that no thread owns: then no thread is named, nor what it does. */
TEST(nobody_named)
{
	struct lull_hazptr_hold hold;

	report_to(note_stall, &last, 20);
	lull_hazptr_acquire(&hold, &place);
	lull_hazptr_detach(&hold);
	waiter = start_waiter(hazptr_synchronize);
	await_stalls(1);
	lull_debug_set_stall_hook(NULL, NULL);
	lull_hazptr_release(&hold, place);
	join_thread(waiter);
	assert_int_equal(last.what, LULL_WAIT_HAZPTR);
	assert_int_equal(last.tid, 0);
	assert_int_equal(last.slots, 1);
	assert_int_equal(last.state, LULL_THREAD_UNKNOWN);
	assert_string_equal(last_name, "?");
	assert_string_equal(last_where, "");
	assert_null(last.site);
	assert_string_equal(last_site, "");
}

static bool is_on_page(enum lull_wait_kind kind)
{
	for (unsigned i = 0; i < LULL_STATS_WAITS; i++)
		if (lull_load_relaxed(&lull_stats_page()->waits[i].kind) == (uint32_t)kind)
			return true;
	return false;
}

static void do_nothing(struct lull_rcu_head *head)
{
	(void)head;
}

TEST(callback)
{
	static struct lull_rcu_head head, next;
	int reported;

	report_to(note_stall, &last, 20);
	lull_rcu_call(&head, sleepy_callback);
	await_stalls(2);
	lull_rcu_call_sized(&next, do_nothing, 1000);
	/* One may be on its way that has counted already. */
	reported = lull_load_acquire(&stalls);
	await_stalls(reported + 2);
	assert_true(is_on_page(LULL_WAIT_CALLBACK));
	lull_debug_set_stall_hook(NULL, NULL);
	let_go();
	lull_rcu_barrier();
	AWAIT(!is_on_page(LULL_WAIT_CALLBACK));
	assert_int_equal(last.what, LULL_WAIT_CALLBACK);
	assert_string_equal(last_name, "lull-reclaim");
	assert_int_equal(last.tid, holder_tid);
	assert_ptr_equal(last.site, (const void *)(uintptr_t)sleepy_callback);
	assert_non_null(strstr(last_site, "+0x"));
	assert_int_equal(last.waiting_items, 2);
	assert_int_equal(last.waiting_bytes, sizeof(head) + 1000);
	check_ages();
}

/* ---- what reports must not do ----------------------------------------------------------------------------------- */

/* A reader is waited for, and @hook told of it so many times. */
static void begin_stall_for(lull_stall_hook hook, int times)
{
	report_to(hook, NULL, 10);
	holder = start_holder(in_section, NULL);
	waiter = start_waiter(lull_rcu_synchronize);
	await_stalls(times);
}

static void hook_that_sleeps(const struct lull_stall *stall, void *arg)
{
	count_stall(stall, arg);
	nap_ms(20); /* a cancellation point anywhere else */
}

/* A thread that waits in synchronize has locks that no other would give back. */
TEST(cancelled)
{
	begin_stall_for(hook_that_sleeps, 1);
	pthread_cancel(waiter);
	await_stalls(2);
	end_stall();
	lull_rcu_synchronize();
}

static void hook_that_defers(const struct lull_stall *stall, void *arg)
{
	for (int i = 0; i < 300; i++)
		lull_rcu_free(malloc(10));
	count_stall(stall, arg);
}

/* Over the hard limit a deferral helps and waits, but not in here, for the grace period that it is called by. */
TEST(hook_defers)
{
	struct lull_reclaim_config config, before;

	lull_reclaim_default_config(&before);
	config = before;
	config.on_hard = LULL_RECLAIM_HELP;
	config.soft_items = 100;
	config.hard_items = 200;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	begin_stall_for(hook_that_defers, 2);
	end_stall();
	lull_rcu_barrier();
	assert_int_equal(lull_reclaim_configure(&before), 0);
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
	await_stalls(2);
}

/* A barrier's report keeps no other barrier from beginning. */
TEST(hook_waits_for_barrier)
{
	alarm(60);
	report_to(hook_that_waits_for_barrier, NULL, 20);
	holder = start_holder(with_retired, NULL);
	waiter = start_waiter(hazptr_barrier);
	await_stalls(2);
	alarm(0);
	end_stall(); /* the waiter has started the other one */
	join_thread(other);
}

static void hook_for_ever(const struct lull_stall *stall, void *arg)
{
	count_stall(stall, arg);
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

		report_to(hook_for_ever, NULL, 10);
		lull_rcu_call(&head, sleepy_callback);
		await_stalls(1);
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
	pthread_t loader;

	begin_stall_for(count_stall, 0);
	nap_ms(2);
	loader = start_thread(loads_plugin, NULL);
	await_stalls(3);
	end_stall();
	join_thread(loader);
}
#endif

TEST(version)
{
	char text[32];

	snprintf(text, sizeof(text), "%d.%d.%d", LULL_VERSION_MAJOR, LULL_VERSION_MINOR, LULL_VERSION_PATCH);
	assert_string_equal(lull_version(), text);
}
