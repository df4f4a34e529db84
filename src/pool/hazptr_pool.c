/* SPDX-License-Identifier: MIT */
/*
 * hazptr_pool.c - slots that belong to no thread, in blocks of eight.
 *
 * A block is a detached context, so that scans find its slots. It is aligned to its size, so that a slot finds its
 * block. The pool has all blocks on one list: first those with free slots, then those that a thread has at hand or
 * whose slots are all in use. Memory is allocated and freed outside the lock.
 *
 * Fork. In the child no thread has the blocks that other threads had at hand: `owned` says in which process a thread
 * has a block. The child makes a list of its own, and each block says on which list it is. A block that another thread
 * was moving comes to the list when one of its slots is put. If the forking thread was changing the list, in a signal
 * handler, it goes on with that, and the child keeps the list.
 */
#include <stdlib.h>

#include <lull/hazptr_pool.h>

#include "../base/message.h"
#include "../base/process.h"
#include "../base/registry.h"
#include "pool_life.h"

#define ALL   ((1u << LULL_HAZPTR_SLOTS) - 1)
#define SPARE 4u /* unused blocks that are kept: threads that come and go do not need malloc each time */

__thread struct lull__hazptr_block *lull__hazptr_block __attribute__((tls_model("initial-exec")));
_Static_assert(sizeof(struct lull__hazptr_block) == LULL__HAZPTR_BLOCK, "a slot finds its block by its address");
_Static_assert(offsetof(struct lull__hazptr_block, ctx.slot) == 0, "the offset in the block says which slot it is");

static struct {
	struct lull__lock lock;
	uint32_t spare;	/* blocks with no slot in use and no owner */
	uint32_t number; /* of the list */
	uint32_t process; /* `owned` of the blocks that threads of this process have */
	struct lull__hazptr_block head;
} pool = { .number = 1, .process = 1, .head = { .next = &pool.head, .prev = &pool.head } };

static __thread bool changing __attribute__((tls_model("initial-exec"))); /* the calling thread has the lock */

static void lock_pool(void)
{
	lull__lock(&pool.lock);
	lull__tsan_acquire(&pool);
	lull_store_relaxed(&changing, true);
	lull_compiler_barrier();
}

static void unlock_pool(void)
{
	lull_compiler_barrier();
	lull_store_relaxed(&changing, false);
	lull__tsan_release(&pool); /* the program's threads change blocks inline */
	lull__unlock(&pool.lock);
}

/* ---- the list, under the lock ------------------------------------------------------------------ */

static bool is_owned(const struct lull__hazptr_block *block)
{
	return block->owned == lull_load_relaxed(&pool.process);
}

static bool is_spare(const struct lull__hazptr_block *block)
{
	return !is_owned(block) && block->free == ALL;
}

/* Take @block off the list, before it changes. */
static void take_off(struct lull__hazptr_block *block)
{
	if (block->list != pool.number)
		return; /* new, or of a list that a child has left behind */
	block->prev->next = block->next;
	block->next->prev = block->prev;
	pool.spare -= is_spare(block);
}

/* Put @block on the list where it belongs. Returns NULL, or @block if it is not needed: then it is to be freed. */
static struct lull__hazptr_block *put_on(struct lull__hazptr_block *block)
{
	struct lull__hazptr_block *before = &pool.head;

	block->list = 0;
	if (is_spare(block) && pool.spare == SPARE)
		return block;
	if (is_owned(block) || !block->free)
		before = pool.head.prev;
	block->prev = before;
	block->next = before->next;
	block->next->prev = block;
	lull_compiler_barrier(); /* a child that is forked here follows `next` alone */
	lull_store_relaxed(&before->next, block);
	block->list = pool.number;
	pool.spare += is_spare(block);
	return NULL;
}

/* Find a block with a free slot that no thread has at hand. */
static struct lull__hazptr_block *find_free(void)
{
	struct lull__hazptr_block *block = pool.head.next; /* the head has no free slots */

	return !is_owned(block) && block->free ? block : NULL;
}

/* Let no thread have @block at hand any more. Returns as put_on() does. */
static struct lull__hazptr_block *disown(struct lull__hazptr_block *block)
{
	take_off(block);
	block->free |= block->back;
	block->back = 0;
	block->owned = 0;
	return put_on(block);
}

/* Let the calling thread have @block at hand, which is on no list. A child that is forked on the way repeats the number. */
static void own(struct lull__hazptr_block *block)
{
	uint32_t process;

	lull_store_relaxed(&lull__hazptr_block, block);
	do {
		lull_compiler_barrier();
		process = lull_load_relaxed(&pool.process);
		lull_store_relaxed(&block->owned, process);
		lull_compiler_barrier();
	} while (lull_load_relaxed(&pool.process) != process);
	put_on(block);
}

