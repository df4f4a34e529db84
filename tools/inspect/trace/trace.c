/* SPDX-License-Identifier: MIT */
/*
 * lull trace: the command line, and the run: find the probes, attach, start, collect until the time is up
 * or the process has ended, write.
 */
#include "inspect/trace/trace.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <time.h>
#include <unistd.h>

#include "common/commands.h"
#include "common/options.h"
#include "common/outfile.h"

#define DEFAULT_FILE "lull-trace.json"
#define LOOK_MS 50 /* how often to look whether it is over */

enum { OPT_RUN = OPTIONS_OWN_KEYS, OPT_SECONDS, OPT_JSON, OPT_OBJECT, OPT_NO_SECTIONS, OPT_LIST };

struct own {
	char **run; /* the program and its arguments, NULL at the end; or NULL */
	const char *json_path, *object;
	double seconds;
	bool sections, list;
};

static const struct argp_option own_options[] = {
	{ "run", OPT_RUN, "CMD", 0,
	  "start CMD, with all that follows as its arguments, and trace it to its end", 0 },
	{ "seconds", OPT_SECONDS, "S", 0, "trace for so long, not until the end or Ctrl-C", 0 },
	{ "json", OPT_JSON, "FILE", 0, "where to write the timeline (" DEFAULT_FILE ")", 0 },
	{ "object", OPT_OBJECT, "FILE", 0,
	  "look for probes in FILE as well: a library that CMD loads later, or that a script starts", 0 },
	{ "no-sections", OPT_NO_SECTIONS, NULL, 0,
	  "leave out read sections, which debug builds tell of: microseconds each when traced", 0 },
	{ "list", OPT_LIST, NULL, 0, "list the probes that are found and exit", 0 },
	{ 0 }
};

static void own_option(int key, char *arg, struct options *opt)
{
	struct own *own = opt->own;

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

/* What follows --run is the program's own: it is taken away before the options are read. */
static int take_command(int argc, char **argv, struct own *own)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--run"); i++)
		;
	if (i < argc)
		own->run = argv + i + 1;
	return i;
}

/* ---- which files ----------------------------------------------------------------------------- */

/* As execvp() finds it; NULL with errno. */
static char *find_program(const char *name)
{
	const char *at = getenv("PATH");

	if (strchr(name, '/'))
		return access(name, X_OK) == 0 ? options_printf("%s", name) : NULL;
	for (at = at ? at : "/bin:/usr/bin"; *at;) {
		size_t len = strcspn(at, ":");
		char *path = options_printf("%.*s%s%s", (int)len, at, len ? "/" : "./", name);

		if (access(path, X_OK) == 0)
			return path;
		free(path);
		at += len + (at[len] == ':');
	}
	errno = ENOENT;
	return NULL;
}

