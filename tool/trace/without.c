/* SPDX-License-Identifier: MIT */
/* lull trace in a build without BPF: it can list probes. */
#include "common/options.h"
#include "trace/trace.h"

int trace_run(const struct trace_order *order, pid_t pid, struct trace_files *files, const char *command)
{
	(void)order;
	(void)pid;
	(void)files;
	(void)command;
	options_fail("this build has no BPF support: " TRACE_WITHOUT_BPF);
}
