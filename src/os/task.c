/* SPDX-License-Identifier: MIT */
/*
 * task.c - what /proc says about a thread of this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os.h"

/* Build "/proc/self/task/@tid@what" in @path. */
static void task_path(uint32_t tid, const char *what, char path[64])
{
	char digits[12], *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do
		*--at = (char)('0' + tid % 10);
	while (tid /= 10);
	strcpy(path, "/proc/self/task/");
	strcat(path, at);
	strcat(path, what);
}

bool lull__task_file(uint32_t tid, const char *what, char *buf, size_t size)
{
	int saved = errno, fd, cancel;
	char path[64];
	ssize_t got = -1;

	lull__no_cancel(&cancel);
	task_path(tid, what, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, buf, size - 1);
		close(fd);
	}
	lull__may_cancel(cancel);
	errno = saved;
	buf[got > 0 ? got : 0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return got > 0;
}

void lull__thread_name(uint32_t tid, char *buf, size_t size)
{
	if (!lull__task_file(tid, "/comm", buf, size))
		snprintf(buf, size, "?");
}

/* The main thread is a zombie for as long as others run. The fields are the 3rd and the 20th of proc(5). */
bool lull__is_last_thread(void)
{
	char text[1024], state = '?';
	const char *at;
	int count = 0;

	if (!lull__task_file((uint32_t)getpid(), "/stat", text, sizeof(text)) || !(at = strrchr(text, ')')))
		return false;
	sscanf(at, ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d", &state, &count);
	return state == 'Z' && count == 2;
}
