/* SPDX-License-Identifier: MIT */
/*
 * hazptr_wait.h - wait for slots that name an address.
 */
#ifndef LULL_HAZPTR_WAIT_H
#define LULL_HAZPTR_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Wait until each slot that names an address in [@addr, @addr + @len) has been seen not to name one.
 * Returns false at @deadline_ns. Aborts in the name of @call if the calling thread protects such an
 * address; NULL: it may. @full: wait for the domain of hazptr_fenced.h.
 */
bool lull__hazptr_wait(const char *call, const void *addr, size_t len, uint64_t deadline_ns, bool full);

#endif /* LULL_HAZPTR_WAIT_H */
