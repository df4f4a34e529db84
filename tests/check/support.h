/* SPDX-License-Identifier: MIT */
/*
 * support.h - what the tests of debug builds' checks share: children of whose line every character is
 * known before.
 */
#ifndef LULL_TEST_CHECK_SUPPORT_H
#define LULL_TEST_CHECK_SUPPORT_H

#include <signal.h>
#include <sys/mman.h>

#include "child.h"
#include "threads.h"

#ifdef LULL_DEBUG
#define NEEDS_DEBUG() ((void)0)
#else
#define NEEDS_DEBUG() SKIP("only debug builds have this check")
#endif

#define LINE_BYTES 512
#define SITE	   "SITE" /* in a wanted line: an address in the function that *site_of says */
#define SITE_BYTES 512	  /* such functions are shorter */

#define CHILD_SECONDS 20

/* In memory that children share: what the line will be. */
struct wanted {
	char line[LINE_BYTES];
	const char *site_of;
};
static struct wanted *wanted;

BEFORE_ALL
{
	wanted = (struct wanted *)mmap(NULL, sizeof(*wanted), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(wanted != MAP_FAILED);
}

#define want(...) snprintf(wanted->line, LINE_BYTES, __VA_ARGS__)

/* This thread's name in /proc: under an emulator, the emulator. */
static inline const char *own_name(void)
{
	static char name[32];
	FILE *file = fopen("/proc/thread-self/comm", "re");

	must(file && fgets(name, sizeof(name), file));
	fclose(file);
	name[strcspn(name, "\n")] = '\0';
	return name;
}

static inline unsigned own_tid(void)
{
	return (unsigned)gettid();
}

/* A line of the kind that most are. */
static inline void want_call(const char *call, const char *what)
{
	want("%s: %s (thread \"%s\", tid %u)", call, what, own_name(), own_tid());
}

/* Does @text say what is wanted, from the first character to the last? */
static inline bool is_wanted(const char *text)
{
	const char *line = wanted->line, *site = strstr(line, SITE);
	size_t before = site ? (size_t)(site - line) : strlen(line);
	char *end;

	if (strncmp(text, "lull: ", 6) || strncmp(text + 6, line, before))
		return false;
	text += 6 + before;
	line += before;
	if (site) {
		if ((uintptr_t)strtoull(text, &end, 16) - (uintptr_t)wanted->site_of >= SITE_BYTES)
			return false;
		text = end;
		line += strlen(SITE);
	}
	if (strncmp(text, line, strlen(line)))
		return false;
	text += strlen(line);
#ifdef LULL_TEST_EMULATED
	return text[0] == '\n'; /* the emulator has something to say about an abort, too */
#else
	return !strcmp(text, "\n");
#endif
}

/* The child's words are not known yet. A mistake that no check finds may show as a child that does not end. */
static inline bool in_child_that_says(child_judge judge, const char *file, int line)
{
	want("%s", "");
	wanted->site_of = NULL;
	if (!in_child_of(judge, "", file, line))
		return false;
	alarm(CHILD_SECONDS);
	return true;
}

/* Has it ended by @signal, after the line that it has announced, or, if none, after nothing? */
static inline void judge_line(const struct child *child, int signal, bool is_announced, const char *file, int line)
{
	bool right = WIFSIGNALED(child->status) && WTERMSIG(child->status) == signal &&
		     (*wanted->line ? is_wanted(child->text) : !*child->text);

	if (!right)
		print_error("status %x, wrote: %swanted: lull: %s\n", (unsigned)child->status, child->text, wanted->line);
	_assert_true(right && is_announced == (*wanted->line != '\0'), "the child says what it has announced", file, line);
}

static inline void judge_end(const struct child *child, const char *words, const char *file, int line)
{
	(void)words;
	judge_line(child, SIGABRT, true, file, line);
}

static inline void judge_said(const struct child *child, const char *words, const char *file, int line)
{
	(void)words;
	judge_line(child, SIGKILL, true, file, line);
}

static inline void judge_nothing(const struct child *child, const char *words, const char *file, int line)
{
	(void)words;
	judge_line(child, SIGKILL, false, file, line);
}

/*
 * EXPECT_END { body }: the body aborts with the line that it has announced. EXPECT_SAID { body }: it says the line, and ends
 * well; EXPECT_NOTHING { body }: it says nothing. Leftovers of a child that was not to abort are of no interest, to
 * leak checkers either.
 */
#define SAYS_(judge, end)                                                                           \
	for (bool in_child_ = in_child_that_says(judge, __FILE__, __LINE__); in_child_; in_child_ = (end, false))
#define EXPECT_END     SAYS_(judge_end, _exit(0))
#define EXPECT_SAID    SAYS_(judge_said, raise(SIGKILL))
#define EXPECT_NOTHING SAYS_(judge_nothing, raise(SIGKILL))

/* The body aborts with a line of the kind that most are. */
#define EXPECT_MISTAKE(call, what, ...)                                                             \
	EXPECT_END {                                                                               \
		want_call(call, what);                                                             \
		__VA_ARGS__;                                                                       \
	}

#endif /* LULL_TEST_CHECK_SUPPORT_H */
