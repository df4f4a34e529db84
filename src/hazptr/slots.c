/* SPDX-License-Identifier: MIT */
/*
 * hazptr.c - slots: where they come from and go, and what is rare about setting one.
 */
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>

#include <lull/hazptr_fenced.h>

#include "slots.h"

#define NO_OBJECT_BELOW 4096u

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

static void misuse(const char *call, const char *what) __attribute__((noreturn, cold));
static void misuse(const char *call, const char *what)
{
	char line[128];

	snprintf(line, sizeof(line), "%s: %s", call, what);
	lull__rcu_misuse(line);
}

/* ---- setting a slot, when that is not all --------------------------------------------------- */

void lull__hazptr_wake(void)
{
	lull_add_release(&lull__hazptr.event, 1u); /* HAZ-9: see lull__hazptr_slow() */
	lull__futex_wake(&lull__hazptr.event, INT_MAX);
}

/*
 * The slot says something else already. Somebody may sleep for that; and where light fences are
 * real ones, this is where the one of lull__hazptr_set() is made.
 */
void lull__hazptr_slow(struct lull_hazptr *h)
{
	uint64_t state = lull_load_relaxed(&h->state), clock;

	if (state & LULL__HAZPTR_FULL) {
		lull_fence_full(); /* HAZ-1, HAZ-5 */
		state = lull_load_relaxed(&h->state);
	}
	if ((state & LULL__HAZPTR_DEAD) && h->addr)
		misuse("lull_hazptr_protect", "a slot of a thread that is no longer registered protects nothing");
	if (!(state & (LULL__HAZPTR_WAITED | LULL__HAZPTR_LEFT)))
		return;
	/*
	 * ORDER HAZ-8: the clock after the slot was set and before the second look at the pointer;
	 * pairs with HAZ-8 in lull__hazptr_wait(); without it a slot that protects what it found
	 * before the unlinking passes for one that was set after it; model/hazptr/stamp.litmus
	 */
	clock = lull_load_acquire(&lull__hazptr.clock);
	/*
	 * The stamp: whatever this slot protected before the clock showed that, it does not any
	 * more. A release, as HAZ-2, towards who goes by the stamp and not by the address.
	 */
	while (!lull_cas_release(&h->state, &state, clock * LULL__HAZPTR_STAMP | (state & (LULL__HAZPTR_FULL | LULL__HAZPTR_DEAD))))
		;
	if (state & LULL__HAZPTR_LEFT)
		lull_add_release(&lull__hazptr.left_event, 1u); /* HAZ-10 */
	/*
	 * ORDER HAZ-9: WAITED off before the event; pairs with HAZ-9 in sleep_until_seen();
	 * without it a waiter takes WAITED for set that is being taken off, and sleeps;
	 * model/hazptr/event.tpl
	 */
	lull__hazptr_wake();
	/*
	 * ORDER HAZ-10: left_event before the look at the sleeper; pairs with HAZ-10 in
	 * lull__hazptr_settle(), and REC-2; without it an object stays although nobody protects it
	 * any more; model/hazptr/leftover.tpl
	 */
	if (state & LULL__HAZPTR_LEFT)
		lull__notify_from_reader();
}

/* The pointer variable of protect, whatever it points to. */
typedef void *any_pointer __attribute__((may_alias));

/*
 * The pointer was changed while it was being protected: @seen is what it says now. Again, until that
 * does not happen. HAZ-3 as in lull__hazptr_protect().
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

void *lull__hazptr_fenced_protect_again(struct lull_hazptr *h, const void *src, uintptr_t seen,
				      uintptr_t offset)
{
	uintptr_t first;

	do {
		first = seen;
		lull__hazptr_fenced_set(h, first + offset);
		seen = (uintptr_t)lull_load_acquire((const any_pointer *)src); /* HAZ-3 */
	} while (first != seen);
	return (void *)seen;
}

/* What a slot that is new says: nothing; and nobody has waited for it. */
static void slot_init(struct lull_hazptr *h)
{
	uint64_t clock = lull_load_acquire(&lull__hazptr.clock); /* HAZ-8 */

	lull_store_relaxed(&h->addr, (uintptr_t)0);
	lull_store_relaxed(&h->state, clock * LULL__HAZPTR_STAMP | (lull__fence_full_mode ? LULL__HAZPTR_FULL : 0));
}

