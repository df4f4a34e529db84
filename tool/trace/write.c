/* SPDX-License-Identifier: MIT */
/*
 * A timeline from records: which start and which end belong together. Most things begin and end on one
 * thread, within one another. Grace periods and waits may end on another thread than they began on.
 * Records may be missing, in the middle (the kernel had no room) and at the ends of the trace.
 */
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "trace/timeline.h"

#define DEPTH 16		    /* slices in one another on a thread */
#define AFLOAT 256		    /* grace periods and waits that go on at a time */
#define TIDS (4u * 1024 * 1024 + 1) /* the kernel's own limit */

struct open_slice {
	unsigned type;
	uint64_t ns, arg[TRACE_ARGS];
};

struct track {
	uint32_t tid;
	char name[TRACE_NAME + 1];
	bool complete; /* had a slice with both ends: nothing on it began before the trace */
	unsigned orphans, depth;
	struct open_slice open[DEPTH];
};

/* Event of no thread: a grace period or a wait. */
struct afloat {
	unsigned type;
	uint32_t tid; /* that began it */
	uint64_t id, ns, arg[TRACE_ARGS];
};

struct trace_writer {
	struct events *events;
	uint64_t begin_ns, zero_ns;
	uint32_t *index; /* by tid: 1 + place in track; what is not touched of it costs no memory */
	struct track *track;
	size_t nr_tracks;
	struct afloat afloat[AFLOAT];
	unsigned nr_afloat;
	struct trace_counts counts;
};

/* ---- threads --------------------------------------------------------------------------------- */

static struct track *new_track(struct trace_writer *w, uint32_t tid)
{
	struct track *more = realloc(w->track, (w->nr_tracks + 1) * sizeof(*more));

	if (!more)
		options_fail("out of memory");
	w->track = more;
	memset(&more[w->nr_tracks], 0, sizeof(*more));
	more[w->nr_tracks].tid = tid;
	w->index[tid] = (uint32_t)++w->nr_tracks;
	return &more[w->nr_tracks - 1];
}

/* A name may change, and a number may be used again by another thread: the newest name stays. */
static struct track *track_of(struct trace_writer *w, const struct trace_record *r)
{
	uint32_t place = w->index[r->tid];
	struct track *track = place ? &w->track[place - 1] : new_track(w, r->tid);

	if (!place || strncmp(track->name, r->name, sizeof(r->name))) {
		memcpy(track->name, r->name, sizeof(r->name));
		events_thread_name(w->events, track->tid, track->name);
	}
	return track;
}

/* ---- slices of one thread -------------------------------------------------------------------- */

static void put_slice(struct trace_writer *w, const struct track *track,
		      const struct open_slice *open, const uint64_t *start, const uint64_t *end,
		      uint64_t to_ns)
{
	events_slice(w->events, &(struct events_both){ .type = open->type,
						       .from_tid = track->tid,
						       .from_ns = open->ns,
						       .to_ns = to_ns,
						       .start = start,
						       .end = end });
	w->counts.slices++;
}

static void begin_slice(struct trace_writer *w, struct track *track, unsigned type,
			const struct trace_record *r)
{
	struct open_slice *open;

	if (track->depth == DEPTH) {
		/* Drop the oldest: only lost ends pile up so high. */
		memmove(&track->open[0], &track->open[1], (DEPTH - 1) * sizeof(track->open[0]));
		track->depth--;
		w->counts.unpaired++;
	}
	open = &track->open[track->depth++];
	open->type = type;
	open->ns = r->ns;
	memcpy(open->arg, r->arg, sizeof(open->arg));
}

/*
 * The start was not seen. It was before the trace if nothing on this thread says otherwise; of
 * several such, those that end later are around the others, and begin a nanosecond earlier.
 */
static void end_without_start(struct trace_writer *w, struct track *track, unsigned type,
			      const struct trace_record *r)
{
	struct open_slice before = { .type = type };

	if (track->complete || track->depth || track->orphans == DEPTH) {
		w->counts.unpaired++;
		return;
	}
	before.ns = w->zero_ns + DEPTH - track->orphans++;
	put_slice(w, track, &before, NULL, r->arg, r->ns);
}

static void end_slice(struct trace_writer *w, struct track *track, unsigned type,
		      const struct trace_record *r)
{
	unsigned depth = track->depth;

	while (depth && track->open[depth - 1].type != type)
		depth--;
	if (!depth) {
		end_without_start(w, track, type, r);
		return;
	}
	/* Slices that are still open within this one have lost their ends. */
	w->counts.unpaired += track->depth - depth;
	track->depth = depth - 1;
	track->complete = true;
	put_slice(w, track, &track->open[depth - 1], track->open[depth - 1].arg, r->arg, r->ns);
}

/* ---- grace periods and waits ----------------------------------------------------------------- */

