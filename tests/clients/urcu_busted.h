/* SPDX-License-Identifier: MIT */
/*
 * Faults of what stands in for liburcu, which programs have to find (scripts/clients, "mutants"). The variable
 * LULL_URCU_BUSTED of the environment names one:
 *
 *	URCU_NO_WAIT		synchronize_rcu() waits for nothing
 *	URCU_EARLY_CALLBACK	callbacks run as soon as their worker has them, without a grace period
 *	URCU_UNSEEN		grace periods see no reader whose words are liburcu's
 */
#ifndef LULL_URCU_BUSTED_H
#define LULL_URCU_BUSTED_H

#include <stdbool.h>

bool lull__urcu_busted(const char *fault);

#define LULL__BUSTED(fault) lull__urcu_busted(#fault)

#endif /* LULL_URCU_BUSTED_H */
