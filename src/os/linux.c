/* SPDX-License-Identifier: MIT */
/*
 * linux.c - futex, membarrier, clocks, CPUs: the system calls of os.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <lull/detail/tsan.h>

#include "os.h"

int lull__futex_wait_bits(uint32_t *word, uint32_t value, uint32_t bitset, uint64_t deadline_ns, bool shared)
{
	struct timespec deadline = { .tv_sec = (time_t)(deadline_ns / 1000000000u),
				     .tv_nsec = (long)(deadline_ns % 1000000000u) };
	int op = shared ? FUTEX_WAIT_BITSET : FUTEX_WAIT_BITSET_PRIVATE, saved = errno, result = 0;

	if (syscall(SYS_futex, word, op, value, deadline_ns == LULL__NEVER ? NULL : &deadline, NULL, bitset) != 0)
		result = -errno;
	errno = saved;
	return result;
}

/* Sleep, and return for any reason: every caller checks its condition again. */
void lull__futex_wait(uint32_t *word, uint32_t value, uint64_t deadline_ns)
{
	(void)lull__futex_wait_bits(word, value, FUTEX_BITSET_MATCH_ANY, deadline_ns, false);
}

void lull__futex_wake(uint32_t *word, int how_many)
{
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, how_many, NULL, NULL, 0);
	errno = saved;
}

int lull__futex_wake_bits(uint32_t *word, int how_many, uint32_t bitset, bool shared)
{
	int op = shared ? FUTEX_WAKE_BITSET : FUTEX_WAKE_BITSET_PRIVATE, saved = errno, woken;

	woken = (int)syscall(SYS_futex, word, op, how_many, NULL, NULL, bitset);
	errno = saved;
	return woken > 0 ? woken : 0;
}

int lull__futex_requeue(uint32_t *from, uint32_t value, int wake, int move, uint32_t *to, bool shared)
{
	int op = shared ? FUTEX_CMP_REQUEUE : FUTEX_CMP_REQUEUE_PRIVATE, saved = errno, result = 0;

	if (syscall(SYS_futex, from, op, wake, (unsigned long)move, to, value) < 0)
		result = -errno;
	errno = saved;
	return result;
}

static int membarrier(int command)
{
	int saved = errno, result = 0;

	if (syscall(SYS_membarrier, command, 0, 0) != 0)
		result = -errno;
	errno = saved;
	return result;
}

bool lull__membarrier_register(void)
{
	return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 && lull__membarrier() == 0;
}

int lull__membarrier(void)
{
	return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

int lull__membarrier_global(void)
{
	return membarrier(MEMBARRIER_CMD_GLOBAL);
}

#define MASK_WORDS 128 /* no kernel has more CPUs than these have bits; a cpu_set_t has too few for some */

/* Add the CPUs that thread @tid of this process may run on. */
static int add_allowed(pid_t tid, uint64_t *all)
{
	uint64_t mask[MASK_WORDS];

	if (sched_getaffinity(tid, sizeof(mask), (cpu_set_t *)mask) != 0)
		return errno == ESRCH ? 0 : -errno; /* it has exited since */
	for (unsigned i = 0; i < MASK_WORDS; i++)
		all[i] |= mask[i];
	return 0;
}

static int allowed_by_any_thread(uint64_t *all)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	int err = 0;

	if (!tasks)
		return -errno;
	while (!err && (entry = readdir(tasks)))
		if (entry->d_name[0] != '.')
			err = add_allowed((pid_t)atoi(entry->d_name), all);
	closedir(tasks);
	return err;
}

/*
 * Order the accesses of all other threads. To run on a CPU, this thread must be switched to there, and
 * the switch orders the accesses of the thread that ran before. A thread that was not running is
 * ordered by its own switch.
 */
int lull__visit_all_cpus(void)
{
	int saved = errno;
	uint64_t mine[MASK_WORDS] = { 0 }, all[MASK_WORDS] = { 0 }, one[MASK_WORDS] = { 0 };
	bool moved = false;
	int err = add_allowed(0, mine);

	if (!err)
		err = allowed_by_any_thread(all);
	for (unsigned cpu = 0; !err && cpu < MASK_WORDS * 64; cpu++) {
		if (!(all[cpu / 64] >> cpu % 64 & 1))
			continue;
		one[cpu / 64] = (uint64_t)1 << cpu % 64;
		if (sched_setaffinity(0, sizeof(one), (cpu_set_t *)one) != 0)
			err = -errno;
		else
			moved = true;
		one[cpu / 64] = 0;
	}
	if (moved && sched_setaffinity(0, sizeof(mine), (cpu_set_t *)mine) != 0 && !err)
		err = -errno;
	errno = saved;
	return err;
}

