/* SPDX-License-Identifier: MIT */
/*
 * lists.c - slots outside thread records: contexts, and holds that use the slot inside themselves.
 */
#include "../base/message.h"
#include "lists.h"

/* ---- contexts ------------------------------------------------------------------------------- */

static struct lull__hazptr_shard *lock_any_shard(uint32_t *which)
{
	lull_store_relaxed(&lull__self.state, lull__self.state | LULL__STATE_LISTED);
	for (unsigned n = lull__self.tid;; n++) {
		*which = n % LULL__HAZPTR_SHARDS;
		if (lull__trylock(&lull__hazptr.shard[*which].lock))
			return &lull__hazptr.shard[*which];
		lull_cpu_relax();
	}
}

/*
 * ORDER HAZ-4: the link before its slots are used; pairs with HAZ-4 in
 * visit_listed_slots() (both hold the shard's lock); without it as there;
 * model/hazptr/grow.litmus
 */
void lull__hazptr_link(struct lull__hazptr_links *node, struct lull__hazptr_links *list)
{
	node->next = list->next;
	node->prev = list;
	node->next->prev = node;
	/* Last, and one store: a child that is forked in the middle follows `next` alone. */
	lull_store_release(&list->next, node);
	/*
	 * ORDER HAZ-12: the list before the loads of what the node's slots protect; pairs with HAZ-12 in lull__hazptr_wait();
	 * without it a waiter that finds no node frees what has just been found; model/hazptr/listed.litmus
	 */
	lull_fence_full();
}

/* Take @node off its list. HAZ-4, by the lock: its slots are clear before they are gone. */
void lull__hazptr_unlink(struct lull__hazptr_links *node)
{
	/*
	 * ORDER HAZ-13: the last use of what the node's slots protected before the list; pairs with HAZ-13 in
	 * is_empty_list(); without it an object is freed that is still in use; model/hazptr/listed.litmus
	 */
	lull_store_release(&node->prev->next, node->next);
	node->next->prev = node->prev;
	node->next = NULL;
}

void lull_hazptr_context_init(struct lull_hazptr_context *ctx)
{
	struct lull__hazptr_shard *shard;
	uint32_t which;

	lull__ensure_registered();
	lull__hazptr_stack_init(ctx, lull__self.tid);
	shard = lock_any_shard(&which);
	ctx->shard = (uint16_t)which;
	lull__hazptr_link(&ctx->links, &shard->contexts);
	lull_store_relaxed(&shard->slots, shard->slots + LULL_HAZPTR_SLOTS);
	lull__unlock(&shard->lock);
	/* A signal handler has forked before the context was on the list: this child has another tid. */
	if (lull_unlikely(lull_load_relaxed(&ctx->owner) != lull__self.tid))
		lull_store_relaxed(&ctx->owner, lull__self.tid);
}

void lull_hazptr_context_cleanup(struct lull_hazptr_context *ctx)
{
	struct lull__hazptr_shard *shard = &lull__hazptr.shard[ctx->shard % LULL__HAZPTR_SHARDS];

	LULL__HAZPTR_CHECK("lull_hazptr_context_cleanup", ctx);
	if (ctx == &lull__self.hazptr)
		lull__misuse("lull_hazptr_context_cleanup: the thread's own context lasts as long as the thread");
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		if (ctx->slot[i].addr)
			lull_hazptr_clear(&ctx->slot[i]);
	ctx->top = ctx->end = NULL;
	ctx->used = 0;
	if (!lull_load_relaxed(&ctx->links.next))
		return; /* another thread's, before a fork */
	lull__lock(&shard->lock);
	lull__hazptr_unlink(&ctx->links);
	lull_store_relaxed(&shard->slots, shard->slots - LULL_HAZPTR_SLOTS);
	lull__unlock(&shard->lock);
}

void lull_hazptr_context_detach(struct lull_hazptr_context *ctx)
{
	LULL__HAZPTR_CHECK("lull_hazptr_context_detach", ctx);
	if (ctx == &lull__self.hazptr)
		lull__misuse("lull_hazptr_context_detach: the thread's own context cannot be handed over");
	lull_store_relaxed(&ctx->owner, 0u);
}

