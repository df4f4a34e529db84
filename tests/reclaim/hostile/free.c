/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * free.c - a program with a free() of its own, in which it defers and forks; and forks in signal handlers,
 * at each instruction of a deferral.
 */
#include <dlfcn.h>
#include <signal.h>
#include <ucontext.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "child.h"
#include "threads.h"

/* A sanitizer has a malloc() of its own, and so has valgrind. */
#if SANITIZED
#define NEEDS_OWN_FREE() SKIP(OWN_MEMORY)
#else
#define NEEDS_OWN_FREE()                                                                           \
	do {                                                                                       \
		if (under_valgrind())                                                              \
			SKIP(OWN_MEMORY);                                                          \
	} while (0)
#endif

#define OBJECTS 8192
static struct object {
	char bytes[64];
} pool[OBJECTS];
static int freed[OBJECTS];
static int deferred; /* how many have been */
static void (*in_free)(size_t object);

static __thread int allocations; /* of this thread */
static __thread int pages_refused, refuses_pages;

#define PAGE_BYTES 4112 /* of a queue, and of nothing else here */

#if !SANITIZED
#ifdef __GLIBC__
extern void *__libc_malloc(size_t bytes);

void *malloc(size_t bytes)
{
	allocations++;
	if (refuses_pages && bytes == PAGE_BYTES) {
		pages_refused++;
		return NULL;
	}
	return __libc_malloc(bytes);
}
#endif

/* No thread frees while the real one is looked up. */
void free(void *ptr)
{
	static void (*real)(void *);
	size_t object = ((uintptr_t)ptr - (uintptr_t)pool) / sizeof(pool[0]);

	if (object < OBJECTS) {
		lull_add_relaxed(&freed[object], 1);
		if (in_free)
			in_free(object);
		return;
	}
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "free");
	real(ptr);
}
#endif

static void defer(size_t object)
{
	lull_store_relaxed(&deferred, (int)object + 1);
	lull_rcu_free_sized(&pool[object], sizeof(pool[0]));
}

static bool each_once(int count)
{
	for (int i = 0; i < OBJECTS; i++)
		if (lull_load_relaxed(&freed[i]) != (i < count)) {
			fprintf(stderr, "object %d of %d was freed %d times\n", i, count, freed[i]);
			return false;
		}
	return true;
}

/* No queue is taken for abandoned, however long its owner gets no processor. */
static void setup(void)
{
	struct lull_reclaim_config config;

	lull_rcu_barrier();
	lull_reclaim_default_config(&config);
	config.linger_ms = 1000000;
	assert_int_equal(lull_reclaim_configure(&config), 0);
	in_free = NULL;
	memset(freed, 0, sizeof(freed));
	deferred = 0;
}

/* ---- who allocates, and who frees ---------------------------------------------------------------------- */

#define PAGE_ITEMS 256 /* entries of a queue in one allocation */

static struct lull_head heads[OBJECTS];

static void nothing(struct lull_head *head)
{
	(void)head;
}

USE_SETUP(setup)

/* One page for so many entries, and for the objects that wait nothing else. */
TEST(allocations)
{
	int before;

	NEEDS_OWN_FREE();
#if !defined(__GLIBC__) || defined(LULL_DEBUG)
	SKIP("checks note each object that waits");
#endif
	lull_rcu_read_lock(); /* all wait */
	lull_rcu_call(&heads[0], nothing);
	defer(0);
	before = allocations;
	for (size_t i = 1; i < OBJECTS; i++)
		lull_rcu_call(&heads[i], nothing);
	for (size_t i = 1; i < OBJECTS; i++)
		defer(i);
	before = allocations - before;
	lull_rcu_read_unlock();
	lull_rcu_barrier();
	assert_in_range(before, 2 * (OBJECTS / PAGE_ITEMS - 1), 2 * OBJECTS / PAGE_ITEMS);
	assert_true(each_once(OBJECTS));
}

