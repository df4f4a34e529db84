/* SPDX-License-Identifier: MIT */
/*
 * slots.c - all slots: the rare part of setting one, and which slots of a context are free.
 */
#include <limits.h>

#include <lull/hazptr_fenced.h>

#include "../base/message.h"
#include "slots.h"

#define SHARD(n)                                                                                   \
	[n] = {                                                                                    \
		.contexts = { &lull__hazptr.shard[n].contexts, &lull__hazptr.shard[n].contexts },  \
		.holds = { &lull__hazptr.shard[n].holds, &lull__hazptr.shard[n].holds },           \
	}

struct lull__hazptr_domain lull__hazptr = {
	.shard = { SHARD(0), SHARD(1), SHARD(2), SHARD(3), SHARD(4), SHARD(5), SHARD(6), SHARD(7), SHARD(8),
		   SHARD(9), SHARD(10), SHARD(11), SHARD(12), SHARD(13), SHARD(14), SHARD(15) },
};

size_t lull__hazptr_slots(void)
{
	size_t slots = (size_t)lull_load_relaxed(&lull__registry_count) * LULL_HAZPTR_SLOTS;

	for (unsigned n = 0; n < LULL__HAZPTR_SHARDS; n++)
		slots += lull_load_relaxed(&lull__hazptr.shard[n].slots);
	return slots;
}

/*
 * ORDER HAZ-13: the lists before whatever the caller frees; pairs with HAZ-13 in lull__hazptr_unlink(); without it as
 * there; model/hazptr/listed.litmus
 */
static bool is_empty_list(const struct lull__hazptr_links *list)
{
	return lull_load_acquire(&list->next) == list;
}

/* By the lists, not the count: a handler may fork between the two, and the child counts anew. */
bool lull__hazptr_listed(void)
{
	for (unsigned n = 0; n < LULL__HAZPTR_SHARDS; n++) {
		struct lull__hazptr_shard *shard = &lull__hazptr.shard[n];

		if (!is_empty_list(&shard->contexts) || !is_empty_list(&shard->holds))
			return true;
	}
	return false;
}

/* ---- the rare part of setting a slot -------------------------------------------------------- */

static void wake_event(uint32_t *event)
{
	lull_add_release(event, 1u); /* HAZ-9: see lull__hazptr_slow() */
	lull__futex_wake(event, INT_MAX);
}

void lull__hazptr_wake(void)
{
	wake_event(&lull__hazptr.event);
}

/*
 * Finish the setting of @h, whose address has changed already: wake the threads that sleep for the change. If light
 * fences are real ones, make the one of lull__hazptr_set() first.
 */
void lull__hazptr_slow(struct lull_hazptr *h)
{
	uint64_t state = lull_load_relaxed(&h->state), clock;

	if (state & LULL__HAZPTR_FULL) {
		lull_fence_full(); /* HAZ-1, HAZ-5 */
		state = lull_load_relaxed(&h->state);
	}
	if ((state & LULL__HAZPTR_DEAD) && h->addr)
		lull__misuse("lull_hazptr_protect: a slot of a thread that is no longer registered protects nothing");
	if (!(state & (LULL__HAZPTR_WAITED | LULL__HAZPTR_PARKED)))
		return;
	/*
	 * ORDER HAZ-8: the clock after the slot was set and before the second load of the pointer;
	 * pairs with HAZ-8 in lull__hazptr_wait(); without it a slot that protects an object found
	 * before the unlinking is taken for one that was set after it; model/hazptr/stamp.litmus
	 */
	clock = lull_load_acquire(&lull__hazptr.clock);
	/*
	 * The stamp says that this slot no longer protects what it protected before that tick. A
	 * release, as HAZ-2, for waiters that decide by the stamp and not by the address.
	 */
	while (!lull_cas_release(&h->state, &state, clock * LULL__HAZPTR_STAMP | (state & (LULL__HAZPTR_FULL | LULL__HAZPTR_DEAD))))
		;
	/*
	 * ORDER HAZ-9: WAITED off before the event; pairs with HAZ-9 in sleep_until_seen();
	 * without it a waiter sees a WAITED that is being taken off, and sleeps;
	 * model/hazptr/event.tpl
	 */
	if (state & LULL__HAZPTR_WAITED)
		wake_event(lull__hazptr_event_of(h));
	if (!(state & LULL__HAZPTR_PARKED))
		return;
	lull_add_release(&lull__hazptr.unpark_event, 1u); /* HAZ-10 */
	lull__hazptr_wake();
	/*
	 * ORDER HAZ-10: unpark_event before the load of the sleeper's word; pairs with HAZ-10 in
	 * park_locked(), and REC-2; without it an object stays although no slot protects it
	 * any more; model/hazptr/parked.tpl
	 */
	lull_load_relaxed(&lull__hazptr.on_unpark)();
}

