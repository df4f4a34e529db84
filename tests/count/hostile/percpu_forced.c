/* SPDX-License-Identifier: MIT */
/* runs: full-fences, no-rseq */
/*
 * percpu_forced.c - percpu_ref.h: a get or put happens whole or not at all, whatever is
 * done to its thread meanwhile: moved to another CPU, preempted, interrupted by handlers that count
 * as well, jumped out of, single-stepped, overtaken by a kill. Also as C++, and run without
 * restartable sequences.
 *
 * Each of these tests has been seen to fail when what it is for was broken: sequences without their
 * descriptor, an interrupted one that is taken for done, a kill without its barrier.
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "count/support.h"
#include "random.h"

/* How often each thing is done, and for how long at most: some machines have little time. */
#if SANITIZED || defined(LULL_TEST_EMULATED)
#define TIMES(n) ((n) / 10)
#else
#define TIMES(n) (n)
#endif
#define LONG_ENOUGH_NS UINT64_C(2000000000)

enum { MAX_WORKERS = 9, MAX_CPUS = 64 };

struct worker {
	pthread_t thread;
	pid_t tid;
	int started;
	uint64_t turns;	     /* of its own loop */
	int handled;	     /* signals */
	int holds, handling; /* a reference: it, its handler */
	uint64_t random;
} __attribute__((aligned(128)));

static struct worker workers[MAX_WORKERS];
static int crowd, stop, done;
static int cpus[MAX_CPUS], cpu_count;
static uint64_t began_ns; /* the test */
static struct object object;
static __thread struct worker *self; /* of signal handlers */

static void handle_with(void (*handler)(int))
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = SA_RESTART;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

SETUP
{
	cpu_set_t set;

	start_hearing();
	memset(workers, 0, sizeof(workers));
	stop = done = crowd = cpu_count = 0;
	began_ns = now_ns();
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE && cpu_count < MAX_CPUS; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[cpu_count++] = cpu;
}

TEARDOWN
{
	settle();
	if (heard_lines)
		print_error("heard: %s\n", heard);
	assert_int_equal(heard_lines, 0);
	stop_hearing();
}

static bool is_enough(void)
{
	return now_ns() - began_ns > LONG_ENOUGH_NS;
}

/* Threads that are there, with a record of their own, when this returns. */
static void start_crowd(void *(*func)(void *), int count)
{
	crowd = count < MAX_WORKERS ? count : MAX_WORKERS;
	for (int i = 0; i < crowd; i++) {
		workers[i].random = (uint64_t)i + 1;
		workers[i].thread = start_thread(func, &workers[i]);
	}
	for (int i = 0; i < crowd; i++)
		await_flag(&workers[i].started, 1);
}

static struct worker *worker_begin(void *arg)
{
	struct worker *worker = (struct worker *)arg;

	lull_thread_register();
	self = worker;
	worker->tid = (pid_t)syscall(SYS_gettid);
	lull_store_release(&worker->started, 1);
	return worker;
}

static void stop_crowd(void)
{
	lull_store_release(&stop, 1);
	for (int i = 0; i < crowd; i++)
		join_thread(workers[i].thread);
}

enum { MOVE = 1, SIGNAL = 2 };

/* Move one thread to another CPU, send one a signal. */
static void disturb(int how)
{
	static uint64_t random = 4711;
	struct worker *worker = &workers[dice(&random, (unsigned)crowd)];
	cpu_set_t set;

	if (how & MOVE) {
		CPU_ZERO(&set);
		CPU_SET(cpus[dice(&random, (unsigned)cpu_count)], &set);
		sched_setaffinity(worker->tid, sizeof(set), &set);
	}
	worker = &workers[dice(&random, (unsigned)crowd)];
	if (how & SIGNAL)
		pthread_kill(worker->thread, SIGUSR1);
}

/* ---- moved, preempted, interrupted ------------------------------------------------------------------ */

static int may_put;

/* Gets, and later the same number of puts. The other side cannot make up for a loss. */
static void *counts_run(void *arg)
{
	struct worker *worker = worker_begin(arg);
	uint64_t gets = 0;

	while (!lull_load_relaxed(&stop)) {
		lull_percpu_ref_get(&object.ref);
		gets++;
	}
	worker->turns = gets;
	lull_add_release(&done, 1);
	await_count(&may_put, 1);
	while (gets-- > 0)
		lull_percpu_ref_put(&object.ref);
	lull_add_release(&done, 1);
	await_count(&may_put, 0); /* it may be sent signals until then */
	return NULL;
}

