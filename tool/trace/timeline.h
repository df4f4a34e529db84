/* SPDX-License-Identifier: MIT */
/*
 * The events of a timeline: JSON in the trace event format, which ui.perfetto.dev and chrome://tracing open. An event
 * with two ends is written when both are known, so it has both, even if records were lost.
 */
#ifndef LULL_TOOL_TIMELINE_H
#define LULL_TOOL_TIMELINE_H

#include "trace/trace.h"

/* Type of an event, by the probe at its start. */
#define EVENTS_TYPE(start) ((start) / 2)

struct events;

/* Something that began and ended. */
struct events_both {
	unsigned type;
	uint32_t from_tid, to_tid;
	uint64_t from_ns, to_ns;
	/* Arguments of the records; NULL: the event is cut by that end of the trace. */
	const uint64_t *start, *end;
	uint64_t id; /* of those that may go on at the same time; pairs alone */
};

/* Times are written from @zero_ns on. */
struct events *events_new(FILE *file, const struct trace_subject *subject, uint64_t zero_ns);
void events_thread_name(struct events *e, uint32_t tid, const char *name);
/* Write an event of one thread: a slice of its track. */
void events_slice(struct events *e, const struct events_both *both);
/* Write an event of no thread: on a track of its kind. */
void events_pair(struct events *e, const struct events_both *both);
/* A point in time. */
void events_stall(struct events *e, const struct trace_record *r);
/* Ends the file; frees @e. */
void events_end(struct events *e, uint64_t lost, uint64_t unpaired);

#endif
