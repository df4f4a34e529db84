/* SPDX-License-Identifier: MIT */
/* lull trace: the command line, and the list of probes. */
#include "trace/trace.h"

#include <string.h>

#include "commands.h"
#include "common/options.h"

#define DEFAULT_FILE "lull-trace.json"

enum { OPT_RUN = OPTIONS_OWN_KEYS, OPT_SECONDS, OPT_JSON, OPT_OBJECT, OPT_NO_SECTIONS, OPT_LIST };

static const struct argp_option own_options[] = {
	{ "run", OPT_RUN, "CMD", 0,
	  "start CMD, with all words that follow as its arguments, and trace it until it ends", 0 },
	{ "seconds", OPT_SECONDS, "S", 0, "stop after S seconds, not only at the end of the process or at Ctrl-C", 0 },
	{ "json", OPT_JSON, "FILE", 0, "write the timeline to FILE (" DEFAULT_FILE "); -: to standard output, and "
	  "all else to standard error", 0 },
	{ "object", OPT_OBJECT, "FILE", 0,
	  "also look for probes in FILE: a library that CMD loads later, or a program that a script starts", 0 },
	{ "no-sections", OPT_NO_SECTIONS, NULL, 0,
	  "leave out read sections; debug builds show them, and each then costs microseconds", 0 },
	{ "list", OPT_LIST, NULL, 0, "list the probes that were found, and exit", 0 },
	{ 0 }
};

static void own_option(int key, char *arg, struct options *opt)
{
	struct trace_order *own = opt->own;

	switch (key) {
	case OPT_RUN:
		options_bad("--run: write --run CMD [ARG...]");
	case OPT_SECONDS:
		own->seconds = options_double("--seconds", arg, 0.01, 86400);
		break;
	case OPT_JSON:
		own->json_path = arg;
		break;
	case OPT_OBJECT:
		own->object = arg;
		break;
	case OPT_NO_SECTIONS:
		own->sections = false;
		break;
	case OPT_LIST:
		own->list = true;
		break;
	}
}

/* Take away what follows --run, which is the program's own, before the options are read. */
static int take_command(int argc, char **argv, struct trace_order *own)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--run"); i++)
		;
	if (i < argc)
		own->run = argv + i + 1;
	return i;
}

static void list_probes(const struct trace_files *files)
{
	size_t i;
	unsigned j;

	for (i = 0; i < files->count; i++) {
		const struct trace_notes *notes = &files->file[i].notes;

		printf("%s\n", files->file[i].name);
		for (j = 0; j < TRACE_PROBES; j++)
			if (notes->places[j])
				printf("  %-18s %u argument%s, %u place%s\n", trace_probe_name[j],
				       notes->args[j], notes->args[j] == 1 ? "" : "s",
				       notes->places[j], notes->places[j] == 1 ? "" : "s");
	}
}

int lull_cmd_trace(int argc, char **argv)
{
	struct trace_order own = { .json_path = DEFAULT_FILE, .sections = true };
	struct trace_files files = { NULL, 0 };
	struct options opt = OPTIONS_INIT("trace");
	pid_t pid = 0;
	int status = 0;

	opt.bare = true;
	opt.arg_name = "PID\n--run CMD [ARG...]";
	opt.own = &own;
	argc = take_command(argc, argv, &own);
	options_parse(&opt, own_options, own_option,
		      "Writes a timeline of grace periods, waits, callbacks, scans and stalls of a "
		      "process that uses lull, for ui.perfetto.dev or chrome://tracing. Needs root, "
		      "and a library that was built with <sys/sdt.h>. Children of the process are "
		      "not traced.",
		      argc, argv);
	if (own.run && (!own.run[0] || !*own.run[0]))
		options_bad("--run needs a program: --run CMD [ARG...]");
	if (own.run ? opt.arg != NULL : opt.arg == NULL)
		options_bad("give either the number of a process, or --run CMD");
	if (!own.run)
		pid = (pid_t)options_unsigned("PID", opt.arg, 1, INT32_MAX);
	if (own.list) {
		trace_files_find(&files, &own, pid);
		list_probes(&files);
	} else {
		status = trace_run(&own, pid, &files, opt.command);
	}
	trace_files_free(&files);
	options_free(&opt);
	return status;
}
