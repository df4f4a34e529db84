/* SPDX-License-Identifier: MIT */
/* lull torture --flavor wild: what the kernel says of the threads of a round that hangs. See surroundings.h. */
#include "torture/surroundings/surroundings.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* "": there is none. */
static void first_line(char *text, size_t size, pid_t pid, const char *tid, const char *name)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/%s", (int)pid, tid, name);
	file = fopen(path, "re");
	if (!file || !fgets(text, (int)size, file))
		text[0] = '\0';
	if (file)
		fclose(file);
	text[strcspn(text, "\n")] = '\0';
}

static void print_status(pid_t pid, const char *tid)
{
	static const char *const wanted[] = { "State:", "SigPnd:", "ShdPnd:", "SigBlk:", "voluntary", "nonvoluntary" };
	char path[128], line[256];
	unsigned i;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/status", (int)pid, tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
			if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
				printf("; %s", line);
	}
	if (file)
		fclose(file);
}

static void print_thread(pid_t pid, const char *tid)
{
	char comm[64], wchan[128], call[256];

	first_line(comm, sizeof(comm), pid, tid, "comm");
	first_line(wchan, sizeof(wchan), pid, tid, "wchan");
	first_line(call, sizeof(call), pid, tid, "syscall");
	printf("  thread %s \"%s\" in %s, system call %s", tid, comm, *wchan ? wchan : "?", *call ? call : "?");
	print_status(pid, tid);
	putchar('\n');
}

void wild_dump_threads(pid_t pid)
{
	char path[64];
	const struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			print_thread(pid, entry->d_name);
	if (dir)
		closedir(dir);
	fflush(stdout);
}
