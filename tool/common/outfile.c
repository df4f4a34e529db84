/* SPDX-License-Identifier: MIT */
/* Files of results; see outfile.h. */
#include "common/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/options.h"

struct outfile {
	char *path;
	char *temporary; /* NULL: written to path itself */
	FILE *file;
	struct outfile *next;
};

/*
 * Files that are not complete. Signal handlers follow the list, so it changes by single stores. A forked child has a
 * copy of it, and must leave the files alone.
 */
static struct outfile *unfinished;
static pid_t owner;

static void remove_unfinished(void)
{
	const struct outfile *out;

	for (out = owner == getpid() ? unfinished : NULL; out; out = out->next)
		if (out->temporary)
			unlink(out->temporary);
}

static void on_signal(int sig)
{
	remove_unfinished();
	/* The handler was installed to run once; the signal now does what it always does. */
	raise(sig);
}

/* Interrupting a long run is usual. A signal that is ignored stays so. */
static void clean_up_at_end(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND }, old;
	size_t i;

	owner = getpid();
	atexit(remove_unfinished);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
}

/*
 * Returns whether the file can be replaced by a rename: a device or pipe must be written to itself.
 * A directory or a file without write permission would only show at the rename.
 */
static bool check_target(const char *option, const char *path)
{
	struct stat st;

	if (!*path)
		options_bad("%s: the file name is empty", option);
	if (outfile_is_stdout(path))
		return false;
	if (stat(path, &st) != 0)
		return true;
	if (S_ISDIR(st.st_mode))
		options_bad("%s: cannot write '%s': it is a directory", option, path);
	if (access(path, W_OK) != 0)
		options_bad("%s: cannot write '%s': %s", option, path, strerror(errno));
	return S_ISREG(st.st_mode);
}

bool outfile_is_stdout(const char *path)
{
	return !strcmp(path, "-");
}

/* Return standard output; what is printed from now on goes nowhere, so that a reader gets the results alone. */
static FILE *take_stdout(void)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fflush(stdout);
	if (fd < 0 || null < 0 || dup2(null, STDOUT_FILENO) < 0)
		return NULL;
	close(null);
	return fdopen(fd, "w");
}

struct outfile *outfile_open(const char *option, const char *path)
{
	bool replace = check_target(option, path);
	struct outfile *out;
	const struct outfile *other;
	sigset_t all, saved;
	int err;

	for (other = unfinished; other; other = other->next)
		if ((replace || outfile_is_stdout(path)) && !strcmp(other->path, path))
			options_bad("%s: '%s' is already the file of another option", option, path);
	if (!owner)
		clean_up_at_end();
	out = options_alloc(1, sizeof(*out));
	out->path = options_printf("%s", path);
	if (replace)
		out->temporary = options_printf("%s.tmp", path);
	/* Block signals: one comes before the file exists, or after the handler knows the file. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &saved);
	out->file = outfile_is_stdout(path) ? take_stdout() : fopen(out->temporary ? out->temporary : path, "we");
	err = errno;
	if (out->file) {
		out->next = unfinished;
		unfinished = out;
	}
	sigprocmask(SIG_SETMASK, &saved, NULL);
	if (!out->file) {
		outfile_free(out);
		options_bad("%s: cannot write '%s': %s", option, path, strerror(err));
	}
	return out;
}

FILE *outfile_stream(struct outfile *out)
{
	return out->file;
}

const char *outfile_path(const struct outfile *out)
{
	return out->path;
}

static void forget(struct outfile *out)
{
	struct outfile **link = &unfinished;

	while (*link && *link != out)
		link = &(*link)->next;
	if (*link)
		*link = out->next;
}

int outfile_finish(struct outfile *out)
{
	bool before = ferror(out->file);
	int err = 0;

	errno = 0;
	if (fflush(out->file) != 0 || before || (out->temporary && fsync(fileno(out->file)) != 0))
		err = errno ? errno : EIO;
	if (fclose(out->file) != 0 && !err)
		err = errno;
	out->file = NULL;
	if (!err && out->temporary && rename(out->temporary, out->path) != 0)
		err = errno;
	if (err && out->temporary)
		unlink(out->temporary);
	forget(out);
	return err;
}

void outfile_free(struct outfile *out)
{
	forget(out);
	free(out->temporary);
	free(out->path);
	free(out);
}
