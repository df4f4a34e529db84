/* SPDX-License-Identifier: MIT */
/*
 * threads.c - the slots of threads that come and go, and those of a forked child.
 */
#include <link.h>

#include "../base/message.h"
#include "lists.h"
#include "threads.h"

#define NO_OBJECT_BELOW 4096u

void lull__hazptr_thread_enter(void)
{
	lull__hazptr_stack_init(&lull__self.hazptr, lull__self.tid);
}

static void make_dead(struct lull_hazptr *slot)
{
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		lull_or_relaxed(&slot[i].state, (uint64_t)LULL__HAZPTR_DEAD);
}

/*
 * Clear @count slots. Returns how many of them protected an object: an address in the first page is
 * that of a member of NULL.
 */
static unsigned drop_slots(struct lull_hazptr *slot, int count)
{
	unsigned dropped = 0;

	for (int i = 0; i < count; i++) {
		dropped += slot[i].addr >= NO_OBJECT_BELOW;
		lull_hazptr_clear(&slot[i]);
	}
	return dropped;
}

/*
 * The frames of a thread that exits, which are gone: the part of its stack below its static TLS. glibc
 * puts the TLS on the same stack, and it is still there.
 */
struct frames {
	uintptr_t from, to;
	bool known;
};

static int exclude_tls(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct frames *frames = arg;
	uintptr_t tls = (uintptr_t)info->dlpi_tls_data;

	(void)size;
	if (tls >= frames->from && tls < frames->to)
		frames->to = tls;
	return 0;
}

static void find_frames(struct frames *frames)
{
	pthread_attr_t attr;
	size_t size;
	void *from;

	if (frames->known || pthread_getattr_np(pthread_self(), &attr) != 0)
		return;
	frames->known = true;
	if (pthread_attr_getstack(&attr, &from, &size) == 0) {
		frames->from = (uintptr_t)from;
		frames->to = (uintptr_t)from + size;
		dl_iterate_phdr(exclude_tls, frames);
	}
	pthread_attr_destroy(&attr);
}

static void on_stack_of_exiting(void) __attribute__((noreturn, cold));
static void on_stack_of_exiting(void)
{
	lull__die("%s exits with a hazard pointer context or hold left on its stack",
		  lull__thread_words(lull__self.tid).text);
}

/*
 * Take one context, or one @hold, of the calling thread off the list of @shard. Returns NULL if there is
 * none.
 */
static struct lull__hazptr_links *take_own(struct lull__hazptr_shard *shard, bool hold, const struct frames *frames)
{
	struct lull__hazptr_links *list = hold ? &shard->holds : &shard->contexts, *at;

	lull__lock(&shard->lock);
	for (at = list->next; at != list; at = at->next) {
		const uint32_t *owner = hold ? &lull_container_of(at, struct lull_hazptr_hold, links)->owner
					     : &lull_container_of(at, struct lull_hazptr_context, links)->owner;

		if ((uintptr_t)at >= frames->from && (uintptr_t)at < frames->to)
			on_stack_of_exiting();
		if (lull_load_relaxed(owner) == lull__self.tid)
			break;
	}
	if (at != list) {
		lull__hazptr_unlink(at);
		lull_store_relaxed(&shard->slots, shard->slots - (hold ? 1 : LULL_HAZPTR_SLOTS));
	}
	lull__unlock(&shard->lock);
	return at != list ? at : NULL;
}

/*
 * Drop the calling thread's contexts and holds from the lists. Each is cleared after it is off its list:
 * no scan visits it any more, but a thread may sleep for it.
 */
static unsigned drop_own_lists(void)
{
	struct frames frames = { 0, 0, false };
	struct lull__hazptr_links *at;
	unsigned dropped = 0;

	/*
	 * Skip the lists if this thread has put nothing there. lull's own threads never have, and they end in exit():
	 * by then main() has returned, and a context that it left in its frame is gone.
	 */
	if (!(lull__self.state & LULL__STATE_LISTED))
		return 0;
	for (unsigned n = 0; n < LULL__HAZPTR_SHARDS; n++) {
		struct lull__hazptr_shard *shard = &lull__hazptr.shard[n];

		if (!lull_load_relaxed(&shard->slots))
			continue; /* another thread's: this one would have counted its own */
		find_frames(&frames);
		while ((at = take_own(shard, true, &frames)))
			dropped += drop_slots(&lull_container_of(at, struct lull_hazptr_hold, links)->backup, 1);
		while ((at = take_own(shard, false, &frames))) {
			struct lull_hazptr_context *ctx = lull_container_of(at, struct lull_hazptr_context, links);

			dropped += drop_slots(ctx->slot, LULL_HAZPTR_SLOTS);
			make_dead(ctx->slot);
			ctx->top = ctx->end = NULL;
			ctx->used = 0;
		}
	}
	return dropped;
}