static pthread_t deferrer;
static int freed_here, freed_elsewhere;

static void note_who(size_t object)
{
	(void)object;
	lull_add_relaxed(pthread_equal(pthread_self(), deferrer) ? &freed_here : &freed_elsewhere, 1);
}

/* The thread that defers frees, too, most of it in its later calls. */
TEST(who_frees)
{
	NEEDS_OWN_FREE();
	deferrer = pthread_self();
	freed_here = freed_elsewhere = 0;
	in_free = note_who;
	for (size_t i = 0; i < OBJECTS; i++)
		defer(i);
	assert_true(freed_here > OBJECTS / 2);
	assert_int_equal(lull_load_relaxed(&freed_elsewhere), 0);
	lull_rcu_barrier();
	assert_true(each_once(OBJECTS));
}

/* Without memory for a page of its queue a thread waits for readers, and frees at once. In a section it cannot. */
TEST(without_memory)
{
	enum { MOST = 1000 };

	NEEDS_OWN_FREE();
#ifndef __GLIBC__
	SKIP("only glibc has another name for malloc()");
#endif
	pages_refused = 0;
	refuses_pages = 1;
	for (size_t i = 0; i < MOST; i++) {
		int before = pages_refused;

		defer(i);
		assert_true(lull_load_relaxed(&freed[i]) >= pages_refused - before);
	}
	start_hearing();
	lull_rcu_read_lock();
	defer(MOST);
	lull_rcu_read_unlock();
	refuses_pages = 0;
	stop_hearing();
	lull_rcu_barrier();
	assert_in_range(pages_refused, 2, MOST + 1);
	assert_int_equal(heard_lines, 1);
	assert_non_null(strstr(heard, "leaked"));
	assert_true(each_once(MOST));
}

static int turn_at, turns, turns_in_a_row;

/* Note how many deferrals free anything, and how many come behind another that did. */
static void note_turn(size_t object)
{
	(void)object;
	if (deferred == turn_at)
		return;
	turns++;
	turns_in_a_row += deferred == turn_at + 1;
	turn_at = deferred;
}

/* Six deferrals share a turn of reclaiming: a deferral that has freed some is mostly followed by one that frees nothing. */
TEST(turns)
{
	int fewest = OBJECTS;

	NEEDS_OWN_FREE();
	for (int tries = 0; tries < 5 && fewest > OBJECTS / 256; tries++) {
		setup();
		deferrer = pthread_self();
		turn_at = turns = turns_in_a_row = 0;
		in_free = note_turn;
		for (size_t i = 0; i < OBJECTS; i++)
			defer(i);
		in_free = NULL;
		assert_true(turns > OBJECTS / 12);
		if (turns_in_a_row > OBJECTS / 256)
			print_message("%d turns, %d of them in a row\n", turns, turns_in_a_row);
		fewest = turns_in_a_row < fewest ? turns_in_a_row : fewest;
		lull_rcu_barrier();
		assert_true(each_once(OBJECTS));
	}
	assert_true(fewest <= OBJECTS / 256);
}

/* ---- free() defers --------------------------------------------------------------------------------------------- */

static void defers_another(size_t object)
{
	if (object < OBJECTS / 2)
		lull_rcu_free_sized(&pool[object + OBJECTS / 2], sizeof(pool[0]));
}

TEST(defers)
{
	NEEDS_OWN_FREE();
	in_free = defers_another;
	for (size_t i = 0; i < OBJECTS / 2; i++)
		defer(i);
	lull_rcu_barrier();
	assert_true(each_once(OBJECTS));
}

/* ---- another thread forks meanwhile ---------------------------------------------------------------------------- */

#define FORKS_FROM 100 /* in a turn of some frees, and in one of many; the thread stops in each of these */
#define FORKS_TO   180

static int stopped; /* in so many calls of free(), ... */
static int go_on;   /* ... and has left so many */