/* ---- holds ---------------------------------------------------------------------------------- */

static void link_hold(struct lull_hazptr_hold *hold, uint32_t owner)
{
	struct lull__hazptr_shard *shard = lock_any_shard(&hold->shard);

	lull_store_relaxed(&hold->owner, owner);
	lull__hazptr_link(&hold->links, &shard->holds);
	lull_store_relaxed(&shard->slots, shard->slots + 1);
	lull__unlock(&shard->lock);
}

static void unlink_hold(struct lull_hazptr_hold *hold)
{
	struct lull__hazptr_shard *shard = &lull__hazptr.shard[hold->shard % LULL__HAZPTR_SHARDS];

	if (!lull_load_relaxed(&hold->links.next))
		return; /* another thread's, before a fork */
	lull__lock(&shard->lock);
	lull__hazptr_unlink(&hold->links);
	lull_store_relaxed(&shard->slots, shard->slots - 1);
	lull__unlock(&shard->lock);
}

struct lull_hazptr *lull__hazptr_hold_slow(struct lull_hazptr_hold *hold)
{
	hold->slot = lull__hazptr_alloc_slow(&lull__self.hazptr);
	if (hold->slot)
		return hold->slot;
	lull__ensure_registered();
	lull__hazptr_slot_init(&hold->backup);
	link_hold(hold, lull__self.tid ? lull__self.tid : lull__gettid());
	/* A signal handler may have forked: see lull_hazptr_context_init(). */
	if (lull_unlikely(lull__self.tid && lull_load_relaxed(&hold->owner) != lull__self.tid))
		lull_store_relaxed(&hold->owner, lull__self.tid);
	return hold->slot = &hold->backup;
}

/* Is this one of the calling thread's own slots? */
static bool is_own(const struct lull_hazptr *h)
{
	return (uintptr_t)h - (uintptr_t)lull__self.hazptr.slot < sizeof(lull__self.hazptr.slot);
}

void lull__hazptr_release_slow(struct lull_hazptr_hold *hold)
{
	struct lull_hazptr *h = hold->slot;

	if (!h)
		lull__misuse("lull_hazptr_release: nothing is held");
	if (h == &hold->backup) {
		uint32_t owner = lull_load_relaxed(&hold->owner);

		if (owner && owner != (lull__self.tid ? lull__self.tid : lull__gettid()))
			lull__misuse("lull_hazptr_release: another thread holds it; detach it first");
		lull_hazptr_clear(h);
		unlink_hold(hold);
		hold->slot = NULL;
		return;
	}
	if (!is_own(h))
		lull__misuse("lull_hazptr_release: another thread holds it; detach it first");
	lull_hazptr_clear(h);
	lull__hazptr_stack_put(&lull__self.hazptr, h, "lull_hazptr_release");
}

void lull_hazptr_detach(struct lull_hazptr_hold *hold)
{
	struct lull_hazptr *h = hold->slot;

	if (!h)
		return;
	if (h == &hold->backup) {
		lull_store_relaxed(&hold->owner, 0u);
		return;
	}
	if (!is_own(h) || !lull__hazptr_is_used(&lull__self.hazptr, h))
		lull__misuse("lull_hazptr_detach: this thread does not hold it");
	/*
	 * Copy the stamp too: the protection is as old as before. Only this thread writes the stamp,
	 * so it belongs to this address.
	 */
	lull_store_relaxed(&hold->backup.addr, LULL__BUSTED(HAZPTR_LOST_DETACH) ? 0 : h->addr);
	lull_store_relaxed(&hold->backup.state,
			   lull_load_relaxed(&h->state) & ~(uint64_t)(LULL__HAZPTR_WAITED | LULL__HAZPTR_PARKED));
	/*
	 * ORDER HAZ-7: the slot on the list before the thread's own is clear; pairs with HAZ-7 in
	 * lull__hazptr_for_each_slot(); without it as there; model/hazptr/detach.litmus
	 */
	link_hold(hold, 0);
	hold->slot = &hold->backup;
	lull_hazptr_clear(h);
	lull__hazptr_stamp(h);
	lull_hazptr_free(&lull__self.hazptr, h);
}
