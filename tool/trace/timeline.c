/* SPDX-License-Identifier: MIT */
/* Text of each kind of event; see timeline.h. */
#include "trace/timeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <lull/debug.h>
#include <lull/rcu.h>
#include <lull/stats.h>

#include "common/json.h"
#include "common/options.h"

#define SITES 256 /* addresses that are looked for in the process */
#define FIELDS 2

struct site {
	uint64_t address;
	char place[96]; /* "": not known */
};

struct events {
	FILE *file;
	struct trace_subject subject;
	uint64_t zero_ns;
	bool comma;
	struct site site[SITES];
	unsigned nr_sites;
};

enum form {
	NUMBER,
	GP_NUMBER,
	ADDRESS,
	SITE,
	YES_OR_NO,
	QUEUE_KIND,
};

struct field {
	const char *name;
	enum form form;
	unsigned arg;
};

/* A wait's name says for what. */
static const struct type {
	const char *name;
	struct field start[FIELDS], end[FIELDS];
} types[] = {
	[EVENTS_TYPE(TRACE_SECTION_ENTER)] = { "read section", { { "site", SITE, 0 } }, { { 0 } } },
	[EVENTS_TYPE(
		TRACE_GP_START)] = { "grace period", { { "number", GP_NUMBER, 0 } }, { { 0 } } },
	[EVENTS_TYPE(TRACE_BATCH_START)] = { "callbacks",
					     { { "kind", QUEUE_KIND, 0 }, { "items", NUMBER, 1 } },
					     { { "bytes", NUMBER, 2 } } },
	[EVENTS_TYPE(TRACE_SCAN_START)] = { "hazard scan",
					    { { 0 } },
					    { { "slots_in_use", NUMBER, 0 },
					      { "kept", NUMBER, 1 } } },
	[EVENTS_TYPE(TRACE_MUTEX_WAIT_START)] = { "mutex wait",
						  { { "mutex", ADDRESS, 0 },
						    { "owner_tid", NUMBER, 1 } },
						  { { "slept", YES_OR_NO, 1 } } },
	[EVENTS_TYPE(TRACE_WAIT_START)] = { "wait", { { 0 } }, { { 0 } } },
};

/* Return the name of a value of enum lull__queue_kind in the library's src/reclaim/queue.h. */
static const char *queue_name(uint64_t kind)
{
	static const char *const names[] = { "rcu free",    "rcu call",	   "hazptr free",  "hazptr call",
					     "bridge free", "bridge call", "rcu pure call", "hazptr pure call" };

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "?";
}

