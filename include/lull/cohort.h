/* SPDX-License-Identifier: MIT */
/*
 * cohort.h - lull_cohort: wait until what was retired into it is gone, and for nothing else.
 *
 * A barrier (lull_rcu_barrier(), lull_hazptr_barrier()) waits for the callbacks of the whole process. So it also
 * waits for an object that another part of the program holds, perhaps for minutes. A plugin that is to be unloaded,
 * or an engine that shuts down, only has to know that its own callbacks have run: they are its code, and use its
 * data. It retires its objects into a cohort, and waits for that:
 *
 *	plugin					anyone else
 *	unlink A
 *	lull_cohort_call_rcu(&mine, &A->c, f)	holds B, an object of its own
 *	no more calls into this plugin
 *	lull_cohort_wait(&mine)			...
 *	f(A) has returned: dlclose()		still holds B
 *
 * When lull_cohort_wait() has returned, the callbacks have returned too, not only begun: no thread is in their code any
 * more. A cohort is one word, a count of what has been retired and has not returned; a thread that waits sleeps until it
 * is zero. Each call goes on to one of rcu.h, hazptr.h, bridge.h and reclaim.h, which say what is reclaimed, when, and
 * on which thread.
 *
 * An object may own a cohort, as a hash table has one for its elements, and may itself be retired into another one. Its
 * callback then ends its cohort: a wait in a callback runs the members of that cohort there, out of turn, and no other
 * callbacks. If they still have readers, it waits for these, and holds up what is behind it. Most often the members left
 * are those that the callback has just retired. Then it costs nothing more than their end. Else it looks at all
 * callbacks that wait.
 *
 * For the whole process there is lull_reclaim_drain(): all that waits, and all that comes of it.
 *
 * Limits: callbacks wait in one queue for each thread that defers, and most often one thread runs all of them.
 * So a callback of others that does not return holds a cohort up, and so does a reader that stays
 * in a read section, if anything in the cohort waits for a grace period. Readers that hold objects of others by hazard
 * pointers do not.
 *
 * After fork the child has a copy of what waits. A callback that was running in another thread at the time of the fork
 * does not run again in the child, and the child's cohort does not wait for it. Do not fork in a signal handler that
 * may interrupt one of the calls: the child's cohort would not wait for that object.
 *
 * Source of the idea: hazptr_obj_cohort of folly (M. Michael); "retire_to_cohort" of C++ proposal P3427.
 */
#ifndef LULL_COHORT_H
#define LULL_COHORT_H

#include <lull/bridge.h>

LULL_BEGIN_DECLS

/* A cohort of zero bytes has nothing in it; in C++ it begins so. */
struct lull_cohort {
	uint64_t state LULL__ZERO; /* how many have not been called, counted in which process, and if a thread sleeps */
#ifdef __cplusplus
	lull_cohort() = default;
	lull_cohort(const lull_cohort &) = delete;
	lull_cohort &operator=(const lull_cohort &) = delete;
#endif
};

#ifdef __cplusplus
#define LULL_COHORT_INIT {}
#else
#define LULL_COHORT_INIT { 0 }
#endif

/* Embedded in each object, in place of a struct lull_head. Hazard pointers protect by the address of `head`. */
struct lull_cohort_head;
typedef void (*lull_cohort_func)(struct lull_cohort_head *head) LULL__NOEXCEPT_TYPE;
struct lull_cohort_head {
	struct lull_head head;
	lull_cohort_func func;
	struct lull_cohort *cohort;
};

/* Make @c a cohort with nothing in it. Only for memory that is not zero. Any context. */
LULL_API void lull_cohort_init(struct lull_cohort *c) LULL_NOEXCEPT;

/*
 * Retire into @c: call @func(@head) as lull_rcu_call(), lull_hazptr_call() or lull_rcu_call_hazptr() would, in the same
 * contexts. Nothing is allocated that those would not allocate. Cannot fail. @bytes wait with the object, see reclaim.h. A callback
 * may retire into the cohort that it belongs to.
 */
LULL_API void lull_cohort_call_rcu(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func) LULL_NOEXCEPT;
LULL_API void lull_cohort_call_rcu_sized(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func,
					 size_t bytes) LULL_NOEXCEPT;
LULL_API void lull_cohort_call_hazptr(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func) LULL_NOEXCEPT;
LULL_API void lull_cohort_call_hazptr_sized(struct lull_cohort *c, struct lull_cohort_head *head,
					    lull_cohort_func func, size_t bytes) LULL_NOEXCEPT;
LULL_API void lull_cohort_call_rcu_hazptr(struct lull_cohort *c, struct lull_cohort_head *head, lull_cohort_func func) LULL_NOEXCEPT;
LULL_API void lull_cohort_call_rcu_hazptr_sized(struct lull_cohort *c, struct lull_cohort_head *head,
						lull_cohort_func func, size_t bytes) LULL_NOEXCEPT;

/*
 * Wait until everything that was retired into @c has been called, and has returned; also what the callbacks retire into
 * @c, however many generations; meanwhile each generation follows the one before it at once. The caller sees all that
 * the callbacks did. Under LULL_RECLAIM_POLL and LULL_RECLAIM_CALLER, or if the background thread cannot be had, this
 * thread runs the callbacks that are ready, also those of others. In a callback it runs those of @c alone. Blocks. Not
 * with a lock held that a callback takes. Aborts in a read section, in thread_start (reclaim.h), and in a callback of @c
 * itself. An online thread is offline while it waits. Not in signal handlers. The timeout form returns -ETIMEDOUT after
 * @timeout_ms (UINT64_MAX: no limit), else 0. A wait for readers that lasts is reported as one of a barrier (debug.h).
 */
LULL_API void lull_cohort_wait(struct lull_cohort *c) LULL_NOEXCEPT;
LULL_API int lull_cohort_wait_timeout(struct lull_cohort *c, uint64_t timeout_ms) LULL_NOEXCEPT;

/*
 * Wait as lull_cohort_wait() does. Then no thread of lull's touches @c any more, and the caller may free it or retire
 * into it again. If there is nothing in @c, this may be called in any context.
 */
LULL_API void lull_cohort_destroy(struct lull_cohort *c) LULL_NOEXCEPT;

/*
 * Has everything that was retired into @c been called, and returned? Then the caller sees all that the callbacks did.
 * Another thread may retire more at any moment. Any context.
 */
LULL_API bool lull_cohort_is_empty(const struct lull_cohort *c) LULL_NOEXCEPT;

LULL_END_DECLS

#include <lull/detail/tsan_cohort.h>

#endif /* LULL_COHORT_H */