static void handler_counts(int signo)
{
	(void)signo;
	lull_percpu_ref_get_many(&object.ref, 3);
	lull_percpu_ref_put_many(&object.ref, 2);
	lull_store_relaxed(&self->handled, self->handled + 1);
}

static void check_references(long more)
{
	long expected = 1 + more;

	for (int i = 0; i < crowd; i++)
		expected += lull_load_relaxed(&workers[i].handled);
	assert_int_equal(references(&object), expected);
	lull_percpu_ref_switch_to_percpu(&object.ref);
}

static void count_while_disturbed(int how)
{
	long gets = 0;

	handle_with(handler_counts);
	object_init(&object, LULL_PERCPU_REF_ALLOW_REINIT);
	start_crowd(counts_run, 2 * cpu_count + 1);
	for (int i = 0; i < TIMES(3000) && !is_enough(); i++)
		disturb(how);
	lull_store_relaxed(&stop, 1);
	await_count(&done, crowd);
	for (int i = 0; i < crowd; i++)
		gets += (long)workers[i].turns;
	check_references(gets);
	lull_store_release(&may_put, 1);
	while (lull_load_acquire(&done) != 2 * crowd)
		disturb(how);
	lull_store_release(&may_put, 0);
	stop_crowd();
	check_references(0);

	lull_percpu_ref_kill(&object.ref);
	settle();
	for (int i = 0; i < crowd; i++)
		if (workers[i].handled)
			lull_percpu_ref_put_many(&object.ref, (unsigned)workers[i].handled);
	expect_released(&object, 1);
	lull_percpu_ref_exit(&object.ref);
}

TEST(moved)
{
	count_while_disturbed(MOVE);
}

TEST(interrupted)
{
	count_while_disturbed(SIGNAL);
}

TEST(moved_and_interrupted)
{
	count_while_disturbed(MOVE | SIGNAL);
}

/* ---- jumped out of ---------------------------------------------------------------------------------------- */

/*
 * Step by step: three references more, three fewer. A step's number is noted before and after it, so
 * who was jumped out of one knows which, and finds all of it, or nothing.
 */
struct jumper {
	struct object object;
	sigjmp_buf out;
	volatile sig_atomic_t armed;
	volatile long begun, over; /* steps */
};

static struct jumper jumpers[2];
static __thread struct jumper *jumper;

static void handler_jumps(int signo)
{
	(void)signo;
	if (jumper->armed) {
		jumper->armed = 0;
		siglongjmp(jumper->out, 1);
	}
}

static long held_after(long steps)
{
	return 1 + 3 * (steps % 2);
}

static void step_on(struct jumper *j)
{
	struct lull_percpu_ref *ref = &j->object.ref;

	j->begun = j->over + 1;
	if (j->begun % 2 == 0)
		lull_percpu_ref_put_many(ref, 3);
	else if (j->begun % 4 == 1)
		lull_percpu_ref_get_many(ref, 3);
	else
		assert_true(lull_percpu_ref_tryget_many(ref, 3));
	j->over = j->begun;
}

/*
 * Where counters are shared out among threads a step is a read section, which goes on after a jump, as
 * any other would.
 */
static void leave_section(void)
{
	while (lull_rcu_read_lock_held())
		lull_rcu_read_unlock();
	lull_rcu_read_lock();
	lull_rcu_read_unlock(); /* and wakes who was not woken because of the jump */
}

static void check_after_jump(struct jumper *j)
{
	long found;

	leave_section();
	found = references(&j->object);
	if (found == held_after(j->begun))
		j->over = j->begun;
	else
		assert_int_equal(found, held_after(j->over));
	lull_percpu_ref_switch_to_percpu(&j->object.ref);
}

/* A signal for the calling thread each @period_us, wherever it is just then. */
static timer_t start_alarm(pid_t tid, long period_us)
{
	struct itimerspec period;
	struct sigevent event;
	timer_t timer;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = SIGUSR1;
	event._sigev_un._tid = tid;
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	memset(&period, 0, sizeof(period));
	period.it_value.tv_nsec = period.it_interval.tv_nsec = period_us * 1000;
	assert_int_equal(timer_settime(timer, 0, &period, NULL), 0);
	return timer;
}

static void *jumps_run(void *arg)
{
	struct worker *worker = worker_begin(arg);
	volatile int jumps = 0;
	timer_t timer;

	jumper = &jumpers[worker - workers];
	timer = start_alarm(worker->tid, 61);
	while (jumps < TIMES(10000) && !is_enough()) {
		if (sigsetjmp(jumper->out, 1) == 0) {
			jumper->armed = 1;
			for (;;)
				step_on(jumper);
		}
		jumps++;
		check_after_jump(jumper);
	}
	timer_delete(timer);
	lull_add_release(&done, 1);
	await_count(&stop, 1);
	return NULL;
}

