/* SPDX-License-Identifier: MIT */
/*
 * lull top: finding the page of a process, and copying it.
 *
 * It is copied with read calls and never mapped: a mapped file that is cut short under the eyes of
 * its reader kills it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/clock.h"
#include "top/procfile.h"
#include "top/top.h"

#define PATIENCE 20u
#define PAUSE_NS 25000000u

#define LINK "/memfd:" LULL_STATS_NAME " (deleted)"

static enum top_state wrong(struct top_process *p, const char *what)
{
	snprintf(p->wrong, sizeof(p->wrong), "process %u: %s", p->pid, what);
	return TOP_WRONG;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static size_t read_page(const struct top_process *p, void *to, size_t size)
{
	struct iovec here = { to, size }, there = { (void *)(uintptr_t)p->address, size };
	ssize_t got = p->file >= 0 ? pread(p->file, to, size, 0) :
				     process_vm_readv((pid_t)p->alive, &here, 1, &there, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

static void copy(const struct top_process *p, struct top_copy *to)
{
	memset(to, 0, sizeof(*to));
	to->len = read_page(p, &to->page, sizeof(to->page));
	to->taken_ns = bench_now_ns();
}

static bool sample_fits(struct top_process *p, struct top_sample *sample)
{
	char why[128];

	copy(p, &sample->first);
	copy(p, &sample->again);
	if (p->file < 0 && !sample->first.len) {
		wrong(p, "it has closed its stats page, and its memory cannot be read");
		return false;
	}
	if (top_check(sample, p->inner, why, sizeof(why)))
		return true;
	wrong(p, why);
	return false;
}

/* ---- where it is ----------------------------------------------------------------------------- */

/*
 * The first thread of a process may exit before the others. Then /proc/PID itself describes no thread, and another one
 * has to stand in.
 */
static bool find_alive(struct top_process *p)
{
	char state = proc_state(p->proc, "stat"), name[280];
	struct dirent *entry;
	DIR *tasks;

	p->alive = p->pid;
	if (state != 'Z')
		return state && state != 'X';
	tasks = proc_list(p->proc, "task");
	while (state == 'Z' && tasks && (entry = readdir(tasks))) {
		char other;

		p->alive = (uint32_t)strtoul(entry->d_name, NULL, 10);
		snprintf(name, sizeof(name), "task/%s/stat", entry->d_name);
		other = p->alive ? proc_state(p->proc, name) : 0;
		if (other && other != 'X')
			state = other;
	}
	if (tasks)
		closedir(tasks);
	return state != 'Z';
}

static void drop_file(struct top_process *p)
{
	if (p->file >= 0)
		close(p->file);
	p->file = -1;
}

static bool link_fits(const struct top_process *p, const char *link)
{
	char target[sizeof(LINK) + 1];
	ssize_t len = readlinkat(p->proc, link, target, sizeof(target));

	return len == sizeof(LINK) - 1 && !memcmp(target, LINK, sizeof(LINK) - 1);
}

/* Any file can have that name. One that is no plain file might make the reader wait. */
static bool open_link(struct top_process *p)
{
	struct stat st;

	p->file = openat(p->proc, p->link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (p->file >= 0 && (fstat(p->file, &st) != 0 || !S_ISREG(st.st_mode)))
		drop_file(p);
	return p->file >= 0;
}

/* Found, and no page of this process's, leaves in @p->wrong why. */
static bool find_file(struct top_process *p, DIR *fds)
{
	struct top_sample sample;
	struct dirent *entry;

	while ((entry = readdir(fds))) {
		snprintf(p->link, sizeof(p->link), "task/%u/fd/%.20s", p->alive, entry->d_name);
		if (!link_fits(p, p->link) || !open_link(p))
			continue;
		if (sample_fits(p, &sample))
			return true;
		drop_file(p);
	}
	return false;
}

/* A mapping outlives the descriptor that it was made with. */
static bool find_mapping(struct top_process *p)
{
	struct top_sample sample;
	bool found = false;
	char name[40], *line = NULL;
	size_t size = 0;
	FILE *maps;

	snprintf(name, sizeof(name), "task/%u/maps", p->alive);
	maps = proc_open(p->proc, name);
	while (!found && maps && getline(&line, &size, maps) > 0) {
		uint64_t from, offset;
		int path = 0;

		if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %*s %*s %n", &from, &offset,
			   &path) < 2 ||
		    !path || offset || strcmp(line + path, LINK "\n"))
			continue;
		p->address = from;
		found = sample_fits(p, &sample);
	}
	free(line);
	if (maps)
		fclose(maps);
	return found;
}

