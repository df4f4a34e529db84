/* SPDX-License-Identifier: MIT */
/* The parts of lull trace. Each call ends the program when it cannot do what it is for, unless it returns. */
#ifndef LULL_TOOL_TRACE_H
#define LULL_TOOL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "trace/trace_record.h"

/* Contents of the command line. */
struct trace_order {
	char **run; /* the program and its arguments, NULL at the end; or NULL */
	const char *json_path, *object;
	double seconds;
	bool sections, list;
};

/* ---- notes.c: the probes that a file contains ------------------------------------------------ */

struct trace_notes {
	unsigned places[TRACE_PROBES]; /* in the code; 0: it does not have that one */
	unsigned args[TRACE_PROBES];   /* of the last of them */
};

extern const char *const trace_probe_name[TRACE_PROBES];

/* False: it is no ELF file that can be read, or has none of the probes. */
bool trace_notes_read(const char *path, struct trace_notes *notes);

/* ---- files.c: which files to look into ------------------------------------------------------- */

struct trace_file {
	char *name; /* for people; trace_shown() */
	char *path; /* from where this process sees it, even if the name is another file meanwhile */
	struct trace_notes notes;
};

struct trace_files {
	struct trace_file *file;
	size_t count;
};

/* Adds it if it has probes; one that is there already is not added again. */
void trace_files_add(struct trace_files *files, const char *name, const char *path);
/* Add the files that the process has mapped. No such process, or one that may not be looked at: exit 1. */
void trace_files_of_process(struct trace_files *files, pid_t pid);
/*
 * Add the files that the program @path will be linked with; not what a script starts or dlopen() loads. This runs the
 * dynamic linker that @path names: unless it @may_run, only one of the system's, else exit 1.
 */
void trace_files_of_program(struct trace_files *files, const char *path, bool may_run);
/*
 * Find all files that @order asks for, those of process @pid if it names no program. If none has probes: exit 1 or 2.
 */
void trace_files_find(struct trace_files *files, const struct trace_order *order, pid_t pid);
void trace_files_free(struct trace_files *files);
/*
 * "program+0x12f0", as addr2line takes it, for an address in what the process has mapped. False: it is not
 * there, or not any more.
 */
bool trace_place(pid_t pid, uint64_t address, char *place, size_t size);
/* A name as it can be shown: nothing in it steers a terminal. To be freed. */
char *trace_shown(const char *name);

/* ---- write.c: a timeline --------------------------------------------------------------------- */

struct trace_writer;

struct trace_subject {
	pid_t pid;
	const char *name;    /* of the process */
	const char *command; /* that made the trace */
	uint64_t begin_ns;   /* CLOCK_MONOTONIC: time 0 of the timeline */
	/* trace_place(); asked once for each address, soon after it was met. */
	bool (*place)(pid_t pid, uint64_t address, char *place, size_t size);
};

struct trace_counts {
	uint64_t slices, stalls;
	unsigned threads;
	uint64_t
		unpaired; /* ends whose start is missing, and the other way around, but for both ends of the trace */
};

struct trace_writer *trace_writer_new(FILE *file, const struct trace_subject *subject);
/* Records of one thread come in order; those of different threads need not. */
void trace_writer_add(struct trace_writer *w, const struct trace_record *r);
/* Ends what has not ended, and the file; frees @w. @lost: records that never came. */
struct trace_counts trace_writer_end(struct trace_writer *w, uint64_t end_ns, uint64_t lost);

/* ---- child.c: the program that is run, and signals ------------------------------------------- */

/* Say that process @pid has ended too early, and exit 1. */
_Noreturn void trace_ended_early(pid_t pid);

struct trace_child {
	pid_t pid;
	int gate, gate_inside; /* a byte lets the child go on; without one, closing it ends the child */
	int complain;	       /* the errno of exec comes from here, or nothing */
	bool ended;
	int status;
};

/* Let the signals that end a program end the trace from now on. One that is ignored stays so. */
void trace_catch_signals(void);
/* The last of them; 0: none came. */
int trace_stopped(void);
/* It waits before exec(). */
struct trace_child trace_child_start(char **command);
void trace_child_let_go(const struct trace_child *child, const char *name);
/* Give up when a signal came first: the program does not run; exit 1. */
_Noreturn void trace_child_give_up(const struct trace_child *child, const char *name);
/* These two pass on what came here, but for Ctrl-C, to the child. */
bool trace_child_has_ended(struct trace_child *child);
/* Returns the exit status as a shell has it. */
int trace_child_wait(struct trace_child *child, const char *name);

/* ---- attach.c: the program in the kernel ----------------------------------------------------- */

struct trace_session;

/*
 * Attach to the probes in @files, in process @pid, whose threads pass them without a record until trace_go(). Not to
 * all of them if trace_stopped().
 */
struct trace_session *trace_attach(pid_t pid, const struct trace_files *files, bool sections);
void trace_go(struct trace_session *session, bool go);
/* Hands over what there is, after waiting for it for @wait_ms at most. */
void trace_read(struct trace_session *session, int wait_ms, struct trace_writer *w);
/* Takes it all away, and returns how many records were lost. */
uint64_t trace_detach(struct trace_session *session);

/* ---- run.c: all of it ------------------------------------------------------------------------ */

/* Trace as @order says and write the file; @command is what lull was called with. Returns the exit status. */
int trace_run(const struct trace_order *order, pid_t pid, struct trace_files *files, const char *command);

#endif