TEST(jumped_out_of)
{
	if (UNDER_TSAN)
		SKIP("ThreadSanitizer keeps signals until the thread calls something");
	handle_with(handler_jumps);
	for (int i = 0; i < 2; i++) {
		memset(&jumpers[i], 0, sizeof(jumpers[i]));
		object_init(&jumpers[i].object, LULL_PERCPU_REF_ALLOW_REINIT);
	}
	start_crowd(jumps_run, 2);
	while (lull_load_acquire(&done) != 2) {
		disturb(MOVE);
		nap_ms(1);
	}
	stop_crowd();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(references(&jumpers[i].object), held_after(jumpers[i].over));
		lull_percpu_ref_exit(&jumpers[i].object.ref);
	}
}

/* ---- overtaken by a kill ------------------------------------------------------------------------------------- */

static int early; /* releases while a reference was still held */

static void release_amid(struct lull_percpu_ref *ref)
{
	struct object *o = object_of(ref);

	for (int i = 0; i < crowd; i++)
		if (lull_load_relaxed(&workers[i].holds) || lull_load_relaxed(&workers[i].handling))
			lull_add_relaxed(&early, 1);
	lull_store_relaxed(&o->alive, 0);
	lull_add_release(&o->released, 1);
}

/* The caller has a reference of its own, which *@mark says. */
static void check_held(int *mark)
{
	/* A get orders nothing; the life that it is from began with a fence as well. */
	lull_fence_full();
	lull_store_relaxed(mark, 1);
	if (!lull_load_relaxed(&object.alive))
		lull_add_relaxed(&early, 1);
	lull_percpu_ref_get_many(&object.ref, 2);
	lull_percpu_ref_put_many(&object.ref, 2);
	if (!lull_load_relaxed(&object.alive))
		lull_add_relaxed(&early, 1);
	lull_store_relaxed(mark, 0);
}

static void handler_holds(int signo)
{
	(void)signo;
	if (!lull_percpu_ref_tryget(&object.ref))
		return;
	check_held(&self->handling);
	lull_percpu_ref_put(&object.ref);
}

static void *holds_run(void *arg)
{
	struct worker *worker = worker_begin(arg);

	while (!lull_load_relaxed(&stop)) {
		if (!lull_percpu_ref_tryget_live(&object.ref)) {
			sched_yield();
			continue;
		}
		check_held(&worker->holds);
		lull_percpu_ref_put(&object.ref);
		lull_store_relaxed(&worker->turns, worker->turns + 1);
	}
	return NULL;
}

static uint64_t turns(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < crowd; i++)
		sum += lull_load_relaxed(&workers[i].turns);
	return sum;
}

/* Wait until a thread has come round again: it is not all over before one has a CPU. */
static void await_turn(void)
{
	uint64_t before = turns();

	AWAIT_SOON(turns() != before);
}

static void kill_amid(int how, int workers_wanted, int rounds)
{
	int round;

	handle_with(handler_holds);
	memset(&object, 0, sizeof(object));
	early = 0;
	object.alive = 1;
	assert_int_equal(lull_percpu_ref_init(&object.ref, release_amid, LULL_PERCPU_REF_ALLOW_REINIT), 0);
	start_crowd(holds_run, workers_wanted);
	for (round = 1; round <= rounds && !is_enough(); round++) {
		await_turn();
		disturb(how);
		lull_percpu_ref_kill_and_confirm(&object.ref, note_confirm);
		disturb(how);
		expect_count(&object.released, round);
		assert_int_equal(lull_load_relaxed(&object.confirmed), round);
		assert_true(lull_percpu_ref_is_zero(&object.ref));
		lull_store_relaxed(&object.alive, 1);
		lull_fence_full();
		lull_percpu_ref_reinit(&object.ref);
	}
	stop_crowd();
	lull_percpu_ref_kill(&object.ref);
	expect_count(&object.released, round);
	settle();
	assert_int_equal(object.released, round);
	assert_int_equal(early, 0);
	lull_percpu_ref_exit(&object.ref);
}

/* Grace periods take longer than a barrier. */
static int rounds_of(int n)
{
	return lull_percpu_ref_per_cpu() ? TIMES(n) : TIMES(n / 10);
}