/* The type of a pointer variable to protect, whatever it points to. */
typedef void *any_pointer __attribute__((may_alias));

/*
 * Protect what the pointer at @src points to, again and again until it does not change meanwhile. @seen
 * is its value now. HAZ-3 as in lull__hazptr_protect().
 */
void *lull__hazptr_protect_again(struct lull_hazptr *h, const void *src, uintptr_t seen, uintptr_t offset)
{
	uintptr_t first;

	do {
		first = seen;
		lull__hazptr_set(h, first + offset);
		seen = (uintptr_t)lull_load_acquire((const any_pointer *)src); /* HAZ-3 */
	} while (first != seen);
	return (void *)seen;
}

void *lull__hazptr_fenced_protect_again(struct lull_hazptr *h, const void *src, uintptr_t seen, uintptr_t offset)
{
	uintptr_t first;

	do {
		first = seen;
		lull__hazptr_fenced_set(h, first + offset);
		seen = (uintptr_t)lull_load_acquire((const any_pointer *)src); /* HAZ-3 */
	} while (first != seen);
	return (void *)seen;
}

/* Set up a new slot: it names nothing, and its stamp is of now. */
void lull__hazptr_slot_init(struct lull_hazptr *h)
{
	uint64_t clock = lull_load_acquire(&lull__hazptr.clock); /* HAZ-8 */

	lull_store_relaxed(&h->addr, (uintptr_t)0);
	lull_store_relaxed(&h->state, clock * LULL__HAZPTR_STAMP | (lull__fence_full_mode ? LULL__HAZPTR_FULL : 0));
}

/*
 * Stamp @h, which names nothing: whatever it names next is younger than the stamp. Otherwise a reader
 * that protects and detaches again and again would hand the same old stamp on for ever, and a waiter
 * would find one protection with an old stamp after another on the lists.
 */
void lull__hazptr_stamp(struct lull_hazptr *h)
{
	uint64_t clock = lull_load_acquire(&lull__hazptr.clock); /* HAZ-8 */
	uint64_t state = lull_load_relaxed(&h->state);

	while (!lull_cas_release(&h->state, &state, clock * LULL__HAZPTR_STAMP | (state & LULL__HAZPTR_LOW)))
		; /* HAZ-8 */
}

/* ---- the stack of free slots ---------------------------------------------------------------- */

void lull__hazptr_stack_init(struct lull_hazptr_context *ctx, uint32_t owner)
{
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		lull__hazptr_slot_init(&ctx->slot[i]);
	ctx->used = 0;
	lull_store_relaxed(&ctx->owner, owner);
	ctx->end = ctx->slot + LULL_HAZPTR_SLOTS;
	lull_store_relaxed(&ctx->top, ctx->slot);
}

/*
 * Is @ctx sparse? While the slots in use are the lowest ones, they are a stack: those below `top`. When
 * one is given back from below the top, the context becomes sparse: `top` and `end` are both the first
 * slot, so that every alloc and every free comes here, and `used` says which are in use. It becomes a
 * stack again as soon as the slots in use are the lowest ones. So the slots in use alone decide between stack and
 * sparse, and give `top` and `used`. A signal handler that gives back what it took leaves the context exactly as it
 * found it, whichever instruction it interrupted. While `end` is the first slot and `top` is not, the context changes
 * from one to the other, and a handler finds no free slot.
 */
