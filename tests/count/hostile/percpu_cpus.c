/* SPDX-License-Identifier: MIT */
/* runs: full-fences, no-rseq */
/*
 * percpu_cpus.c - percpu_ref.h: the first ref of a process, which counts the machine's CPUs: where a
 * sandbox has a file of its own for them, on a small stack, and in a thread that is being cancelled. Each in a child,
 * for which it is the first.
 */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "count/support.h"

/* ---- a file that says that there is one CPU -------------------------------------------------------------------- */

static int sandboxed;

/* The library finds this one before the C library's. */
int open(const char *path, int flags, ...)
{
	va_list more;
	int mode, fd, saved = errno;

	va_start(more, flags);
	mode = va_arg(more, int);
	va_end(more);
	if (!sandboxed || strcmp(path, "/sys/devices/system/cpu/possible") != 0)
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	fd = (int)syscall(SYS_memfd_create, "possible", 0);
	if (fd < 0 || write(fd, "0\n", 2) != 2)
		return -1;
	lseek(fd, 0, SEEK_SET);
	errno = saved;
	return fd;
}

static void run_on(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	must(sched_setaffinity(0, sizeof(one), &one) == 0);
}

TEST(wrong_file)
{
	cpu_set_t all;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	/* In the emulator counts are per thread, as without rseq. */
	if (!CPU_ISSET(0, &all) || !CPU_ISSET(1, &all) || !lull_percpu_ref_per_cpu())
		SKIP("there are no counts per CPU here, or no two CPUs");
	/* If the first user ran on CPU 0 alone, CPU 1's counts are not seen, and lie in memory of others. */
	EXPECT_FINE {
		struct object *o = (struct object *)calloc(1, sizeof(*o));

		alarm(60);
		sandboxed = 1;
		run_on(0);
		must(lull_percpu_ref_init(&o->ref, note_release, 0) == 0);
		run_on(1);
		lull_percpu_ref_get(&o->ref);
		run_on(0);
		lull_percpu_ref_kill(&o->ref);
		must(o->released == 0);
		lull_percpu_ref_put(&o->ref);
		must(o->released == 1);
		lull_percpu_ref_exit(&o->ref);
		free(o);
	}
}

/* ---- a small stack, and a thread that is being cancelled --------------------------------------------------------- */

static struct object first;
static int is_done;

static void *makes_first(void *cancels_itself)
{
	if (cancels_itself)
		pthread_cancel(pthread_self());
	must(lull_percpu_ref_init(&first.ref, note_release, 0) == 0);
	lull_store_release(&is_done, 1);
	return NULL;
}

TEST(first_in_thread)
{
	NEEDS_THREADS_IN_CHILD();
	if (!SANITIZED && !under_valgrind()) /* these take more stack */
		EXPECT_FINE {
			size_t size = PTHREAD_STACK_MIN > 16384 ? PTHREAD_STACK_MIN : 16384;
			pthread_attr_t attr;
			pthread_t thread;

			lull_thread_register();
			pthread_attr_init(&attr);
			must(pthread_attr_setstacksize(&attr, size) == 0);
			must(pthread_create(&thread, &attr, makes_first, NULL) == 0);
			pthread_join(thread, NULL);
			must(is_done);
			lull_percpu_ref_kill(&first.ref);
			lull_percpu_ref_exit(&first.ref);
		}
	EXPECT_FINE {
		pthread_t thread;

		must(pthread_create(&thread, NULL, makes_first, &first) == 0);
		pthread_join(thread, NULL);
		must(is_done);
		lull_percpu_ref_kill(&first.ref);
		lull_percpu_ref_exit(&first.ref);
	}
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
