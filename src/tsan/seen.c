/* SPDX-License-Identifier: MIT */
/*
 * seen.c - look at readers' words once more, for ThreadSanitizer: what they did before they left comes before what the
 * calling thread does next. Readers release the same words, in the inline code of the program.
 */
#include "../base/registry.h"
#include "../hazptr/slots.h"
#include "seen.h"

/* Readers that are gone have released LULL__TSAN_READERS; and so does who has seen those that are there. */
void lull__tsan_sections(void)
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;

	lull__registry_enter(&hold);
	lull__for_each_thread(thread)
		lull__tsan_acquire(&thread->rcu);
	lull__registry_leave(&hold);
	lull__tsan_acquire(LULL__TSAN_READERS);
	lull__tsan_release(LULL__TSAN_READERS);
}

void lull__tsan_simple(void)
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;

	lull__registry_enter(&hold);
	lull__for_each_thread(thread)
		lull__tsan_acquire(&thread->shazptr);
	lull__registry_leave(&hold);
}

static void see_context(const struct lull_hazptr_context *ctx)
{
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		lull__tsan_acquire(&ctx->slot[i].addr);
}

static void see_shard(struct lull__hazptr_shard *shard)
{
	struct lull__hazptr_links *at;

	lull__lock(&shard->lock);
	for (at = shard->contexts.next; at != &shard->contexts; at = at->next)
		see_context(lull_container_of(at, struct lull_hazptr_context, links));
	for (at = shard->holds.next; at != &shard->holds; at = at->next)
		lull__tsan_acquire(&lull_container_of(at, struct lull_hazptr_hold, links)->backup.addr);
	lull__unlock(&shard->lock);
}

void lull__tsan_slots(void)
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;

	lull__registry_enter(&hold);
	lull__for_each_thread(thread)
		see_context(&thread->hazptr);
	lull__registry_leave(&hold);
	for (unsigned n = 0; n < LULL__HAZPTR_SHARDS; n++)
		see_shard(&lull__hazptr.shard[n]);
	lull__tsan_acquire(LULL__TSAN_READERS);
	lull__tsan_release(LULL__TSAN_READERS); /* another thread may run what was found */
}
