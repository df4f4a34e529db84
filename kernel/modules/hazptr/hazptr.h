/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Hazard pointers: a reader names the object that it uses, an updater frees none that is named.
 *
 * There are two forms here, and neither needs the other.
 *
 * Contexts. A reader has a context with eight slots, in a structure or on its stack. It protects an
 * object by writing the object's callback_head into a slot and looking a second time whether the
 * object can still be found. An updater unlinks the object and passes it to call_hazptr(), which
 * calls back when no slot names it.
 *
 *	init_hazptr_context(&ctx);
 *	slot = hazptr_alloc(&ctx);
 *	p = hazptr_tryprotect(slot, gp, head);	  old = gp, gp = new;
 *	if (p)					  call_hazptr(&old->head, free_it);
 *		use(p);
 *	hazptr_clear(slot);
 *	cleanup_hazptr_context(&ctx);
 *
 * A context belongs to its memory and not to a CPU. So it does not matter whether its reader is
 * preempted, sleeps, or moves to another CPU, nor whether the CPU goes offline on which it was
 * initialized. It has one user at a time: a task, or an interrupt handler.
 *
 * Acquire. There are four slots on each CPU, and one in each struct hazptr_ctx. hazptr_acquire()
 * takes a free slot of its CPU, or the one in the ctx when there is none, so it cannot fail. It
 * marks the slot as "names something", loads the pointer once, and names the object.
 *
 *	p = hazptr_acquire(&ctx, (void **)&gp);	  old = gp, gp = new;
 *	if (p) {				  hazptr_synchronize(old);
 *		use(p);				  kfree(old);
 *		hazptr_release(&ctx, p);
 *	}
 *
 * When a task leaves its CPU, what it names moves to the slots in its ctxs, so that a task that
 * sleeps keeps no other one out of the CPU's slots. Where the kernel has no tracepoints this does
 * not happen. Then slots of a CPU stay in use while their task sleeps, and others take those in
 * their ctxs, which is slower and as safe. A ctx that is to be released by another task, on another
 * CPU or after the interrupt handler that acquired has returned, must be detached first.
 *
 * None of this may be called from NMIs. Objects have even addresses.
 */
#ifndef KERNEL_MODULES_HAZPTR_H
#define KERNEL_MODULES_HAZPTR_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/stddef.h>
#include <linux/types.h>

#include "hazptr_faults.h"

/* ---- contexts ---- */

#define HAZPTR_SLOTS_PER_CONTEXT 8

/* A slot: NULL, or the callback_head of an object that must stay. */
typedef void *hazptr_t;

/*
 * A slot, as the scan saw it. A context has one for each of its slots, so that a scan, which
 * runs to free memory, allocates none.
 */
struct hazptr_snapshot {
	struct rb_node node;
	void *addr;
};

struct hazptr_context_list;

struct hazptr_context {
	struct hazptr_context_list *list;
	struct list_head entry;
	unsigned long pass;	/* the last one that has snapshots of it */
	unsigned long in_tree;	/* which snapshots these are */
	unsigned long used;	/* slots; for the owner only */
	struct hazptr_snapshot snapshot[HAZPTR_SLOTS_PER_CONTEXT];
	hazptr_t slot[HAZPTR_SLOTS_PER_CONTEXT] ____cacheline_aligned;
};

void init_hazptr_context(struct hazptr_context *ctx);
void cleanup_hazptr_context(struct hazptr_context *ctx);
void call_hazptr(struct callback_head *head, void (*func)(struct callback_head *head));
void hazptr_barrier(void);

/* Take a slot of @ctx. Returns NULL when all are taken. */
static inline hazptr_t *hazptr_alloc(struct hazptr_context *ctx)
{
	unsigned long n = ffz(ctx->used);

	if (n >= HAZPTR_SLOTS_PER_CONTEXT)
		return NULL;
	ctx->used |= BIT(n);
	return &ctx->slot[n];
}

/* Stop protecting what @slot names, if anything. */
static inline void hazptr_clear(hazptr_t *slot)
{
	/* All use of the object comes before; the scan loads the slot by acquire. */
	smp_store_release(slot, NULL);
}

/* Clear @slot and give it back to @ctx, from which it came. */
static inline void hazptr_free(struct hazptr_context *ctx, hazptr_t *slot)
{
	hazptr_clear(slot);
	ctx->used &= ~BIT(slot - ctx->slot);
}

/* Let @slot name @head, so that every scan that finds it otherwise comes before the next load. */
static inline void __hazptr_name(hazptr_t *slot, void *head)
{
	hazptr_step(LOOKED);
	/* Release: the slot may have named another object, whose use comes before. */
	smp_store_release(slot, head);
	/* Pairs with the full barriers between call_hazptr() and the scan. */
	smp_mb();
	hazptr_step(NAMED);
}

/*
 * Compare two pointers, and let the compiler learn nothing from it. Else it could use the first for
 * the second, and the order that comes of the dependency would be that of the first load.
 */
static inline bool __hazptr_same(const void *a, const void *b)
{
	OPTIMIZER_HIDE_VAR(a);
	OPTIMIZER_HIDE_VAR(b);
	return a == b || hazptr_fault(NO_RELOAD);
}

/*
 * Protect the object that @gp points to; @gp is a pointer variable that updaters change, @field the
 * callback_head in the object. Returns the object, or NULL when @gp is NULL or was changed
 * meanwhile. The object stays until @slot is cleared, freed, or names another one.
 */
#define hazptr_tryprotect(slot, gp, field)						\
({											\
	hazptr_t *__slot = (slot);							\
	typeof(gp) *__from = &(gp);							\
	typeof(**__from) *__second = (typeof(**__from) __force *)READ_ONCE(*__from);	\
	const void *__first = __second;							\
											\
	if (__second) {									\
		__hazptr_name(__slot, (void *)__second + offsetof(typeof(**__from), field)); \
		__second = (typeof(**__from) __force *)READ_ONCE(*__from);		\
		if (unlikely(!__hazptr_same(__first, __second))) {			\
			hazptr_clear(__slot);						\
			__second = NULL;						\
		}									\
	}										\
	__second;									\
})

/* hazptr_tryprotect() for a @gp that cannot change meanwhile, as when a reference is held. */
#define hazptr_protect(slot, gp, field)							\
({											\
	typeof(gp) *__at = &(gp);							\
	typeof(**__at) *__stable = hazptr_tryprotect(slot, *__at, field);		\
											\
	WARN_ON_ONCE(!__stable);							\
	__stable;									\
})

/* ---- acquire ---- */

struct hazptr_cpu;

struct hazptr_ctx {
	void **slot;		/* the place of the name: a CPU's slot, or @parked; NULL: none */
	void *parked;
	struct hazptr_cpu *cpu;	/* in whose list it is, when @slot is @parked */
	struct list_head entry;
	u64 stamp;		/* lists are in the order of their stamps */
#ifdef HAZPTR_FAULTS
	long phase;
#endif
};

void *hazptr_acquire(struct hazptr_ctx *ctx, void *const *addr_p);
void hazptr_release(struct hazptr_ctx *ctx, void *addr);
void hazptr_detach(struct hazptr_ctx *ctx);
void hazptr_synchronize(const void *addr);

#endif
