/* SPDX-License-Identifier: MIT */
/*
 * lull trace: the run: find the probes, attach, start, collect until the time is up or the process has ended, write.
 */
#include "trace/trace.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/options.h"
#include "common/outfile.h"

#define LOOK_MS 50 /* how often to look whether it is over */

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

/* Return whether the process has ended; true even if its parent has not waited for it yet. */
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
		uint64_t now = bench_now_ns();

		if (now >= until)
			break;
		trace_read(session,
			   until - now < LOOK_MS * 1000000u ? (int)((until - now) / 1000000) + 1 :
							      LOOK_MS,
			   w);
	}
	trace_go(session, false);
	end = bench_now_ns();
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

/* Fail if the process has ended: by now its number may be another process's. */
static void check_process(int pidfd, pid_t pid)
{
	if (is_gone(pidfd))
		trace_ended_early(pid);
}

/* Begins, with everything in place; or not, if meanwhile it became the wrong thing to do. */
static void go(struct trace_session *session, const struct trace_order *order, struct trace_child *child,
	       int pidfd)
{
	if (!order->run)
		check_process(pidfd, child->pid);
	else if (trace_stopped())
		trace_child_give_up(child, order->run[0]);
	else if (trace_child_has_ended(child))
		trace_ended_early(child->pid);
	trace_go(session, true);
	if (order->run)
		trace_child_let_go(child, order->run[0]);
	else
		fprintf(stderr, "lull trace: tracing process %d; press Ctrl-C to stop\n",
			(int)child->pid);
}

static int trace(const struct trace_order *order, pid_t pid, int pidfd, const struct trace_files *files,
		 struct outfile *out, const char *command)
{
	struct trace_child child = { .pid = pid };
	struct trace_subject subject;
	struct trace_session *session;
	char name[64];

	if (order->run)
		child = trace_child_start(order->run);
	session = trace_attach(child.pid, files, order->sections);
	subject.begin_ns = bench_now_ns();
	go(session, order, &child, pidfd);
	subject.pid = child.pid;
	read_name(child.pid, name, sizeof(name));
	subject.name = name;
	subject.command = command;
	subject.place = trace_place;
	write_down(session, order->run ? &child : NULL, pidfd, out, &subject, order->seconds);
	return order->run ? trace_child_wait(&child, order->run[0]) : 0;
}

static char *whole_command(const char *command, char **run)
{
	char *text = options_printf("%s%s", command, run ? " --run" : "");

	for (; run && *run; run++) {
		char *longer = options_printf("%s %s", text, *run);

		free(text);
		text = longer;
	}
	return text;
}

int trace_run(const struct trace_order *order, pid_t pid, struct trace_files *files, const char *command_line)
{
	char *command = whole_command(command_line, order->run);
	struct outfile *out;
	int status, pidfd;

	/* From here on it is this process, even if another gets its number after its end. */
	pidfd = order->run ? -1 : open_process(pid);
	out = outfile_open("--json", order->json_path);
	/* The program's own output is not lost, and not among the results. */
	if (outfile_is_stdout(order->json_path))
		dup2(STDERR_FILENO, STDOUT_FILENO);
	trace_files_find(files, order, pid);
	if (!order->run)
		check_process(pidfd, pid);
	/* Until here a signal ended lull at once, and removed the file. */
	trace_catch_signals();
	status = trace(order, pid, pidfd, files, out, command);
	outfile_free(out);
	if (!order->run)
		close(pidfd);
	free(command);
	return status;
}