static void find_files(struct trace_files *files, const struct own *own, pid_t pid)
{
	char *path;

	if (own->object) {
		/* With a slash in it: else others look along the PATH. */
		path = realpath(own->object, NULL);
		if (!path || access(path, R_OK) != 0)
			options_bad("--object: cannot read '%s': %s", own->object, strerror(errno));
		trace_files_add(files, own->object, path);
		free(path);
		if (!files->count)
			options_bad("--object: '%s' has no probes of lull", own->object);
	}
	if (!own->run) {
		trace_files_of_process(files, pid);
		if (!files->count)
			options_fail("process %d has no probes of lull: it does not use the library, "
				     "or uses one that was built without <sys/sdt.h>",
				     (int)pid);
		return;
	}
	path = find_program(own->run[0]);
	if (!path)
		options_bad("--run: cannot run '%s': %s", own->run[0], strerror(errno));
	/* Who asks what there is to trace does not ask to run any of it. */
	trace_files_of_program(files, path, !own->list);
	if (!files->count)
		options_fail("'%s' is not linked with probes of lull; --object FILE names a library "
			     "that it loads later, or that it starts when it is a script",
			     path);
	free(path);
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

/* ---- the run --------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void read_name(pid_t pid, char *name, size_t size)
{
	char *path = options_printf("/proc/%d/comm", (int)pid);
	FILE *file = fopen(path, "re");

	if (!file || !fgets(name, (int)size, file))
		snprintf(name, size, "?");
	name[strcspn(name, "\n")] = '\0';
	if (file)
		fclose(file);
	free(path);
}

/* A descriptor tells also of a process that nobody has waited for yet. */
static bool is_gone(int pidfd)
{
	struct pollfd gone = { .fd = pidfd, .events = POLLIN };

	return poll(&gone, 1, 0) > 0;
}

static bool is_over(struct trace_child *child, int pidfd)
{
	bool ended = child ? trace_child_has_ended(child) : is_gone(pidfd);

	return ended || trace_stopped();
}

static void say(const struct trace_counts *counts, const char *path, double seconds, uint64_t lost)
{
	char *shown = trace_shown(path);

	fprintf(stderr,
		"lull trace: %s: %llu slices and %llu stalls of %u threads in %.3g s; "
		"ui.perfetto.dev opens it\n",
		shown, (unsigned long long)counts->slices, (unsigned long long)counts->stalls,
		counts->threads, seconds);
	free(shown);
	if (lost || counts->unpaired)
		fprintf(stderr, "lull trace: %llu records were lost, and %llu had no partner\n",
			(unsigned long long)lost, (unsigned long long)counts->unpaired);
}

static void write_down(struct trace_session *session, struct trace_child *child, int pidfd,
		       struct outfile *out, const struct trace_subject *subject, double seconds)
{
	uint64_t until = seconds > 0 ? subject->begin_ns + (uint64_t)(seconds * 1e9) : UINT64_MAX,
		 end, lost;
	struct trace_writer *w = trace_writer_new(outfile_stream(out), subject);
	struct trace_counts counts;
	int err;

	while (!is_over(child, pidfd)) {
		uint64_t now = now_ns();

		if (now >= until)
			break;
		trace_read(session,
			   until - now < LOOK_MS * 1000000u ? (int)((until - now) / 1000000) + 1 :
							      LOOK_MS,
			   w);
	}
	trace_go(session, false);
	end = now_ns();
	trace_read(session, 0, w);
	lost = trace_detach(session);
	counts = trace_writer_end(w, end, lost);
	err = outfile_finish(out);
	if (err)
		options_fail("--json: cannot write '%s': %s", outfile_path(out), strerror(err));
	say(&counts, outfile_path(out), (double)(end - subject->begin_ns) / 1e9, lost);
}

static int open_process(pid_t pid)
{
	int pidfd = pidfd_open(pid, 0);

	if (pidfd < 0)
		options_fail("cannot watch process %d: %s", (int)pid, strerror(errno));
	return pidfd;
}

/* What has its number by now is another one. */
static void check_process(int pidfd, pid_t pid)
{
	if (is_gone(pidfd))
		trace_ended_early(pid);
}

/* Begins, with everything in place; or not, if meanwhile it became the wrong thing to do. */
static void go(struct trace_session *session, const struct own *own, struct trace_child *child,
	       int pidfd)
{
	if (!own->run)
		check_process(pidfd, child->pid);
	else if (trace_stopped())
		trace_child_give_up(child, own->run[0]);
	else if (trace_child_has_ended(child))
		trace_ended_early(child->pid);
	trace_go(session, true);
	if (own->run)
		trace_child_let_go(child, own->run[0]);
	else
		fprintf(stderr, "lull trace: process %d is being traced; Ctrl-C ends that\n",
			(int)child->pid);
}

static int trace(const struct own *own, pid_t pid, int pidfd, const struct trace_files *files,
		 struct outfile *out, const char *command)
{
	struct trace_child child = { .pid = pid };
	struct trace_subject subject;
	struct trace_session *session;
	char name[64];

	if (own->run)
		child = trace_child_start(own->run);
	session = trace_attach(child.pid, files, own->sections);
	subject.begin_ns = now_ns();
	go(session, own, &child, pidfd);
	subject.pid = child.pid;
	read_name(child.pid, name, sizeof(name));
	subject.name = name;
	subject.command = command;
	subject.place = trace_place;
	write_down(session, own->run ? &child : NULL, pidfd, out, &subject, own->seconds);
	return own->run ? trace_child_wait(&child, own->run[0]) : 0;
}

static char *whole_command(const struct options *opt, char **run)
{
	char *text = options_printf("%s%s", opt->command, run ? " --run" : "");

	for (; run && *run; run++) {
		char *longer = options_printf("%s %s", text, *run);

		free(text);
		text = longer;
	}
	return text;
}

static int trace_to_file(const struct own *own, pid_t pid, struct trace_files *files,
			 const struct options *opt)
{
	char *command = whole_command(opt, own->run);
	struct outfile *out;
	int status, pidfd;

	trace_need_bpf();
	/* From here on it is this process, whoever gets its number after its end. */
	pidfd = own->run ? -1 : open_process(pid);
	out = outfile_open("--json", own->json_path);
	find_files(files, own, pid);
	if (!own->run)
		check_process(pidfd, pid);
	/* Until now a signal ended all at once, and the file with it. */
	trace_catch_signals();
	status = trace(own, pid, pidfd, files, out, command);
	outfile_free(out);
	if (!own->run)
		close(pidfd);
	free(command);
	return status;
}

int lull_cmd_trace(int argc, char **argv)
{
	struct own own = { .json_path = DEFAULT_FILE, .sections = true };
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
		find_files(&files, &own, pid);
		list_probes(&files);
	} else {
		status = trace_to_file(&own, pid, &files, &opt);
	}
	trace_files_free(&files);
	options_free(&opt);
	return status;
}