TEST(killed_amid)
{
	kill_amid(0, cpu_count > 1 ? cpu_count - 1 : 1, rounds_of(20000));
}

TEST(killed_amid_all)
{
	kill_amid(MOVE | SIGNAL, 2 * cpu_count, rounds_of(4000));
}

/* ---- the way to count changes meanwhile ------------------------------------------------------------------------ */

static void *counts_on_run(void *arg)
{
	struct worker *worker = worker_begin(arg);
	unsigned n;

	while (!lull_load_relaxed(&stop)) {
		n = 1 + dice(&worker->random, 3);
		lull_percpu_ref_get_many(&object.ref, n);
		assert_true(lull_percpu_ref_tryget(&object.ref));
		lull_percpu_ref_put_many(&object.ref, n + 1);
	}
	return NULL;
}

TEST(switched_amid)
{
	int rounds = rounds_of(3000);
	long handled = 0;

	handle_with(handler_counts);
	object_init(&object, LULL_PERCPU_REF_ALLOW_REINIT);
	start_crowd(counts_on_run, cpu_count + 1);
	for (int i = 1; i <= rounds && !is_enough(); i++) {
		disturb(MOVE | SIGNAL);
		if (i % 2)
			lull_percpu_ref_switch_to_atomic_sync(&object.ref);
		else
			lull_percpu_ref_kill(&object.ref); /* never zero: there are three more */
		disturb(MOVE | SIGNAL);
		if (i % 2)
			lull_percpu_ref_switch_to_percpu(&object.ref);
		else
			lull_percpu_ref_resurrect(&object.ref);
		if (i == 1)
			lull_percpu_ref_get_many(&object.ref, 3);
	}
	stop_crowd();
	for (int i = 0; i < crowd; i++)
		handled += workers[i].handled;
	assert_int_equal(references(&object), 4 + handled);
	assert_int_equal(object.released, 0);
	lull_percpu_ref_exit(&object.ref);
}

/* ---- single steps -------------------------------------------------------------------------------------------------- */

#ifndef LULL_TEST_EMULATED

enum { STEPPED = 50, STEPS_MOST = 400000 };

static volatile int handled_in_child;

static void handler_in_child(int signo)
{
	(void)signo;
	lull_percpu_ref_get_many(&object.ref, 3);
	lull_percpu_ref_put_many(&object.ref, 2);
	handled_in_child++;
}

/* Between its two stops it is taken on instruction by instruction. */
static void child_is_stepped(void)
{
	set_mode(LULL_RECLAIM_POLL); /* no thread, of which the tracer would have to know */
	handle_with(handler_in_child);
	object_init(&object, 0);
	must(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0);
	raise(SIGSTOP);
	for (int i = 0; i < STEPPED; i++) {
		lull_percpu_ref_get_many(&object.ref, 3);
		must(lull_percpu_ref_tryget(&object.ref));
		must(lull_percpu_ref_tryget_live(&object.ref));
		lull_percpu_ref_put_many(&object.ref, 4);
	}
	raise(SIGSTOP);
	lull_percpu_ref_get_many(&object.ref, 100);
	lull_percpu_ref_kill(&object.ref);
	lull_rcu_barrier();
	must(lull_load_relaxed(&object.ref.count) == 100 + STEPPED + handled_in_child);
	must(handled_in_child > 0 && object.released == 0);
	lull_percpu_ref_put_many(&object.ref, (unsigned)(100 + STEPPED + handled_in_child));
	must(object.released == 1);
}

/* Returns the child's status when it stops for something else than a step, or after too many steps. */
static int step_through(pid_t child)
{
	int status = 0, signo = 0;

	for (int steps = 0, next_signal = 100; steps < STEPS_MOST; steps++) {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, 0, signo), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		if (!WIFSTOPPED(status) || WSTOPSIG(status) == SIGSTOP)
			return status;
		signo = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		/* A handler takes many steps, too: so more and more rarely. */
		if (!signo && steps == next_signal) {
			signo = SIGUSR1;
			next_signal += 101 + next_signal / 8;
		}
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return status;
}

/* No sequence gets through, and all comes to an end. */
TEST(single_steps)
{
	int status = 0;
	pid_t child;

	if (UNDER_TSAN || under_valgrind())
		SKIP("ThreadSanitizer keeps signals, and valgrind steps no process");
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		lull_debug_set_message_hook(NULL);
		child_is_stepped();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	status = step_through(child);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	assert_int_equal(ptrace(PTRACE_DETACH, child, 0, 0), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#else

TEST(single_steps)
{
	SKIP("the emulator steps no process");
}

#endif
