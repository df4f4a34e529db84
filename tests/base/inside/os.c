/* SPDX-License-Identifier: MIT */
/* runs: alone */
/*
 * os.c - src/os from the inside: system calls that fail, over a machine made up for each case; sleeps, wake-ups and
 * signals, over the real one.
 */
#include "threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "../src/os/os.h"

/* ---- a machine made up ------------------------------------------------------------------------- */

static const char *list; /* of CPUs in the file; NULL: there is no file */
static long system_type;
static int files_open, maps, call_fails;
static bool no_memory, no_advice;
static long mask_bytes;
static uint64_t cpu_mask[128];

/* The threads, which CPUs each may use (bits), and which calls fail, with which error. */
static const char *const *threads;
static uint64_t thread_cpus[8];
static int get_fails[8], set_fails_at, set_calls;
static uint64_t visited, last_set;
static int next_thread;
static struct dirent dir_entry;

static DIR *made_up_opendir(const char *path)
{
	assert_string_equal(path, "/proc/self/task");
	next_thread = 0;
	if (!threads)
		errno = EMFILE;
	return threads ? (DIR *)&dir_entry : NULL;
}

static struct dirent *made_up_readdir(DIR *dir)
{
	assert_ptr_equal(dir, &dir_entry);
	if (!threads[next_thread])
		return NULL;
	snprintf(dir_entry.d_name, sizeof(dir_entry.d_name), "%s", threads[next_thread++]);
	return &dir_entry;
}

static int made_up_closedir(DIR *dir)
{
	assert_ptr_equal(dir, &dir_entry);
	next_thread = -1;
	return 0;
}

static int made_up_getaffinity(pid_t tid, size_t size, cpu_set_t *set)
{
	assert_in_range(tid, 0, 7);
	assert_int_equal(size, sizeof(*set));
	errno = get_fails[tid];
	if (errno)
		return -1;
	CPU_ZERO(set);
	for (int cpu = 0; cpu < 64; cpu++)
		if (thread_cpus[tid] >> cpu & 1)
			CPU_SET(cpu, set);
	return 0;
}

static int made_up_setaffinity(pid_t tid, size_t size, const cpu_set_t *set)
{
	uint64_t bits = 0;

	assert_int_equal(tid, 0);
	assert_int_equal(size, sizeof(*set));
	for (int cpu = 0; cpu < 64; cpu++)
		bits |= (uint64_t)!!CPU_ISSET(cpu, set) << cpu;
	if (++set_calls == set_fails_at) {
		errno = EINVAL;
		return -1;
	}
	visited |= bits;
	last_set = bits;
	return 0;
}

static int made_up_open(const char *path, int flags)
{
	assert_string_equal(path, "/sys/devices/system/cpu/possible");
	assert_true(flags & O_CLOEXEC);
	files_open += list != NULL;
	errno = ENOENT;
	return list ? 55 : -1;
}

static int made_up_fstatfs(int fd, struct statfs *system)
{
	assert_int_equal(fd, 55);
	system->f_type = system_type;
	return 0;
}

static ssize_t made_up_read(int fd, void *buf, size_t size)
{
	size_t bytes = strlen(list);

	assert_int_equal(fd, 55);
	memset(buf, '9', size); /* what is behind the text */
	bytes = bytes < size ? bytes : size;
	memcpy(buf, list, bytes);
	return (ssize_t)bytes;
}

static int made_up_close(int fd)
{
	assert_int_equal(fd, 55);
	files_open--;
	return 0;
}

static void *made_up_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (no_memory) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	maps++;
	return mmap(at, size, prot, flags, fd, offset);
}

static int made_up_madvise(void *at, size_t size, int advice)
{
	assert_int_equal(advice, MADV_WIPEONFORK);
	if (!no_advice)
		return madvise(at, size, advice);
	errno = EINVAL;
	return -1;
}

static int made_up_munmap(void *at, size_t size)
{
	if (at == MAP_FAILED)
		return -1;
	maps--;
	return munmap(at, size);
}