/* ---- the stack of free slots ---------------------------------------------------------------- */

static void stack_init(struct lull_hazptr_context *ctx, uint32_t owner)
{
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		slot_init(&ctx->slot[i]);
	ctx->used = 0;
	lull_store_relaxed(&ctx->owner, owner);
	ctx->end = ctx->slot + LULL_HAZPTR_SLOTS;
	lull_store_relaxed(&ctx->top, ctx->slot);
}

/*
 * While the slots in use are the lowest ones, they are a stack: those below `top`. When one is given
 * back from below the top, the context goes sparse: `top` and `end` are both the first slot, so that
 * every alloc and every free comes here, and `used` says which are in use. As soon as it can it is a
 * stack again. So which of the two it is, and what `top` and `used` are, follows from which slots are
 * in use; and a signal handler that gives back what it took leaves it exactly as it found it, at
 * whatever instruction it came. While `end` is the first slot and `top` is not, the one becomes the
 * other, and a handler finds nothing free.
 */
static bool is_sparse(const struct lull_hazptr_context *ctx)
{
	return ctx->end == ctx->slot && ctx->top == ctx->slot;
}

/* Slot @n, which is not the top one, is given back to a stack. */
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

	if (ctx == &lull__self.hazptr && !(lull__self.state & LULL__STATE_REGISTERED)) {
		lull__ensure_registered();
		if (ctx->top < ctx->end)
			return lull_hazptr_alloc(ctx);
	}
	if (!ctx->end || !is_sparse(ctx))
		return NULL;
	used = ctx->used;
	n = (unsigned)__builtin_ctz(~used);
	if (n >= LULL_HAZPTR_SLOTS)
		return NULL;
	set_used(ctx, used | 1u << n);
	return &ctx->slot[n];
}

/* Is @h in use? The context is not just changing from one to the other. */
static bool is_used(const struct lull_hazptr_context *ctx, const struct lull_hazptr *h)
{
	return is_sparse(ctx) ? ctx->used >> (h - ctx->slot) & 1 : h < ctx->top;
}

/* @h, which is clear, comes back, and is not the top one of a stack. */
static void stack_put(struct lull_hazptr_context *ctx, struct lull_hazptr *h, const char *call)
{
	size_t n = (size_t)((uintptr_t)h - (uintptr_t)ctx->slot) / sizeof(*h);

	if (n >= LULL_HAZPTR_SLOTS)
		misuse(call, "the slot is not from this context");
	if (!ctx->end)
		return; /* the thread has given its context back, and exits */
	if (!is_used(ctx, h))
		misuse(call, "the slot is free already");
	if (is_sparse(ctx))
		set_used(ctx, ctx->used & ~(1u << n));
	else
		make_sparse(ctx, n);
}

void lull__hazptr_free_slow(struct lull_hazptr_context *ctx, struct lull_hazptr *h)
{
	stack_put(ctx, h, "lull_hazptr_free");
}

/* ---- contexts ------------------------------------------------------------------------------- */

static struct lull__hazptr_shard *lock_any_shard(uint32_t *which)
{
	for (unsigned n = lull__self.tid;; n++) {
		*which = n % LULL__HAZPTR_SHARDS;
		if (lull__trylock(&lull__hazptr.shard[*which].lock))
			return &lull__hazptr.shard[*which];
		lull_cpu_relax();
	}
}

/*
 * ORDER HAZ-4: the link before its slots are used; pairs with HAZ-4 in
 * lull__hazptr_look_at_lists() (both hold the shard's lock); without it as there;
 * model/hazptr/grow.litmus
 */
static void link_slots(struct lull__hazptr_links *node, struct lull__hazptr_links *list)
{
	node->next = list->next;
	node->prev = list;
	node->next->prev = node;
	/* Last, and one store: a child that is forked in between goes by `next` alone. */
	lull_store_release(&list->next, node);
}

