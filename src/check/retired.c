/* SPDX-License-Identifier: MIT */
/*
 * retired.c - debug builds: find mistakes with objects that are deferred and not reclaimed yet.
 *
 * Every object that waits to be freed, and every head that waits for its callback, is a range of
 * addresses here: from before it is put into a queue until just before it is freed or called. So a range
 * here contains nothing that the program may use again, and no part of it must be deferred again.
 */
#include "checks.h"

#if LULL__CHECK_RETIRED
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "../base/message.h"
#include "../base/registry.h"
#include "../base/wait.h"
#include "../reclaim/queue.h"
#include "ranges.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>

/* How much of an object to poison: enough to catch most readers, and no more work for larger objects. */
#define POISON_MOST 4096u

static size_t poison_bytes(void *item)
{
	size_t bytes = malloc_usable_size(item);

	return bytes < POISON_MOST ? bytes : POISON_MOST;
}
#endif

struct deferred {
	struct lull__range range; /* the memory to free(3), or the struct lull_head */
	lull_rcu_func func;	  /* of a call */
	const void *module;	  /* the module that contains func; NULL: not known */
	const void *module_start;
	const void *site; /* the place in the program that deferred it */
	uint64_t since_ns;
	lull_rcu_cookie cookie; /* of the first grace period that begins after it was deferred */
	uint32_t tid;
	uint16_t kind;
	bool warned; /* a line has said that the thread that deferred it protects it */
};

static struct lull__ranges retired = { .size = sizeof(struct deferred) };

static uint32_t said; /* that there is no memory for an element */

/*
 * How many ranges begin at addresses with this hash. Readers check this, at every pointer that they
 * fetch, before they take the lock.
 */
#define FILTER 4096u
static uint32_t filter[FILTER];

static uint32_t *filter_of(uintptr_t addr)
{
	return &filter[(uint64_t)addr * 0x9e3779b97f4a7c15u >> 52];
}

static const char *call_of(const struct deferred *d)
{
	static const char *const names[LULL__KINDS] = {
		[LULL__FREES] = "lull_rcu_free",
		[LULL__CALLS] = "lull_rcu_call",
		[LULL__HAZPTR_FREES] = "lull_hazptr_retire",
		[LULL__HAZPTR_CALLS] = "lull_hazptr_call",
		[LULL__BRIDGE_FREES] = "lull_rcu_free_hazptr",
		[LULL__BRIDGE_CALLS] = "lull_rcu_call_hazptr",
		[LULL__PURE_CALLS] = "lull_rcu_call_pure",
		[LULL__HAZPTR_PURE_CALLS] = "lull_hazptr_call_pure_sized",
	};

	return names[d->kind];
}

/* Put into @words which thread deferred @d, how and where. */
#define STORY_BYTES 128
static const char *story(const struct deferred *d, char *words)
{
	char name[32];

	lull__thread_name(d->tid, name, sizeof(name));
	snprintf(words, STORY_BYTES, "thread \"%s\" (tid %u) gave to %s at %p", name, d->tid, call_of(d), d->site);
	return words;
}

static struct deferred *find_retired(uintptr_t from, uintptr_t to)
{
	return (struct deferred *)lull__ranges_find(&retired, from, to);
}

/* ---- callbacks of modules that may be unloaded ---------------------------------------------- */

/*
 * Find the module that contains @func. Other C libraries cannot do that without a lock of the loader's,
 * which dlclose() may hold.
 */
#ifdef DLFO_EH_SEGMENT_TYPE
static const void *module_of(lull_rcu_func func, const void **start)
{
	struct dl_find_object object;

	if (_dl_find_object((void *)(uintptr_t)func, &object) != 0)
		return NULL;
	*start = object.dlfo_map_start;
	return object.dlfo_link_map;
}
#else
static const void *module_of(lull_rcu_func func, const void **start)
{
	(void)func;
	(void)start;
	return NULL;
}
#endif

static bool is_unloaded(const struct deferred *d)
{
	const void *start = NULL;

	if (!d->module)
		return false;
	return module_of(d->func, &start) != d->module || start != d->module_start;
}