static const char *name_of(const struct events_both *both, char *name, size_t size)
{
	const uint64_t *arg = both->start ? both->start : both->end;

	if (both->type != EVENTS_TYPE(TRACE_WAIT_START))
		return types[both->type].name;
	snprintf(name, size, "wait: %s", lull_wait_kind_name((uint32_t)arg[0]));
	return name;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_string(struct events *e, const char *text)
{
	json_t *string = jsonout_string(text);

	json_dumpf(string, e->file, JSON_ENCODE_ANY);
	json_decref(string);
}

/* Cap the number: readers of the format have no more bits for it. */
static void put_number(struct events *e, uint64_t value)
{
	fprintf(e->file, "%" PRIu64, value <= INT64_MAX ? value : (uint64_t)INT64_MAX);
}

/* Write a time in microseconds, as the format has it. */
static void put_us(struct events *e, const char *key, uint64_t ns)
{
	fprintf(e->file, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static void put_event(struct events *e, const char *phase, uint32_t tid, const char *name)
{
	fprintf(e->file,
		"%s{\"ph\":\"%s\",\"pid\":%d,\"tid\":%" PRIu32 ",\"name\":", e->comma ? ",\n" : "",
		phase, (int)e->subject.pid, tid);
	put_string(e, name);
	e->comma = true;
}

/* While the process is there to tell. */
static const char *place_of(struct events *e, uint64_t address)
{
	struct site *site;
	unsigned i;

	for (i = 0; i < e->nr_sites; i++)
		if (e->site[i].address == address)
			return e->site[i].place;
	if (e->nr_sites == SITES)
		return "";
	site = &e->site[e->nr_sites++];
	site->address = address;
	if (!e->subject.place(e->subject.pid, address, site->place, sizeof(site->place)))
		*site->place = '\0';
	return site->place;
}

static void put_site(struct events *e, uint64_t address)
{
	const char *place = place_of(e, address);

	fprintf(e->file, "\"0x%" PRIx64 "\"", address);
	if (*place) {
		fputs(",\"at\":", e->file);
		put_string(e, place);
	}
}

static void put_field(struct events *e, const char *comma, const struct field *f,
		      const uint64_t *arg)
{
	uint64_t value = arg[f->arg];

	fprintf(e->file, "%s\"%s\":", comma, f->name);
	switch (f->form) {
	case NUMBER:
		put_number(e, value);
		break;
	case GP_NUMBER:
		put_number(e, value / LULL__RCU_STEP);
		break;
	case ADDRESS:
		fprintf(e->file, "\"0x%" PRIx64 "\"", value);
		break;
	case SITE:
		put_site(e, value);
		break;
	case YES_OR_NO:
		fputs(value ? "true" : "false", e->file);
		break;
	case QUEUE_KIND:
		put_string(e, queue_name(value));
		break;
	}
}

static const char *put_fields(struct events *e, const char *comma, const struct field *f,
			      const uint64_t *arg)
{
	unsigned i;

	for (i = 0; arg && i < FIELDS && f[i].name; i++) {
		put_field(e, comma, &f[i], arg);
		comma = ",";
	}
	return comma;
}

/* Write the arguments of both ends; an event that is cut has only one. */
static void put_args(struct events *e, const struct events_both *both)
{
	const char *comma = "";

	fputs(",\"args\":{", e->file);
	comma = put_fields(e, comma, types[both->type].start, both->start);
	comma = put_fields(e, comma, types[both->type].end, both->end);
	if (!both->start || !both->end)
		fprintf(e->file, "%s\"cut\":\"%s\"", comma,
			both->start ? "goes on after the trace" : "began before the trace");
	fputs("}}", e->file);
}

/* ---- events ---------------------------------------------------------------------------------- */

void events_slice(struct events *e, const struct events_both *both)
{
	char name[64];

	put_event(e, "X", both->from_tid, name_of(both, name, sizeof(name)));
	put_us(e, "ts", both->from_ns - e->zero_ns);
	put_us(e, "dur", both->to_ns > both->from_ns ? both->to_ns - both->from_ns : 0);
	fputs(",\"cat\":\"lull\"", e->file);
	put_args(e, both);
}

static void put_end(struct events *e, const char *phase, const struct events_both *both,
		    uint32_t tid, uint64_t ns)
{
	char name[64];

	put_event(e, phase, tid, name_of(both, name, sizeof(name)));
	put_us(e, "ts", ns - e->zero_ns);
	fprintf(e->file, ",\"cat\":\"%s\",\"id\":\"0x%" PRIx64 "\"", types[both->type].name,
		both->id);
}

void events_pair(struct events *e, const struct events_both *both)
{
	put_end(e, "b", both, both->from_tid, both->from_ns);
	put_args(e, both);
	put_end(e, "e", both, both->to_tid,
		both->to_ns > both->from_ns ? both->to_ns : both->from_ns);
	fputs("}", e->file);
}

void events_stall(struct events *e, const struct trace_record *r)
{
	char name[64], thread[TRACE_NAME + 1] = "";

	snprintf(name, sizeof(name), "stall: %s", lull_wait_kind_name((uint32_t)r->arg[0]));
	put_event(e, "i", r->tid, name);
	put_us(e, "ts", r->ns - e->zero_ns);
	fputs(",\"s\":\"t\",\"cat\":\"lull\",\"args\":{\"tid\":", e->file);
	put_number(e, r->arg[1]);
	fputs(",\"age_ms\":", e->file);
	put_number(e, r->arg[2]);
	fputs(",\"waiting_items\":", e->file);
	put_number(e, r->arg[3]);
	fputs(",\"thread\":", e->file);
	put_string(e, memcpy(thread, r->other, sizeof(r->other)));
	fputs("}}", e->file);
}

static void put_name(struct events *e, const char *what, uint32_t tid, const char *name)
{
	put_event(e, "M", tid, what);
	fputs(",\"args\":{\"name\":", e->file);
	put_string(e, name);
	fputs("}}", e->file);
}

void events_thread_name(struct events *e, uint32_t tid, const char *name)
{
	put_name(e, "thread_name", tid, name);
}

struct events *events_new(FILE *file, const struct trace_subject *subject, uint64_t zero_ns)
{
	struct events *e = options_alloc(1, sizeof(*e));

	e->file = file;
	e->subject = *subject;
	e->zero_ns = zero_ns;
	fputs("{\"traceEvents\":[\n", file);
	put_name(e, "process_name", (uint32_t)subject->pid, subject->name);
	return e;
}

void events_end(struct events *e, uint64_t lost, uint64_t unpaired)
{
	fprintf(e->file,
		"\n],\n\"displayTimeUnit\":\"ns\",\n"
		"\"otherData\":{\"tool\":\"lull trace\",\"version\":\"%s\",\"command\":",
		lull_version());
	put_string(e, e->subject.command);
	fprintf(e->file, ",\"pid\":%d,\"lost\":%" PRIu64 ",\"unpaired\":%" PRIu64 "}}\n",
		(int)e->subject.pid, lost, unpaired);
	free(e);
}
