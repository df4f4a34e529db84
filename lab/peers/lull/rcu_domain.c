/* SPDX-License-Identifier: MIT */
/* lull's RCU for one part of a program: sections of a domain. */
#include <lull/rcu_domain.h>

#include "flavor.h"

#define FLAVOR_NAME "rcu-domain"
#define FLAVOR_WHAT "lull RCU in a domain, whose readers may sleep"

static struct {
	struct lull_rcu_domain domain;
} __attribute__((aligned(128))) flavor_shared;

static inline void flavor_thread_enter(void) {}
static inline void flavor_thread_leave(void) {}
static inline void flavor_quiescent(void) {}

#define READ_STATE int read_phase
#define READ_BEGIN(p) (read_phase = lull_rcu_domain_read_lock(&flavor_shared.domain), lull_rcu_dereference(p))
#define READ_END() lull_rcu_domain_read_unlock(&flavor_shared.domain, read_phase)

#include "ref_scheme.h"

static const char *domain_setup(const struct bench_ref_scheme *scheme, struct bench_ref_data *data)
{
	(void)data;
	if (!flavor_shared.domain.data && lull_rcu_domain_init(&flavor_shared.domain, scheme->name) != 0)
		return "there is no memory for counters";
	return NULL;
}

#define REF_SETUP domain_setup
#define REF_BODY bench_ref_rcu_domain
#define REF_NESTS 1
#include "ref_body.h"
