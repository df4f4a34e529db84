/* SPDX-License-Identifier: MIT */
/*
 * operation.h - one thing that a program does with lull, whose cost is counted: see operations.c.
 */
#ifndef GATES_OPERATION_H
#define GATES_OPERATION_H

#include <stddef.h>

#include <lull/atomic.h>

enum {
	STEPS = 1,  /* its instructions are counted: there are few, and no other thread is needed */
	ONCE = 2,   /* it cannot be repeated */
	NATIVE = 4, /* an emulator, which has no restartable sequences, would count something else */
};

struct operation {
	const char *name;
	void (*before)(void);	      /* once, in the process in which it is counted; may be NULL */
	void (*run)(unsigned long n); /* does it @n times */
	unsigned flags;
};

struct operations {
	const struct operation *first;
	size_t count;
};

extern const struct operations reading_operations, counting_operations, structure_operations, waiting_operations,
	update_operations;

#define OPERATIONS(list)                                                                           \
	{                                                                                          \
		list, sizeof(list) / sizeof(list[0])                                               \
	}

/* Define @name() to run the statements in a loop, and @prepare before it. */
#define OPERATION_WITH(name, prepare, ...)                                                         \
	static __attribute__((noinline)) void name(unsigned long n)                                \
	{                                                                                          \
		prepare;                                                                           \
		for (; n; n--) {                                                                   \
			__VA_ARGS__;                                                               \
			lull_compiler_barrier();                                                   \
		}                                                                                  \
	}
#define OPERATION(name, ...) OPERATION_WITH(name, (void)0, __VA_ARGS__)

/* Use @value, at no cost. */
#define keep(value) __asm__ __volatile__("" : : "r"(value))

/*
 * Memory that costs always the same, for what is deferred: free() puts it back. It is none of the allocations that
 * are counted.
 */
#define POOL_BYTES 64
void *pool_get(void);

/* Let another thread come, use lull and sleep: readers make light fences, and updaters heavy ones. */
void another_thread(void);

#endif
