/* SPDX-License-Identifier: MIT */
/*
 * The end of a process that is none; see fuzz_exit.h. While fuzz_run() is at work, the allocator of AddressSanitizer
 * tells what is allocated and freed, inside libc too.
 */
#include "fuzz_exit.h"

#include <sanitizer/allocator_interface.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define HELD_MAX  65536u
#define FILES_MAX 16u

static __thread bool at_work; /* other threads' memory is none of func's */
static jmp_buf way_out;
static int exit_status;
static const volatile void *held[HELD_MAX];
static size_t nr_held;
static FILE *files[FILES_MAX];
static size_t nr_files;

FILE *__real_fopen(const char *path, const char *mode);
int __real_fclose(FILE *file);
_Noreturn void __real_exit(int status);
FILE *__wrap_fopen(const char *path, const char *mode);
int __wrap_fclose(FILE *file);
_Noreturn void __wrap_exit(int status);

static void on_malloc(const volatile void *p, size_t size)
{
	(void)size;
	if (!at_work)
		return;
	fuzz_must(nr_held < HELD_MAX);
	held[nr_held++] = p;
}

static void on_free(const volatile void *p)
{
	size_t i = nr_held;

	while (at_work && i--) {
		if (held[i] == p) {
			held[i] = held[--nr_held];
			return;
		}
	}
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	FILE *file = __real_fopen(path, mode);

	if (at_work && file) {
		fuzz_must(nr_files < FILES_MAX);
		files[nr_files++] = file;
	}
	return file;
}

int __wrap_fclose(FILE *file)
{
	for (size_t i = 0; i < nr_files; i++)
		if (files[i] == file)
			files[i] = files[--nr_files];
	return __real_fclose(file);
}

_Noreturn void __wrap_exit(int status)
{
	if (!at_work)
		__real_exit(status);
	exit_status = status;
	longjmp(way_out, 1);
}

static void release(void)
{
	while (nr_files)
		__real_fclose(files[--nr_files]);
	at_work = false;
	while (nr_held)
		free((void *)(uintptr_t)held[--nr_held]);
}

/* A stream into @text that allocates nothing when it is written to. */
static FILE *stream(char *text, size_t size, char *buffer)
{
	FILE *file = fmemopen(text, size, "w");

	fuzz_must(file && setvbuf(file, buffer, _IOFBF, BUFSIZ) == 0);
	return file;
}

int fuzz_run(void (*func)(void *arg), void *arg, struct fuzz_text *text)
{
	static bool ready;
	static struct fuzz_text written;
	static char buffer[2][BUFSIZ];
	static FILE *out, *err, *real_out, *real_err;

	if (!ready) {
		fuzz_must(__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free));
		out = stream(written.out, sizeof(written.out), buffer[0]);
		err = stream(written.err, sizeof(written.err), buffer[1]);
		real_out = stdout;
		real_err = stderr;
		ready = true;
	}
	memset(&written, 0, sizeof(written));
	rewind(out);
	rewind(err);
	exit_status = FUZZ_RETURNED;
	nr_held = 0;
	stdout = out;
	stderr = err;
	if (!setjmp(way_out)) {
		at_work = true;
		func(arg);
	} else {
		release();
	}
	at_work = false;
	fflush(out);
	fflush(err);
	stdout = real_out;
	stderr = real_err;
	*text = written;
	return exit_status;
}

void fuzz_must_complain(int status, const struct fuzz_text *text)
{
	const char *line = text->err;
	size_t len = strlen(line);

	fuzz_must(status == 2);
	fuzz_must(!text->out[0]);
	fuzz_must(!strncmp(line, "lull", 4));
	fuzz_must(len && line[len - 1] == '\n');
	for (size_t i = 0; i + 1 < len; i++)
		fuzz_must((unsigned char)line[i] >= ' ' && line[i] != '\177');
}
