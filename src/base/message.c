/* SPDX-License-Identifier: MIT */
/*
 * message.c - lines for people, through a hook that can be replaced, to a file that the environment names, or to standard
 * error.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lull/atomic.h>

#include "message.h"

#define LINE_BYTES sizeof(lull__abort_message) /* one write, less than PIPE_BUF */

static lull_message_hook message_hook;
char lull__abort_message[512];

/* ---- standard error ---------------------------------------------------------------------------- */

/*
 * The file that was standard error when the library was loaded, or when the program last set the message hook to
 * NULL. If the program has closed it since, a file of the program's own may have its number. 0: it was closed.
 */
static uint64_t stderr_dev, stderr_ino;
static uint32_t stderr_noted;

/* Is standard error what it was? @note: what it is now counts from now on. */
static bool is_stderr(bool note)
{
	int saved = errno;
	struct stat st = { 0 };

	fstat(STDERR_FILENO, &st);
	errno = saved;
	if (note || !lull_load_relaxed(&stderr_noted)) {
		lull_store_relaxed(&stderr_dev, (uint64_t)st.st_dev);
		lull_store_relaxed(&stderr_ino, (uint64_t)st.st_ino);
		lull_store_relaxed(&stderr_noted, 1u);
	}
	return st.st_ino && st.st_dev == lull_load_relaxed(&stderr_dev) && st.st_ino == lull_load_relaxed(&stderr_ino);
}

/*
 * Is standard error such that a line does not harm, whatever it is? A daemon has redirected it to a log. A file that is not
 * appended to, or a device, may be the program's data.
 */
static bool takes_any_line(void)
{
	int saved = errno;
	struct stat st = { 0 };
	bool takes;

	fstat(STDERR_FILENO, &st);
	takes = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || (S_ISCHR(st.st_mode) && isatty(STDERR_FILENO)) ||
		(S_ISREG(st.st_mode) && fcntl(STDERR_FILENO, F_GETFL) & O_APPEND);
	errno = saved;
	return takes;
}

/* Write to standard error, or nowhere. @last: before an abort. */
static void write_to_stderr(const char *text, int len, bool last)
{
	if (is_stderr(false) || (last && takes_any_line()))
		lull__write(STDERR_FILENO, text, (size_t)len, false);
}

/* ---- the file of LULL_MESSAGES ------------------------------------------------------------------ */

static char lines_path[512]; /* a copy, for the program may write over its environment; empty: standard error */

/*
 * One fstat(2): the only system call that loading the library makes for its messages. A program with rights beyond its
 * user's does not see the variable.
 */
__attribute__((constructor)) static void note_at_load(void)
{
	const char *wish = secure_getenv("LULL_MESSAGES");

	is_stderr(false);
	if (wish)
		snprintf(lines_path, sizeof(lines_path), "%s", strlen(wish) < sizeof(lines_path) ? wish : "(a long path)");
}

/* Open it each time: a daemon closes what it does not know. Returns false, once with a line, if that cannot be. */
static bool append_to_file(const char *text, int len)
{
	static uint32_t told;
	char line[512];
	int saved = errno, err = EINVAL, fd;

	if (*lines_path == '/') { /* else a daemon, which changes its folder, would have it in two */
		fd = open(lines_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
			  S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
		err = fd < 0 ? errno : -lull__write(fd, text, (size_t)len, false);
		if (fd >= 0)
			close(fd);
	}
	errno = saved;
	if (err && !lull_xchg_relaxed(&told, 1u))
		write_to_stderr(line, snprintf(line, sizeof(line), "lull: LULL_MESSAGES is \"%.300s\", where no line can go (error "
					       "%d); it can be the path of a file, from / on\n", lines_path, err), false);
	return !err;
}

/* Not by stdio: this may be a signal handler, or stdio's lock may be held. */
static void write_line(const char *line, bool last)
{
	char text[LINE_BYTES + 16];
	int len = snprintf(text, sizeof(text), "lull: %s\n", line);
	bool is_there = *lines_path && append_to_file(text, len);

	if (!is_there || last) /* a person sees the program abort, and looks there */
		write_to_stderr(text, len, last);
}

/* ---- lines -------------------------------------------------------------------------------------- */

static void say_line(const char *line, bool last)
{
	lull_message_hook hook = lull_load_relaxed(&message_hook);
	int cancel;

	lull__no_cancel(&cancel);
	hook ? hook(line) : write_line(line, last);
	lull__may_cancel(cancel);
}

void lull__say(const char *format, ...)
{
	char line[LINE_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	say_line(line, false);
}

/* Leave @line for the core dump: the first, if several threads abort. */
static void note_abort(const char *line)
{
	static uint32_t noted;

	if (!lull_xchg_relaxed(&noted, 1u))
		memcpy(lull__abort_message, line, LINE_BYTES);
}

void lull__die(const char *format, ...)
{
	char line[LINE_BYTES] = "";
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	note_abort(line);
	say_line(line, true);
	abort();
}

void lull__misuse(const char *format, ...)
{
	uint32_t tid = lull__gettid();
	char line[LINE_BYTES], name[32];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	lull__thread_name(tid, name, sizeof(name));
	lull__die("%s (thread \"%s\", tid %u)", line, name, tid);
}

struct lull__thread_words lull__thread_words(uint32_t tid)
{
	struct lull__thread_words words;
	char name[32];

	lull__thread_name(tid, name, sizeof(name));
	snprintf(words.text, sizeof(words.text), "thread \"%s\" (tid %u)", name, tid);
	return words;
}

void lull_debug_set_message_hook(lull_message_hook hook)
{
	if (!hook)
		is_stderr(true);
	lull_store_relaxed(&message_hook, hook);
}

#define VERSION_TEXT2(x) #x
#define VERSION_TEXT(x)	 VERSION_TEXT2(x)

const char *lull_version(void)
{
	return VERSION_TEXT(LULL_VERSION_MAJOR) "." VERSION_TEXT(LULL_VERSION_MINOR) "."
	       VERSION_TEXT(LULL_VERSION_PATCH);
}
