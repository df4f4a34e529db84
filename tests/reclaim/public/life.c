/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * How long the threads that lull starts live, how large their stacks are, and what thread_start and callbacks must not
 * call. Each case is a child, in which none has been started yet.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "seccomp.h"

#include <lull/hazptr.h>
#include <lull/shazptr.h>
#include <lull/thread.h>

enum { RECLAIM, WATCHDOG, NAMES };
static const char *const names[NAMES] = { "lull-reclaim", "lull-watchdog" };

/* ---- support ---------------------------------------------------------------------------------- */

static bool has_name(const char *tid, const char *name)
{
	char path[64], comm[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", tid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	if (read(fd, comm, sizeof(comm) - 1) > 0) /* else it has ended since */
		comm[strcspn(comm, "\n")] = '\0';
	close(fd);
	return strcmp(comm, name) == 0;
}

/* The thread of this name; 0: there is none. */
static pid_t tid_of(int name)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	pid_t found = 0;

	must(tasks);
	while ((entry = readdir(tasks)))
		if (has_name(entry->d_name, names[name]))
			found = (pid_t)atoi(entry->d_name);
	closedir(tasks);
	return found;
}

static int ran, begun[NAMES];

static void count_begun(const char *name)
{
	for (int i = 0; i < NAMES; i++)
		if (strcmp(name, names[i]) == 0)
			lull_add_release(&begun[i], 1);
}

static void configure(enum lull_reclaim_mode mode, uint32_t idle_ms)
{
	struct lull_reclaim_config config;

	alarm(60);
	lull_reclaim_default_config(&config);
	config.mode = mode;
	config.idle_ms = idle_ms;
	config.thread_start = count_begun;
	must(lull_reclaim_configure(&config) == 0);
}

static void count_run(struct lull_head *head)
{
	free(head);
	lull_add_release(&ran, 1);
}

static struct lull_head *new_head(void)
{
	return malloc(sizeof(struct lull_head));
}

/* Have a callback run, without a barrier, which might run it itself. */
static void have_one_run(void)
{
	int before = lull_load_acquire(&ran);

	lull_rcu_call(new_head(), count_run);
	AWAIT(lull_load_acquire(&ran) != before);
}

static void await_none(void)
{
	for (int i = 0; i < NAMES; i++)
		AWAIT(tid_of(i) == 0);
}

static void forbid_threads(unsigned answer)
{
	filter(SYS_clone, answer, SECCOMP_RET_ALLOW);
#ifdef SYS_clone3
	filter(SYS_clone3, answer, SECCOMP_RET_ALLOW);
#endif
}

#define NEEDS_REAL_THREADS()                                                                       \
	do {                                                                                       \
		NEEDS_THREADS_IN_CHILD();                                                          \
		if (under_valgrind())                                                              \
			SKIP(VALGRIND_THREADS);                                                    \
	} while (0)

/* ---- how long they live ------------------------------------------------------------------------- */

/* They end when idle_ms says so, and come back when there is something to do. */
TEST(end)
{
	NEEDS_REAL_THREADS();
	EXPECT_FINE {
		configure(LULL_RECLAIM_THREAD, 20);
		for (int i = 1; i <= 2; i++) {
			uint64_t since_ns = now_ns();

			have_one_run();
			await_none();
			must(lull_load_acquire(&begun[RECLAIM]) == i && lull_load_acquire(&begun[WATCHDOG]) <= i);
			must(now_ns() - since_ns >= 20000000);
		}
		must(lull_reclaim_start() == 0);
		await_none();
	}
}

/* 0 is the default. */
TEST(zero)
{
	NEEDS_REAL_THREADS();
	EXPECT_FINE {
		uint64_t since_ns = now_ns();

		configure(LULL_RECLAIM_THREAD, 0);
		have_one_run();
		nap_ms(200);
		must(tid_of(RECLAIM) || now_ns() - since_ns > 1900000000);
	}
}

/* All are there when lull_reclaim_start() returns, and a second call starts none. */
TEST(start)
{
	NEEDS_REAL_THREADS();
	EXPECT_FINE {
		configure(LULL_RECLAIM_THREAD, UINT32_MAX);
		for (int i = 0; i < 2; i++) {
			must(lull_reclaim_start() == 0);
			for (int name = 0; name < NAMES; name++)
				must(lull_load_acquire(&begun[name]) == 1 && tid_of(name));
		}
	}
	EXPECT_FINE {
		configure(LULL_RECLAIM_POLL, UINT32_MAX);
		must(lull_reclaim_start() == 0);
		for (int name = 0; name < NAMES; name++)
			must(!lull_load_acquire(&begun[name]) && !tid_of(name));
	}
}

static void *nothing(void *unused)
{
	return unused;
}

