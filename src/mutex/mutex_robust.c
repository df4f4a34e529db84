/* SPDX-License-Identifier: MIT */
/*
 * mutex_robust.c - mutexes on the thread's robust list, which the kernel walks when the thread dies.
 *
 * `list_op_pending` tells the kernel which lock is on its way into the list or out of it, so that at no
 * instruction a lock is held and unknown. The kernel reads all stores here in this same thread: only the
 * compiler has to keep their order.
 *
 * A link is the address of a `next`; the word before it is the address of the link that leads there. The
 * list's head, in the C library's thread structure, has such a word as well. Bit 0 of a link belongs to the
 * C library's priority inheritance and stays unchanged.
 *
 * On death the kernel makes the word FUTEX_OWNER_DIED, keeps WAITERS, and wakes one thread; it does not know
 * of private futexes there, so all of these are shared ones.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lull/mutex_robust.h>

#include "../base/message.h"
#include "../owner_runs/owner_runs.h"
#include "self.h"
#include "waiting.h"

#define OWNER_DIED   LULL__MUTEX_HEIR /* the kernel's bit; these have no heirs */
#define INCONSISTENT 0x10000000u      /* in `rest`: an owner has died, and the data are not repaired yet */
#define LOST	     0x20000000u      /* in `rest`: ... and never will be */

#ifdef __LP64__
_Static_assert(sizeof(struct lull_mutex_robust) == 40 &&
	       offsetof(struct lull_mutex_robust, next) - offsetof(struct lull_mutex_robust, prev) == 8,
	       "linked as the C library's are");
#endif

static __thread struct robust_list_head *list __attribute__((tls_model("initial-exec")));

/* Return the calling thread's list; NULL if the C library expects the word of a lock at another offset. */
static struct robust_list_head *my_list(void)
{
	struct robust_list_head *head = NULL;
	size_t len = 0;
	int saved = errno;

	if (list)
		return list;
	if (syscall(SYS_get_robust_list, 0, &head, &len) == 0 && head && len == sizeof(*head) &&
	    head->futex_offset == -(long)offsetof(struct lull_mutex_robust, next))
		list = head;
	errno = saved;
	return list;
}

static void pending(struct lull_mutex_robust *m)
{
	lull_compiler_barrier();
	list->list_op_pending = m ? (struct robust_list *)(void *)&m->next : NULL;
	lull_compiler_barrier();
}

static uintptr_t *link_at(uintptr_t link)
{
	return (uintptr_t *)(link & ~(uintptr_t)1);
}

static void put_in(struct lull_mutex_robust *m)
{
	uintptr_t *first = (uintptr_t *)(void *)&list->list.next;

	m->next = *first;
	m->prev = (uintptr_t)first;
	link_at(m->next)[-1] = (uintptr_t)&m->next;
	lull_compiler_barrier();
	*first = (uintptr_t)&m->next;
}

static void take_out(struct lull_mutex_robust *m)
{
	link_at(m->next)[-1] = m->prev;
	lull_compiler_barrier();
	*link_at(m->prev) = m->next;
	m->prev = m->next = 0;
}

void lull_mutex_robust_init(struct lull_mutex_robust *m, uint32_t flags)
{
	lull_mutex_init(&m->mutex, flags);
	m->prev = m->next = 0;
}

/* Take the lock. The word has OWNER_DIED until a thread takes it; from then on `rest` has INCONSISTENT. */
static bool take_robust(struct lull__lock_wait *wait, uint32_t word)
{
	uint32_t mine = wait->tid | (word & LULL__MUTEX_WAITERS) | (wait->woken ? LULL__MUTEX_WAITERS : 0);

	if (word & LULL__MUTEX_TID)
		return false;
	/* MTX-1 as in lull__mutex_try_inline(). */
	if (!lull_cas_acquire(&wait->m->word, &word, mine))
		return false;
	if (word & OWNER_DIED) {
		LULL__TSAN_MUTEX(__tsan_acquire(&lull__owner_exits));
		lull_or_relaxed(&wait->m->rest, INCONSISTENT);
	}
	return true;
}

static void unlock(struct lull_mutex_robust *m)
{
	uint32_t word;

	pending(m);
	take_out(m);
	/* MTX-1 as in lull_mutex_unlock(). */
	word = lull_xchg_release(&m->mutex.word, 0u);
	lull__oracle_released();
	if (word & LULL__MUTEX_WAITERS)
		lull__futex_wake_bits(&m->mutex.word, 1, LULL__MUTEX_ANY, true);
	pending(NULL);
}

/* Return the result of the lock, which the calling thread holds now. */
static int verdict(struct lull_mutex_robust *m)
{
	uint32_t rest = lull_load_relaxed(&m->mutex.rest);

	put_in(m);
	pending(NULL);
	lull__oracle_acquired();
	if (rest & LOST) {
		unlock(m);
		return -ENOTRECOVERABLE;
	}
	return rest & INCONSISTENT ? -EOWNERDEAD : 0;
}

static int lock_robust_until(struct lull_mutex_robust *m, uint64_t deadline_ns, bool waits, bool woken)
{
	struct lull__lock_wait wait = {
		.m = &m->mutex,
		.take = take_robust,
		.tid = lull__mutex_self(),
		.woken = woken,
		.shared = true,
		.deadline_ns = deadline_ns,
		.impatient_ns = LULL__NEVER,
	};
	int err = 0;

	if (!my_list())
		return -ENOTSUP;
	if (lull_unlikely(waits && lull_mutex_owner(&m->mutex) == wait.tid))
		lull__mutex_misuse("locks", m, wait.tid);
	lull__oracle_tries();
	pending(m);
	if (!take_robust(&wait, lull_load_relaxed(&m->mutex.word)))
		err = waits ? lull__lock_wait_for(&wait) : -EBUSY;
	if (err) {
		pending(NULL);
		lull__oracle_released();
		return err;
	}
	return verdict(m);
}

int lull__mutex_robust_lock(struct lull_mutex_robust *m)
{
	return lock_robust_until(m, LULL__NEVER, true, false);
}

int lull__mutex_robust_trylock(struct lull_mutex_robust *m)
{
	return lock_robust_until(m, 0, false, false);
}

int lull__mutex_robust_timedlock(struct lull_mutex_robust *m, uint64_t deadline_ns)
{
	return lock_robust_until(m, deadline_ns, true, false);
}

int lull__robust_lock_again(struct lull_mutex_robust *m, bool woken)
{
	return lock_robust_until(m, LULL__NEVER, true, woken);
}

void lull__robust_must_own(struct lull_mutex_robust *m, const char *what)
{
	uint32_t owner = lull_mutex_owner(&m->mutex);

	if (lull_unlikely(owner != lull__mutex_self()))
		lull__mutex_misuse(what, m, owner);
}

void lull__mutex_robust_unlock(struct lull_mutex_robust *m)
{
	lull__robust_must_own(m, "unlocks");
	if (lull_load_relaxed(&m->mutex.rest) & INCONSISTENT)
		lull_or_relaxed(&m->mutex.rest, LOST);
	unlock(m);
}

void lull_mutex_robust_consistent(struct lull_mutex_robust *m)
{
	lull__robust_must_own(m, "makes consistent");
	if (!(lull_load_relaxed(&m->mutex.rest) & INCONSISTENT))
		lull__die("lull_mutex_robust_consistent: nothing is wrong with mutex %p", (void *)m);
	lull_and_relaxed(&m->mutex.rest, ~INCONSISTENT);
}
