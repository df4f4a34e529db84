/* SPDX-License-Identifier: MIT */
/*
 * own_syscall.h - the program's own syscall(), which the library uses, too: a test counts calls, or refuses them. Sources
 * of one program share it.
 */
#ifndef LULL_TEST_OWN_SYSCALL_H
#define LULL_TEST_OWN_SYSCALL_H

#include <dlfcn.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lull/atomic.h>

#include "library.h"

/* The test's part: see each call before the kernel does. Returns true if it is not to see it: *result is returned. */
static bool instead_of_syscall(long number, const long *arg, long *result);
FILE_HAS_(own_syscall, instead_of_syscall)

/* The caller may have passed fewer arguments: what is read beyond them is unused, but not always there. */
__attribute__((weak, no_sanitize("address"))) long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long (*next)(long, ...) = lull_load_relaxed(&real);
	long arg[6], result = 0;
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(list, long);
	va_end(list);
	if (!next) {
		*(void **)&next = dlsym(RTLD_NEXT, "syscall");
		lull_store_relaxed(&real, next);
	}
	if (test_own_syscall && test_own_syscall(number, arg, &result))
		return result;
	return next(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

#endif /* LULL_TEST_OWN_SYSCALL_H */
