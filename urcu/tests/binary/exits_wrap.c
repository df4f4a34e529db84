/* SPDX-License-Identifier: MIT */
/* exits_wrap.c - for exits.c: where the registration of a thread has ended, the thread gets a signal, once. */
#include "domain.h"

#include <signal.h>

void __real_lull__urcu_unregister(struct urcu_domain *d, struct urcu_record *record);
void __wrap_lull__urcu_unregister(struct urcu_domain *d, struct urcu_record *record);

void __wrap_lull__urcu_unregister(struct urcu_domain *d, struct urcu_record *record)
{
	static uint32_t sent;

	__real_lull__urcu_unregister(d, record);
	if (d == &lull__urcu_bp && !lull_xchg_relaxed(&sent, 1u))
		pthread_kill(pthread_self(), SIGUSR1);
}
