/* SPDX-License-Identifier: MIT */
/*
 * section.h - who may wait for a grace period of which flavor.
 */
#ifndef LULL_URCU_SECTION_H
#define LULL_URCU_SECTION_H

#include <lull/compat/urcu_core.h>
#include <lull/detail/ground.h>

#define LULL__URCU_KINDS 2 /* see urcu_core.h */

/* Abort in @call if the calling thread would wait for itself, or lose what it reads in another flavor. */
void lull__urcu_check_may_wait(const char *call, unsigned kind);

#endif /* LULL_URCU_SECTION_H */