static void check_callback(const struct deferred *d)
{
	struct lull_head *head = (struct lull_head *)d->range.from;
	char words[STORY_BYTES];

	if (lull_unlikely(is_unloaded(d)))
		lull__die("callback %p of %p, which %s, is in a module that has been unloaded: "
			  "lull_rcu_barrier() before dlclose()",
			  (void *)(uintptr_t)d->func, (void *)head, story(d, words));
	if (lull_unlikely(head->func != d->func))
		lull__die("%p, which %s, was freed or changed while it waited: its function was %p and is %p",
			  (void *)head, story(d, words), (void *)(uintptr_t)d->func,
			  (void *)(uintptr_t)head->func);
}

/* ---- retired by the thread that protects it ------------------------------------------------- */

/* Find the object that @slot, of the calling thread, names, if it is retired and waits for slots. Locked. */
static struct deferred *protected_by_me(const struct lull_hazptr *slot)
{
	struct deferred *d = slot->addr ? find_retired(slot->addr, slot->addr + 1) : NULL;

	return d && d->range.from == slot->addr && lull__kind_has_slots(d->kind) ? d : NULL;
}

/*
 * Does the calling thread protect an object that it has retired itself, and for as long as a stall? Many
 * algorithms retire what they protect at the end, and clear the slot then. Locked; stores the first one
 * that is found in *@late.
 */
static bool has_not_let_go(struct deferred *late)
{
	uint64_t stall_ns = (uint64_t)lull__stall_ms() * 1000000u;

	for (int i = 0; i < LULL_HAZPTR_SLOTS && stall_ns; i++) {
		struct deferred *d = protected_by_me(&lull__self.hazptr.slot[i]);

		if (lull_likely(!d) || d->warned || d->tid != lull__self.tid || lull__now_ns() - d->since_ns < stall_ns)
			continue;
		d->warned = true;
		*late = *d;
		return true;
	}
	return false;
}

void lull__retired_protects_none(const char *call)
{
	struct deferred *d = NULL, copy;
	char words[STORY_BYTES], name[32];

	lull__ranges_enter(&retired);
	for (int i = 0; i < LULL_HAZPTR_SLOTS && !d; i++)
		d = protected_by_me(&lull__self.hazptr.slot[i]);
	if (d)
		copy = *d;
	lull__ranges_leave(&retired);
	if (lull_likely(!d))
		return;
	lull__thread_name(lull__self.tid, name, sizeof(name));
	lull__die("%s would wait for itself for ever: thread \"%s\" (tid %u) protects %p, which %s", call, name,
		  lull__self.tid, (void *)copy.range.from, story(&copy, words));
}

/* ---- deferred, and reclaimed ---------------------------------------------------------------- */

static void deferred_twice(const struct deferred *now, const struct deferred *before)
	__attribute__((noreturn, cold));
static void deferred_twice(const struct deferred *now, const struct deferred *before)
{
	char words[STORY_BYTES], part[48] = "", name[32];
	const char *how = now->range.from < before->range.from ? ", which contains" : ", which is part of";

	if (now->range.from != before->range.from)
		snprintf(part, sizeof(part), "%s %p", how, (void *)before->range.from);
	lull__thread_name(now->tid, name, sizeof(name));
	lull__die("%s of %p%s, which %s already (thread \"%s\", tid %u)", call_of(now), (void *)now->range.from, part,
		  story(before, words), name, now->tid);
}

/* Add @d to the set. Returns false if there is no memory. Locked. */
static bool add(const struct deferred *d)
{
	struct lull__range *range = lull__ranges_new(&retired);

	if (!range)
		return false;
	*(struct deferred *)range = *d;
	lull__ranges_insert(&retired, range);
	lull_add_relaxed(filter_of(range->from), 1u);
	return true;
}

void lull__retired_add(int kind, void *item, lull_rcu_func func, const void *site)
{
	bool is_call = lull__kind_is_call((uint32_t)kind), added = true, is_late;
	size_t bytes = is_call ? sizeof(struct lull_head) : malloc_usable_size(item);
	struct deferred fresh = {
		.range = { .from = (uintptr_t)item, .to = (uintptr_t)item + (bytes ? bytes : 1) },
		.func = func,
		.site = site,
		.since_ns = lull__now_ns(),
		.cookie = lull__rcu_cookie(),
		.tid = lull__check_tid(),
		.kind = (uint16_t)kind,
	};
	struct deferred before, late, *found;
	char words[STORY_BYTES], name[32];

	if (is_call)
		fresh.module = module_of(func, &fresh.module_start);
	lull__ranges_enter(&retired);
	is_late = has_not_let_go(&late);
	found = find_retired(fresh.range.from, fresh.range.to);
	if (found)
		before = *found;
	else
		added = add(&fresh);
	lull__ranges_leave(&retired);
	if (lull_unlikely(found != NULL))
		deferred_twice(&fresh, &before);
	if (lull_unlikely(!added) && !lull_xchg_relaxed(&said, 1u))
		lull__say("no memory to check deferred objects: some are not checked");
	if (lull_unlikely(is_late)) {
		lull__thread_name(late.tid, name, sizeof(name));
		lull__say("thread \"%s\" (tid %u) still protects %p, which %s: it cannot be reclaimed", name, late.tid,
			  (void *)late.range.from, story(&late, words));
	}
}