/* Grace periods are known by their number, waits by their address. */
static struct afloat afloat_of(unsigned type, const struct trace_record *r)
{
	struct afloat a = { .type = type, .tid = r->tid, .ns = r->ns };

	a.id = r->arg[type == EVENTS_TYPE(TRACE_GP_START) ? 0 : 1];
	memcpy(a.arg, r->arg, sizeof(a.arg));
	return a;
}

static void put_pair(struct trace_writer *w, const struct afloat *a, const uint64_t *start,
		     const uint64_t *end, uint32_t to_tid, uint64_t to_ns)
{
	events_pair(w->events, &(struct events_both){ .type = a->type,
						      .from_tid = a->tid,
						      .to_tid = to_tid,
						      .from_ns = a->ns,
						      .to_ns = to_ns,
						      .start = start,
						      .end = end,
						      .id = a->id });
	w->counts.slices++;
}

static void begin_afloat(struct trace_writer *w, unsigned type, const struct trace_record *r)
{
	if (w->nr_afloat == AFLOAT) {
		/* Drop the oldest: only lost ends pile up so high. */
		memmove(&w->afloat[0], &w->afloat[1], (AFLOAT - 1) * sizeof(w->afloat[0]));
		w->nr_afloat--;
		w->counts.unpaired++;
	}
	w->afloat[w->nr_afloat++] = afloat_of(type, r);
}

/* The end of a grace period is that of all older ones. */
static bool is_ended_by(const struct afloat *a, const struct afloat *end)
{
	if (a->type != end->type)
		return false;
	return a->type == EVENTS_TYPE(TRACE_GP_START) ? a->id <= end->id : a->id == end->id;
}

static void end_afloat(struct trace_writer *w, unsigned type, const struct trace_record *r)
{
	struct afloat end = afloat_of(type, r);
	unsigned i, left = 0, ended = 0;

	for (i = 0; i < w->nr_afloat; i++) {
		if (is_ended_by(&w->afloat[i], &end)) {
			put_pair(w, &w->afloat[i], w->afloat[i].arg, r->arg, r->tid, r->ns);
			ended++;
		} else {
			w->afloat[left++] = w->afloat[i];
		}
	}
	w->nr_afloat = left;
	if (ended)
		return;
	/* It began before the trace; a grace period may tell how long ago. */
	end.ns = w->zero_ns;
	if (type == EVENTS_TYPE(TRACE_GP_START) && r->arg[1] && r->ns > r->arg[1] &&
	    r->ns - r->arg[1] > w->zero_ns)
		end.ns = r->ns - r->arg[1];
	put_pair(w, &end, NULL, r->arg, r->tid, r->ns);
}

/* ---- the whole ------------------------------------------------------------------------------- */

struct trace_writer *trace_writer_new(FILE *file, const struct trace_subject *subject)
{
	struct trace_writer *w = options_alloc(1, sizeof(*w));

	w->index = options_alloc(TIDS, sizeof(*w->index));
	w->begin_ns = subject->begin_ns;
	w->zero_ns = subject->begin_ns - DEPTH;
	w->events = events_new(file, subject, w->zero_ns);
	return w;
}

void trace_writer_add(struct trace_writer *w, const struct trace_record *r)
{
	unsigned type = EVENTS_TYPE(r->probe);
	struct track *track;

	if (r->tid >= TIDS || r->probe >= TRACE_PROBES || r->ns < w->begin_ns) {
		w->counts.unpaired++;
		return;
	}
	track = track_of(w, r);
	switch (r->probe) {
	case TRACE_STALL:
		events_stall(w->events, r);
		w->counts.stalls++;
		break;
	case TRACE_GP_START:
	case TRACE_WAIT_START:
		begin_afloat(w, type, r);
		break;
	case TRACE_GP_END:
	case TRACE_WAIT_END:
		end_afloat(w, type, r);
		break;
	default:
		if (r->probe % 2)
			end_slice(w, track, type, r);
		else
			begin_slice(w, track, type, r);
	}
}

static void end_open(struct trace_writer *w, uint64_t end_ns)
{
	size_t i;

	for (i = 0; i < w->nr_tracks; i++) {
		struct track *track = &w->track[i];

		while (track->depth) {
			const struct open_slice *open = &track->open[--track->depth];

			put_slice(w, track, open, open->arg, NULL, end_ns);
		}
	}
	while (w->nr_afloat) {
		const struct afloat *a = &w->afloat[--w->nr_afloat];

		put_pair(w, a, a->arg, NULL, a->tid, end_ns);
	}
}

struct trace_counts trace_writer_end(struct trace_writer *w, uint64_t end_ns, uint64_t lost)
{
	struct trace_counts counts;

	end_open(w, end_ns);
	w->counts.threads = (unsigned)w->nr_tracks;
	counts = w->counts;
	events_end(w->events, lost, counts.unpaired);
	free(w->index);
	free(w->track);
	free(w);
	return counts;
}
