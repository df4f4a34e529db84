/* SPDX-License-Identifier: MIT */
/* Which CPUs share a core or a socket, and in which order threads are placed on them. */
#ifndef LULL_TOOL_TOPOLOGY_H
#define LULL_TOOL_TOPOLOGY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TOPOLOGY_ROOT "/sys/devices/system/cpu"

struct topology {
	unsigned cores, sockets; /* that the CPUs belong to */
};

/*
 * Sort the @count CPU numbers @cpu into the order in which threads take them: one of each core, a socket at a time;
 * then the second of each core, and so on; ascending among equals. So two threads share a core only when there are more
 * threads than cores, and a socket's boundary is crossed as late as can be. A CPU that @root does not describe counts
 * as a core of its own on socket 0.
 */
struct topology topology_sort(const char *root, int *cpu, size_t count);

#ifdef __cplusplus
}
#endif

#endif
