/* SPDX-License-Identifier: MIT */
/* Read section: libcds's hazard pointers. A guard is kept over all reads of a loop. */
#include <atomic>
#include <mutex>

#include <cds/init.h>
#include <cds/gc/hp.h>

#include "flavor.h"
#include "peer_module.h"
#include "ref_scheme.h"

#define FLAVOR_NAME "libcds-hp"
#define FLAVOR_WHAT "libcds hazard pointers (C++), in a guard that the loop keeps"

#define GUARDS 1     /* per thread */
#define THREADS 4200 /* most that there can be: OPTIONS_THREADS_LIMIT and some */

static std::once_flag flavor_once;

static void flavor_init()
{
	cds::Initialize();
	/* Keep the domain as long as the program: threads may leave late. */
	static cds::gc::HP *domain = new cds::gc::HP(GUARDS, THREADS);

	(void)domain;
}

static void flavor_thread_enter()
{
	std::call_once(flavor_once, flavor_init);
	cds::threading::Manager::attachThread();
}

static void flavor_thread_leave()
{
	cds::threading::Manager::detachThread();
}

static inline void flavor_quiescent() {}

/* The plain pointer of the shared data, as the library wants it. */
static inline std::atomic<bench_ref_object *> &flavor_atomic(bench_ref_object *&p)
{
	return reinterpret_cast<std::atomic<bench_ref_object *> &>(p);
}

#define READ_STATE cds::gc::HP::Guard read_guard
#define READ_BEGIN(p) read_guard.protect(flavor_atomic(p))
#define READ_END() read_guard.clear()

#define REF_BODY bench_ref_libcds_hp
#include "ref_body.h"

/* ---- the module ---- */

static const void *const ref[] = { &bench_ref_libcds_hp, nullptr };

const struct peer_module lull_peer_module = { PEER_BUILD, "libcds", PEER_VERSION, { ref } };
