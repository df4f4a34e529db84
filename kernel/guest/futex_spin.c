// SPDX-License-Identifier: MIT
/*
 * Tests FUTEX2_SPIN in the guest: what it refuses, what ends a spin, and that it never spins for an owner that does not
 * run. The kernel counts in /sys/kernel/debug/futex_spin what spins were and how they ended.
 *
 * A line "@@ ok NAME ..." for each test that passed, "@@ fail NAME: WHY" for each other. "futex_spin bench": the
 * letter's measurement instead.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SYS_FUTEX_WAITV 449
#define SYS_FUTEX_WAKE 454
#define SYS_FUTEX_WAIT 455
#define SYS_FUTEX_REQUEUE 456

#define SIZE_U32 0x02
#define SPIN 0x10
#define PRIVATE 0x80

#define MS 1000000ll
#define PATIENCE_MS 20000

struct waitv {
	uint64_t val, uaddr;
	uint32_t flags, reserved;
};

static int failed;

/* In memory that processes share. */
static struct shared {
	_Atomic uint32_t word;
	_Atomic int step;
	struct robust_list_head head;
	struct {
		struct robust_list list;
		_Atomic uint32_t word;
	} robust;
} *shared;

static void fail(const char *name, const char *format, ...)
{
	va_list args;

	failed++;
	printf("@@ fail %s: ", name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

static void ok(const char *name, const char *format, ...)
{
	va_list args;

	printf("@@ ok %s ", name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static uint32_t tid(void)
{
	return syscall(SYS_gettid);
}

/* 0, or an error's number. */
static int futex_wait(_Atomic uint32_t *word, uint32_t val, unsigned int flags, long long ns)
{
	struct timespec end;
	long long at = now_ns() + ns;

	end.tv_sec = at / 1000000000;
	end.tv_nsec = at % 1000000000;
	return syscall(SYS_FUTEX_WAIT, word, (unsigned long)val, 0xfffffffful, flags | SIZE_U32, &end,
		       CLOCK_MONOTONIC) < 0 ? errno : 0;
}

static void futex_wake(_Atomic uint32_t *word, int n, unsigned int flags)
{
	syscall(SYS_FUTEX_WAKE, word, 0xfffffffful, n, flags | SIZE_U32);
}

/* Wait until another thread or process is at @step; it says so, or the test is over. */
static void await(const char *name, _Atomic int *at, int step)
{
	long long end = now_ns() + PATIENCE_MS * MS;

	while (atomic_load(at) < step) {
		if (now_ns() > end) {
			fail(name, "step %d did not come in %d s", step, PATIENCE_MS / 1000);
			exit(1);
		}
		sched_yield();
	}
}

/* ---- what the kernel counts ---------------------------------------------------------------------------------- */

static const char *const COUNTS[] = { "waits", "unowned", "refused", "idle_owner", "spins", "turns", "woken", "changed",
				      "stopped", "resched", "signal", "timeout", "limit", "fault" };
enum { WAITS, UNOWNED, REFUSED, IDLE_OWNER, SPINS, TURNS, WOKEN, CHANGED, STOPPED, RESCHED, SIGNAL, TIMEOUT, LIMIT, FAULT,
       N_COUNTS };

struct counts {
	unsigned long long n[N_COUNTS];
};

static struct counts read_counts(void)
{
	FILE *file = fopen("/sys/kernel/debug/futex_spin", "r");
	struct counts counts = { { 0 } };
	unsigned long long n;
	char name[32];

	if (!file) {
		fail("counts", "no /sys/kernel/debug/futex_spin");
		exit(1);
	}
	while (fscanf(file, "%31s %llu", name, &n) == 2)
		for (int i = 0; i < N_COUNTS; i++)
			if (!strcmp(name, COUNTS[i]))
				counts.n[i] = n;
	fclose(file);
	return counts;
}

static struct counts since(struct counts before)
{
	struct counts counts = read_counts();

	for (int i = 0; i < N_COUNTS; i++)
		counts.n[i] -= before.n[i];
	return counts;
}

static const char *text(struct counts counts)
{
	static char line[512];
	int at = 0;

	line[0] = '\0';
	for (int i = 0; i < N_COUNTS; i++)
		if (counts.n[i])
			at += snprintf(line + at, sizeof(line) - at, "%s=%llu ", COUNTS[i], counts.n[i]);
	return line;
}

/* ---- owners --------------------------------------------------------------------------------------------------- */

enum how { SLEEPS, RUNS, UNLOCKS, PAUSES };

struct owner {
	pthread_t thread;
	enum how how;
	_Atomic uint32_t *word;
	_Atomic uint32_t tid;
	_Atomic int step; /* 1: it owns; 2: it shall end */
	int us;
};

static void busy_us(int us)
{
	long long end = now_ns() + us * 1000ll;

	while (now_ns() < end)
		;
}

static void *own(void *arg)
{
	struct owner *owner = arg;

	owner->tid = tid();
	atomic_store(owner->word, owner->tid);
	atomic_store(&owner->step, 1);
	if (owner->how == UNLOCKS || owner->how == PAUSES) {
		/* Not before somebody waits. */
		while (!(atomic_load(owner->word) & FUTEX_WAITERS))
			;
		busy_us(owner->us);
		if (owner->how == PAUSES)
			usleep(2000);
		atomic_store(owner->word, 0);
		futex_wake(owner->word, 1, PRIVATE);
	}
	while (atomic_load(&owner->step) < 2)
		if (owner->how != RUNS)
			usleep(100);
	return NULL;
}

static void start(const char *name, struct owner *owner, enum how how, _Atomic uint32_t *word, int us)
{
	memset(owner, 0, sizeof(*owner));
	owner->how = how;
	owner->word = word;
	owner->us = us;
	if (pthread_create(&owner->thread, NULL, own, owner)) {
		fail(name, "no thread");
		exit(1);
	}
	await(name, &owner->step, 1);
}

static void stop(struct owner *owner)
{
	atomic_store(&owner->step, 2);
	pthread_join(owner->thread, NULL);
}

/* ---- tests ---------------------------------------------------------------------------------------------------- */

static void expect(const char *name, const char *what, int got, int wanted)
{
	if (got != wanted)
		fail(name, "%s: %s, and not %s", what, got ? strerror(got) : "0", wanted ? strerror(wanted) : "0");
}

static void test_refused(void)
{
	const char *name = "refused";
	_Atomic uint32_t word, other = 0;
	struct waitv v[2] = { { 0 } };
	struct counts before = read_counts();
	int was = failed;

	word = tid();
	expect(name, "the caller's own TID", futex_wait(&word, word, SPIN | PRIVATE, 10 * MS), EDEADLK);
	word = 0x3ffffff0;
	expect(name, "a TID that nobody has", futex_wait(&word, word, SPIN | PRIVATE, 10 * MS), ESRCH);
	expect(name, "a value that the word does not have", futex_wait(&word, 5, SPIN | PRIVATE, 10 * MS), EAGAIN);
	word = 2;
	expect(name, "a thread of the kernel", futex_wait(&word, word, SPIN, 10 * MS), EPERM);
	word = 1;
	expect(name, "another process, private futex", futex_wait(&word, word, SPIN | PRIVATE, 10 * MS), EPERM);
	expect(name, "another process, shared futex", futex_wait(&word, word, SPIN, 10 * MS), ETIMEDOUT);
	v[0].uaddr = (uintptr_t)&word;
	v[0].val = word;
	v[0].flags = SIZE_U32 | PRIVATE | SPIN;
	expect(name, "futex_waitv()", syscall(SYS_FUTEX_WAITV, v, 1, 0, NULL, 0) < 0 ? errno : 0, EINVAL);
	expect(name, "futex_wake()", syscall(SYS_FUTEX_WAKE, &word, 1ul, 1, SIZE_U32 | PRIVATE | SPIN) < 0 ? errno : 0, EINVAL);
	v[1].uaddr = (uintptr_t)&other;
	v[1].flags = SIZE_U32 | PRIVATE;
	expect(name, "futex_requeue()", syscall(SYS_FUTEX_REQUEUE, v, 0, 1, 1) < 0 ? errno : 0, EINVAL);
	if (failed == was)
		ok(name, "%s", text(since(before)));
}

/* No turn of the loop is made: the owner reads from a pipe that nobody writes to. */
static void test_idle_owner(void)
{
	const char *name = "owner-sleeps";
	_Atomic uint32_t word;
	struct counts before, counts;
	int ends[2];
	pid_t child;
	char c;

	if (pipe(ends) || (child = fork()) < 0) {
		fail(name, "no child");
		return;
	}
	if (!child)
		_exit(read(ends[0], &c, 1) < 0);
	usleep(100000);
	word = child;
	before = read_counts();
	for (int i = 0; i < 100; i++)
		expect(name, "wait", futex_wait(&word, word, SPIN, 1 * MS), ETIMEDOUT);
	counts = since(before);
	if (counts.n[TURNS] || counts.n[SPINS] || counts.n[IDLE_OWNER] != 100)
		fail(name, "%s", text(counts));
	else
		ok(name, "turns=0 %s", text(counts));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ends[0]);
	close(ends[1]);
}

/* An owner that runs until the waiter gives up: the bound ends the spin, then the waiter sleeps. */
static void test_limit(void)
{
	const char *name = "limit";
	_Atomic uint32_t word;
	struct counts before, counts;
	struct owner owner;

	start(name, &owner, RUNS, &word, 0);
	before = read_counts();
	for (int i = 0; i < 20; i++)
		expect(name, "wait", futex_wait(&word, word, SPIN | PRIVATE, 20 * MS), ETIMEDOUT);
	counts = since(before);
	stop(&owner);
	if (!counts.n[LIMIT] || counts.n[WOKEN] || counts.n[CHANGED])
		fail(name, "%s", text(counts));
	else
		ok(name, "%s", text(counts));
}

static void test_timeout(void)
{
	const char *name = "time-out";
	_Atomic uint32_t word;
	struct counts before, counts;
	struct owner owner;

	start(name, &owner, RUNS, &word, 0);
	before = read_counts();
	for (int i = 0; i < 100; i++)
		expect(name, "wait", futex_wait(&word, word, SPIN | PRIVATE, MS / 10), ETIMEDOUT);
	counts = since(before);
	stop(&owner);
	if (!counts.n[TIMEOUT])
		fail(name, "%s", text(counts));
	else
		ok(name, "%s", text(counts));
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void test_signal(void)
{
	const char *name = "signal";
	const struct itimerval soon = { .it_value.tv_usec = 150 }, never = { .it_value.tv_usec = 0 };
	_Atomic uint32_t word;
	struct counts before, counts;
	struct sigaction action = { .sa_handler = on_alarm };
	struct owner owner;
	sigset_t alarms;

	sigaction(SIGALRM, &action, NULL);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL); /* the owner inherits that */
	start(name, &owner, RUNS, &word, 0);
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	before = read_counts();
	for (int i = 0; i < 100; i++) {
		int got;

		setitimer(ITIMER_REAL, &soon, NULL);
		got = futex_wait(&word, word, SPIN | PRIVATE, 20 * MS);
		if (got != EINTR && got != ETIMEDOUT)
			expect(name, "wait", got, EINTR);
		setitimer(ITIMER_REAL, &never, NULL);
	}
	counts = since(before);
	stop(&owner);
	if (!counts.n[SIGNAL])
		fail(name, "%s", text(counts));
	else
		ok(name, "%s", text(counts));
}

/* Wait @n times for an owner that is busy for 50 us and then unlocks, or sleeps and then unlocks. */
static struct counts wait_often(const char *name, enum how how, int n)
{
	_Atomic uint32_t word;
	struct counts before = read_counts();
	struct owner owner;

	for (int i = 0; i < n; i++) {
		uint32_t val;
		int got;

		start(name, &owner, how, &word, 50);
		val = atomic_fetch_or(&word, FUTEX_WAITERS) | FUTEX_WAITERS;
		got = futex_wait(&word, val, SPIN | PRIVATE, PATIENCE_MS * MS);
		if (got && got != EAGAIN)
			expect(name, "wait", got, 0);
		if (atomic_load(&word))
			fail(name, "the wait ended before the owner unlocked");
		stop(&owner);
	}
	return since(before);
}

/* The owner unlocks while the waiter spins: the waiter is woken, or sees that the word names somebody else. */
static void test_unlock(void)
{
	const char *name = "unlock";
	struct counts counts = wait_often(name, UNLOCKS, 200);

	if (!counts.n[WOKEN] && !counts.n[CHANGED])
		fail(name, "no spin ended by an unlock: %s", text(counts));
	else
		ok(name, "%s", text(counts));
}

/* The owner goes to sleep while the waiter spins. */
static void test_owner_stops(void)
{
	const char *name = "owner-stops";
	struct counts counts = wait_often(name, PAUSES, 200);

	if (!counts.n[STOPPED])
		fail(name, "no spin ended by an owner that went to sleep: %s", text(counts));
	else
		ok(name, "%s", text(counts));
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Want CPU 0 now and then, more than anybody else. */
static void *want_cpu(void *arg)
{
	struct sched_param param = { .sched_priority = 1 };

	pin(0);
	sched_setscheduler(0, SCHED_FIFO, &param);
	while (!atomic_load((_Atomic int *)arg))
		usleep(100);
	return NULL;
}

static void test_resched(void)
{
	const char *name = "resched";
	_Atomic int end = 0;
	_Atomic uint32_t word;
	struct counts before, counts;
	struct owner owner;
	pthread_t other;
	cpu_set_t all;

	sched_getaffinity(0, sizeof(all), &all);
	pin(1);
	start(name, &owner, RUNS, &word, 0);
	pin(0);
	pthread_create(&other, NULL, want_cpu, &end);
	before = read_counts();
	for (int i = 0; i < 100; i++)
		expect(name, "wait", futex_wait(&word, word, SPIN | PRIVATE, 2 * MS), ETIMEDOUT);
	counts = since(before);
	atomic_store(&end, 1);
	pthread_join(other, NULL);
	stop(&owner);
	sched_setaffinity(0, sizeof(all), &all);
	if (!counts.n[RESCHED])
		fail(name, "nobody stopped for another task: %s", text(counts));
	else
		ok(name, "%s", text(counts));
}

static void *wake_soon(void *arg)
{
	usleep(20000);
	futex_wake(arg, 1, PRIVATE);
	return NULL;
}

/* A word that says that there are waiters, and names nobody. */
static void test_unowned(void)
{
	const char *name = "unowned";
	_Atomic uint32_t word = FUTEX_WAITERS;
	struct counts before = read_counts(), counts;
	pthread_t waker;
	int was = failed;

	expect(name, "nobody wakes", futex_wait(&word, word, SPIN | PRIVATE, 5 * MS), ETIMEDOUT);
	pthread_create(&waker, NULL, wake_soon, &word);
	expect(name, "somebody wakes", futex_wait(&word, word, SPIN | PRIVATE, PATIENCE_MS * MS), 0);
	pthread_join(waker, NULL);
	word = FUTEX_OWNER_DIED | FUTEX_WAITERS;
	expect(name, "the owner died", futex_wait(&word, word, SPIN | PRIVATE, 5 * MS), ETIMEDOUT);
	counts = since(before);
	if (counts.n[TURNS] || counts.n[UNOWNED] != 3)
		fail(name, "%s", text(counts));
	else if (failed == was)
		ok(name, "%s", text(counts));
}

/* ---- owners that die ------------------------------------------------------------------------------------------ */

/* A process that owns: the word of its robust list, or a plain one. */
static pid_t process(const char *name, bool robust, bool runs, pid_t with_tid)
{
	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&with_tid, .set_tid_size = with_tid ? 1 : 0 };
	pid_t child;

	shared->step = 0;
	child = syscall(SYS_clone3, &args, sizeof(args));
	if (child < 0) {
		fail(name, "clone3: %s", strerror(errno));
		exit(1);
	}
	if (!child) {
		if (robust) {
			shared->head.list.next = &shared->robust.list;
			shared->robust.list.next = &shared->head.list;
			shared->head.futex_offset = (char *)&shared->robust.word - (char *)&shared->robust.list;
			shared->head.list_op_pending = NULL;
			syscall(SYS_set_robust_list, &shared->head, sizeof(shared->head));
			atomic_store(&shared->robust.word, tid());
		} else {
			atomic_store(&shared->word, tid());
		}
		atomic_store(&shared->step, 1);
		while (runs && atomic_load(&shared->step))
			;
		for (;;)
			pause();
	}
	await(name, &shared->step, 1);
	return child;
}

struct killer {
	pid_t child;
	int us;
};

static void *kill_soon(void *arg)
{
	struct killer *killer = arg;

	usleep(killer->us);
	kill(killer->child, SIGKILL);
	return NULL;
}

/* Kill the owner while somebody waits for it. What the wait returned. */
static int wait_and_kill(_Atomic uint32_t *word, pid_t child, int us, long long ns)
{
	struct killer killer = { child, us };
	pthread_t thread;
	uint32_t val = atomic_fetch_or(word, FUTEX_WAITERS) | FUTEX_WAITERS;
	int got;

	pthread_create(&thread, NULL, kill_soon, &killer);
	got = futex_wait(word, val, SPIN, ns);
	pthread_join(thread, NULL);
	waitpid(child, NULL, 0);
	return got;
}

static void test_killed(void)
{
	const char *name = "owner-killed";
	struct counts before = read_counts(), counts;
	int was = failed;

	for (int i = 0; i < 100; i++) {
		pid_t child = process(name, true, i % 4 != 3, 0);
		int got = wait_and_kill(&shared->robust.word, child, 50 * (i % 8), PATIENCE_MS * MS);

		if (got && got != EAGAIN)
			expect(name, "robust", got, 0);
		if (!(atomic_load(&shared->robust.word) & FUTEX_OWNER_DIED))
			fail(name, "the word is %#x", shared->robust.word);
	}
	for (int i = 0; i < 20; i++) {
		pid_t child = process(name, false, true, 0);

		expect(name, "not robust", wait_and_kill(&shared->word, child, 50 * (i % 8), 20 * MS), ETIMEDOUT);
		expect(name, "not robust, and gone", futex_wait(&shared->word, shared->word, SPIN, 20 * MS), ESRCH);
	}
	counts = since(before);
	if (failed == was)
		ok(name, "%s", text(counts));
}

/* Another process gets the TID of an owner that was killed. It runs, and it sleeps; the waiter's time ends. */
static void test_recycled(void)
{
	const char *name = "tid-recycled";
	struct counts before = read_counts(), counts;
	int was = failed;

	for (int i = 0; i < 20; i++) {
		pid_t child = process(name, false, true, 0), second;

		expect(name, "the first is killed", wait_and_kill(&shared->word, child, 50, 5 * MS), ETIMEDOUT);
		second = process(name, false, i % 2, child);
		if (second != child) {
			fail(name, "TID %d, and not %d", second, child);
			return;
		}
		expect(name, "the second has the TID", futex_wait(&shared->word, shared->word, SPIN, 20 * MS), ETIMEDOUT);
		kill(second, SIGKILL);
		waitpid(second, NULL, 0);
	}
	counts = since(before);
	if (failed == was)
		ok(name, "%s", text(counts));
}

static long tasks_in_slabs(void)
{
	FILE *file = fopen("/proc/slabinfo", "r");
	char line[512];
	long n = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "task_struct %ld", &n) == 1)
			break;
	if (file)
		fclose(file);
	return n;
}

static void test_leak(void)
{
	const char *name = "tasks-kept";
	enum { KILLS = 400, NOISE = 100 };
	long before, after = 0;

	usleep(500000);
	before = tasks_in_slabs();
	for (int i = 0; i < KILLS; i++)
		wait_and_kill(&shared->robust.word, process(name, true, true, 0), 0, PATIENCE_MS * MS);
	for (int i = 0; i < 50; i++) {
		usleep(200000);
		after = tasks_in_slabs();
		if (after - before < NOISE)
			break;
	}
	if (before < 0 || after - before >= NOISE)
		fail(name, "%ld tasks before, %ld after %d owners were killed", before, after, KILLS);
	else
		ok(name, "before=%ld after=%ld kills=%d", before, after, KILLS);
}

/* A TID means what it means in the caller's namespace. */
static void test_namespace(void)
{
	const char *name = "pid-namespace";
	int status = -1;
	pid_t child, outer = getpid();

	if (!(child = fork())) {
		if (unshare(CLONE_NEWPID) || (child = fork()) < 0)
			_exit(10);
		if (!child) {
			shared->word = outer;
			if (outer > 1 && futex_wait(&shared->word, outer, SPIN, 10 * MS) != ESRCH)
				_exit(11);
			shared->word = 1;
			_exit(futex_wait(&shared->word, 1, SPIN, 10 * MS) == EDEADLK ? 0 : 12);
		}
		waitpid(child, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 13);
	}
	waitpid(child, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail(name, "status %d", WEXITSTATUS(status));
	else
		ok(name, "outer=%d", outer);
}

/* ---- a mutex -------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 5000 };
static _Atomic uint32_t mutex;
static unsigned long guarded;

static void lock(_Atomic uint32_t *word, unsigned int flags)
{
	uint32_t me = tid(), seen = 0;

	while (!atomic_compare_exchange_strong(word, &seen, me)) {
		if (!(seen & FUTEX_WAITERS) && !atomic_compare_exchange_strong(word, &seen, seen | FUTEX_WAITERS)) {
			seen = 0;
			continue;
		}
		futex_wait(word, seen | FUTEX_WAITERS, flags, PATIENCE_MS * MS);
		/* Others may sleep: the word goes on saying so. */
		me |= FUTEX_WAITERS;
		seen = 0;
	}
}

