/* SPDX-License-Identifier: MIT */
/*
 * Read section: a std::shared_ptr is copied, used, and dropped. The one that is copied does not
 * change meanwhile: one that does would need std::atomic<std::shared_ptr> (atomic_shared_ptr.cpp).
 */
#include <memory>
#include <new>
#include <thread>

#include "flavor.h"
#include "hash_scheme.h"
#include "peer_module.h"
#include "ref_scheme.h"

#define FLAVOR_NAME "shared_ptr"
#define FLAVOR_WHAT "std::shared_ptr (C++): copied and dropped"

using flavor_pointer = std::shared_ptr<bench_ref_object>;

static_assert(sizeof(flavor_pointer) <= sizeof(bench_ref_cell::smart), "room for it");

/* libstdc++ counts without atomics as long as the process has never had a second thread. */
static void flavor_thread_enter()
{
	static const bool had_one = (std::thread([] {}).join(), true);

	(void)had_one;
}

static void flavor_thread_leave() {}
static inline void flavor_quiescent() {}

static const char *flavor_setup(const bench_ref_scheme *, bench_ref_data *data)
{
	for (bench_ref_cell &cell : data->cell)
		if (!cell.smart[0])
			new (cell.smart) flavor_pointer(cell.object, [](bench_ref_object *) {});
	return nullptr;
}

static inline const flavor_pointer &flavor_of(const bench_ref_cell *cell)
{
	return *std::launder(reinterpret_cast<const flavor_pointer *>(cell->smart));
}

#define READ_STATE __attribute__((unused)) int read_nothing
#define REF_READ(cell, sum, following)                           \
	do {                                                     \
		const flavor_pointer read_held(flavor_of(cell)); \
                                                                 \
		(sum) += read_held->value;                       \
		(following) = read_held->next;                   \
		REF_HOLD();                                      \
	} while (0)

#define REF_SETUP flavor_setup
#define REF_BODY bench_ref_shared_ptr
#define REF_NESTS 1
#include "ref_body.h"

/* ---- the module ---- */

static const void *const ref[] = {
	&bench_ref_cxx_rcu, &bench_ref_cxx_hazard_pointer, &bench_ref_cxx_hazard_pointer_make, &bench_ref_shared_ptr,
	&bench_ref_atomic_shared_ptr, nullptr,
};

static const void *const hash[] = {
	&bench_hash_cxx_hash_map, &bench_hash_unordered_map, &bench_hash_unordered_map_shared_ptr, nullptr,
};

const struct peer_module lull_peer_module = { PEER_BUILD, "C++", PEER_VERSION, { ref, nullptr, hash } };