/* HAZ-4, by the lock: what the slots said, which is nothing any more, before they are gone. */
static void unlink_slots(struct lull__hazptr_links *node)
{
	lull_store_relaxed(&node->prev->next, node->next);
	node->next->prev = node->prev;
	node->next = NULL;
}

void lull_hazptr_context_init(struct lull_hazptr_context *ctx)
{
	struct lull__hazptr_shard *shard;
	uint32_t which;

	lull__ensure_registered();
	stack_init(ctx, lull__self.tid);
	shard = lock_any_shard(&which);
	ctx->shard = (uint16_t)which;
	link_slots(&ctx->links, &shard->contexts);
	lull_store_relaxed(&shard->slots, shard->slots + LULL_HAZPTR_SLOTS);
	lull__unlock(&shard->lock);
}

void lull_hazptr_context_cleanup(struct lull_hazptr_context *ctx)
{
	struct lull__hazptr_shard *shard = &lull__hazptr.shard[ctx->shard % LULL__HAZPTR_SHARDS];

	LULL__HAZPTR_CHECK("lull_hazptr_context_cleanup", ctx);
	if (ctx == &lull__self.hazptr)
		misuse("lull_hazptr_context_cleanup", "the thread's own context lasts as long as the thread");
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		if (ctx->slot[i].addr)
			lull_hazptr_clear(&ctx->slot[i]);
	ctx->top = ctx->end = NULL;
	ctx->used = 0;
	if (!lull_load_relaxed(&ctx->links.next))
		return; /* another thread's, before a fork */
	lull__lock(&shard->lock);
	unlink_slots(&ctx->links);
	lull_store_relaxed(&shard->slots, shard->slots - LULL_HAZPTR_SLOTS);
	lull__unlock(&shard->lock);
}

void lull_hazptr_context_detach(struct lull_hazptr_context *ctx)
{
	LULL__HAZPTR_CHECK("lull_hazptr_context_detach", ctx);
	if (ctx == &lull__self.hazptr)
		misuse("lull_hazptr_context_detach", "the thread's own context cannot be handed over");
	lull_store_relaxed(&ctx->owner, 0u);
}

#ifdef LULL_DEBUG
void lull__hazptr_check_owner(const char *call, const struct lull_hazptr_context *ctx)
{
	uint32_t owner = lull_load_relaxed(&ctx->owner);

	if (lull_unlikely(owner && owner != lull__self.tid))
		misuse(call, "the context belongs to another thread; detach it first");
}
#endif

/* ---- holds ---------------------------------------------------------------------------------- */

static void link_hold(struct lull_hazptr_hold *hold, uint32_t owner)
{
	struct lull__hazptr_shard *shard = lock_any_shard(&hold->shard);

	lull_store_relaxed(&hold->owner, owner);
	link_slots(&hold->links, &shard->holds);
	lull_store_relaxed(&shard->slots, shard->slots + 1);
	lull__unlock(&shard->lock);
}

static void unlink_hold(struct lull_hazptr_hold *hold)
{
	struct lull__hazptr_shard *shard = &lull__hazptr.shard[hold->shard % LULL__HAZPTR_SHARDS];

	if (!lull_load_relaxed(&hold->links.next))
		return; /* another thread's, before a fork */
	lull__lock(&shard->lock);
	unlink_slots(&hold->links);
	lull_store_relaxed(&shard->slots, shard->slots - 1);
	lull__unlock(&shard->lock);
}

struct lull_hazptr *lull__hazptr_hold_slow(struct lull_hazptr_hold *hold)
{
	hold->slot = lull__hazptr_alloc_slow(&lull__self.hazptr);
	if (!hold->slot) {
		lull__ensure_registered();
		slot_init(&hold->backup);
		link_hold(hold, lull__self.tid ? lull__self.tid : lull__gettid());
		hold->slot = &hold->backup;
	}
	return hold->slot;
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
		misuse("lull_hazptr_release", "nothing is held");
	if (h == &hold->backup) {
		uint32_t owner = lull_load_relaxed(&hold->owner);

		if (owner && owner != (lull__self.tid ? lull__self.tid : lull__gettid()))
			misuse("lull_hazptr_release", "another thread holds it; detach it first");
		lull_hazptr_clear(h);
		unlink_hold(hold);
		hold->slot = NULL;
		return;
	}
	if (!is_own(h))
		misuse("lull_hazptr_release", "another thread holds it; detach it first");
	lull_hazptr_clear(h);
	stack_put(&lull__self.hazptr, h, "lull_hazptr_release");
}

