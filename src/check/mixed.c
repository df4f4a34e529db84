/* SPDX-License-Identifier: MIT */
/*
 * mixed.c - debug builds: find readers that protect by a light fence, from updaters that make no heavy one.
 */
#ifdef LULL_DEBUG
#include <lull/hazptr_fenced.h>

#include "../base/message.h"
#include "../hazptr/slots.h"
#include "checks.h"

#define LIGHT_NOTES 4096u

/*
 * For slots that light fences have set: of the slot and its address one number, which no other pair has in practice.
 * Several slots share a place, and the last one has it: a wrong pair may be missed, and none is invented.
 */
static uint64_t light_note[LIGHT_NOTES];

static uint64_t *light_place(const struct lull_hazptr *h, uintptr_t addr, uint64_t *note)
{
	uint64_t slot = (uint64_t)(uintptr_t)h * UINT64_C(0x9e3779b97f4a7c15);

	*note = slot ^ addr;
	return &light_note[slot >> 32 & (LIGHT_NOTES - 1)];
}

void lull__check_light(const struct lull_hazptr *h, uintptr_t addr)
{
	uint64_t note, *place = light_place(h, addr, &note);

	if (addr)
		lull_store_relaxed(place, note);
	else if (lull_load_relaxed(place))
		lull_store_relaxed(place, (uint64_t)0);
}

struct mixed {
	uintptr_t addr;
	size_t len;
	uintptr_t light; /* an address that a slot has had by a light fence; 0: none */
	uint32_t owner;
};

static void visit_light(struct lull_hazptr *h, uintptr_t addr, uint32_t owner, void *arg)
{
	struct mixed *mixed = arg;
	uint64_t note, *place = light_place(h, addr, &note);

	if (addr - mixed->addr < mixed->len && lull_load_relaxed(place) == note) {
		mixed->light = addr;
		mixed->owner = owner;
	}
}

/* Say so once. Under LULL_FENCE=full light fences are full ones, and all is well. */
void lull__mixed_check(const char *call, const void *addr, size_t len)
{
	static uint32_t mixed_said;
	struct mixed mixed = { .addr = (uintptr_t)addr, .len = len };

	if (lull__fence_full_mode || lull_load_relaxed(&mixed_said))
		return;
	lull__hazptr_for_each_slot(visit_light, &mixed);
	if (mixed.light && !lull_xchg_relaxed(&mixed_said, 1u))
		lull__say("%s waits for %s, which protects %p by a function of hazptr.h: it must use hazptr_fenced.h, too", call,
			  mixed.owner ? lull__thread_words(mixed.owner).text : "a slot", (const void *)mixed.light);
}
#endif