static long made_up_syscall(long number, ...)
{
	long a[6] = { 0 };
	va_list args;

	va_start(args, number);
	for (int i = 0; i < (number == SYS_futex ? 6 : number == SYS_gettid ? 0 : 3); i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_sched_getaffinity && mask_bytes) {
		assert_int_equal(a[0], 0);
		assert_in_range(mask_bytes, 0, a[1]);
		memcpy((void *)a[2], cpu_mask, (size_t)mask_bytes);
		return mask_bytes;
	}
	if (call_fails && (number == SYS_sched_getaffinity || number == SYS_membarrier)) {
		errno = call_fails;
		return -1;
	}
	return number == SYS_membarrier ? 0 : syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define made_up(name)	  made_up_##name
#define opendir		  made_up(opendir)
#define readdir		  made_up(readdir)
#define closedir	  made_up(closedir)
#define sched_getaffinity made_up(getaffinity)
#define sched_setaffinity made_up(setaffinity)
#define open		  made_up(open)
#define fstatfs		  made_up(fstatfs)
#define read		  made_up(read)
#define close		  made_up(close)
#define madvise		  made_up(madvise)
#define munmap		  made_up(munmap)
#define mmap		  made_up(mmap)
#define syscall		  made_up(syscall)
#include "../src/os/linux.c"
#undef open
#undef read
#undef close
#undef mmap
#undef munmap
#undef madvise
#undef syscall

/* ---- CPUs ---------------------------------------------------------------------------------------- */

TEST(possible)
{
	static char long_list[1000];
	static const struct {
		const char *list; /* NULL: there is no file */
		bool is_other; /* a sandbox's own file */
		long mask_bytes; /* of the kernel's masks; 0: it has none either */
		unsigned count;
	} cases[] = {
		{ "0\n", false, 16, 1 },
		{ "0-3\n", false, 16, 4 },
		{ "0-3,8-11\n", false, 16, 12 },
		{ "0,64", false, 16, 65 },
		{ "0-255\n", false, 16, 256 },
		{ "7", false, 16, 8 },
		/* As many as the masks have bits, or as there can be. */
		{ "7", true, 16, 128 },
		{ long_list, false, 16, 128 },
		{ "", false, 16, 128 },
		{ NULL, false, 8, 64 },
		{ NULL, false, 0, 8192 },
	};

	memset(long_list, '1', sizeof(long_list) - 1);
	call_fails = EPERM;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		list = cases[i].list;
		system_type = cases[i].is_other ? 1 : SYSFS_MAGIC;
		mask_bytes = cases[i].mask_bytes;
		errno = 44;
		assert_int_equal(lull__cpus_possible(), cases[i].count);
		assert_int_equal(errno, 44);
		assert_int_equal(files_open, 0);
	}
	call_fails = 0;
}

TEST(allowed)
{
	static const struct {
		uint64_t first, second;
		long mask_bytes;
		unsigned count;
	} cases[] = {
		{ 0x8000000000000001u, 7, 16, 5 },
		{ 0x8000000000000001u, 7, 8, 2 },
		{ 1, 7, 8, 1 },
		{ 0, 0, 0, 1 }, /* at least the one that it runs on */
	};

	call_fails = EPERM;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cpu_mask[0] = cases[i].first;
		cpu_mask[1] = cases[i].second;
		mask_bytes = cases[i].mask_bytes;
		errno = 44;
		assert_int_equal(lull__cpus_allowed(), cases[i].count);
		assert_int_equal(errno, 44);
	}
	call_fails = 0;
}

/* All CPUs that any thread may use are visited, and then those are set that this thread had. */
TEST(visit)
{
	static const char *const names[] = { ".", "..", "3", "5", "4", NULL };
	static const struct {
		bool has_threads;
		int tid, get_fails, set_fails_at; /* a thread whose CPUs cannot be read; at which CPU none can go */
		int result, sets;
		uint64_t visited;
	} cases[] = {
		{ true, 0, 0, 0, 0, 5, 0x107 },
		{ true, 5, ESRCH, 0, 0, 4, 0x106 }, /* it has exited since */
		{ true, 5, EPERM, 0, -EPERM, 0, 0 },
		{ true, 0, EPERM, 0, -EPERM, 0, 0 },
		{ false, 0, 0, 0, -EMFILE, 0, 0 },
		{ true, 0, 0, 2, -EINVAL, 3, 0x7 }, /* it goes back, if it has been anywhere */
		{ true, 0, 0, 1, -EINVAL, 1, 0 },
		{ true, 0, 0, 5, -EINVAL, 5, 0x107 }, /* the way back */
	};

	thread_cpus[0] = 0x6;
	thread_cpus[3] = 0x6;
	thread_cpus[4] = 0x100;
	thread_cpus[5] = 0x1;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		threads = cases[i].has_threads ? names : NULL;
		memset(get_fails, 0, sizeof(get_fails));
		get_fails[cases[i].tid] = cases[i].get_fails;
		set_fails_at = cases[i].set_fails_at;
		set_calls = 0;
		visited = last_set = 0;
		errno = 44;
		assert_int_equal(lull__visit_all_cpus(), cases[i].result);
		assert_int_equal(errno, 44);
		assert_int_equal(set_calls, cases[i].sets);
		assert_int_equal(visited, cases[i].visited);
		if (visited && cases[i].set_fails_at != 5)
			assert_int_equal(last_set, 0x6);
		if (threads)
			assert_int_equal(next_thread, -1); /* closed */
	}
}

/* ---- calls that fail ------------------------------------------------------------------------------ */

TEST(membarrier)
{
	errno = 44; /* which is no result */
	assert_int_equal(lull__membarrier(), 0);
	assert_int_equal(lull__membarrier_global(), 0);
	assert_true(lull__membarrier_register());
	assert_int_equal(errno, 44);
	call_fails = EPERM;
	assert_int_equal(lull__membarrier(), -EPERM);
	assert_int_equal(lull__membarrier_global(), -EPERM);
	assert_false(lull__membarrier_register());
	assert_int_equal(errno, 44);
	call_fails = 0;
}

