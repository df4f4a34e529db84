/* SPDX-License-Identifier: MIT */
/* Files of /proc/PID; see procfile.h. */
#include "top/procfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int open_file(int dir, const char *name, int flags)
{
	return openat(dir, name, O_RDONLY | O_CLOEXEC | flags);
}

FILE *proc_open(int dir, const char *name)
{
	int fd = open_file(dir, name, 0);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

DIR *proc_list(int dir, const char *name)
{
	int fd = open_file(dir, name, O_DIRECTORY);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

	if (fd >= 0 && !list)
		close(fd);
	return list;
}

const char *proc_read(int dir, const char *name, char *to, size_t size)
{
	int fd = open_file(dir, name, 0), err;
	ssize_t got;

	if (fd < 0)
		return NULL;
	got = read(fd, to, size - 1);
	err = errno;
	close(fd);
	errno = err;
	if (got <= 0)
		return NULL;
	got -= to[got - 1] == '\n';
	to[got] = '\0';
	return to;
}

/* The letter is behind the name, which may contain brackets of its own. */
char proc_state_in(const char *stat)
{
	const char *behind = strrchr(stat, ')');

	return behind && behind[1] && behind[2] ? behind[2] : '?';
}

char proc_state(int dir, const char *name)
{
	char stat[512];

	errno = 0;
	if (proc_read(dir, name, stat, sizeof(stat)))
		return proc_state_in(stat);
	return errno == ESRCH || errno == ENOENT ? 0 : '?';
}

uint32_t proc_status(int dir, const char *name, const char *key)
{
	FILE *status = proc_open(dir, name);
	char line[512];
	uint32_t value = 0;

	while (!value && status && fgets(line, sizeof(line), status)) {
		char *word, *rest = NULL;

		if (strncmp(line, key, strlen(key)))
			continue;
		for (word = strtok_r(line + strlen(key), " \t\n", &rest); word;
		     word = strtok_r(NULL, " \t\n", &rest))
			value = (uint32_t)strtoul(word, NULL, 10);
	}
	if (status)
		fclose(status);
	return value;
}

bool proc_has(int dir, const char *name, const char *text)
{
	FILE *file = proc_open(dir, name);
	bool found = false;
	char *part = NULL;
	size_t size = 0;

	while (!found && file && getdelim(&part, &size, '\0', file) > 0)
		found = strstr(part, text);
	free(part);
	if (file)
		fclose(file);
	return found;
}