static void stops(size_t object)
{
	if (object < FORKS_FROM || object >= FORKS_TO)
		return;
	lull_store_release(&stopped, (int)object + 1);
	await_flag(&go_on, (int)object + 1);
}

static void *defers_all(void *unused)
{
	for (size_t i = 0; i < OBJECTS; i++)
		defer(i);
	return unused;
}

/* Memory the other thread was freeing counts as freed, and all that it had not begun on is freed once in the child. */
TEST(forks)
{
	pthread_t thread;

	NEEDS_OWN_FREE();
	NEEDS_THREADS_IN_CHILD();
	in_free = stops;
	thread = start_thread(defers_all, NULL);
	for (int i = FORKS_FROM; i < FORKS_TO; i++) {
		await_flag(&stopped, i + 1);
		EXPECT_FINE {
			alarm(60);
			in_free = NULL;
			lull_rcu_barrier();
			must(each_once(deferred));
		}
		lull_store_release(&go_on, i + 1);
	}
	join_thread(thread);
	lull_rcu_barrier();
	assert_true(each_once(OBJECTS));
}

/* ---- a signal handler forks ------------------------------------------------------------------------------------ */

/* A debug build also has locks, of its checks. */
#if defined(__x86_64__) && !defined(LULL_DEBUG)
#define STEP_FROM 256 /* that many deferrals come before: there is something to free, and the last one looks at the limits */
#define STEP_TO	  320
#define TRAP_FLAG 0x100
#define STEPS	  7 /* it forks at one in so many: a prime, so that the next deferrals do it elsewhere */
#define CAN_STEP  1

static bool in_child;
static int steps, forks, bad_children;

/* Fork between two instructions, one time in STEPS. The child goes on where the parent was, without further traps. */
static void fork_here(int sig, siginfo_t *info, void *arg)
{
	ucontext_t *at = (ucontext_t *)arg;
	int status;
	pid_t child;

	(void)sig;
	(void)info;
	if (in_child || steps++ % STEPS)
		return;
	child = fork();
	forks++;
	if (child == 0) {
		alarm(60);
		signal(SIGSEGV, SIG_DFL); /* not cmocka's */
		in_child = true;
		at->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	} else if (child < 0 || waitpid(child, &status, 0) != child || status) {
		bad_children++;
	}
}

static void set_trap_flag(bool on)
{
	__writeeflags(on ? __readeflags() | TRAP_FLAG : __readeflags() & ~(unsigned long long)TRAP_FLAG);
}

static void step_through(size_t object)
{
	set_trap_flag(true);
	defer(object);
	set_trap_flag(false);
	if (in_child) {
		struct lull_reclaim_counts counts;

		lull_rcu_barrier();
		lull_reclaim_stats(&counts);
		must(each_once(deferred));
		must(counts.items == 0 && counts.bytes == 0);
		_exit(0);
	}
}
#else
#define CAN_STEP 0
#endif

/* A child that is forked at any instruction of a deferral goes on with it, and frees each object once. */
TEST(forks_in_handler)
{
#if CAN_STEP
	struct sigaction action = { .sa_flags = SA_SIGINFO }, before;

	NEEDS_OWN_FREE();
	NEEDS_THREADS_IN_CHILD();
	action.sa_sigaction = fork_here;
	assert_int_equal(sigaction(SIGTRAP, &action, &before), 0);
	steps = forks = bad_children = 0;
	for (size_t i = 0; i < STEP_FROM; i++)
		defer(i);
	for (size_t i = STEP_FROM; i < STEP_TO; i++)
		step_through(i);
	sigaction(SIGTRAP, &before, NULL);
	print_message("%d forks, %d steps\n", forks, steps);
	assert_true(forks > 100);
	assert_int_equal(bad_children, 0);
	lull_rcu_barrier();
	assert_true(each_once(STEP_TO));
#else
	SKIP("single steps are for x86, and not for debug builds or sanitizers");
#endif
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