static bool is_sparse(const struct lull_hazptr_context *ctx)
{
	return ctx->end == ctx->slot && ctx->top == ctx->slot;
}

/* Give slot @n, which is not the top one, back to a stack. */
static void make_sparse(struct lull_hazptr_context *ctx, size_t n)
{
	unsigned stack = (1u << (ctx->top - ctx->slot)) - 1;

	lull_store_relaxed(&ctx->end, &ctx->slot[0]);
	lull_compiler_barrier();
	lull_store_relaxed(&ctx->used, (uint16_t)(stack & ~(1u << n)));
	lull_compiler_barrier();
	lull_store_relaxed(&ctx->top, &ctx->slot[0]);
	lull_compiler_barrier();
}

static void set_used(struct lull_hazptr_context *ctx, unsigned used)
{
	lull_store_relaxed(&ctx->used, (uint16_t)used);
	lull_compiler_barrier();
	if (used & (used + 1))
		return;
	/* A stack again. */
	lull_store_relaxed(&ctx->top, ctx->slot + __builtin_popcount(used));
	lull_compiler_barrier();
	lull_store_relaxed(&ctx->end, ctx->slot + LULL_HAZPTR_SLOTS);
	lull_compiler_barrier();
}

struct lull_hazptr *lull__hazptr_alloc_slow(struct lull_hazptr_context *ctx)
{
	unsigned used, n;

	if (ctx == &lull__self.hazptr && !(lull__self.state & LULL__STATE_REGISTERED))
		lull__ensure_registered();
	if (ctx->top < ctx->end) /* since then; or a signal handler was faster */
		return lull_hazptr_alloc(ctx);
	if (!ctx->end || !is_sparse(ctx))
		return NULL;
	used = ctx->used;
	n = (unsigned)__builtin_ctz(~used);
	if (n >= LULL_HAZPTR_SLOTS)
		return NULL;
	set_used(ctx, used | 1u << n);
	return &ctx->slot[n];
}

/* Is @h in use? The context must not be changing from stack to sparse or back. */
bool lull__hazptr_is_used(const struct lull_hazptr_context *ctx, const struct lull_hazptr *h)
{
	return is_sparse(ctx) ? ctx->used >> (h - ctx->slot) & 1 : h < ctx->top;
}

/* Give back @h, which is clear and not the top one of a stack. */
void lull__hazptr_stack_put(struct lull_hazptr_context *ctx, struct lull_hazptr *h, const char *call)
{
	size_t n = (size_t)((uintptr_t)h - (uintptr_t)ctx->slot) / sizeof(*h);

	if (n >= LULL_HAZPTR_SLOTS)
		lull__misuse("%s: the slot is not from this context", call);
	if (!ctx->end)
		return; /* the thread has given its context back, and exits */
	if (!lull__hazptr_is_used(ctx, h))
		lull__misuse("%s: the slot is free already", call);
	if (is_sparse(ctx))
		set_used(ctx, ctx->used & ~(1u << n));
	else
		make_sparse(ctx, n);
}

void lull__hazptr_free_slow(struct lull_hazptr_context *ctx, struct lull_hazptr *h)
{
	lull__hazptr_stack_put(ctx, h, "lull_hazptr_free");
}

bool lull__hazptr_any_set(const struct lull_hazptr_context *ctx)
{
	uintptr_t any = 0;

	for (unsigned n = 0; n < LULL_HAZPTR_SLOTS; n++)
		any |= ctx->slot[n].addr;
	return any;
}

bool lull__hazptr_any_used(const struct lull_hazptr_context *ctx)
{
	return is_sparse(ctx) ? ctx->used : ctx->top != ctx->slot;
}

#ifdef LULL_DEBUG
void lull__hazptr_check_owner(const char *call, const struct lull_hazptr_context *ctx)
{
	uint32_t owner = lull_load_relaxed(&ctx->owner);

	if (lull_unlikely(owner && owner != lull__self.tid))
		lull__misuse("%s: the context belongs to another thread; detach it first", call);
}
#endif
