/* SPDX-License-Identifier: MIT */
/*
 * slots.h - all slots, and how to visit them.
 *
 * Slots are in three places: each thread's own context (in its record), other contexts, and holds that
 * use the slot inside themselves. The last two are on lists in 16 shards. A node goes on any shard whose lock is free:
 * a signal handler that has interrupted its thread under one of the locks takes another shard.
 */
#ifndef LULL_SLOTS_H
#define LULL_SLOTS_H

#include <lull/hazptr.h>

#include "../base/fault.h"
#include "../base/registry.h"

#define LULL__HAZPTR_SHARDS 16u
#define LULL__HAZPTR_EVENTS 256u /* a power of two */

struct lull__hazptr_shard {
	struct lull__lock lock;
	uint32_t slots; /* on both lists */
	struct lull__hazptr_links contexts, holds;
} __attribute__((aligned(LULL__CACHELINE)));

struct lull__hazptr_domain {
	/* Used by readers when they wake a thread. */
	uint64_t clock __attribute__((aligned(LULL__CACHELINE))); /* ticks at each synchronize */
	uint32_t event;	       /* changes when a slot with PARKED is set */
	uint32_t unpark_event; /* ... with PARKED */
	uint32_t parked_owner; /* tid of a thread whose slot keeps an object parked */
	void (*on_unpark)(void); /* the reclaimer's: called when a slot with PARKED is set */
	struct lull__hazptr_shard shard[LULL__HAZPTR_SHARDS];
	uint32_t slot_event[LULL__HAZPTR_EVENTS]; /* each for several slots: changes when one with WAITED is set */
};

extern struct lull__hazptr_domain lull__hazptr;

/* Return the event of slot @h, which need not exist any more. */
static inline uint32_t *lull__hazptr_event_of(const struct lull_hazptr *h)
{
	uint64_t mixed = (uint64_t)(uintptr_t)h * UINT64_C(0x9e3779b97f4a7c15);

	return &lull__hazptr.slot_event[mixed >> 32 & (LULL__HAZPTR_EVENTS - 1)];
}

/* Handle @h, which names @addr; @owner is the tid of the thread that uses it, or 0. Inlined into the walk. */
typedef void (*lull__hazptr_visit)(struct lull_hazptr *h, uintptr_t addr, uint32_t owner, void *arg);

static inline void visit_slot(struct lull_hazptr *h, uint32_t owner, lull__hazptr_visit visit, void *arg)
{
	/*
	 * ORDER HAZ-2: the slot before whatever the caller frees; pairs with HAZ-2 in
	 * lull__hazptr_set(); without it the free is seen by a use from before the slot was
	 * cleared; model/hazptr/clear.litmus
	 */
	uintptr_t addr = lull_load_acquire(&h->addr);

	if (addr)
		visit(h, addr, owner, arg);
}

static inline void visit_thread_slots(lull__hazptr_visit visit, void *arg)
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;

	/*
	 * Threads come and go under this lock, before the visit or after it: THR-1 and THR-2. A
	 * thread clears its slots before it leaves.
	 */
	lull__registry_enter(&hold);
	lull__for_each_thread(thread)
		for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
			visit_slot(&thread->hazptr.slot[i], thread->tid, visit, arg);
	lull__registry_leave(&hold);
}

static inline void visit_listed_slots(lull__hazptr_visit visit, void *arg)
{
	for (unsigned n = 0; n < LULL__HAZPTR_SHARDS; n++) {
		struct lull__hazptr_shard *shard = &lull__hazptr.shard[n];
		struct lull__hazptr_links *at;

		/*
		 * ORDER HAZ-4: the visit to a shard before the link of a slot that was not there;
		 * pairs with HAZ-4 in lull__hazptr_link() (both hold the shard's lock); without it a
		 * slot appears after the visit, and its reader finds an object that is freed;
		 * model/hazptr/grow.litmus
		 */
		lull__lock(&shard->lock);
		for (at = shard->contexts.next; at != &shard->contexts; at = at->next) {
			struct lull_hazptr_context *ctx = lull_container_of(at, struct lull_hazptr_context, links);

			for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
				visit_slot(&ctx->slot[i], lull_load_relaxed(&ctx->owner), visit, arg);
		}
		for (at = shard->holds.next; at != &shard->holds; at = at->next) {
			struct lull_hazptr_hold *held = lull_container_of(at, struct lull_hazptr_hold, links);

			visit_slot(&held->backup, lull_load_relaxed(&held->owner), visit, arg);
		}
		lull__unlock(&shard->lock);
	}
}

/* Call @visit with @arg for every slot that names an address. */
static inline void lull__hazptr_for_each_slot(lull__hazptr_visit visit, void *arg)
{
	if (LULL__BUSTED(HAZPTR_LISTS_FIRST)) {
		visit_listed_slots(visit, arg);
		visit_thread_slots(visit, arg);
		return;
	}
	/*
	 * ORDER HAZ-7: threads' own slots before the lists; pairs with HAZ-7 in
	 * lull_hazptr_detach(); without it a protection that moves from a slot to a list is seen in
	 * neither; model/hazptr/detach.litmus
	 */
	visit_thread_slots(visit, arg);
	visit_listed_slots(visit, arg);
	lull__tsan_seen(slots);
}

/* Make the fence between an unlinking and the visit to the slots. @full: readers make full fences. */
static inline void lull__hazptr_fence(bool full)
{
	if (LULL__BUSTED(HAZPTR_NO_FENCE))
		return;
	if (full) {
		/*
		 * ORDER HAZ-6: unlinking before the loads of the slots; pairs with HAZ-6 in
		 * lull__hazptr_fenced_set(); without it the scan misses a reader that found the
		 * object; model/hazptr/fenced.litmus
		 */
		lull_fence_full();
		return;
	}
	/*
	 * ORDER HAZ-1: unlinking before the loads of the slots; pairs with HAZ-1 in
	 * lull__hazptr_set() (light); without it as there; model/hazptr/protect.tpl
	 */
	lull_fence_heavy();
}

size_t lull__hazptr_slots(void); /* count the slots */
bool lull__hazptr_listed(void);	 /* are there others than threads' own? Ask after a full fence (HAZ-12) */
void lull__hazptr_wake(void);	 /* wake barriers */

/* Set up the new slot @h: it names nothing, and no thread waits for it. */
void lull__hazptr_slot_init(struct lull_hazptr *h);
/* Stamp @h, which names nothing, with the time of now: what it will name is younger. */
void lull__hazptr_stamp(struct lull_hazptr *h);

/* Make all slots of @ctx free, as a stack; it belongs to thread @owner. */
void lull__hazptr_stack_init(struct lull_hazptr_context *ctx, uint32_t owner);
/*
 * Give @h, which is clear and not the top one, back to @ctx; abort in the name of @call if it is free
 * already.
 */
void lull__hazptr_stack_put(struct lull_hazptr_context *ctx, struct lull_hazptr *h, const char *call);
bool lull__hazptr_is_used(const struct lull_hazptr_context *ctx, const struct lull_hazptr *h);
bool lull__hazptr_any_used(const struct lull_hazptr_context *ctx);
bool lull__hazptr_any_set(const struct lull_hazptr_context *ctx);

#endif /* LULL_SLOTS_H */