static void unlock(_Atomic uint32_t *word, unsigned int flags)
{
	if (atomic_exchange(word, 0) & FUTEX_WAITERS)
		futex_wake(word, 1, flags);
}

static void *contend(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		lock(&mutex, SPIN | PRIVATE);
		guarded++;
		unlock(&mutex, PRIVATE);
	}
	return NULL;
}

static void test_mutex(void)
{
	const char *name = "mutex";
	struct counts before = read_counts();
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, contend, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (guarded != THREADS * ROUNDS || mutex)
		fail(name, "%lu sections of %d, the word is %#x", guarded, THREADS * ROUNDS, mutex);
	else
		ok(name, "sections=%lu %s", guarded, text(since(before)));
}

/* ---- the letter's measurement --------------------------------------------------------------------------------- */

/* Wait for @n owners, each of which is busy for @us. The time of all waits, in ns. */
static long long wait_for(int n, int us, unsigned int flags)
{
	_Atomic uint32_t word;
	struct owner owner;
	long long sum = 0;

	for (int i = 0; i < n; i++) {
		long long from;
		uint32_t val;

		start("bench", &owner, UNLOCKS, &word, us);
		val = atomic_fetch_or(&word, FUTEX_WAITERS) | FUTEX_WAITERS;
		from = now_ns();
		while (atomic_load(&word) == val)
			futex_wait(&word, val, flags | PRIVATE, PATIENCE_MS * MS);
		sum += now_ns() - from;
		stop(&owner);
	}
	return sum;
}

static int bench(void)
{
	static const int US[] = { 5, 20, 100, 400, 2000 };
	enum { N = 1000 };

	for (unsigned int i = 0; i < sizeof(US) / sizeof(US[0]); i++) {
		struct counts before = read_counts(), counts;
		long long plain = wait_for(N, US[i], 0), spin = wait_for(N, US[i], SPIN);

		counts = since(before);
		printf("@@ bench us=%d n=%d plain=%lld spin=%lld spins=%llu ended=%llu\n", US[i], N, plain, spin,
		       counts.n[SPINS], counts.n[WOKEN] + counts.n[CHANGED]);
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	if (argc > 1 && !strcmp(argv[1], "bench"))
		return bench();
	test_refused();
	test_idle_owner();
	test_unowned();
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
		test_limit();
		test_timeout();
		test_signal();
		test_unlock();
		test_owner_stops();
		test_resched();
	}
	test_killed();
	test_recycled();
	test_leak();
	test_namespace();
	test_mutex();
	return failed != 0;
}
