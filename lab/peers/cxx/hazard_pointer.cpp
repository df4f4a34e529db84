/* SPDX-License-Identifier: MIT */
/* Read section: lull's hazard pointers, by the names of C++26; one that the thread keeps. */
#include <lull/hazard_pointer>

#include "flavor.h"
#include "ref_scheme.h"

#define FLAVOR_NAME "cxx-hazard_pointer"
#define FLAVOR_WHAT "lull::hazard_pointer (C++), one that the thread keeps"

static void flavor_thread_enter() {}
static void flavor_thread_leave() {}
static inline void flavor_quiescent() {}

/* Stands for a bench_ref_object, as nothing is retired here: of an object only the address matters. */
struct flavor_node : lull::hazard_pointer_obj_base<flavor_node> {
};

static inline bench_ref_object *flavor_protect(lull::hazard_pointer &h, bench_ref_object *&p)
{
	return reinterpret_cast<bench_ref_object *>(h.protect(reinterpret_cast<std::atomic<flavor_node *> &>(p)));
}

#define READ_STATE lull::hazard_pointer read_h = lull::make_hazard_pointer()
#define READ_BEGIN(p) flavor_protect(read_h, p)
#define READ_END() read_h.reset_protection()

#define REF_BODY bench_ref_cxx_hazard_pointer
#include "ref_body.h"
