/* SPDX-License-Identifier: MIT */
/*
 * lull torture --flavor wild: the library's own threads, whichever thread needed them first. They are known by their
 * names, and compared with those of an ordinary process. See surroundings.h.
 */
#include "torture/surroundings/surroundings.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lull/reclaim.h>

#include "common/clock.h"
#include "common/cpus.h"

#define HOLD_US 20000u
#define FIFO_PRIORITY 10

/* ---- the first user -------------------------------------------------------------------------- */

static uint32_t is_held, may_let_go;
static const char name_of_guard = 'n';

/* Hold a section and a guard that the first user has to wait for, together with a thread of the library's. */
static void *hold(void *unused)
{
	struct lull_shazptr_guard guard = lull_shazptr_acquire(&name_of_guard);

	lull_rcu_read_lock();
	lull_store_release(&is_held, 1u);
	torture_sleep_us(HOLD_US);
	lull_rcu_read_unlock();
	lull_shazptr_clear(guard);
	return unused;
}

/* Change the scheduling of the calling thread alone. */
static void become_odd(uint64_t *rng)
{
	struct sched_param fifo = { .sched_priority = FIFO_PRIORITY }, zero = { 0 };
	bool done = true;

	if (wild_has(WILD_FIRST_IDLE))
		done = sched_setscheduler(0, SCHED_IDLE, &zero) == 0;
	if (wild_has(WILD_FIRST_FIFO))
		done = sched_setscheduler(0, SCHED_FIFO, &fifo) == 0;
	if (wild_has(WILD_FIRST_NICE))
		done = setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19) == 0;
	if (wild_has(WILD_FIRST_PINNED))
		done = bench_pin((unsigned)torture_random(rng, bench_cpus())) >= 0;
	if (!done)
		torture_fail("the first user cannot be what it should be: %s", strerror(errno));
}

static void *first_user(void *arg)
{
	uint64_t *rng = arg;

	become_odd(rng);
	wild_post(rng, 0);
	lull_shazptr_synchronize(&name_of_guard);
	lull_rcu_synchronize();
	wild_took_effect(WILD_FIRST_IDLE, 1);
	wild_took_effect(WILD_FIRST_FIFO, 1);
	wild_took_effect(WILD_FIRST_NICE, 1);
	wild_took_effect(WILD_FIRST_PINNED, 1);
	while (!lull_load_acquire(&may_let_go))
		torture_sleep_us(1000);
	return NULL;
}

/* It stays until its heirs have been looked at: that they outlive it is not the point. */
void wild_first_use(uint64_t *rng)
{
	pthread_t holder, first;

	if (!(wild_on & (WILD_BIT(WILD_FIRST_IDLE) | WILD_BIT(WILD_FIRST_FIFO) | WILD_BIT(WILD_FIRST_NICE) |
			 WILD_BIT(WILD_FIRST_PINNED))))
		return;
	if (pthread_create(&holder, NULL, hold, NULL) != 0)
		return;
	while (!lull_load_acquire(&is_held))
		torture_sleep_us(100);
	if (pthread_create(&first, NULL, first_user, rng) == 0) {
		pthread_join(holder, NULL);
		wild_check_guests();
		lull_store_release(&may_let_go, 1u);
		pthread_join(first, NULL);
	} else {
		pthread_join(holder, NULL);
	}
}

/* ---- what they are --------------------------------------------------------------------------- */

/* "": it has gone. */
static void read_name(char *text, size_t size, const char *tid)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", tid);
	file = fopen(path, "re");
	if (!file || !fgets(text, (int)size, file))
		text[0] = '\0';
	if (file)
		fclose(file);
	text[strcspn(text, "\n")] = '\0';
}

static bool has_our_mask(pid_t tid)
{
	cpu_set_t mine, its;

	return sched_getaffinity(0, sizeof(mine), &mine) != 0 || sched_getaffinity(tid, sizeof(its), &its) != 0 ||
	       CPU_EQUAL(&mine, &its);
}

/* NULL: nothing. */
static const char *what_is_odd(const char *tid_text)
{
	pid_t tid = (pid_t)atoi(tid_text);
	int policy = sched_getscheduler(tid);

	if (policy < 0)
		return NULL;
	if (wild_has(WILD_FIRST_FIFO) && (policy & ~SCHED_RESET_ON_FORK) == SCHED_FIFO)
		return "SCHED_FIFO";
	if (!wild_has(WILD_IDLE) && policy == SCHED_IDLE)
		return "SCHED_IDLE";
	if (!wild_has(WILD_NICE) && getpriority(PRIO_PROCESS, (id_t)tid) > getpriority(PRIO_PROCESS, (id_t)getpid()))
		return "nicer than the process";
	if (!has_our_mask(tid))
		return "not allowed on the CPUs of the process";
	return NULL;
}

/* Copies the name of the first that is odd. */
static const char *find_odd(char *comm, size_t size)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	const char *odd = NULL;

	while (dir && !odd && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		read_name(comm, size, entry->d_name);
		if (strncmp(comm, "lull-", 5) == 0)
			odd = what_is_odd(entry->d_name);
	}
	if (dir)
		closedir(dir);
	return odd;
}

/* One that has just been made may have yet to become what it will be. */
void wild_check_guests(void)
{
	uint64_t since_ns = bench_now_ns();
	char comm[32];
	const char *odd;

	while ((odd = find_odd(comm, sizeof(comm))) && !wild_is_overdue(since_ns))
		torture_sleep_us(5000);
	if (odd)
		torture_fail("the library's thread %s is %s", comm, odd);
}

/* ---- faults in callbacks --------------------------------------------------------------------- */

static char *guarded;
static size_t guarded_bytes;
static uint32_t mended, written;

/* Make the page writable, as a garbage collector's write barrier does, or a program that maps memory on first use. */
static void on_fault(int signal, siginfo_t *info, void *unused)
{
	(void)unused;
	if (guarded && (char *)info->si_addr >= guarded && (char *)info->si_addr < guarded + guarded_bytes) {
		mprotect(guarded, guarded_bytes, PROT_READ | PROT_WRITE);
		lull_add_relaxed(&mended, 1u);
		return;
	}
	sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

static void write_there(struct lull_rcu_head *head)
{
	(void)head;
	*(volatile char *)guarded = 1;
	lull_store_release(&written, 1u);
}

void wild_fault_in_callback(void)
{
	const struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	static struct lull_rcu_head head;
	struct sigaction old;

	guarded_bytes = (size_t)sysconf(_SC_PAGESIZE);
	if (!wild_has(WILD_FAULT))
		return;
	guarded = mmap(NULL, guarded_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (guarded == MAP_FAILED)
		return;
	sigaction(SIGSEGV, &action, &old);
	lull_rcu_call(&head, write_there);
	lull_rcu_barrier();
	sigaction(SIGSEGV, &old, NULL);
	wild_took_effect(WILD_FAULT, lull_load_relaxed(&mended));
	if (!lull_load_acquire(&written))
		torture_fail("a callback that faults has not run after a barrier");
	munmap(guarded, guarded_bytes);
}
