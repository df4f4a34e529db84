/* SPDX-License-Identifier: MIT */
/*
 * The writer of lull trace, without a kernel: records from lines "NS TID PROBE ARG ARG ARG ARG NAME" (the
 * name in hexadecimal) on standard input, for a trace from 1000000 ns to 2000000 ns; the timeline goes to
 * standard output.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/options.h"
#include "trace/trace.h"

/* Functions that the writer needs from the rest of lull. */
void *options_alloc(size_t count, size_t size)
{
	void *p = calloc(count, size);

	if (!p)
		abort();
	return p;
}

void options_fail(const char *fmt, ...)
{
	fputs(fmt, stderr);
	exit(1);
}

json_t *jsonout_string(const char *text)
{
	json_t *string = json_string(text);

	return string ? string : json_string("not UTF-8");
}

static void name_of(char *to, size_t size, const char *hex)
{
	size_t i;

	memset(to, 0, size);
	for (i = 0; i < size && sscanf(hex + 2 * i, "%2hhx", (unsigned char *)&to[i]) == 1; i++)
		;
}

static bool place(pid_t pid, uint64_t address, char *to, size_t size)
{
	snprintf(to, size, "%d's+%" PRIu64, (int)pid, address);
	return address > 1000;
}

int main(void)
{
	const struct trace_subject subject = { 77, "subject", "lull trace 77", 1000000, place };
	struct trace_writer *w = trace_writer_new(stdout, &subject);
	struct trace_counts counts;
	struct trace_record r;
	char name[64];

	while (scanf("%" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64
		     " %" SCNu64 " %63s",
		     &r.ns, &r.tid, &r.probe, &r.arg[0], &r.arg[1], &r.arg[2], &r.arg[3],
		     name) == 8) {
		name_of(r.name, sizeof(r.name), name);
		memcpy(r.other, r.name, sizeof(r.other));
		trace_writer_add(w, &r);
	}
	counts = trace_writer_end(w, 2000000, 5);
	fprintf(stderr, "%" PRIu64 " %" PRIu64 " %u %" PRIu64 "\n", counts.slices, counts.stalls,
		counts.threads, counts.unpaired);
	return 0;
}
