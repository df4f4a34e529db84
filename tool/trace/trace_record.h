/* SPDX-License-Identifier: MIT */
/*
 * Records that the program in the kernel hands over, one for each probe that was passed. Also compiled for BPF, where
 * there is no libc.
 */
#ifndef LULL_TOOL_TRACE_RECORD_H
#define LULL_TOOL_TRACE_RECORD_H

#include <stdint.h>

#define TRACE_RING_BYTES (8u << 20)
#define TRACE_ARGS 4
#define TRACE_NAME 16

/* The probes of src/base/probe.h. The end of something is one above its start. */
enum trace_probe {
	TRACE_SECTION_ENTER,
	TRACE_SECTION_EXIT,
	TRACE_GP_START,
	TRACE_GP_END,
	TRACE_BATCH_START,
	TRACE_BATCH_END,
	TRACE_SCAN_START,
	TRACE_SCAN_END,
	TRACE_MUTEX_WAIT_START,
	TRACE_MUTEX_WAIT_END,
	TRACE_WAIT_START,
	TRACE_WAIT_END,
	TRACE_STALL,
	TRACE_PROBES
};

/* Memory that both sides see: lull maps it. */
struct trace_control {
	uint64_t pid_dev, pid_ino; /* the PID namespace in which the process knows its threads */
	uint64_t go; /* else nothing is written down: not all is attached, or the time is up */
	uint64_t lost;
};

struct trace_record {
	uint64_t ns; /* CLOCK_MONOTONIC */
	uint64_t arg[TRACE_ARGS];
	uint32_t tid;
	uint32_t probe;		/* enum trace_probe */
	char name[TRACE_NAME];	/* of the thread */
	char other[TRACE_NAME]; /* of a stall: of the thread that is waited for */
};

#endif