void lull__retired_remove(void *item)
{
	struct deferred *found, copy = { .kind = LULL__KINDS };

	lull__ranges_enter(&retired);
	found = find_retired((uintptr_t)item, (uintptr_t)item + 1);
	if (found && found->range.from == (uintptr_t)item) {
		copy = *found;
		lull_sub_relaxed(filter_of((uintptr_t)item), 1u);
		lull__ranges_remove(&retired, &found->range);
	}
	lull__ranges_leave(&retired);
	if (copy.kind == LULL__KINDS)
		return; /* deferred before a fork that found the set incomplete, or without memory */
	if (lull__kind_is_call(copy.kind)) {
		check_callback(&copy);
		return;
	}
	lull__guards_forget(copy.range.from, copy.range.to);
#ifdef HAS_ASAN
	ASAN_UNPOISON_MEMORY_REGION(item, poison_bytes(item));
#endif
}

/* ---- used although it is retired ------------------------------------------------------------ */

/* Poison the entries [q->ready, @ready) of @q, but not those with callbacks: their objects may live on. */
void lull__retired_ready(const struct lull__queue *q, uint64_t ready)
{
#ifdef HAS_ASAN
	const struct lull__chunk *chunk = q->head;

	for (uint64_t at = q->ready; at < ready && !lull__kind_is_call(q->kind); at++) {
		void *item;

		while (at >= chunk->first + LULL__CHUNK_ITEMS)
			chunk = chunk->next;
		item = chunk->entry[at % LULL__CHUNK_ITEMS].item;
		if (item)
			ASAN_POISON_MEMORY_REGION(item, poison_bytes(item));
	}
#else
	(void)q;
	(void)ready;
#endif
}

/* The type of a pointer variable of lull_rcu_dereference(), whatever it points to. */
typedef void *any_pointer __attribute__((may_alias));

/*
 * Abort if the variable at @at points to an object that was retired before this read section began. The
 * section began after the heavy fence of the grace period whose number it carries (RCU-7), and that period
 * began after the retirement: so the section sees what was stored before the retirement, and would see the
 * unlinking. Objects that were retired later, or that wait for a hazard pointer or a callback, may be found.
 */
void lull__check_found(const char *call, const void *at)
{
	uintptr_t found = (uintptr_t)lull_load_relaxed((const any_pointer *)at);
	uint64_t number = lull__self.rcu & ~(uint64_t)LULL__RCU_LOW;
	char words[STORY_BYTES];
	struct deferred *d, copy;

	if (lull_likely(!found || !lull_load_relaxed(filter_of(found))))
		return;
	if (!lull__ranges_try_enter(&retired))
		return;
	d = find_retired(found, found + 1);
	if (d && (d->range.from != found || d->kind != LULL__FREES || number < d->cookie))
		d = NULL;
	if (d)
		copy = *d;
	lull__ranges_leave(&retired);
	if (lull_likely(!d))
		return;
	lull__misuse("%s: found %p, which %s before this read section began: it was not unlinked first", call,
		     (void *)found, story(&copy, words));
}

/* ---- fork ----------------------------------------------------------------------------------- */

static __thread bool retired_whole __attribute__((tls_model("initial-exec")));

void lull__retired_fork(bool begins)
{
	if (begins)
		retired_whole = lull__ranges_fork_prepare(&retired);
	else if (retired_whole)
		lull__ranges_leave(&retired);
	retired_whole = retired_whole && begins;
}

void lull__retired_fork_child(void)
{
	lull__ranges_fork_child(&retired, retired_whole);
	retired_whole = false; /* see guards.c */
}
#elif defined(LULL_DEBUG)
#include <lull/check.h>

/* Inline code of users calls it; a library with faults does not know which objects are retired. */
void lull__check_found(const char *call, const void *at)
{
	(void)call;
	(void)at;
}
#endif
