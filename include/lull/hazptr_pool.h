/* SPDX-License-Identifier: MIT */
/*
 * hazptr_pool.h - hazard pointers that belong to no thread: to be stored in objects, and handed from thread to thread.
 *
 * The slots of hazptr.h belong to a thread: its context has eight, and a hold must be detached before another thread
 * may release it. A slot of the pool belongs to whoever has its address. It protects as any other slot does, by the
 * functions of hazptr.h:
 *
 *	struct lull_hazptr *h = lull_hazptr_pool_get();
 *	p = lull_hazptr_protect(h, variable, head);
 *	... on this thread or, after a hand-over, on another one: use *p ...
 *	lull_hazptr_pool_put(h);
 *
 * Any thread may set, clear and put the slot, one thread at a time: hand it over by a lock, a queue, or any release and
 * acquire. When a thread exits, its slots of the pool go on protecting. There are as many as there is memory for.
 *
 * Cost: each thread keeps a block of eight slots, and gets and puts these without a lock. It takes a lock for a moment
 * when all eight are in use, and to put a slot of another block. When no thread keeps a block and all its slots are free,
 * the pool frees it; four such blocks stay. So after a burst the memory is given back. Use a hold
 * (hazptr.h) where one will do: it needs no memory, and cannot fail.
 *
 * A forked child keeps what slots of the pool protect, also those that only threads of its parent know. Its pool begins
 * with the free slots, but for those of a block that another thread was moving; each block is there again when one of its
 * slots is put.
 */
#ifndef LULL_HAZPTR_POOL_H
#define LULL_HAZPTR_POOL_H

#include <lull/hazptr.h>

LULL_BEGIN_DECLS

#define LULL__HAZPTR_BLOCK 256 /* bytes; the block of a slot begins at a multiple */

struct lull__hazptr_block {
	struct lull_hazptr_context ctx; /* detached */
	/*
	 * Links of the pool's list; these, and what follows, under the pool's lock. To the block: leak checkers look
	 * for that.
	 */
	struct lull__hazptr_block *next, *prev;
	uint32_t free;	/* bit n: slot n is free; of a block that a thread has at hand, this thread's alone */
	uint32_t back;	/* meanwhile: what other threads have put */
	uint32_t owned; /* in which process a thread has it at hand; 0: none */
	uint32_t list;	/* on the list of that number; 0: on none */
} __attribute__((aligned(LULL__HAZPTR_BLOCK)));

/* Point to the block that the calling thread keeps. NULL before its first slot, and once its exit has been handled. */
__extension__ extern __thread LULL_API struct lull__hazptr_block *lull__hazptr_block
	__attribute__((tls_model("initial-exec")));

LULL_API struct lull_hazptr *lull__hazptr_pool_get_slow(void) LULL_NOEXCEPT;
LULL_API void lull__hazptr_pool_put_slow(struct lull_hazptr *h) LULL_NOEXCEPT;

/*
 * Take a slot that protects nothing. Returns NULL if there is no memory for it. In read sections, with locks held, in
 * callbacks, in destructors of thread-specific data: yes; in signal handlers: no.
 */
LULL_INLINE struct lull_hazptr *lull_hazptr_pool_get(void)
{
	struct lull__hazptr_block *block = lull__hazptr_block;
	unsigned n;

	if (lull_unlikely(!block || !block->free))
		return lull__hazptr_pool_get_slow();
	n = (unsigned)__builtin_ctz(block->free);
	lull_store_relaxed(&block->free, block->free & (block->free - 1));
	return &block->ctx.slot[n];
}

/*
 * Clear @h, and give it back. Aborts if it has been given back already (without LULL_DEBUG: if the block is not the one
 * that the calling thread has at hand). Contexts as for get().
 */
LULL_INLINE void lull_hazptr_pool_put(struct lull_hazptr *h)
{
	struct lull__hazptr_block *block = lull__hazptr_block;
	uintptr_t at = (uintptr_t)h - (uintptr_t)block;

	lull_hazptr_clear(h);
#ifdef LULL_DEBUG
	if (at < sizeof(block->ctx.slot) && (block->free >> at / sizeof(*h) & 1)) {
		lull__hazptr_pool_put_slow(h);
		return;
	}
#endif
	if (lull_likely(at < sizeof(block->ctx.slot)))
		lull_store_relaxed(&block->free, block->free | 1u << at / sizeof(*h));
	else
		lull__hazptr_pool_put_slow(h);
}

LULL_END_DECLS

#endif /* LULL_HAZPTR_POOL_H */
