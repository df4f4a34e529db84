/* SPDX-License-Identifier: MIT */
/*
 * child.h - forked children: those that are expected to abort, and those that are to end well.
 */
#ifndef LULL_TEST_CHILD_H
#define LULL_TEST_CHILD_H

#include <fnmatch.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "library.h"

/* A forked child, whose standard error its parent reads. */
struct child {
	pid_t pid;
	int status, from;
	char text[4096]; /* the child's output */
};

static bool is_forked_child; /* cmocka's assertions would not end it */

/* Fork. Returns true in the child, which writes to its parent from now on. */
static inline bool child_begin(struct child *child)
{
	struct rlimit no_core = { 0, 0 };
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	fflush(NULL);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid != 0) {
		close(ends[1]);
		child->from = ends[0];
		return false;
	}
	is_forked_child = true;
	setrlimit(RLIMIT_CORE, &no_core);
	dup2(ends[1], 2);
	lull_debug_set_message_hook(NULL); /* this is standard error from now on */
	close(ends[0]);
	close(ends[1]);
	return true;
}

/* In the parent: read all that the child says, until it has ended. */
static inline void child_await(struct child *child)
{
	size_t length = 0;

	while (length + 1 < sizeof(child->text)) {
		ssize_t got = read(child->from, child->text + length, sizeof(child->text) - 1 - length);

		if (got <= 0)
			break;
		length += (size_t)got;
	}
	child->text[length] = '\0';
	close(child->from);
	child->status = 0;
	assert_int_equal(waitpid(child->pid, &child->status, 0), child->pid);
}

/* Run func in a forked child; what it wrote to standard error goes to text. Returns the wait status. */
static inline int run_child(void (*func)(void), char *text, size_t size)
{
	struct child child;
	size_t length;

	if (child_begin(&child)) {
		func();
		_exit(0);
	}
	child_await(&child);
	length = strlen(child.text);
	if (length >= size)
		length = size - 1;
	memcpy(text, child.text, length);
	text[length] = '\0';
	return child.status;
}

typedef void (*child_judge)(const struct child *child, const char *words, const char *file, int line);

/* Returns true in a child; in the parent, once the child has ended and is judged, false. */
static inline bool in_child_of(child_judge judge, const char *words, const char *file, int line)
{
	struct child child;

	if (child_begin(&child))
		return true;
	child_await(&child);
	judge(&child, words, file, line);
	return false;
}

/* EXPECT_ABORT("words") { body }: the body, run in a child, aborts after one line that contains the words. */
#define EXPECT_ABORT(words)	IN_CHILD_(judge_abort, words)
/* The same after the line that misuse of lull is reported by, and that says @words (a pattern of fnmatch(3)). */
#define EXPECT_MISUSE(words)	IN_CHILD_(judge_misuse, words)
/* EXPECT_FINE { body }: the body, run in a child, ends and prints nothing. */
#define EXPECT_FINE		IN_CHILD_(judge_fine, "")
#define IN_CHILD_(judge, words)                                                                     \
	for (bool in_child_ = in_child_of(judge, words, __FILE__, __LINE__); in_child_; in_child_ = (_exit(0), false))

#ifdef LULL_TEST_EMULATED /* the emulator has something to say about an abort, too */
#define END_OF_ABORT "*"
#else
#define END_OF_ABORT ""
#endif

static inline void judge_child(bool is_right, const struct child *child, const char *wanted, const char *file, int line)
{
	if (!is_right)
		print_error("status %x, wrote: %s, and not: %s\n", (unsigned)child->status, child->text, wanted);
	if (!is_right && is_forked_child)
		_exit(1);
	_assert_true(is_right, "the child ends as expected", file, line);
}

static inline bool child_aborted(const struct child *child)
{
	return WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGABRT;
}

static inline void judge_abort(const struct child *child, const char *words, const char *file, int line)
{
	const char *end = strchr(child->text, '\n');

	judge_child(child_aborted(child) && strncmp(child->text, "lull: ", 6) == 0 && strstr(child->text, words) && end &&
			    (!end[1] || *END_OF_ABORT),
		    child, words, file, line);
}

static inline void judge_misuse(const struct child *child, const char *words, const char *file, int line)
{
	char pattern[512];

	snprintf(pattern, sizeof(pattern), "lull: %s (thread \"*\", tid [0-9]*)\n" END_OF_ABORT, words);
	judge_child(child_aborted(child) && fnmatch(pattern, child->text, 0) == 0, child, pattern, file, line);
}

static inline void judge_fine(const struct child *child, const char *words, const char *file, int line)
{
	judge_child(WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0 && !child->text[0], child, words, file, line);
}

/* The same of functions. */
static inline void expect_abort(void (*func)(void), const char *words)
{
	EXPECT_ABORT(words)
		func();
}

static inline void expect_misuse(void (*func)(void), const char *words)
{
	EXPECT_MISUSE(words)
		func();
}

static inline void expect_fine(void (*func)(void))
{
	EXPECT_FINE
		func();
}

#endif /* LULL_TEST_CHILD_H */
