/* SPDX-License-Identifier: MIT */
/* lull urcu: which liburcu a program would load. The dynamic linker knows; it is asked to list, and runs nothing. */
#include "urcu/urcu_program.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/options.h"

#define SONAME 8 /* of 0.13 to 0.15 */

static _Noreturn void list(const char *loads, int to)
{
	struct urcu_file file;
	const char *linker;
	size_t size;

	if (!urcu_map(&file, loads) || !(linker = urcu_segment(&file, PT_INTERP, &size)) || dup2(to, STDOUT_FILENO) < 0 ||
	    dup2(to, STDERR_FILENO) < 0)
		_exit(126);
	execl(linker, linker, "--list", loads, (char *)NULL);
	_exit(127);
}

/* A pipe with the list of what @loads would load. */
static FILE *begin_list(const char *loads, pid_t *child)
{
	int ends[2];
	FILE *from;

	fflush(NULL);
	if (pipe(ends) != 0 || (*child = fork()) < 0)
		options_fail("cannot start the dynamic linker: %s", strerror(errno));
	if (*child == 0)
		list(loads, ends[1]);
	close(ends[1]);
	from = fdopen(ends[0], "r");
	if (!from)
		options_fail("out of memory");
	return from;
}

/* The number behind "liburcu.so." or "liburcu-memb.so." in a @name that has readers; 0: it is something else. */
static int soname_of(const char *name)
{
	static const char *const flavors[] = { "", "-memb", "-mb", "-bp", "-qsbr", "-signal" };

	for (unsigned i = 0; i < sizeof(flavors) / sizeof(*flavors); i++) {
		char begin[32];
		int len = snprintf(begin, sizeof(begin), "liburcu%s.so.", flavors[i]);

		if (!strncmp(name, begin, (size_t)len))
			return atoi(name + len);
	}
	return 0;
}

static int build_of(const char *path)
{
	static const char *const flavors[] = { "urcu_memb_flavor", "urcu_mb_flavor", "urcu_bp_flavor", "urcu_qsbr_flavor",
					       "urcu_signal_flavor", NULL };
	struct urcu_file file;
	size_t size;

	if (!urcu_map(&file, path))
		options_bad("%s cannot be read: %s", path, strerror(errno));
	size = urcu_symbol_size(&file, flavors);
	urcu_unmap(&file);
	if (size != 14 * sizeof(void *) && size != 16 * sizeof(void *))
		options_bad("%s is no version of liburcu that lull knows (0.13 to 0.15)", path);
	return size == 14 * sizeof(void *) ? 13 : 14;
}

/* Take in a @line, "liburcu.so.8 => /lib/liburcu.so.8 (0x00007f...)". */
static void take_line(const char *command, char *line, int *build, char **file)
{
	char *arrow = strstr(line, " => "), *end;
	int number, found;

	while (isspace((unsigned char)*line))
		line++;
	number = soname_of(line);
	if (!number || !arrow)
		return;
	if (number != SONAME)
		options_bad("%s would load a liburcu that lull does not stand in for: %.*s, which is not of 0.13 to 0.15",
			    command, (int)strcspn(line, " "), line);
	arrow += 4;
	end = strstr(arrow, " (0x");
	if (!end)
		options_bad("%s would not start: %.*s is not found", command, (int)strcspn(line, " "), line);
	*end = '\0';
	found = build_of(arrow);
	if (*build && found != *build)
		options_bad("%s would load two versions of liburcu, %s and %s", command, *file, arrow);
	*build = found;
	free(*file);
	*file = options_printf("%s", arrow);
}

int urcu_build_for(const char *command, const char *loads, char **file)
{
	pid_t child;
	FILE *from = begin_list(loads, &child);
	char line[PATH_MAX + 256];
	int build = 0, status;

	*file = NULL;
	while (fgets(line, sizeof(line), from))
		take_line(command, line, &build, file);
	fclose(from);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!build && (!WIFEXITED(status) || WEXITSTATUS(status)))
		options_bad("%s: the dynamic linker cannot list what it would load", loads);
	if (!build)
		options_bad("%s does not load liburcu; if what it loads or starts later does, choose the version by --as", command);
	return build;
}