/* Let the calling thread have a block with a free slot at hand. Returns false if there is none. */
static bool own_one(void)
{
	struct lull__hazptr_block *block = lull__hazptr_block;

	if (block && block->back) {
		lull_store_relaxed(&block->free, block->back);
		block->back = 0;
		return true;
	}
	lull_store_relaxed(&lull__hazptr_block, (struct lull__hazptr_block *)NULL);
	if (block)
		disown(block); /* not spare: all its slots are in use */
	block = find_free();
	if (!block)
		return false;
	take_off(block);
	own(block);
	return true;
}

/* ---- blocks ------------------------------------------------------------------------------------ */

/* Make a block, on no list. NULL: no memory. */
static struct lull__hazptr_block *new_block(void)
{
	struct lull__hazptr_block *block = (struct lull__hazptr_block *)aligned_alloc(LULL__HAZPTR_BLOCK, sizeof(*block));

	if (!block)
		return NULL;
	lull_hazptr_context_init(&block->ctx);
	lull_hazptr_context_detach(&block->ctx);
	block->free = ALL;
	block->back = 0;
	block->owned = 0;
	block->list = 0;
	return block;
}

/* Free @block, unless it is NULL. */
static void free_block(struct lull__hazptr_block *block)
{
	if (!block)
		return;
	lull__tsan_release(LULL__TSAN_READERS); /* its slots are looked at no more */
	lull_hazptr_context_cleanup(&block->ctx);
	free(block);
}

/* Take one slot, for a thread that is past its exit handling and can have none at hand. */
static struct lull_hazptr *take_one(void)
{
	struct lull__hazptr_block *block;
	unsigned n;

	lock_pool();
	block = find_free();
	if (!block) {
		unlock_pool();
		block = new_block();
		if (!block)
			return NULL;
		lock_pool();
	}
	take_off(block);
	n = (unsigned)__builtin_ctz(block->free);
	block->free &= block->free - 1;
	put_on(block);
	unlock_pool();
	return &block->ctx.slot[n];
}

struct lull_hazptr *lull__hazptr_pool_get_slow(void)
{
	struct lull__hazptr_block *block;
	bool found;

	lull__ensure_registered();
	if (!lull__arm_thread_exit())
		return take_one();
	lock_pool();
	found = own_one();
	unlock_pool();
	if (!found) {
		block = new_block();
		if (!block)
			return NULL;
		lock_pool();
		own(block);
		unlock_pool();
	}
	return lull_hazptr_pool_get();
}

/* Give back @h, which is clear. It is of another block than the calling thread has at hand, or free already. */
void lull__hazptr_pool_put_slow(struct lull_hazptr *h)
{
	struct lull__hazptr_block *block =
		(struct lull__hazptr_block *)((uintptr_t)h & ~(uintptr_t)(LULL__HAZPTR_BLOCK - 1)), *surplus = NULL;
	uint32_t bit = 1u << (h - block->ctx.slot);

	lull__init();
	lock_pool();
	/* The free slots of a block that a thread has at hand change meanwhile. */
	if ((is_owned(block) && block != lull__hazptr_block ? block->back : block->free) & bit)
		lull__misuse("lull_hazptr_pool_put: the slot is free already");
	if (is_owned(block)) {
		block->back |= bit;
	} else {
		take_off(block);
		block->free |= block->back | bit; /* `back`: of a thread that a child does not have */
		block->back = 0;
		surplus = put_on(block);
	}
	unlock_pool();
	free_block(surplus);
}

/* ---- threads and processes --------------------------------------------------------------------- */

void lull__hazptr_pool_thread_exit(void)
{
	struct lull__hazptr_block *block = lull__hazptr_block;

	if (!block)
		return;
	lull__hazptr_block = NULL;
	lock_pool();
	block = disown(block);
	unlock_pool();
	free_block(block);
}

/* Make another list of the blocks; those that other threads had at hand belong to no thread now. */
void lull__hazptr_pool_fork_child(uint32_t old_tid)
{
	struct lull__hazptr_block *block = pool.head.next, *next;

	(void)old_tid;
	lull_store_relaxed(&pool.process, pool.process + 1);
	if (lull__hazptr_block)
		lull__hazptr_block->owned = pool.process;
	if (changing)
		return;
	pool.lock.word = 0;
	pool.number++;
	pool.spare = 0;
	pool.head.next = pool.head.prev = &pool.head;
	for (; block != &pool.head; block = next) {
		next = block->next;
		if (block == lull__hazptr_block)
			put_on(block);
		else
			disown(block); /* more may be spare than the pool keeps: they are left where they are */
	}
}
