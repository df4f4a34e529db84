/* SPDX-License-Identifier: MIT */
/* lull top: what /proc says of the threads that the page names. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "top/procfile.h"
#include "top/top.h"

static int open_dir(int dir, const char *name)
{
	return openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The thread that has this number in a container of its own. */
static int search_task(const struct top_process *p, uint32_t tid)
{
	DIR *tasks = proc_list(p->proc, "task");
	struct dirent *entry;
	int found = -1;

	while (found < 0 && tasks && (entry = readdir(tasks))) {
		int dir = entry->d_name[0] == '.' ? -1 : open_dir(dirfd(tasks), entry->d_name);

		if (dir >= 0 && proc_status(dir, "status", "NSpid:") == tid)
			found = dir;
		else if (dir >= 0)
			close(dir);
	}
	if (tasks)
		closedir(tasks);
	if (found < 0)
		errno = ENOENT;
	return found;
}

static int open_task(const struct top_process *p, uint32_t tid)
{
	char name[32];

	if (p->inner != p->pid)
		return search_task(p, tid);
	snprintf(name, sizeof(name), "task/%u", tid);
	return open_dir(p->proc, name);
}

static void ask_thread(struct top_thread *t, const struct top_process *p)
{
	char comm[64], stat[512], where[64];
	int dir;

	top_thread_is(t, NULL, NULL, NULL);
	if (!t->tid || t->tid > TOP_PID_MAX)
		return;
	dir = open_task(p, t->tid);
	t->gone = dir < 0 && errno == ENOENT && proc_state(p->proc, "stat");
	if (dir < 0)
		return;
	top_thread_is(t, proc_read(dir, "comm", comm, sizeof(comm)),
		      proc_read(dir, "stat", stat, sizeof(stat)),
		      proc_read(dir, "wchan", where, sizeof(where)));
	close(dir);
}

/*
 * "program+0x12f0" as addr2line takes it for a program that can be loaded anywhere: from where the
 * first part of the file is.
 */
static void ask_site(struct top_wait *w, const struct top_process *p)
{
	uint64_t from, to, base = 0;
	char line[4400], file[4200] = "", path[4200];
	FILE *maps = w->site ? proc_open(p->proc, "maps") : NULL;

	while (maps && fgets(line, sizeof(line), maps)) {
		const char *name;

		path[0] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %4199[^\n]", &from, &to,
			   path) < 2)
			continue;
		if (!path[0] || strcmp(path, file)) {
			strcpy(file, path);
			base = from;
		}
		if (w->site < from || w->site >= to)
			continue;
		name = strrchr(file, '/');
		snprintf(w->site_name, sizeof(w->site_name), "%.60s+0x%" PRIx64,
			 name ? name + 1 : "?", w->site - base);
		break;
	}
	if (maps)
		fclose(maps);
}

void top_ask(struct top_view *view, const struct top_process *p)
{
	unsigned i;

	if (!proc_read(p->proc, "comm", view->command, sizeof(view->command)))
		strcpy(view->command, "?");
	view->pid = p->pid;
	for (i = 0; i < view->nr_waits; i++) {
		ask_thread(&view->waits[i].waiter, p);
		ask_thread(&view->waits[i].holder, p);
		ask_site(&view->waits[i], p);
	}
}
