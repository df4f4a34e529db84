/* SPDX-License-Identifier: MIT */
/*
 * section.c - liburcu's grace periods on lull's one domain, and defer_rcu().
 */
#include <stdlib.h>

#include "section.h"

static const char *const flavor_words[LULL__URCU_KINDS] = { "memb, mb, bp or signal", "qsbr" };

/*
 * All flavors are one domain here. So a wait in a section of another flavor would wait for itself, and while an online
 * thread waits in another flavor, its own section would not be one.
 */
void lull__urcu_check_may_wait(const char *call, unsigned kind)
{
	if (lull__rcu_in_section())
		lull__ground.misuse("%s in a read section would wait for itself for ever; with lull that is so for sections of all "
			     "flavors", call);
	if (kind == LULL__URCU_NESTS && lull__urcu_is_online())
		lull__ground.misuse("%s of flavor %s in an online thread of flavor qsbr: with lull all flavors are one, and that "
			     "would be a quiescent state", call, flavor_words[kind]);
}

void lull__urcu_synchronize(unsigned kind)
{
	lull__urcu_check_may_wait("synchronize_rcu", kind);
	lull_rcu_synchronize();
}

/* ---- defer ------------------------------------------------------------------------------------------ */

struct defer_rcu_call {
	struct lull_head head;
	void (*fct)(void *p);
	void *p;
};

static void run_deferred(struct lull_head *head)
{
	struct defer_rcu_call *deferred = lull_container_of(head, struct defer_rcu_call, head);
	void (*fct)(void *p) = deferred->fct;
	void *p = deferred->p;

	free(deferred);
	fct(p);
}

/* Without memory it waits. It must not be in a section, like liburcu's, whose queue may be full. */
void lull__urcu_defer(void (*fct)(void *p), void *p, unsigned kind)
{
	struct defer_rcu_call *deferred = malloc(sizeof(*deferred));

	if (deferred) {
		deferred->fct = fct;
		deferred->p = p;
		lull_rcu_call(&deferred->head, run_deferred);
	} else {
		lull__urcu_check_may_wait("defer_rcu without memory", kind);
		lull_rcu_synchronize();
		fct(p);
	}
}
