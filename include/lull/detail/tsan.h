/* SPDX-License-Identifier: MIT */
/*
 * tsan.h - what a program under ThreadSanitizer says about a library that was compiled without it.
 *
 * ThreadSanitizer sees the program's code, with the headers' inline functions in it, and the calls of malloc(3) and
 * pthread_create(3) of the library; and nothing else of the library. It would take each free that waits for readers for
 * a race with them. So the inline functions tell it what the calls order, at no cost elsewhere: LULL__TSAN_RELEASE(at)
 * before a call, LULL__TSAN_ACQUIRE(at) after one, of the same place. The library says its part by weak references
 * (below): it looks at the words of threads when a grace period is over, and at their slots when it has
 * scanned them.
 *
 * A function that is called, and not inlined, has an inline one in front of it in tsan_*.h, and a macro of its name that
 * leads there.
 */
#ifndef LULL_TSAN_H
#define LULL_TSAN_H

#include <lull/atomic.h>

/* LULL__TSAN_SEES_ALL: nobody is to be told, as where the library is compiled with ThreadSanitizer, too. */
#if defined(LULL__TSAN) && !defined(LULL__INSIDE) && !defined(LULL__TSAN_SEES_ALL)
#define LULL__TSAN_APART 1
#include <sanitizer/tsan_interface.h>
#define LULL__TSAN_ACQUIRE(at) __tsan_acquire(LULL__CAST(void *, LULL__CAST(uintptr_t, at)))
#define LULL__TSAN_RELEASE(at) __tsan_release(LULL__CAST(void *, LULL__CAST(uintptr_t, at)))
/* A callback may throw through a call. */
#ifdef __cplusplus
#define LULL__TSAN_THROWS_AS(call) noexcept(noexcept(call))
#else
#define LULL__TSAN_THROWS_AS(call)
#endif
/*
 * Define the function in front of @name, without a result and with one. @before and @after: what it says; @after only
 * if @got, which may ask for the result.
 */
#define LULL__TSAN_CALL(name, params, args, before, after)                                         \
	LULL_INLINE void lull__tsan_##name params LULL__TSAN_THROWS_AS(name args)                  \
	{                                                                                          \
		before;                                                                            \
		name args;                                                                         \
		after;                                                                             \
	}
#define LULL__TSAN_RESULT(type, name, params, args, before, got, after)                            \
	LULL_INLINE type lull__tsan_##name params LULL__TSAN_THROWS_AS(name args)                  \
	{                                                                                          \
		type result;                                                                       \
                                                                                                   \
		before;                                                                            \
		result = name args;                                                                \
		if (got) {                                                                         \
			after;                                                                     \
		}                                                                                  \
		return result;                                                                     \
	}
#else
#define LULL__TSAN_ACQUIRE(at) ((void)0)
#define LULL__TSAN_RELEASE(at) ((void)0)
#endif

/* Places that stand for readers that have left, and for what was deferred and what callbacks did. */
#define LULL__TSAN_READERS  (&lull__fence_full_mode)
#define LULL__TSAN_DEFERRED (&lull__rcu_gp)

/* Shorter names for what calls say. LEAVES: an online thread counts as quiescent in the call. */
#define LULL__TSAN_DEFERS	LULL__TSAN_RELEASE(LULL__TSAN_DEFERRED)
#define LULL__TSAN_LEAVES	LULL__TSAN_RELEASE(&lull__self.rcu)
#define LULL__TSAN_SEES_READERS LULL__TSAN_ACQUIRE(LULL__TSAN_READERS)
#define LULL__TSAN_SEES_CALLS                                                                      \
	LULL__TSAN_ACQUIRE(LULL__TSAN_READERS);                                                    \
	LULL__TSAN_ACQUIRE(LULL__TSAN_DEFERRED)

/*
 * The library's part. The functions are NULL in a program without ThreadSanitizer; so they are asked for where a batch ends
 * or a wait does, and on no fast path.
 */
#if defined(LULL__INSIDE) && !defined(LULL__TSAN) && !defined(LULL__TSAN_SEES_ALL)
void __tsan_acquire(void *at) __attribute__((weak));
void __tsan_release(void *at) __attribute__((weak));
#define lull__tsan_watches()   lull_unlikely(__tsan_acquire != NULL)
#define lull__tsan_acquire(at) (lull__tsan_watches() ? __tsan_acquire((void *)(uintptr_t)(at)) : (void)0)
#define lull__tsan_release(at) (lull__tsan_watches() ? __tsan_release((void *)(uintptr_t)(at)) : (void)0)
#define lull__tsan_seen(what)  (lull__tsan_watches() ? lull__tsan.what() : (void)0)
#else
#define lull__tsan_watches()   false
#define lull__tsan_acquire(at) ((void)(at))
#define lull__tsan_release(at) ((void)(at))
#define lull__tsan_seen(what)  ((void)0)
#endif

/* A batch of things begins that readers have left. */
#define lull__tsan_batch()                                                                         \
	(lull__tsan_acquire(LULL__TSAN_READERS), lull__tsan_acquire(LULL__TSAN_DEFERRED))

#ifdef LULL__INSIDE
/* Readers have been seen: sections when a grace period is over, slots, simple hazard pointers. src/life.c fills it in. */
struct lull__tsan {
	void (*sections)(void);
	void (*slots)(void);
	void (*simple)(void);
};
extern const struct lull__tsan lull__tsan;
#endif

#endif /* LULL_TSAN_H */