static void note_line(const char *line)
{
	must(strstr(line, "cannot start the reclaimer's thread") != NULL);
	heard_lines++;
}

TEST(start_fails)
{
	NEEDS_REAL_THREADS();
	if (!may_filter())
		SKIP(NO_FILTERS);
	EXPECT_FINE {
		pthread_t none;

		configure(LULL_RECLAIM_THREAD, UINT32_MAX);
		lull_debug_set_message_hook(note_line);
		forbid_threads(SECCOMP_RET_ERRNO | EAGAIN);
		must(pthread_create(&none, NULL, nothing, NULL) == EAGAIN);
		must(lull_reclaim_start() == -EAGAIN);
		must(heard_lines == 1);
		/* A barrier runs them itself. */
		lull_rcu_call(new_head(), count_run);
		lull_rcu_barrier();
		must(lull_load_acquire(&ran) == 1);
	}
}

/* The threads fall asleep to end soon, and are then told to stay. */
static void stay(enum lull_reclaim_mode mode_meanwhile)
{
	pid_t tid[NAMES];

	configure(LULL_RECLAIM_THREAD, 300);
	must(lull_reclaim_start() == 0);
	nap_ms(50);
	configure(LULL_RECLAIM_THREAD, UINT32_MAX);
	must(lull_reclaim_start() == 0); /* on a busy machine one may have ended */
	for (int i = 0; i < NAMES; i++)
		tid[i] = tid_of(i);
	configure(mode_meanwhile, UINT32_MAX);
	nap_ms(500);
	for (int i = 0; i < NAMES; i++)
		must(tid[i] && tid_of(i) == tid[i]);
	configure(LULL_RECLAIM_THREAD, UINT32_MAX);
}

/* A process that forbids itself to start threads keeps those that it has; where the filter kills, it is not killed. */
TEST(stay)
{
	NEEDS_REAL_THREADS();
	if (!may_filter())
		SKIP(NO_FILTERS);
	EXPECT_FINE {
		static int place;

		stay(LULL_RECLAIM_THREAD);
		forbid_threads(SECCOMP_RET_KILL_PROCESS);
		for (int i = 0; i < 200; i++) {
			lull_rcu_call(new_head(), count_run);
			lull_rcu_free(malloc(1));
		}
		AWAIT(lull_load_acquire(&ran) == 200);
		lull_shazptr_synchronize(&place);
		for (int i = 0; i < NAMES; i++)
			must(tid_of(i));
	}
	/* Also if it polls for a while: then what is deferred is the program's to do, of which it is told. */
	EXPECT_FINE {
		stay(LULL_RECLAIM_POLL);
		forbid_threads(SECCOMP_RET_KILL_PROCESS);
		have_one_run();
	}
}

static int notified;

static void note(void *unused)
{
	(void)unused;
	lull_add_release(&notified, 1);
}

/* The thread wakes up at its time, finds that it is to stay, and takes no notification away from the program. */
TEST(polled_meanwhile)
{
	NEEDS_REAL_THREADS();
	EXPECT_FINE {
		struct lull_reclaim_config config;

		configure(LULL_RECLAIM_THREAD, 50);
		must(lull_reclaim_start() == 0);
		lull_reclaim_default_config(&config);
		config.mode = LULL_RECLAIM_POLL;
		config.idle_ms = UINT32_MAX;
		config.notify = note;
		must(lull_reclaim_configure(&config) == 0);
		for (int i = 1; i <= 100; i++) {
			lull_rcu_call(new_head(), count_run);
			must(lull_load_acquire(&notified) == i);
			AWAIT((lull_reclaim_poll(SIZE_MAX, 0), lull_load_acquire(&ran) == i && waiting() == 0));
			nap_ms(1);
		}
	}
}

/* A callback now and then: one thread for all, if they stay. */
TEST(now_and_then)
{
	NEEDS_REAL_THREADS();
	EXPECT_FINE {
		configure(LULL_RECLAIM_THREAD, 1);
		for (int i = 0; i < 6; i++) {
			have_one_run();
			await_none();
		}
		must(lull_load_acquire(&begun[RECLAIM]) >= 6);
		begun[RECLAIM] = begun[WATCHDOG] = 0;
		configure(LULL_RECLAIM_THREAD, UINT32_MAX);
		for (int i = 0; i < 6; i++) {
			have_one_run();
			nap_ms(20);
		}
		must(lull_load_acquire(&begun[RECLAIM]) == 1 && lull_load_acquire(&begun[WATCHDOG]) <= 1);
		/* No longer: from their next work on. */
		configure(LULL_RECLAIM_THREAD, 1);
		have_one_run();
		AWAIT(!tid_of(RECLAIM) && !tid_of(WATCHDOG));
	}
}

static void check_one_begun(void)
{
	_exit(lull_load_acquire(&begun[RECLAIM]) == 1 ? 0 : 3);
}

