/* SPDX-License-Identifier: MIT */
/* Description of this machine: the part of every report that tells two runs apart. */
#ifndef LULL_TOOL_MACHINE_H
#define LULL_TOOL_MACHINE_H

#include <stdbool.h>

struct machine {
	char cpu_model[128];
	char kernel[256];
	char governor[32];   /* "n/a" when the system does not say */
	char hypervisor[32]; /* "none", "KVM", ...; "unknown" where the CPU cannot be asked */
	char fence[16];	     /* strategy lull chose in this process */
	char compiler[64];
	unsigned cpus_online;
	unsigned cpus_allowed;
	unsigned cores, sockets; /* that the allowed ones belong to */
	bool perf_counters; /* user-mode cycles and instructions can be counted */
};

void machine_read(struct machine *m);
/* One line for the head of a table: "2 of 2 CPUs (2 cores, 1 socket), <model>, <kernel>, ...". */
void machine_print(const struct machine *m);

#endif
