/* SPDX-License-Identifier: MIT */
/*
 * failing.c - a library to preload: calls of liblull.so fail now and then; those of the program succeed.
 *
 * LULL_WILD_FAIL is "malloc:8,threads:2,mmap:4,membarrier:8": one call in so many fails, drawn from LULL_WILD_SEED. The
 * return address tells whose call it is.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lull/atomic.h>

#define CALLER() ((uintptr_t)__builtin_return_address(0))

enum { FAIL_MALLOC, FAIL_THREADS, FAIL_MMAP, FAIL_MEMBARRIER, NR_FAILS };

static const char *const names[NR_FAILS] = { "malloc", "threads", "mmap", "membarrier" };
static struct {
	uintptr_t from, to; /* of the library; 0: not looked for yet */
	uint64_t random;
	unsigned one_in[NR_FAILS]; /* 0: never */
	uint64_t failed[NR_FAILS], succeeded[NR_FAILS];
} state;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *ptr, size_t size);
void *__libc_memalign(size_t align, size_t size);

/* Count the library's calls that have failed, and that have not. From lull_wild_relent() on none fails. */
__attribute__((visibility("default"))) uint64_t lull_wild_failed(const char *name);
__attribute__((visibility("default"))) uint64_t lull_wild_succeeded(const char *name);
__attribute__((visibility("default"))) void lull_wild_relent(void);

static int note_library(struct dl_phdr_info *info, size_t size, void *unused)
{
	uintptr_t from = UINTPTR_MAX, to = 0;
	int i;

	(void)size;
	(void)unused;
	if (!info->dlpi_name || !strstr(info->dlpi_name, "liblull.so"))
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type != PT_LOAD)
			continue;
		from = info->dlpi_addr + part->p_vaddr < from ? info->dlpi_addr + part->p_vaddr : from;
		to = info->dlpi_addr + part->p_vaddr + part->p_memsz > to ? info->dlpi_addr + part->p_vaddr + part->p_memsz :
									     to;
	}
	lull_store_relaxed(&state.to, to);
	lull_store_release(&state.from, from);
	return 1;
}

static void read_settings(void)
{
	const char *wish = getenv("LULL_WILD_FAIL"), *seed = getenv("LULL_WILD_SEED");
	int i;

	for (i = 0; wish && i < NR_FAILS; i++) {
		const char *at = strstr(wish, names[i]);

		if (at)
			state.one_in[i] = (unsigned)atoi(at + strlen(names[i]) + 1);
	}
	lull_store_relaxed(&state.random, seed ? strtoull(seed, NULL, 10) : 1);
}

/* Read the settings at the first call, which may come before any constructor. */
static void look_around(void)
{
	static uint32_t begun;

	if (lull_xchg_relaxed(&begun, 1u))
		return;
	read_settings();
	dl_iterate_phdr(note_library, NULL);
}

/* Draw a number. A single thread draws the same numbers in each run; threads that race for them do not. */
static uint64_t next_random(void)
{
	uint64_t x = lull_add_relaxed(&state.random, UINT64_C(0x9e3779b97f4a7c15));

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static int fails(int what, uintptr_t caller)
{
	unsigned one_in;
	uintptr_t from;

	look_around();
	one_in = lull_load_relaxed(&state.one_in[what]);
	from = lull_load_acquire(&state.from);
	if (!from || caller < from || caller >= lull_load_relaxed(&state.to))
		return 0;
	if (!one_in || next_random() % one_in) {
		lull_add_relaxed(&state.succeeded[what], (uint64_t)1);
		return 0;
	}
	lull_add_relaxed(&state.failed[what], (uint64_t)1);
	return 1;
}

static int index_of(const char *name)
{
	int i = 0;

	while (i < NR_FAILS - 1 && strcmp(name, names[i]) != 0)
		i++;
	return i;
}

uint64_t lull_wild_failed(const char *name)
{
	return lull_load_relaxed(&state.failed[index_of(name)]);
}

uint64_t lull_wild_succeeded(const char *name)
{
	return lull_load_relaxed(&state.succeeded[index_of(name)]);
}

void lull_wild_relent(void)
{
	int i;

	for (i = 0; i < NR_FAILS; i++)
		lull_store_relaxed(&state.one_in[i], 0u);
}

/* ---- the calls ------------------------------------------------------------------------------- */

/* Find the real function. ISO C has no conversion for it, hence memcpy(). */
static void find(void *real, const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	memcpy(real, &found, sizeof(found));
}

static void *none(void)
{
	errno = ENOMEM;
	return NULL;
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
	return fails(FAIL_MALLOC, CALLER()) ? none() : __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
	return fails(FAIL_MALLOC, CALLER()) ? none() : __libc_calloc(count, size);
}

__attribute__((visibility("default"))) void *realloc(void *ptr, size_t size)
{
	return fails(FAIL_MALLOC, CALLER()) ? none() : __libc_realloc(ptr, size);
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t align, size_t size)
{
	return fails(FAIL_MALLOC, CALLER()) ? none() : __libc_memalign(align, size);
}

__attribute__((visibility("default"))) int posix_memalign(void **ptr, size_t align, size_t size)
{
	void *got = fails(FAIL_MALLOC, CALLER()) ? NULL : __libc_memalign(align, size);

	if (!got)
		return ENOMEM;
	*ptr = got;
	return 0;
}

__attribute__((visibility("default"))) void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	static void *(*real)(void *, size_t, int, int, int, off_t);

	if (fails(FAIL_MMAP, CALLER())) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (!real)
		find(&real, "mmap");
	return real(at, size, prot, flags, fd, offset);
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
							  void *(*run)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (fails(FAIL_THREADS, CALLER()))
		return EAGAIN;
	if (!real)
		find(&real, "pthread_create");
	return real(thread, attr, run, arg);
}

/* Each of them takes as many words as the kernel does. */
__attribute__((visibility("default"))) long syscall(long nr, ...)
{
	static long (*real)(long, ...);
	long word[6];
	va_list ap;
	int i;

	if (nr == SYS_membarrier && fails(FAIL_MEMBARRIER, CALLER())) {
		errno = ENOMEM;
		return -1;
	}
	va_start(ap, nr);
	for (i = 0; i < 6; i++)
		word[i] = va_arg(ap, long);
	va_end(ap);
	if (!real)
		find(&real, "syscall");
	return real(nr, word[0], word[1], word[2], word[3], word[4], word[5]);
}
