/* SPDX-License-Identifier: MIT */
/*
 * own_new.hpp - for one source of a test program: an operator new that first calls what this thread has told it to call.
 * clang's thread sanitizer brings its own, and no other; there that is not called.
 */
#ifndef LULL_TEST_OWN_NEW_HPP
#define LULL_TEST_OWN_NEW_HPP

#include <cstdlib>
#include <new>

#include "must.hpp"

static thread_local void (*before_new)(); /* may throw */

#if !HAS_OWN_NEW
/* Not inlined: gcc would see free() beside new, and warn. */
__attribute__((noinline)) void *operator new(std::size_t size)
{
	if (before_new)
		before_new();
	if (void *memory = std::malloc(size ? size : 1))
		return memory;
	throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void *memory) noexcept
{
	std::free(memory);
}
__attribute__((noinline)) void operator delete(void *memory, std::size_t) noexcept
{
	std::free(memory);
}
#endif

#endif /* LULL_TEST_OWN_NEW_HPP */
