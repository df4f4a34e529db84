/* SPDX-License-Identifier: MIT */
/*
 * record.c - the calling thread's record, before it is registered.
 */
#include <lull/rcu.h>
#include <lull/shazptr.h>

/* In no section, with no hazard pointer, and the first read section has to go out of line. */
__thread struct lull__thread lull__self __attribute__((tls_model("initial-exec"))) = {
	.rcu = LULL__RCU_REST,
	.shazptr = LULL__SHAZPTR_REST,
};
_Static_assert(sizeof(struct lull__thread) <= 256, "must fit the static TLS reserve of dlopen");