/*
 * The program's last thread ends while an object is protected for ever: the thread that finds that nobody can let go of it
 * any more ends the process, and does not leave that to another one.
 */
TEST(last_thread)
{
	NEEDS_REAL_THREADS();
	if (UNDER_ASAN)
		SKIP("leak checkers count what is protected for ever");
	EXPECT_FINE {
		struct lull_hazptr_hold *hold = malloc(sizeof(*hold)); /* not on a stack that goes */
		static void *shared;

		configure(LULL_RECLAIM_THREAD, 50);
		must(atexit(check_one_begun) == 0);
		shared = malloc(1);
		must(lull_hazptr_acquire(hold, &shared) != NULL);
		lull_hazptr_detach(hold);
		lull_hazptr_retire(shared);
		pthread_exit(NULL);
	}
}

/* ---- a child ------------------------------------------------------------------------------------ */

TEST(forked)
{
	NEEDS_REAL_THREADS();
	EXPECT_FINE {
		int status = 1;
		pid_t child;

		configure(LULL_RECLAIM_THREAD, UINT32_MAX);
		must(lull_reclaim_start() == 0);
		child = fork();
		if (child == 0) {
			begun[RECLAIM] = begun[WATCHDOG] = 0;
			must(!tid_of(RECLAIM) && !tid_of(WATCHDOG));
			must(lull_reclaim_start() == 0);
			for (int i = 0; i < NAMES; i++)
				must(lull_load_acquire(&begun[i]) == 1 && tid_of(i));
			_exit(0);
		}
		must(waitpid(child, &status, 0) == child && status == 0);
	}
}

/* ---- stacks ------------------------------------------------------------------------------------- */

/* glibc takes these out of the stack. */
#define TLS_BYTES (300 << 10)
#define SMALL ((size_t)256 << 10)

static __thread char tls[TLS_BYTES];
static size_t stack_bytes;

static size_t own_stack(void)
{
	pthread_attr_t attr;
	size_t bytes;

	must(pthread_getattr_np(pthread_self(), &attr) == 0);
	must(pthread_attr_getstacksize(&attr, &bytes) == 0);
	must(pthread_attr_destroy(&attr) == 0);
	return bytes;
}

static void note_stack(struct lull_head *head)
{
	stack_bytes = own_stack();
	*(volatile char *)&tls[TLS_BYTES - 1] = 1;
	count_run(head);
}

static void *note_usual_stack(void *bytes)
{
	*(size_t *)bytes = own_stack();
	return NULL;
}

static size_t usual_stack(void)
{
	pthread_t thread;
	size_t bytes = 0;

	must(pthread_create(&thread, NULL, note_usual_stack, &bytes) == 0);
	must(pthread_join(thread, NULL) == 0);
	return bytes;
}

static size_t stack_of_callbacks(void)
{
	alarm(60);
	lull_rcu_call(new_head(), note_stack);
	AWAIT(lull_load_acquire(&ran));
	return stack_bytes;
}

static void set_usual_stack(size_t bytes)
{
	pthread_attr_t attr;

	must(pthread_attr_init(&attr) == 0);
	must(pthread_attr_setstacksize(&attr, bytes) == 0);
	must(pthread_setattr_default_np(&attr) == 0);
}

/* As large as that of the program's threads, but not too small for callbacks that are. */
TEST(stack)
{
	NEEDS_REAL_THREADS();
	if (SANITIZED)
		SKIP("sanitizers need stacks of their own size");
	EXPECT_FINE
		must(stack_of_callbacks() == usual_stack());
	EXPECT_FINE {
		set_usual_stack(3 << 20);
		must(stack_of_callbacks() == 3 << 20);
	}
	EXPECT_FINE {
		set_usual_stack(400 << 10);
		must(stack_of_callbacks() >= SMALL + TLS_BYTES);
	}
}

/* As the destructor of a list does whose elements own the next one. */
static int go_down(int levels)
{
	volatile char frame[512];

	frame[0] = (char)levels;
	return levels ? go_down(levels - 1) + frame[0] - (char)levels : 0;
}

static void go_deep(struct lull_head *head)
{
	must(go_down(2000) == 0);
	count_run(head);
}

TEST(deep_callback)
{
	NEEDS_REAL_THREADS();
	EXPECT_FINE {
		lull_rcu_call(new_head(), go_deep);
		lull_rcu_barrier();
		must(lull_load_acquire(&ran) == 1);
	}
}

