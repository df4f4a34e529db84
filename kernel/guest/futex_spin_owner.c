// SPDX-License-Identifier: MIT
/* Futexes, counts of the kernel, and threads that own a futex. */
#include "futex_spin.h"

int failed;
struct shared *shared;

static const char *const COUNTS[] = { "waits", "unowned", "refused", "idle_owner", "spins", "turns", "woken", "changed",
				      "stopped", "resched", "signal", "timeout", "limit", "fault" };

void fail(const char *name, const char *format, ...)
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

void ok(const char *name, const char *format, ...)
{
	va_list args;

	printf("@@ ok %s ", name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

uint32_t tid(void)
{
	return syscall(SYS_gettid);
}

/* 0, or an error's number. */
int futex_wait(_Atomic uint32_t *word, uint32_t val, unsigned int flags, long long ns)
{
	struct timespec end;
	long long at = now_ns() + ns;

	end.tv_sec = at / 1000000000;
	end.tv_nsec = at % 1000000000;
	return syscall(SYS_FUTEX_WAIT, word, (unsigned long)val, 0xfffffffful, flags | SIZE_U32, &end,
		       CLOCK_MONOTONIC) < 0 ? errno : 0;
}

/* How many were woken. */
int futex_wake(_Atomic uint32_t *word, int n, unsigned int flags)
{
	return syscall(SYS_FUTEX_WAKE, word, 0xfffffffful, n, flags | SIZE_U32);
}

/* Wait until another thread or process is at @step; it says so, or the test is over. */
void await(const char *name, _Atomic int *at, int step)
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

void expect(const char *name, const char *what, int got, int wanted)
{
	if (got != wanted)
		fail(name, "%s: %s, and not %s", what, got ? strerror(got) : "0", wanted ? strerror(wanted) : "0");
}

struct counts read_counts(void)
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

struct counts since(struct counts before)
{
	struct counts counts = read_counts();

	for (int i = 0; i < N_COUNTS; i++)
		counts.n[i] -= before.n[i];
	return counts;
}

const char *text(struct counts counts)
{
	static char line[512];
	int at = 0;

	line[0] = '\0';
	for (int i = 0; i < N_COUNTS; i++)
		if (counts.n[i])
			at += snprintf(line + at, sizeof(line) - at, "%s=%llu ", COUNTS[i], counts.n[i]);
	return line;
}

void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Pin this thread, and the threads that it starts later, to the last CPU. */
void begin_owner(void)
{
	pin(sysconf(_SC_NPROCESSORS_ONLN) - 1);
}

/* This thread waits, on the first CPU. */
void begin_waiter(void)
{
	pin(0);
}

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
	if (owner->how == UNLOCKS || owner->how == PAUSES || owner->how == IS_QUIET || owner->how == EXITS) {
		/* Not before somebody waits. */
		while (!(atomic_load(owner->word) & FUTEX_WAITERS))
			;
		busy_us(owner->us);
		if (owner->how == PAUSES)
			usleep(2000);
		if (owner->how == EXITS)
			syscall(SYS_exit, 0);
		atomic_store(owner->word, 0);
		if (owner->how != IS_QUIET)
			futex_wake(owner->word, 1, PRIVATE);
	}
	while (atomic_load(&owner->step) < 2)
		if (owner->how != RUNS)
			usleep(100);
	return NULL;
}

void start(const char *name, struct owner *owner, enum how how, _Atomic uint32_t *word, int us)
{
	memset(owner, 0, sizeof(*owner));
	owner->how = how;
	owner->word = word;
	owner->us = us;
	begin_owner();
	if (pthread_create(&owner->thread, NULL, own, owner)) {
		fail(name, "no thread");
		exit(1);
	}
	begin_waiter();
	await(name, &owner->step, 1);
}

void stop(struct owner *owner)
{
	atomic_store(&owner->step, 2);
	pthread_join(owner->thread, NULL);
}
