/* SPDX-License-Identifier: MIT */
/*
 * Read section: xenium's hazard pointers. A guard takes a slot when it acquires, and gives it back
 * when it is reset: the library has no other way.
 */
#include <xenium/reclamation/hazard_pointer.hpp>

#include "flavor.h"
#include "peer_module.h"
#include "ref_scheme.h"

#define FLAVOR_NAME "xenium-hp"
#define FLAVOR_WHAT "xenium hazard pointers (C++), a slot for each read"

static void flavor_thread_enter() {}
static void flavor_thread_leave() {}
static inline void flavor_quiescent() {}

using reclaimer = xenium::reclamation::hazard_pointer<>::with<xenium::policy::allocation_strategy<
	xenium::reclamation::hp_allocation::static_strategy<3>>>;

/*
 * Stands for a bench_ref_object: the guard knows its address and nothing of its contents, so the
 * base class need not be there as long as nothing is retired.
 */
struct flavor_node : reclaimer::enable_concurrent_ptr<flavor_node> {
};

using flavor_pointer = reclaimer::concurrent_ptr<flavor_node>;

static_assert(sizeof(flavor_pointer) == sizeof(void *), "a pointer without marks");

static inline bench_ref_object *flavor_acquire(flavor_pointer::guard_ptr &guard,
					       bench_ref_object *&p)
{
	guard.acquire(reinterpret_cast<flavor_pointer &>(p));
	return reinterpret_cast<bench_ref_object *>(guard.get());
}

#define READ_STATE flavor_pointer::guard_ptr read_guard
#define READ_BEGIN(p) flavor_acquire(read_guard, p)
#define READ_END() read_guard.reset()

#define REF_BODY bench_ref_xenium_hp
#include "ref_body.h"

/* ---- the module ---- */

static const void *const ref[] = { &bench_ref_xenium_hp, nullptr };

const struct peer_module lull_peer_module = { PEER_BUILD, "xenium", PEER_VERSION, { ref } };