/* Nothing is there that looks like a page. The process may have said that it wants none. */
static enum top_state say_none(struct top_process *p)
{
	if (proc_has(p->proc, "environ", "LULL_STATS=off"))
		return wrong(p, "it was started with LULL_STATS=off and shows no stats page");
	if (proc_has(p->proc, "maps", "/liblull.so"))
		return wrong(p, "it uses lull and shows no stats page");
	return wrong(p, "it does not use lull, or shows no stats page");
}

static enum top_state find_page(struct top_process *p)
{
	char name[40];
	bool found;
	DIR *fds;

	drop_file(p);
	p->wrong[0] = '\0';
	if (!find_alive(p))
		return TOP_ENDED;
	snprintf(name, sizeof(name), "task/%u/fd", p->alive);
	fds = proc_list(p->proc, name);
	if (!fds && errno == EACCES)
		return wrong(p, "not permitted to look into it; is it another user's?");
	if (!fds)
		return TOP_ENDED;
	found = find_file(p, fds) || find_mapping(p);
	closedir(fds);
	if (found)
		return TOP_OK;
	if (!find_alive(p))
		return TOP_ENDED;
	return p->wrong[0] ? TOP_WRONG : say_none(p);
}

/* ---- the process ----------------------------------------------------------------------------- */

enum top_state top_find(struct top_process *p, uint32_t pid)
{
	char name[32];

	*p = (struct top_process){ .pid = pid, .file = -1 };
	snprintf(name, sizeof(name), "/proc/%u", pid);
	p->proc = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->proc < 0) {
		snprintf(p->wrong, sizeof(p->wrong), "there is no process %u%s", pid,
			 access("/proc/self", F_OK) == 0 ? "" : ": there is no /proc");
		return TOP_WRONG;
	}
	pid = proc_status(p->proc, "status", "Tgid:");
	if (pid && pid != p->pid) {
		close(p->proc);
		return top_find(p, pid);
	}
	p->inner = proc_status(p->proc, "status", "NSpid:");
	if (!p->inner)
		p->inner = p->pid;
	return find_page(p);
}

/* The file is still the page of the process, which may run another program by now. */
static bool still_there(const struct top_process *p)
{
	struct stat ours, theirs;

	return p->file < 0 || (link_fits(p, p->link) && fstat(p->file, &ours) == 0 &&
			       fstatat(p->proc, p->link, &theirs, 0) == 0 &&
			       ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev);
}

/* A program that has just begun in the old one's place has no page for a moment. */
enum top_state top_take(struct top_process *p, struct top_sample *sample)
{
	enum top_state state = TOP_WRONG;
	unsigned tries;

	if (find_alive(p) && still_there(p) && sample_fits(p, sample))
		return TOP_OK;
	for (tries = 0; state == TOP_WRONG && tries < PATIENCE; tries++) {
		if (tries)
			bench_sleep_ns(PAUSE_NS);
		state = find_page(p);
		if (state == TOP_OK && !sample_fits(p, sample))
			state = TOP_WRONG;
	}
	return state;
}

void top_forget(struct top_process *p)
{
	drop_file(p);
	if (p->proc >= 0)
		close(p->proc);
	p->proc = -1;
}