/*
 * @h says nothing: whatever it says next is younger than this stamp. Else a reader that detaches
 * for ever, and whose own slot is never seen to say anything, would hand the old stamp on for ever,
 * and a waiter would find one old protection after another on the lists.
 */
static void stamp(struct lull_hazptr *h)
{
	uint64_t clock = lull_load_acquire(&lull__hazptr.clock); /* HAZ-8 */
	uint64_t state = lull_load_relaxed(&h->state);

	while (!lull_cas_release(&h->state, &state, clock * LULL__HAZPTR_STAMP | (state & LULL__HAZPTR_LOW)))
		; /* HAZ-8 */
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
	if (!is_own(h) || !is_used(&lull__self.hazptr, h))
		misuse("lull_hazptr_detach", "this thread does not hold it");
	/*
	 * With its stamp: the protection is as old as it was. The stamp is this thread's to write,
	 * so it is that of the address.
	 */
	lull_store_relaxed(&hold->backup.addr, LULL__BUSTED(HAZPTR_LOST_DETACH) ? 0 : h->addr);
	lull_store_relaxed(&hold->backup.state,
			   lull_load_relaxed(&h->state) & ~(uint64_t)(LULL__HAZPTR_WAITED | LULL__HAZPTR_LEFT));
	/*
	 * ORDER HAZ-7: the slot on the list before the thread's own is clear; pairs with HAZ-7 in
	 * lull__hazptr_look(); without it as there; model/hazptr/detach.litmus
	 */
	link_hold(hold, 0);
	hold->slot = &hold->backup;
	lull_hazptr_clear(h);
	stamp(h);
	lull_hazptr_free(&lull__self.hazptr, h);
}

/* ---- threads and forks ---------------------------------------------------------------------- */

void lull__hazptr_thread_enter(void)
{
	stack_init(&lull__self.hazptr, lull__self.tid);
}

static void make_dead(struct lull_hazptr *slot)
{
	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		lull_or_relaxed(&slot[i].state, (uint64_t)LULL__HAZPTR_DEAD);
}

/*
 * Clear @count slots. Returns how many of them protected something: what is in the first page is a
 * NULL that was protected by a member.
 */
static unsigned drop(struct lull_hazptr *slot, int count)
{
	unsigned dropped = 0;

	for (int i = 0; i < count; i++) {
		dropped += slot[i].addr >= NO_OBJECT_BELOW;
		lull_hazptr_clear(&slot[i]);
	}
	return dropped;
}

/*
 * The stack of a thread that exits. Its frames are gone and overwritten, down from where its static
 * TLS begins, which glibc puts on the same stack and which is still there.
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

	if (frames->known)
		return;
	frames->known = true;
	if (pthread_getattr_np(pthread_self(), &attr) != 0)
		return;
	if (pthread_attr_getstack(&attr, &from, &size) == 0) {
		frames->from = (uintptr_t)from;
		frames->to = (uintptr_t)from + size;
		dl_iterate_phdr(exclude_tls, frames);
	}
	pthread_attr_destroy(&attr);
}

static void left_on_stack(void) __attribute__((noreturn, cold));
static void left_on_stack(void)
{
	char name[32];

	lull__thread_name(lull__self.tid, name, sizeof(name));
	lull__die("thread \"%s\" (tid %u) exits with a hazard pointer context or hold left on its stack", name,
		  lull__self.tid);
}

/* Off the list with a context, or a hold, of the calling thread: one, or NULL. */
static struct lull__hazptr_links *take_own(struct lull__hazptr_shard *shard, bool hold,
					   const struct frames *frames)
{
	struct lull__hazptr_links *list = hold ? &shard->holds : &shard->contexts, *at;

	lull__lock(&shard->lock);
	for (at = list->next; at != list; at = at->next) {
		const uint32_t *owner = hold ? &lull_container_of(at, struct lull_hazptr_hold, links)->owner
					     : &lull_container_of(at, struct lull_hazptr_context, links)->owner;

		if ((uintptr_t)at >= frames->from && (uintptr_t)at < frames->to)
			left_on_stack();
		if (lull_load_relaxed(owner) == lull__self.tid)
			break;
	}
	if (at == list) {
		at = NULL;
	} else {
		unlink_slots(at);
		lull_store_relaxed(&shard->slots, shard->slots - (hold ? 1 : LULL_HAZPTR_SLOTS));
	}
	lull__unlock(&shard->lock);
	return at;
}

