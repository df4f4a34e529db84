/* SPDX-License-Identifier: MIT */
/* Results as JSON; see json.h. */
#include "json.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lull/base.h>

#include "machine.h"

struct jsonout {
	json_t *root;
	char *path;
	char *temporary; /* NULL: written to path itself */
	int fd;
};

/*
 * Open files, so that leaving by exit() leaves no half-written one behind. One is all that is
 * needed.
 */
static struct jsonout *unfinished;
static pid_t unfinished_owner;

static void remove_unfinished(void)
{
	if (unfinished && unfinished->temporary && unfinished_owner == getpid())
		unlink(unfinished->temporary);
}

static void on_signal(int sig)
{
	remove_unfinished();
	/* The handler was installed to run once; the signal now does what it always does. */
	raise(sig);
}

/* Interrupting a long run is usual. A signal that is ignored stays so. */
static void clean_up_on_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND }, old;
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
}

/*
 * Returns whether the file can be replaced by a rename: a device or pipe must be written to itself.
 * A directory or a file without write permission would only show at the rename.
 */
static bool check_target(const char *path)
{
	struct stat st;

	if (!*path)
		options_bad("--json: the file name is empty");
	if (stat(path, &st) != 0)
		return true;
	if (S_ISDIR(st.st_mode))
		options_bad("--json: cannot write '%s': it is a directory", path);
	if (access(path, W_OK) != 0)
		options_bad("--json: cannot write '%s': %s", path, strerror(errno));
	return S_ISREG(st.st_mode);
}

struct jsonout *jsonout_open(const struct options *opt)
{
	struct jsonout *json;
	struct machine machine;
	bool replace;

	if (!opt->json_path)
		return NULL;
	replace = check_target(opt->json_path);
	json = options_alloc(1, sizeof(*json));
	json->path = options_printf("%s", opt->json_path);
	if (replace)
		json->temporary = options_printf("%s.tmp", opt->json_path);
	json->fd = open(replace ? json->temporary : json->path,
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (json->fd < 0)
		options_bad("--json: cannot write '%s': %s", opt->json_path, strerror(errno));
	unfinished = json;
	unfinished_owner = getpid();
	atexit(remove_unfinished);
	clean_up_on_signals();

	machine_read(&machine);
	json->root = json_pack("{s:s, s:s, s:o, s:s, s:[]}", "tool", opt->tool, "version",
			       lull_version(), "machine", machine_json(&machine), "command",
			       opt->command, "results");
	if (!json->root)
		options_fail("out of memory");
	return json;
}

json_t *jsonout_root(struct jsonout *json)
{
	return json ? json->root : NULL;
}

void jsonout_set(json_t *obj, const char *key, json_t *value)
{
	if (obj)
		json_object_set_new(obj, key, value);
	else
		json_decref(value);
}

static json_t *number(double value, size_t count)
{
	return count ? json_real(value) : json_null();
}

static json_t *add_row(struct jsonout *json, const char *scheme, unsigned threads,
		       const char *metric, const char *unit)
{
	json_t *row = json_pack("{s:s, s:i, s:s, s:s}", "scheme", scheme, "threads", (int)threads,
				"metric", metric, "unit", unit);

	if (!row || json_array_append_new(json_object_get(json->root, "results"), row) != 0)
		options_fail("out of memory");
	return row;
}

json_t *jsonout_stat(struct jsonout *json, const char *scheme, unsigned threads, const char *metric,
		     const char *unit, const struct bench_stat *stat)
{
	json_t *row;

	if (!json)
		return NULL;
	row = add_row(json, scheme, threads, metric, unit);
	jsonout_set(row, "min", number(stat->min, stat->count));
	jsonout_set(row, "median", number(stat->median, stat->count));
	jsonout_set(row, "max", number(stat->max, stat->count));
	return row;
}

json_t *jsonout_latency(struct jsonout *json, const char *scheme, unsigned threads,
			const char *metric, const struct bench_latency *lat)
{
	json_t *row;

	if (!json)
		return NULL;
	row = add_row(json, scheme, threads, metric, "ns");
	jsonout_set(row, "min", number(lat->min, lat->count));
	jsonout_set(row, "median", number(lat->p50, lat->count));
	jsonout_set(row, "max", number(lat->max, lat->count));
	jsonout_set(row, "mean", number(lat->mean, lat->count));
	jsonout_set(row, "p50", number(lat->p50, lat->count));
	jsonout_set(row, "p90", number(lat->p90, lat->count));
	jsonout_set(row, "p99", number(lat->p99, lat->count));
	jsonout_set(row, "count", json_integer((json_int_t)lat->count));
	return row;
}

static void json_release(struct jsonout *json)
{
	unfinished = NULL;
	if (json->fd >= 0)
		close(json->fd);
	json_decref(json->root);
	free(json->temporary);
	free(json->path);
	free(json);
}

/*
 * The results are worth more than the file they were meant for: when the file fails now, they go to
 * stdout, and the complaint says so.
 */
static _Noreturn void write_failed(struct jsonout *json, int err)
{
	json_dumpf(json->root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	putchar('\n');
	options_fail("--json: cannot write '%s': %s; the results are on stdout", json->path,
		     strerror(err));
}

void jsonout_close(struct jsonout *json)
{
	FILE *file;

	if (!json)
		return;
	file = fdopen(json->fd, "w");
	if (!file)
		write_failed(json, errno);
	json->fd = -1;
	errno = 0;
	if (json_dumpf(json->root, file, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) != 0 ||
	    fputc('\n', file) == EOF || fflush(file) != 0 ||
	    (json->temporary && fsync(fileno(file)) != 0))
		write_failed(json, errno ? errno : EIO);
	fclose(file);
	if (json->temporary && rename(json->temporary, json->path) != 0)
		write_failed(json, errno);
	json_release(json);
}

void jsonout_abandon(struct jsonout *json)
{
	if (!json)
		return;
	if (json->temporary)
		unlink(json->temporary);
	json_release(json);
}
