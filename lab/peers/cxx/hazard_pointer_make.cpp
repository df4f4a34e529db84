/* SPDX-License-Identifier: MIT */
/* Read section: lull's hazard pointers, by the names of C++26; made for each use, as the standard's example does. */
#include <lull/hazard_pointer>

#include "flavor.h"
#include "ref_scheme.h"

#define FLAVOR_NAME "cxx-hazard_pointer-make"
#define FLAVOR_WHAT "lull::hazard_pointer (C++), made and destroyed each time"

static void flavor_thread_enter() {}
static void flavor_thread_leave() {}
static inline void flavor_quiescent() {}

struct flavor_made : lull::hazard_pointer_obj_base<flavor_made> {
};

static inline bench_ref_object *flavor_protect(lull::hazard_pointer &h, bench_ref_object *&p)
{
	return reinterpret_cast<bench_ref_object *>(h.protect(reinterpret_cast<std::atomic<flavor_made *> &>(p)));
}

#define READ_STATE __attribute__((unused)) int read_nothing
#define REF_READ(cell, sum, following)                                                \
	do {                                                                          \
		lull::hazard_pointer read_h = lull::make_hazard_pointer();            \
		bench_ref_object *read_held = flavor_protect(read_h, (cell)->object); \
                                                                                      \
		(sum) += read_held->value;                                            \
		(following) = read_held->next;                                        \
		REF_HOLD();                                                           \
	} while (0)

#define REF_BODY bench_ref_cxx_hazard_pointer_make
#define REF_NESTS 1
#include "ref_body.h"
