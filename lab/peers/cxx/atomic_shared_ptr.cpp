/* SPDX-License-Identifier: MIT */
/* Read section: a std::atomic<std::shared_ptr>, which may change at any time, is loaded, used, and dropped. */
#include <atomic>
#include <memory>
#include <new>

#include "flavor.h"
#include "ref_scheme.h"

#define FLAVOR_NAME "atomic-shared_ptr"
#define FLAVOR_WHAT "std::atomic<std::shared_ptr> (C++): loaded and dropped"

using flavor_atomic = std::atomic<std::shared_ptr<bench_ref_object>>;

static void flavor_thread_enter() {}
static void flavor_thread_leave() {}
static inline void flavor_quiescent() {}

/* Pointers beside the cells, which have room for one kind of smart pointer only. */
static flavor_atomic flavor_cell[BENCH_REF_OBJECTS];

static const char *flavor_setup(const bench_ref_scheme *, bench_ref_data *data)
{
	for (unsigned i = 0; i < BENCH_REF_OBJECTS; i++)
		flavor_cell[i].store(std::shared_ptr<bench_ref_object>(data->cell[i].object, [](bench_ref_object *) {}));
	return nullptr;
}

#define READ_STATE __attribute__((unused)) int read_nothing
#define REF_READ(cell, sum, following)                                                                     \
	do {                                                                                               \
		const std::shared_ptr<bench_ref_object> read_held = flavor_cell[(cell) - data->cell].load(); \
                                                                                                           \
		(sum) += read_held->value;                                                                 \
		(following) = read_held->next;                                                             \
		REF_HOLD();                                                                                \
	} while (0)

#define REF_SETUP flavor_setup
#define REF_BODY bench_ref_atomic_shared_ptr
#include "ref_body.h"
