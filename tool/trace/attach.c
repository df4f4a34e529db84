/* SPDX-License-Identifier: MIT */
/* Puts the program behind the probes, and hands over what it writes down. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <lull/atomic.h>

#include "common/options.h"
#include "probes_object.h" /* made of probes.bpf.c */
#include "trace/trace.h"

#define PROVIDER "lull"

struct trace_session {
	struct bpf_object *object;
	struct bpf_link **link;
	size_t nr_links;
	struct ring_buffer *ring;
	struct trace_control *control;
	size_t control_size;
	struct trace_writer *writer;
};

static int be_quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static _Noreturn void refused(const char *what, int err)
{
	if (err == EPERM || err == EACCES)
		options_fail("%s: %s; it takes root, or CAP_BPF and CAP_PERFMON", what,
			     strerror(err));
	options_fail("%s: %s", what, strerror(err));
}

/* Threads are told by the numbers that the process itself has for them. */
static void name_threads_of(struct trace_control *control, pid_t pid)
{
	char *path = options_printf("/proc/%d/ns/pid", (int)pid);
	struct stat st;

	if (stat(path, &st) != 0)
		options_fail("cannot look at process %d: %s", (int)pid, strerror(errno));
	/* Pack the device as the kernel does, not as libc does. */
	control->pid_dev = (uint64_t)major(st.st_dev) << 20 | minor(st.st_dev);
	control->pid_ino = st.st_ino;
	free(path);
}

/* ---- the program ----------------------------------------------------------------------------- */

static void load(struct trace_session *s)
{
	const struct bpf_object_open_opts options = { .sz = sizeof(options),
						      .object_name = "lull_trace" };
	int err;

	libbpf_set_print(be_quiet);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	s->object = bpf_object__open_mem(probes_object, sizeof(probes_object), &options);
	if (!s->object)
		options_fail("cannot read the program for the kernel: %s", strerror(errno));
	err = bpf_object__load(s->object);
	if (err)
		refused("the kernel does not accept the program", -err);
}

static int map_fd(const struct trace_session *s, const char *name)
{
	return bpf_map__fd(bpf_object__find_map_by_name(s->object, name));
}

static void map_control(struct trace_session *s)
{
	void *at;

	s->control_size = (size_t)sysconf(_SC_PAGESIZE);
	at = mmap(NULL, s->control_size, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd(s, "control"),
		  0);
	if (at == MAP_FAILED)
		options_fail("cannot map what the program shares: %s", strerror(errno));
	s->control = at;
}

/* Old kernels, and those without the events of perf, have uprobes in tracefs alone. */
static _Noreturn void attach_failed(pid_t pid, const char *probe, const char *name, int err)
{
	if (err == ESRCH)
		trace_ended_early(pid);
	if (access("/sys/bus/event_source/devices/uprobe", F_OK) != 0 &&
	    access("/sys/kernel/tracing/uprobe_events", F_OK) != 0 &&
	    access("/sys/kernel/debug/tracing/uprobe_events", F_OK) != 0)
		options_fail("the kernel shows no uprobes; try: mount -t tracefs tracefs "
			     "/sys/kernel/tracing");
	options_fail("cannot attach to probe %s of %s: %s", probe, name, strerror(err));
}

static void attach_probe(struct trace_session *s, pid_t pid, const struct trace_file *file,
			 unsigned probe)
{
	const struct bpf_usdt_opts options = { .sz = sizeof(options), .usdt_cookie = probe };
	const struct bpf_program *program = bpf_object__find_program_by_name(s->object,
									     "lull_probe");
	struct bpf_link *link;

	link = bpf_program__attach_usdt(program, pid, file->path, PROVIDER, trace_probe_name[probe],
					&options);
	/* A signal may have ended the process as well. */
	if (!link && trace_stopped())
		return;
	if (!link)
		attach_failed(pid, trace_probe_name[probe], file->name, errno);
	s->link[s->nr_links++] = link;
}

static void attach_all(struct trace_session *s, pid_t pid, const struct trace_files *files,
		       bool sections)
{
	size_t i;
	unsigned j;

	s->link = options_alloc(files->count * TRACE_PROBES, sizeof(struct bpf_link *));
	for (i = 0; i < files->count; i++) {
		for (j = 0; j < TRACE_PROBES; j++) {
			bool is_section = j == TRACE_SECTION_ENTER || j == TRACE_SECTION_EXIT;

			/* Many places take long; a user who interrupts does not wait for the rest. */
			if (trace_stopped())
				return;
			if (files->file[i].notes.places[j] && (sections || !is_section))
				attach_probe(s, pid, &files->file[i], j);
		}
	}
}

/* ---- records --------------------------------------------------------------------------------- */

static int hand_over(void *context, void *data, size_t size)
{
	struct trace_session *s = context;
	struct trace_record record;

	if (size < sizeof(record))
		return 0;
	memcpy(&record, data, sizeof(record));
	trace_writer_add(s->writer, &record);
	return 0;
}

struct trace_session *trace_attach(pid_t pid, const struct trace_files *files, bool sections)
{
	struct trace_session *s = options_alloc(1, sizeof(*s));

	load(s);
	map_control(s);
	name_threads_of(s->control, pid);
	s->ring = ring_buffer__new(map_fd(s, "records"), hand_over, s, NULL);
	if (!s->ring)
		options_fail("cannot map what the program writes: %s", strerror(errno));
	attach_all(s, pid, files, sections);
	return s;
}

void trace_go(struct trace_session *s, bool go)
{
	lull_store_relaxed(&s->control->go, (uint64_t)go);
}

void trace_read(struct trace_session *s, int wait_ms, struct trace_writer *w)
{
	s->writer = w;
	if (wait_ms)
		ring_buffer__poll(s->ring, wait_ms);
	/* Read also the records that came without a wake-up. */
	ring_buffer__consume(s->ring);
}

uint64_t trace_detach(struct trace_session *s)
{
	uint64_t lost;

	while (s->nr_links)
		bpf_link__destroy(s->link[--s->nr_links]);
	lost = lull_load_relaxed(&s->control->lost);
	munmap(s->control, s->control_size);
	ring_buffer__free(s->ring);
	bpf_object__close(s->object);
	free(s->link);
	free(s);
	return lost;
}
