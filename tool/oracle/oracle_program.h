/* SPDX-License-Identifier: MIT */
/*
 * The parts of lull oracle, in builds with libbpf. Each call ends the program when it cannot do what it
 * is for, unless it returns an errno.
 */
#ifndef LULL_TOOL_ORACLE_PROGRAM_H
#define LULL_TOOL_ORACLE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <lull/mutex.h>

#include "common/json.h"

/* Paths of the pinned objects. The library looks for the table; the link keeps the program attached. */
#define ORACLE_MOUNT "/sys/fs/bpf"
#define ORACLE_DIR   ORACLE_MOUNT "/lull"
#define ORACLE_TABLE LULL_MUTEX_TABLE
#define ORACLE_LINK  ORACLE_DIR "/link"

struct bpf_link;
struct bpf_object;

struct oracle_rights {
	mode_t mode; /* of the pinned table */
	gid_t group;
};

/* A program, and what the kernel has counted of it in the time in which it was told to count. */
struct oracle_cost {
	uint32_t id;
	uint64_t runs, ns;
};

void oracle_load(const struct oracle_rights *rights);
void oracle_unload(void);
void oracle_status(struct jsonout *json);
/* Report the cost that the kernel counts at context switches for the program, and for one that does nothing. */
void oracle_measure(double seconds, struct jsonout *json);

/* ---- between them ---------------------------------------------------------------------------- */

void oracle_need_root(void);
/* The programs and the table are in the kernel then, and nothing is attached. */
struct bpf_object *oracle_into_kernel(bool with_nothing);
struct bpf_link *oracle_attach(struct bpf_object *object, const char *program);
/* 0 or an errno: of a program's descriptor, and of the program that the pinned link keeps attached. */
int oracle_counted(int program, struct oracle_cost *cost);
int oracle_attached(struct oracle_cost *cost);

#endif