void lull__hazptr_thread_exit(void)
{
	unsigned dropped = drop_slots(lull__self.hazptr.slot, LULL_HAZPTR_SLOTS) + drop_own_lists();

	if (dropped)
		lull__say("%s exits while it protects %u object%s by hazard pointers; the protection ends here",
			  lull__thread_words(lull__self.tid).text, dropped, dropped == 1 ? "" : "s");
}

void lull__hazptr_unregister(const char *call)
{
	struct lull_hazptr_context *ctx = &lull__self.hazptr;

	/* If the thread is not registered, `end` is NULL. */
	if (ctx->end && lull__hazptr_any_used(ctx))
		lull__misuse("%s: slots of the thread's own context are in use", call);
}

void lull__hazptr_thread_leave(void)
{
	make_dead(lull__self.hazptr.slot);
	lull_store_relaxed(&lull__self.hazptr.end, (struct lull_hazptr *)NULL);
	lull_store_relaxed(&lull__self.hazptr.top, (struct lull_hazptr *)NULL);
	lull__self.hazptr.used = 0;
}

/*
 * Does the child keep what has *@owner: the forking thread's and what is detached? Updates the owner's tid.
 */
static bool adopt(uint32_t *owner, uint32_t old_tid)
{
	if (old_tid && *owner == old_tid)
		*owner = lull__self.tid;
	return *owner == 0 || *owner == lull__self.tid;
}

/* Clear the flags of waiters in @count slots: the threads that waited are in the parent. */
static void forget_waiters(struct lull_hazptr *slot, int count)
{
	for (int i = 0; i < count; i++)
		slot[i].state &= ~(uint64_t)(LULL__HAZPTR_WAITED | LULL__HAZPTR_PARKED);
}

static bool is_own_here(struct lull__hazptr_links *at, bool is_hold, uint32_t old_tid)
{
	struct lull_hazptr_context *ctx = lull_container_of(at, struct lull_hazptr_context, links);
	struct lull_hazptr_hold *hold = lull_container_of(at, struct lull_hazptr_hold, links);

	if (!adopt(is_hold ? &hold->owner : &ctx->owner, old_tid))
		return false;
	if (is_hold)
		forget_waiters(&hold->backup, 1);
	else
		forget_waiters(ctx->slot, LULL_HAZPTR_SLOTS);
	return true;
}

/*
 * Begin @list anew with the nodes that the child keeps, and return their number. Only `next` can be relied
 * on: another thread may have been changing the list at the fork.
 */
static uint32_t keep_own(struct lull__hazptr_links *list, bool is_hold, uint32_t old_tid)
{
	struct lull__hazptr_links *at = list->next, *next;
	uint32_t own = 0;

	list->next = list->prev = list;
	for (; at != list; at = next) {
		next = at->next;
		if (is_own_here(at, is_hold, old_tid)) {
			lull__hazptr_link(at, list);
			own++;
		} else {
			at->next = NULL;
		}
	}
	return own;
}

void lull__hazptr_fork_child(uint32_t old_tid)
{
	for (unsigned n = 0; n < LULL__HAZPTR_SHARDS; n++) {
		struct lull__hazptr_shard *shard = &lull__hazptr.shard[n];

		shard->lock.word = 0;
		shard->slots = keep_own(&shard->contexts, false, old_tid) * LULL_HAZPTR_SLOTS;
		shard->slots += keep_own(&shard->holds, true, old_tid);
	}
	forget_waiters(lull__self.hazptr.slot, LULL_HAZPTR_SLOTS);
	lull__self.hazptr.owner = lull__self.tid;
}