/* Return the last number of a list like "0-3,8-11" plus one; 0: there is no such file of the kernel's. */
static unsigned possible_from_file(void)
{
	int fd = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
	struct statfs system;
	char text[256];
	ssize_t got = -1;
	const char *last;

	if (fd < 0)
		return 0;
	/* Sandboxes put files of their own there, and with too small a number lull would write outside its counters. */
	if (fstatfs(fd, &system) == 0 && system.f_type == SYSFS_MAGIC)
		got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0 || got == sizeof(text) - 1)
		return 0;
	text[got] = '\0';
	last = text + got;
	while (last > text && (last[-1] < '0' || last[-1] > '9'))
		last--;
	while (last > text && last[-1] >= '0' && last[-1] <= '9')
		last--;
	return (unsigned)atoi(last) + 1;
}

/* Get the CPUs that the calling thread may run on. Returns the length of the kernel's masks, in words. */
static unsigned get_mask(uint64_t *mask)
{
	long bytes = syscall(SYS_sched_getaffinity, 0, MASK_WORDS * sizeof(*mask), mask);

	return bytes > 0 ? (unsigned)bytes / sizeof(*mask) : 0;
}

unsigned lull__cpus_possible(void)
{
	int saved = errno, cancel;
	uint64_t mask[MASK_WORDS];
	unsigned count, words;

	lull__no_cancel(&cancel);
	count = possible_from_file();
	lull__may_cancel(cancel);
	if (!count) {
		/* The kernel's mask has a bit for each possible CPU, rounded up. */
		words = get_mask(mask);
		count = 64 * (words ? words : MASK_WORDS);
	}
	errno = saved;
	return count;
}

unsigned lull__cpus_allowed(void)
{
	uint64_t mask[MASK_WORDS];
	int saved = errno;
	unsigned words = get_mask(mask), count = 0;

	for (unsigned i = 0; i < words; i++)
		count += (unsigned)__builtin_popcountll(mask[i]);
	errno = saved;
	return count ? count : 1;
}

#define ONE_PAGE 4096 /* or whatever the kernel makes of it */

uint32_t *lull__page_cleared_by_fork(void)
{
	int saved = errno;
	void *page = mmap(NULL, ONE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED) {
		page = NULL;
	} else if (madvise(page, ONE_PAGE, MADV_WIPEONFORK) != 0) {
		lull__free_page(page);
		page = NULL;
	}
	errno = saved;
	return page;
}

void lull__free_page(void *page)
{
	munmap(page, ONE_PAGE);
}

bool lull__new_memory_is_locked(void)
{
	int saved = errno;
	unsigned char in_memory = 1;
	void *page = mmap(NULL, ONE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page != MAP_FAILED) {
		if (mincore(page, ONE_PAGE, &in_memory) != 0)
			in_memory = 0;
		lull__free_page(page);
	}
	errno = saved;
	return in_memory & 1;
}

bool lull__peek(const uint32_t *from, uint32_t *to)
{
	struct iovec local = { .iov_base = to, .iov_len = sizeof(*to) };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)from, .iov_len = sizeof(*from) };
	int saved = errno;
	bool got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof(*to);

	errno = saved;
	return got;
}

/* A clock that steps back must not make exit() wait. ThreadSanitizer does not know the newer function. */
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 31) && !defined(LULL__TSAN)
#define JOIN_CLOCK		     (lull__tsan_watches() ? CLOCK_REALTIME : CLOCK_MONOTONIC)
#define JOIN_UNTIL(thread, deadline) (lull__tsan_watches() ? pthread_timedjoin_np(thread, NULL, deadline) \
				      : pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, deadline))
#else
#define JOIN_CLOCK		     CLOCK_REALTIME
#define JOIN_UNTIL(thread, deadline) pthread_timedjoin_np(thread, NULL, deadline)
#endif

bool lull__join(pthread_t thread, uint64_t timeout_ns)
{
	struct timespec deadline;

	clock_gettime(JOIN_CLOCK, &deadline);
	deadline.tv_nsec += (long)timeout_ns;
	if (deadline.tv_nsec >= 1000000000) {
		deadline.tv_nsec -= 1000000000;
		deadline.tv_sec++;
	}
	return JOIN_UNTIL(thread, &deadline) == 0;
}

void lull__fine_timers(void)
{
	prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
}

uint32_t lull__gettid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

uint64_t lull__now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void lull__nap(uint64_t ns)
{
	uint32_t word = 0;

	lull__futex_wait(&word, 0, lull__now_ns() + ns);
}