TEST(page)
{
	uint32_t *page = lull__page_cleared_by_fork();

	if (page) {
		assert_int_equal(*page, 0);
		*page = 1;
		assert_int_equal(maps, 1);
		lull__free_page(page);
	}
	assert_int_equal(maps, 0);
	errno = 44;
	no_advice = true;
	assert_null(lull__page_cleared_by_fork());
	assert_int_equal(maps, 0);
	no_memory = true;
	assert_null(lull__page_cleared_by_fork());
	assert_int_equal(errno, 44);
	no_memory = no_advice = false;
}

/* ---- the real one: sleeps and wake-ups ------------------------------------------------------------- */

/* A sleep ends when its time is over, and not before; or when the word is another one. */
TEST(futex_wait)
{
	uint32_t word = 5;
	uint64_t until_ns;

	errno = 44;
	for (int shared = 0; shared < 2; shared++) {
		until_ns = lull__now_ns() + 3000000;
		assert_int_equal(lull__futex_wait_bits(&word, 5, 1, until_ns, shared), -ETIMEDOUT);
		assert_true(lull__now_ns() >= until_ns);
		assert_int_equal(lull__futex_wait_bits(&word, 6, 1, until_ns, shared), -EAGAIN);
		assert_int_equal(lull__futex_wait_bits(&word, 6, 1, LULL__NEVER, shared), -EAGAIN);
	}
	until_ns = lull__now_ns() + 2000000;
	lull__nap(2000000);
	assert_true(lull__now_ns() >= until_ns);
	assert_int_equal(errno, 44);
}

static uint32_t words[2];
static int woken;

static void *waits_for_word(void *bits)
{
	while (lull__futex_wait_bits(&words[0], 0, (uint32_t)(uintptr_t)bits, LULL__NEVER, false) != 0)
		;
	lull_add_release(&woken, 1);
	return NULL;
}

/* One is woken, or moved, or those with a bit; and what was not possible is an error. */
TEST(futex_wake)
{
	pthread_t waiters[3];

	for (int i = 0; i < 3; i++)
		waiters[i] = start_thread(waits_for_word, (void *)(uintptr_t)(i == 2 ? 2 : 1));
	errno = 44;
	AWAIT(lull__futex_requeue(&words[0], 0, 0, 1, &words[1], false) == 0 && lull__futex_wake_bits(&words[1], 1, ~0u, false) == 1);
	await_flag(&woken, 1);
	assert_int_equal(lull__futex_requeue(&words[0], 1, 1, 1, &words[1], false), -EAGAIN);
	assert_int_equal(errno, 44);
	assert_int_equal(lull__futex_wake_bits(&words[0], 9, 4, false), 0);
	AWAIT(lull_load_acquire(&woken) >= 2 || lull__futex_wake_bits(&words[0], 1, 1, false) == 1 ||
	      lull__futex_wake_bits(&words[0], 1, 2, false) == 1);
	AWAIT(lull_load_acquire(&woken) >= 2);
	while (lull_load_acquire(&woken) < 3) {
		lull__futex_wake(&words[0], 1);
		sched_yield();
	}
	assert_int_equal(lull__futex_wake_bits(&words[0], 9, ~0u, false), 0);
	assert_int_equal(lull__futex_wake_bits(&words[0], 9, 0, false), 0); /* an error is no thread */
	assert_int_equal(errno, 44);
	for (int i = 0; i < 3; i++)
		join_thread(waiters[i]);
}

/* A word of this process, and an address at which there is none. */
TEST(peek)
{
	uint32_t word = 0xabcd1234, got = 7;
	struct iovec from = { &word, sizeof(word) }, to = { &got, sizeof(got) };

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0)
		SKIP("process_vm_readv() is not allowed here");
	got = 7;
	errno = 44;
	assert_true(lull__peek(&word, &got));
	assert_int_equal(got, 0xabcd1234);
	assert_false(lull__peek((const uint32_t *)16, &got));
	assert_int_equal(errno, 44);
}

/* ---- signals, threads ------------------------------------------------------------------------------ */

#ifdef LULL_TEST_EMULATED
#define SIGNALS (SIGRTMAX - 2) /* the emulator keeps the last two for itself */
#else
#define SIGNALS SIGRTMAX
#endif

TEST(signals)
{
	sigset_t saved, before, now;

	pthread_sigmask(SIG_BLOCK, NULL, &before);
	lull__block_signals(&saved);
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	for (int sig = 1; sig <= SIGNALS; sig++)
		if (sig != SIGKILL && sig != SIGSTOP && (sig < 32 || sig >= SIGRTMIN)) {
			assert_int_equal(sigismember(&now, sig), 1);
			assert_int_equal(sigismember(&saved, sig), sigismember(&before, sig));
		}
	lull__restore_signals(&saved);
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	for (int sig = 1; sig <= SIGNALS; sig++)
		assert_int_equal(sigismember(&now, sig), sigismember(&before, sig));
}

TEST(cancel)
{
	int saved, was;

	lull__no_cancel(&saved);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	assert_int_equal(was, PTHREAD_CANCEL_DISABLE);
	assert_int_equal(saved, PTHREAD_CANCEL_ENABLE);
	lull__may_cancel(saved);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &was);
	assert_int_equal(was, PTHREAD_CANCEL_ENABLE);
}
