/* SPDX-License-Identifier: MIT */
/* lull urcu: which program would run, and whether something can be preloaded into it. */
#include "urcu/urcu_program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/options.h"

#define SCRIPTS_MOST 4 /* interpreters of interpreters, as the kernel follows them */

static int can_run(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static void find_in_path(const char *command, char path[PATH_MAX])
{
	const char *folder = getenv("PATH");

	for (folder = folder ? folder : "/usr/local/bin:/usr/bin:/bin"; ; folder++) {
		int len = (int)strcspn(folder, ":");

		if (snprintf(path, PATH_MAX, "%.*s/%s", len ? len : 1, len ? folder : ".", command) < PATH_MAX &&
		    can_run(path))
			return;
		folder += len;
		if (!*folder)
			options_bad("there is no program '%s' in PATH", command);
	}
}

/*
 * The dynamic linker preloads nothing into a program that gets rights beyond its user's. A program that root starts
 * gets none.
 */
static void refuse_privileged(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		options_bad("%s: %s", path, strerror(errno));
	if (((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
	    ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getegid()) ||
	    (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0))
		options_bad("%s runs with other rights than yours, so nothing can be preloaded into it", path);
}

/* The interpreter that the first line of a script names. */
static void interpreter_of(const struct urcu_file *file, const char *script, char path[PATH_MAX])
{
	const char *line = (const char *)file->bytes + 2, *end = memchr(line, '\n', file->size - 2);
	size_t left = end ? (size_t)(end - line) : file->size - 2, len = 0;

	while (left && (*line == ' ' || *line == '\t'))
		line++, left--;
	while (len < left && line[len] != ' ' && line[len] != '\t' && line[len])
		len++;
	if (!len || len >= PATH_MAX)
		options_bad("%s: its first line names no interpreter", script);
	memcpy(path, line, len);
	path[len] = '\0';
}

static int look_at_own(struct dl_phdr_info *info, size_t unused, void *arg)
{
	const char **own = arg;

	(void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_INTERP)
			*own = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return 1; /* the first one is this program */
}

/* The dynamic linker of this command, which is glibc's. */
static const char *own_linker(void)
{
	const char *own = NULL;

	dl_iterate_phdr(look_at_own, &own);
	return own ? own : "";
}

/* By whatever names: distributions have it in /lib64, and in /usr/lib64, which are one folder. */
static int is_same_file(const char *one, const char *other)
{
	struct stat a, b;

	return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void refuse_unloadable(const char *path, const struct urcu_file *file)
{
	size_t size = 0;
	const char *linker;

	if (!urcu_elf(file))
		options_bad("%s is no program for this machine", path);
	linker = urcu_segment(file, PT_INTERP, &size);
	if (!linker)
		options_bad("%s is linked statically, so nothing can be preloaded into it", path);
	if (strnlen(linker, size) == size || !is_same_file(linker, own_linker()))
		options_bad("%s is for another C library than this command (%.*s, not %s)", path,
			    (int)strnlen(linker, size), linker, own_linker());
}

void urcu_find_program(const char *command, char path[PATH_MAX], char loads[PATH_MAX])
{
	struct urcu_file file;

	if (!*command)
		options_bad("the command is empty");
	if (!strchr(command, '/'))
		find_in_path(command, path);
	else if (!can_run(command) || strlen(command) >= PATH_MAX)
		options_bad("'%s' cannot be run%s%s", command, access(command, X_OK) ? ": " : "",
			    access(command, X_OK) ? strerror(errno) : "");
	else
		strcpy(path, command);
	strcpy(loads, path);
	for (int i = 0; i <= SCRIPTS_MOST; i++) {
		if (!urcu_map(&file, loads))
			options_bad("%s cannot be read: %s", loads, strerror(errno));
		if (file.size < 2 || memcmp(file.bytes, "#!", 2) != 0) {
			refuse_privileged(loads);
			refuse_unloadable(loads, &file);
			urcu_unmap(&file);
			return;
		}
		interpreter_of(&file, loads, loads);
		urcu_unmap(&file);
	}
	options_bad("%s: too many scripts interpret each other", path);
}
