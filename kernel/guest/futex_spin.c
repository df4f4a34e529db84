// SPDX-License-Identifier: MIT
/*
 * Tests FUTEX2_SPIN in the guest: what it refuses, what ends a spin, and that it never spins for an owner that does not
 * run. The kernel counts in /sys/kernel/debug/futex_spin what spins were and how they ended.
 *
 * A line "@@ ok NAME ..." for each test that passed, "@@ fail NAME: WHY" for each other. "futex_spin bench US...":
 * the letter's measurement instead, for owners that are busy for so long.
 */
#include "futex_spin.h"

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

/* Wait for an owner that runs until @count has risen; at most so often that it must have. */
static struct counts wait_until(const char *name, int count, long long ns)
{
	_Atomic uint32_t word;
	struct counts before, counts;
	struct owner owner;

	start(name, &owner, RUNS, &word, 0);
	before = read_counts();
	for (int i = 0; i < 2000; i++) {
		expect(name, "wait", futex_wait(&word, word, SPIN | PRIVATE, ns), ETIMEDOUT);
		counts = since(before);
		if (i >= 20 && counts.n[count])
			break;
	}
	stop(&owner);
	return counts;
}

/* An owner that runs until the waiter gives up: the bound ends the spin, then the waiter sleeps. */
static void test_limit(void)
{
	const char *name = "limit";
	struct counts counts = wait_until(name, LIMIT, 20 * MS);

	if (!counts.n[LIMIT] || counts.n[WOKEN] || counts.n[CHANGED])
		fail(name, "%s", text(counts));
	else
		ok(name, "%s", text(counts));
}

static void test_timeout(void)
{
	const char *name = "time-out";
	struct counts counts = wait_until(name, TIMEOUT, MS / 10);

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
	for (int i = 0; i < 2000; i++) {
		int got;

		setitimer(ITIMER_REAL, &soon, NULL);
		got = futex_wait(&word, word, SPIN | PRIVATE, 20 * MS);
		if (got != EINTR && got != ETIMEDOUT)
			expect(name, "wait", got, EINTR);
		setitimer(ITIMER_REAL, &never, NULL);
		counts = since(before);
		if (i >= 20 && counts.n[SIGNAL])
			break;
	}
	stop(&owner);
	if (!counts.n[SIGNAL])
		fail(name, "%s", text(counts));
	else
		ok(name, "%s", text(counts));
}

/* Wait for owners that are busy for 50 us and then unlock, or sleep and then unlock, until a count has risen. */
static struct counts wait_often(const char *name, enum how how, int count, int or_count)
{
	_Atomic uint32_t word;
	struct counts before = read_counts(), counts;
	struct owner owner;

	for (int i = 0; i < 2000; i++) {
		uint32_t val;
		int got;

		start(name, &owner, how, &word, 50);
		val = atomic_fetch_or(&word, FUTEX_WAITERS) | FUTEX_WAITERS;
		got = futex_wait(&word, val, SPIN | PRIVATE, how == IS_QUIET ? 5 * MS : PATIENCE_MS * MS);
		if (got && got != EAGAIN && !(how == IS_QUIET && got == ETIMEDOUT))
			expect(name, "wait", got, 0);
		if (atomic_load(&word) && got != ETIMEDOUT)
			fail(name, "the wait ended before the owner unlocked");
		stop(&owner);
		counts = since(before);
		if (i >= 100 && (counts.n[count] || counts.n[or_count]))
			break;
	}
	return counts;
}

/* The owner unlocks while the waiter spins: the waiter is woken, or sees that the word names somebody else. */
static void test_unlock(void)
{
	const char *name = "unlock";
	struct counts counts = wait_often(name, UNLOCKS, WOKEN, CHANGED);

	if (!counts.n[WOKEN] && !counts.n[CHANGED])
		fail(name, "no spin ended by an unlock: %s", text(counts));
	else
		ok(name, "%s", text(counts));
}

/* Nobody wakes the waiter: that the word has changed must be enough. */
static void test_changed(void)
{
	const char *name = "changed";
	struct counts counts = wait_often(name, IS_QUIET, CHANGED, CHANGED);

	if (!counts.n[CHANGED])
		fail(name, "nobody saw the word change: %s", text(counts));
	else
		ok(name, "%s", text(counts));
}

/* The owner goes to sleep while the waiter spins. */
static void test_owner_stops(void)
{
	const char *name = "owner-stops";
	struct counts counts = wait_often(name, PAUSES, STOPPED, STOPPED);

	if (!counts.n[STOPPED])
		fail(name, "no spin ended by an owner that went to sleep: %s", text(counts));
	else
		ok(name, "%s", text(counts));
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
	struct counts counts;
	pthread_t other;

	pthread_create(&other, NULL, want_cpu, &end);
	counts = wait_until(name, RESCHED, 2 * MS);
	atomic_store(&end, 1);
	pthread_join(other, NULL);
	if (!counts.n[RESCHED])
		fail(name, "nobody stopped for another task: %s", text(counts));
	else
		ok(name, "%s", text(counts));
}

struct mover {
	_Atomic uint32_t word, other;
	_Atomic int step;
};

/*
 * An owner that moves its waiter to another futex, and wakes it there. A late wake-up that was for an earlier wait, as for the
 * join, may take the waiter back to the first futex meanwhile; then it is moved again.
 */
static void *move(void *arg)
{
	struct mover *mover = arg;
	struct waitv v[2] = { { tid(), (uintptr_t)&mover->word, SIZE_U32 | PRIVATE, 0 },
			      { 0, (uintptr_t)&mover->other, SIZE_U32 | PRIVATE, 0 } };
	long long end = now_ns() + PATIENCE_MS * MS;

	atomic_store(&mover->word, tid());
	atomic_store(&mover->step, 1);
	do {
		while (syscall(SYS_FUTEX_REQUEUE, v, 0, 0, 1) == 0 && now_ns() < end)
			;
		usleep(1000);
	} while (futex_wake(&mover->other, 1, PRIVATE) == 0 && now_ns() < end);
	return NULL;
}

static void test_requeue(void)
{
	const char *name = "requeue";
	struct counts before = read_counts(), counts;
	int was = failed;

	for (int i = 0; i < 2000; i++) {
		struct mover mover = { 0 };
		pthread_t thread;

		begin_owner();
		pthread_create(&thread, NULL, move, &mover);
		begin_waiter();
		await(name, &mover.step, 1);
		expect(name, "wait", futex_wait(&mover.word, mover.word, SPIN | PRIVATE, 2 * PATIENCE_MS * MS), 0);
		pthread_join(thread, NULL);
		counts = since(before);
		if (i >= 100 && counts.n[WOKEN])
			break;
	}
	if (!counts.n[WOKEN])
		fail(name, "no spin ended by a move: %s", text(counts));
	else if (failed == was)
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

int main(int argc, char **argv)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	if (argc > 1 && !strcmp(argv[1], "bench"))
		return bench(argv + 2);
	test_refused();
	test_idle_owner();
	test_unowned();
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
		test_limit();
		test_timeout();
		test_signal();
		test_unlock();
		test_changed();
		test_owner_stops();
		test_resched();
		test_requeue();
	}
	test_dead_owners();
	test_mutex();
	return failed != 0;
}
