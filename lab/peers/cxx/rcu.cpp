/* SPDX-License-Identifier: MIT */
/* Read section: lull's RCU, by the names of C++26. */
#include <mutex>

#include <lull/rcu>

#include "flavor.h"
#include "ref_scheme.h"

#define FLAVOR_NAME "cxx-rcu"
#define FLAVOR_WHAT "lull::rcu_domain (C++), a region for each read"

static void flavor_thread_enter() {}
static void flavor_thread_leave() {}
static inline void flavor_quiescent() {}

static inline bench_ref_object *flavor_load(bench_ref_object *&p)
{
	return reinterpret_cast<std::atomic<bench_ref_object *> &>(p).load(std::memory_order_acquire);
}

#define READ_STATE __attribute__((unused)) int read_nothing
#define REF_READ(cell, sum, following)                                                        \
	do {                                                                                  \
		std::scoped_lock<lull::rcu_domain> read_region(lull::rcu_default_domain());   \
		bench_ref_object *read_found = flavor_load((cell)->object);                   \
                                                                                              \
		(sum) += read_found->value;                                                   \
		(following) = read_found->next;                                               \
		REF_HOLD();                                                                   \
	} while (0)

#define REF_BODY bench_ref_cxx_rcu
#define REF_NESTS 1
#include "ref_body.h"
