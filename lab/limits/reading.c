/* SPDX-License-Identifier: MIT */
/* reading.c - what readers do: sections, hazard pointers, simple hazard pointers. See operations.c. */
#include "operation.h"

#include <lull/bridge.h>
#include <lull/hazptr_fenced.h>
#include <lull/hazptr_pool.h>
#include <lull/rcu.h>
#include <lull/shazptr.h>

struct object {
	int value;
	struct lull_head head;
};

static struct object object, *shared = &object;
static struct lull_hazptr *slot;
static struct lull_shazptr_guard outer;

static void in_section(void) { lull_rcu_read_lock(); }
static void online(void) { lull_rcu_online(); }
static void with_slot(void) { slot = lull_hazptr_alloc(lull_hazptr_thread_context()); }
static void in_acquisition(void) { outer = lull_shazptr_acquire(&object); }

static void in_section_with_slot(void)
{
	lull_rcu_read_lock();
	with_slot();
}

/* ---- RCU --------------------------------------------------------------------------------------- */

OPERATION(nothing, (void)0)
OPERATION(read_section, lull_rcu_read_lock(); lull_rcu_read_unlock())
OPERATION(read_section_dereference, lull_rcu_read_lock(); keep(lull_rcu_dereference(shared)); lull_rcu_read_unlock())
OPERATION(online_section, lull_rcu_online_read_lock(); keep(lull_rcu_dereference(shared)); lull_rcu_online_read_unlock())
OPERATION(guard, LULL_RCU_GUARD())
OPERATION(held, keep(lull_rcu_read_lock_held()))
OPERATION(dereference, keep(lull_rcu_dereference(shared)))
OPERATION(access, keep(lull_rcu_access(shared)))
OPERATION_WITH(assign, struct object *to = &object; keep(to), lull_rcu_assign(shared, to))
OPERATION_WITH(replace, struct object *to = &object; keep(to), keep(lull_rcu_replace(shared, to)))
OPERATION(quiescent, lull_rcu_quiescent())
OPERATION(fence_light, lull_fence_light())
OPERATION(fence_full, lull_fence_full())

/* ---- hazard pointers --------------------------------------------------------------------------- */

#define SLOT struct lull_hazptr *h = slot

OPERATION_WITH(hazptr_protect, SLOT, keep(lull_hazptr_protect(h, shared, head)); lull_hazptr_clear(h))
OPERATION_WITH(hazptr_tryprotect, SLOT, keep(lull_hazptr_tryprotect_ptr(h, shared)); lull_hazptr_clear(h))
OPERATION_WITH(hazptr_clear, SLOT, lull_hazptr_clear(h))
OPERATION_WITH(hazptr_alloc, struct lull_hazptr_context *ctx = lull_hazptr_thread_context(),
	       lull_hazptr_free(ctx, lull_hazptr_alloc(ctx)))
OPERATION(hazptr_hold, struct lull_hazptr_hold hold; lull_hazptr_release(&hold, lull_hazptr_acquire(&hold, &shared)))
OPERATION_WITH(hazptr_publish, struct object *to = &object; keep(to), lull_hazptr_publish(shared, to))
OPERATION_WITH(hazptr_protect_rcu, SLOT, keep(lull_hazptr_protect_rcu(h, shared, head)); lull_hazptr_clear(h))
OPERATION(hazptr_hold_rcu, struct lull_hazptr_hold hold;
	  lull_hazptr_release(&hold, lull_hazptr_acquire_rcu(&hold, lull_rcu_dereference(shared))))
OPERATION_WITH(hazptr_fenced, SLOT, keep(lull_hazptr_fenced_protect_ptr(h, shared)); lull_hazptr_fenced_clear(h))
OPERATION(hazptr_detach, struct lull_hazptr_hold hold; struct object *held = lull_hazptr_acquire(&hold, &shared);
	  lull_hazptr_detach(&hold); lull_hazptr_release(&hold, held))
OPERATION(hazptr_pool, lull_hazptr_pool_put(lull_hazptr_pool_get()))
OPERATION(hazptr_context, struct lull_hazptr_context ctx; lull_hazptr_context_init(&ctx); lull_hazptr_context_cleanup(&ctx))

/* ---- simple hazard pointers -------------------------------------------------------------------- */

OPERATION(shazptr, lull_shazptr_clear(lull_shazptr_acquire(&object)))
OPERATION(shazptr_wildcard, lull_shazptr_clear(lull_shazptr_acquire_wildcard()))

static const struct operation list[] = {
	{ "nothing", NULL, nothing, STEPS },
	{ "read_section", NULL, read_section, STEPS },
	{ "read_section_dereference", NULL, read_section_dereference, STEPS },
	{ "read_section_nested", in_section, read_section, STEPS },
	{ "read_section_in_online_thread", online, read_section, STEPS },
	{ "read_section_guard", NULL, guard, STEPS },
	{ "online_section_dereference", online, online_section, STEPS },
	{ "read_lock_held", NULL, held, STEPS },
	{ "dereference", in_section, dereference, STEPS },
	{ "access", NULL, access, STEPS },
	{ "assign", NULL, assign, STEPS },
	{ "replace", NULL, replace, STEPS },
	{ "quiescent", online, quiescent, STEPS },
	{ "fence_light", NULL, fence_light, STEPS },
	{ "fence_full", NULL, fence_full, STEPS },
	{ "hazptr_protect_clear", with_slot, hazptr_protect, STEPS },
	{ "hazptr_tryprotect_clear", with_slot, hazptr_tryprotect, STEPS },
	{ "hazptr_clear", with_slot, hazptr_clear, STEPS },
	{ "hazptr_alloc_free", NULL, hazptr_alloc, STEPS },
	{ "hazptr_acquire_release", NULL, hazptr_hold, STEPS },
	{ "hazptr_publish", NULL, hazptr_publish, STEPS },
	{ "hazptr_protect_rcu_clear", in_section_with_slot, hazptr_protect_rcu, STEPS },
	{ "hazptr_acquire_rcu_release", in_section, hazptr_hold_rcu, STEPS },
	{ "hazptr_fenced_protect_clear", with_slot, hazptr_fenced, STEPS },
	{ "hazptr_acquire_detach_release", NULL, hazptr_detach, STEPS },
	{ "hazptr_pool_get_put", NULL, hazptr_pool, STEPS },
	{ "hazptr_context_init_cleanup", NULL, hazptr_context, STEPS },
	{ "shazptr_acquire_clear", NULL, shazptr, STEPS },
	{ "shazptr_acquire_clear_nested", in_acquisition, shazptr, STEPS },
	{ "shazptr_wildcard_clear", NULL, shazptr_wildcard, STEPS },
};

const struct operations reading_operations = OPERATIONS(list);
