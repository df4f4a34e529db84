/* SPDX-License-Identifier: MIT */
/* lull trace in a build without libbpf: it can list probes. */
#include "common/options.h"
#include "inspect/trace/trace.h"

void trace_need_bpf(void)
{
	options_fail("this build has no BPF support: " TRACE_WITHOUT_BPF);
}

/* None of these is called then. */
struct trace_session *trace_attach(pid_t pid, const struct trace_files *files, bool sections)
{
	(void)pid;
	(void)files;
	(void)sections;
	return NULL;
}

void trace_go(struct trace_session *session, bool go)
{
	(void)session;
	(void)go;
}

void trace_read(struct trace_session *session, int wait_ms, struct trace_writer *w)
{
	(void)session;
	(void)wait_ms;
	(void)w;
}

uint64_t trace_detach(struct trace_session *session)
{
	(void)session;
	return 0;
}
