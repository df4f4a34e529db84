// SPDX-License-Identifier: MIT
/* Owners that are killed while somebody waits, and TIDs that mean something else. */
#include "futex_spin.h"

/* A process that owns: the word of its robust list, or a plain one. */
static pid_t process(const char *name, bool robust, bool runs, pid_t with_tid)
{
	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = with_tid ? (uintptr_t)&with_tid : 0,
				   .set_tid_size = with_tid ? 1 : 0 };
	pid_t child;

	shared->step = 0;
	begin_owner();
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
	begin_waiter();
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

/* Kill the owner while somebody waits for it, and leave it as a zombie. What the wait returned. */
static int wait_and_kill_only(_Atomic uint32_t *word, pid_t child, int us, long long ns)
{
	struct killer killer = { child, us };
	pthread_t thread;
	siginfo_t info;
	uint32_t val = atomic_fetch_or(word, FUTEX_WAITERS) | FUTEX_WAITERS;
	int got;

	pthread_create(&thread, NULL, kill_soon, &killer);
	got = futex_wait(word, val, SPIN, ns);
	pthread_join(thread, NULL);
	waitid(P_PID, child, &info, WEXITED | WNOWAIT);
	return got;
}

static int wait_and_kill(_Atomic uint32_t *word, pid_t child, int us, long long ns)
{
	int got = wait_and_kill_only(word, child, us, ns);

	waitpid(child, NULL, 0);
	return got;
}

/* Without a robust list, a waiter that slept when the owner was killed sleeps on. One that spun, or came later, does not. */
static void expect_left(const char *name, const char *what, int got)
{
	if (got != ESRCH)
		expect(name, what, got, ETIMEDOUT);
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

		expect_left(name, "not robust", wait_and_kill_only(&shared->word, child, 50 * (i % 8), 20 * MS));
		expect(name, "not robust, and a zombie", futex_wait(&shared->word, shared->word, SPIN, 20 * MS), ESRCH);
		waitpid(child, NULL, 0);
		expect(name, "not robust, and gone", futex_wait(&shared->word, shared->word, SPIN, 20 * MS), ESRCH);
	}
	counts = since(before);
	if (failed == was)
		ok(name, "%s", text(counts));
}

/* The owner exits, and unlocks nothing, while somebody spins for it: that one is told. */
static void test_exits(void)
{
	const char *name = "owner-exits";
	_Atomic uint32_t word;
	struct counts before = read_counts(), counts;
	struct owner owner;
	int told = 0;

	for (int i = 0; i < 2000 && !told; i++) {
		struct counts here;
		int got;

		start(name, &owner, EXITS, &word, 50);
		here = read_counts();
		got = futex_wait(&word, atomic_fetch_or(&word, FUTEX_WAITERS) | FUTEX_WAITERS, SPIN | PRIVATE, 5 * MS);
		expect_left(name, "wait", got);
		here = since(here);
		told = got == ESRCH && here.n[SPINS] && here.n[STOPPED];
		stop(&owner);
		/* A thread can be joined a little before it is a task that has exited. */
		for (int j = 0; (got = futex_wait(&word, word, SPIN | PRIVATE, 5 * MS)) == ETIMEDOUT && j < 100; j++)
			;
		expect(name, "it has exited", got, ESRCH);
	}
	counts = since(before);
	if (!told)
		fail(name, "nobody who spun was told: %s", text(counts));
	else
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

		expect_left(name, "the first is killed", wait_and_kill(&shared->word, child, 50, 5 * MS));
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
	int shrink = open("/sys/kernel/slab/task_struct/shrink", O_WRONLY);
	FILE *file = fopen("/proc/slabinfo", "r");
	char line[512];
	long n = -1;

	/* KASAN keeps what is freed for a while, and gives it back when the cache is shrunk. */
	if (shrink >= 0) {
		if (write(shrink, "1", 1) != 1)
			fail("tasks-kept", "cannot shrink the cache of tasks");
		close(shrink);
	}
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

void test_dead_owners(void)
{
	test_killed();
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		test_exits();
	test_recycled();
	test_leak();
	test_namespace();
}
