/* SPDX-License-Identifier: MIT */
/*
 * harness.h - what the bounded models of threads have in common, for cbmc: fences, steps that are one, and the sleep
 * that the kernel offers. cbmc takes no pointers between threads, so objects, words and locks are variables, and what
 * works on them is a macro.
 *
 * proof/models.py proves such a model under PSO, which allows all that TSO and sequential consistency do, and breaks it
 * under the strongest memory model in which that is said to show ("Busted NO_LIGHT: tso"): then it shows in the
 * weaker ones too.  Fences are full ones (LULL_FENCE=full).
 */
#include <assert.h>

int nondet_int(void);

#define FULL()                                                                                     \
	__CPROVER_fence("WWfence", "RRfence", "RWfence", "WRfence", "WWcumul", "RRcumul",          \
			"RWcumul", "WRcumul")
#define RELEASE() __CPROVER_fence("WWfence", "RWfence", "WWcumul", "RWcumul")

#ifdef NO_LIGHT
#define LIGHT()
#else
#define LIGHT() FULL()
#endif
#ifdef NO_HEAVY
#define HEAVY()
#else
#define HEAVY() FULL()
#endif

/* Some statements in one step, of which no order is said. */
#define AT_ONCE(...)                                                                               \
	{                                                                                          \
		__CPROVER_atomic_begin();                                                          \
		__VA_ARGS__;                                                                       \
		__CPROVER_atomic_end();                                                            \
	}

/* A lock: a thread that does not get it is not followed any further. */
#define LOCK(lock)                                                                                 \
	{                                                                                          \
		int got;                                                                           \
                                                                                                   \
		AT_ONCE(got = !(lock); (lock) = 1);                                                \
		__CPROVER_assume(got);                                                             \
		FULL();                                                                            \
	}
#define UNLOCK(lock)                                                                               \
	{                                                                                          \
		RELEASE();                                                                         \
		(lock) = 0;                                                                        \
	}

/* The system calls: atomic and fenced, as the kernel's hash bucket lock makes them. */
#define COUNT_EVENT(event)                                                                         \
	{                                                                                          \
		RELEASE();                                                                         \
		AT_ONCE((event) = (event) + 1);                                                    \
	}
#define FUTEX_WAIT(event, expected, asleep)                                                        \
	{                                                                                          \
		FULL();                                                                            \
		AT_ONCE(if ((event) == (expected)) (asleep) = 1);                                  \
		FULL();                                                                            \
	}
#define FUTEX_WAKE(...)                                                                            \
	{                                                                                          \
		FULL();                                                                            \
		AT_ONCE(__VA_ARGS__);                                                              \
		FULL();                                                                            \
	}