/*
 * What the thread has left on the lists. Cleared after it is off the list: nobody looks there any
 * more, but somebody may sleep for it.
 */
static unsigned drop_own_lists(void)
{
	struct frames frames = { 0, 0, false };
	struct lull__hazptr_links *at;
	unsigned dropped = 0;

	for (unsigned n = 0; n < LULL__HAZPTR_SHARDS; n++) {
		struct lull__hazptr_shard *shard = &lull__hazptr.shard[n];

		if (!lull_load_relaxed(&shard->slots))
			continue; /* what is this thread's it has counted itself */
		find_frames(&frames);
		while ((at = take_own(shard, true, &frames)))
			dropped += drop(&lull_container_of(at, struct lull_hazptr_hold, links)->backup, 1);
		while ((at = take_own(shard, false, &frames))) {
			struct lull_hazptr_context *ctx = lull_container_of(at, struct lull_hazptr_context, links);

			dropped += drop(ctx->slot, LULL_HAZPTR_SLOTS);
			make_dead(ctx->slot);
			ctx->top = ctx->end = NULL;
			ctx->used = 0;
		}
	}
	return dropped;
}

void lull__hazptr_thread_exit(void)
{
	unsigned dropped = drop(lull__self.hazptr.slot, LULL_HAZPTR_SLOTS) + drop_own_lists();
	char name[32];

	if (!dropped)
		return;
	lull__thread_name(lull__self.tid, name, sizeof(name));
	lull__say("thread \"%s\" (tid %u) exits while it protects %u object%s by hazard pointers; no longer",
		  name, lull__self.tid, dropped, dropped == 1 ? "" : "s");
}

void lull__hazptr_no_protection(const char *call)
{
	struct lull_hazptr_context *ctx = &lull__self.hazptr;

	if (!ctx->end)
		return; /* not registered */
	if (is_sparse(ctx) ? ctx->used : ctx->top != ctx->slot)
		misuse(call, "slots of the thread's own context are in use");
}

void lull__hazptr_thread_leave(void)
{
	make_dead(lull__self.hazptr.slot);
	lull_store_relaxed(&lull__self.hazptr.end, (struct lull_hazptr *)NULL);
	lull_store_relaxed(&lull__self.hazptr.top, (struct lull_hazptr *)NULL);
	lull__self.hazptr.used = 0;
}

/* In the child: is this the forking thread's, or nobody's in particular? Then it is that thread's. */
static bool adopt(uint32_t *owner, uint32_t old_tid)
{
	if (old_tid && *owner == old_tid)
		*owner = lull__self.tid;
	return *owner == 0 || *owner == lull__self.tid;
}

/* Nobody in the child waits for them; who waited is in the parent. */
static void forget_waiters(struct lull_hazptr *slot, int count)
{
	for (int i = 0; i < count; i++)
		slot[i].state &= ~(uint64_t)(LULL__HAZPTR_WAITED | LULL__HAZPTR_LEFT);
}

static bool is_kept(struct lull__hazptr_links *at, bool is_hold, uint32_t old_tid)
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

/* Only `next` can be relied on: another thread may have been at work on the list. */
static uint32_t keep_own(struct lull__hazptr_links *list, bool is_hold, uint32_t old_tid)
{
	struct lull__hazptr_links *at = list->next, *next;
	uint32_t kept = 0;

	list->next = list->prev = list;
	for (; at != list; at = next) {
		next = at->next;
		if (is_kept(at, is_hold, old_tid)) {
			link_slots(at, list);
			kept++;
		} else {
			at->next = NULL;
		}
	}
	return kept;
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