/* All of it would be memory at once. */
TEST(locked_memory)
{
	NEEDS_REAL_THREADS();
	if (SANITIZED)
		SKIP("sanitizers need stacks of their own size");
	if (mlockall(MCL_FUTURE) != 0)
		SKIP("this process may not lock its memory");
	munlockall();
	EXPECT_FINE {
		must(mlockall(MCL_FUTURE) == 0);
		must(stack_of_callbacks() >= SMALL + TLS_BYTES);
		must(stack_bytes < 1 << 20);
	}
	/* What is locked already does not matter. */
	EXPECT_FINE {
		must(mlockall(MCL_CURRENT) == 0);
		must(stack_of_callbacks() == usual_stack());
	}
}

/* No room for that of other threads: then a small one, so that callbacks run all the same. */
TEST(little_room)
{
	NEEDS_REAL_THREADS();
	if (SANITIZED)
		SKIP("sanitizers need stacks of their own size");
	EXPECT_FINE {
		struct rlimit room = { (size_t)1 << 30, (size_t)1 << 30 };
		pthread_t none;

		set_usual_stack((size_t)2 << 30);
		must(setrlimit(RLIMIT_AS, &room) == 0);
		must(pthread_create(&none, NULL, nothing, NULL) == EAGAIN);
		must(stack_of_callbacks() >= SMALL + TLS_BYTES);
		must(stack_bytes < 1 << 20);
	}
}

/* ---- misuse ------------------------------------------------------------------------------------- */

static void (*in_hook)(void);

static void call_in_hook(const char *name)
{
	(void)name;
	in_hook();
}

static void start_with_hook(void)
{
	struct lull_reclaim_config config;

	alarm(60);
	lull_reclaim_default_config(&config);
	config.thread_start = call_in_hook;
	must(lull_reclaim_configure(&config) == 0);
	lull_rcu_call(new_head(), count_run);
	lull_rcu_barrier();
}

static void configures(void)
{
	set_mode(LULL_RECLAIM_POLL);
}

static void drains(void)
{
	lull_reclaim_drain(UINT64_MAX);
}

static void polls(void)
{
	lull_reclaim_poll(SIZE_MAX, 0);
}

static void starts(void)
{
	lull_reclaim_start();
}

/* It would wait for the thread that it is in. */
TEST(misuse_in_hook)
{
	static const struct {
		void (*func)(void);
		const char *words;
	} cases[] = {
		{ lull_rcu_barrier, "lull: lull_rcu_barrier in thread_start would wait for itself for ever\n" },
		{ drains, "lull: lull_reclaim_drain in thread_start would wait for itself for ever\n" },
		{ configures, "lull: lull_reclaim_configure in thread_start\n" },
		{ polls, "lull: lull_reclaim_poll in thread_start\n" },
		{ starts, "lull: lull_reclaim_start in thread_start\n" },
		{ lull_thread_unregister, "lull: lull_thread_unregister in thread_start (thread \"lull-reclaim\"" },
	};

	NEEDS_THREADS_IN_CHILD();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		in_hook = cases[i].func;
		expect_abort(start_with_hook, cases[i].words);
	}
}

static void uses(void)
{
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	lull_rcu_free(malloc(1));
	lull_rcu_synchronize();
	lull_rcu_call(new_head(), count_run);
}

/* What a callback may do. */
TEST(use_in_hook)
{
	NEEDS_THREADS_IN_CHILD();
	in_hook = uses;
	EXPECT_FINE {
		start_with_hook();
		lull_rcu_barrier();
		must(waiting() == 0);
	}
}

static void unregisters(struct lull_head *head)
{
	(void)head;
	lull_thread_unregister();
}

static void start_in_callback(struct lull_head *head)
{
	(void)head;
	lull_reclaim_start();
}

static void unregisters_as_caller(void)
{
	alarm(60);
	set_mode(LULL_RECLAIM_CALLER);
	for (;;)
		lull_rcu_call(new_head(), unregisters);
}

/* Whichever thread runs the callback: its bag is in use. */
TEST(misuse_in_callback)
{
	EXPECT_MISUSE("lull_thread_unregister in a callback") {
		alarm(60);
		set_mode(LULL_RECLAIM_POLL);
		lull_rcu_call(new_head(), unregisters);
		lull_rcu_barrier();
	}
	EXPECT_MISUSE("lull_thread_unregister in a callback") {
		alarm(60);
		for (;;)
			lull_rcu_call_pure(new_head(), unregisters);
	}
	EXPECT_ABORT("lull: lull_reclaim_start in a callback\n") {
		alarm(60);
		set_mode(LULL_RECLAIM_POLL);
		lull_rcu_call(new_head(), start_in_callback);
		lull_rcu_barrier();
	}
	NEEDS_THREADS_IN_CHILD();
	expect_misuse(unregisters_as_caller, "lull_thread_unregister in a callback");
	EXPECT_MISUSE("lull_thread_unregister in a callback") {
		alarm(60);
		lull_rcu_call(new_head(), unregisters);
		nap_ms(60000);
	}
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
