/* SPDX-License-Identifier: MIT */
/*
 * Where a program's probes are: in liblull.so, or in what liblull.a was linked into. Looked for in what a
 * process has mapped, or in what the dynamic linker says that it would map.
 */
#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/options.h"
#include "trace/trace.h"

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

char *trace_shown(const char *name)
{
	char *shown = options_printf("%s", name);

	options_one_line(shown);
	return shown;
}

void trace_files_add(struct trace_files *files, const char *name, const char *path)
{
	struct trace_notes notes;
	struct trace_file *more;
	size_t i;

	for (i = 0; i < files->count; i++)
		if (same_file(files->file[i].path, path))
			return;
	if (!trace_notes_read(path, &notes))
		return;
	more = realloc(files->file, (files->count + 1) * sizeof(*more));
	if (!more)
		options_fail("out of memory");
	files->file = more;
	more[files->count++] = (struct trace_file){ trace_shown(name), options_printf("%s", path), notes };
}

void trace_files_free(struct trace_files *files)
{
	while (files->count) {
		free(files->file[--files->count].name);
		free(files->file[files->count].path);
	}
	free(files->file);
	files->file = NULL;
}

/* ---- of a process ---------------------------------------------------------------------------- */

struct mapping {
	uint64_t from, to, offset;
	bool is_code;
	const char *name; /* of the file */
};

/* Read a mapping; return whether it is of a file. Other mappings have no name, or one in brackets. */
static bool read_mapping(char *line, struct mapping *m)
{
	char rights[5];
	int name = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &m->from, &m->to,
		   rights, &m->offset, &name) != 4)
		return false;
	m->is_code = rights[2] == 'x';
	m->name = line + name;
	return name && line[name] == '/';
}

static FILE *open_maps(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	return fopen(path, "re");
}

/*
 * The link of a mapping leads to the file that is mapped, whatever has its name now, and from other mount
 * namespaces. It needs more rights than the name.
 */
static void add_mapping(struct trace_files *files, pid_t pid, const struct mapping *m)
{
	char *link = options_printf("/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, m->from,
				    m->to);
	char *seen = options_printf("/proc/%d/root%s", (int)pid, m->name);

	trace_files_add(files, m->name, access(link, R_OK) == 0 ? link : seen);
	free(seen);
	free(link);
}

void trace_files_of_process(struct trace_files *files, pid_t pid)
{
	FILE *maps = open_maps(pid);
	struct mapping m;
	char *line = NULL;
	size_t size = 0;

	if (!maps && errno == ENOENT)
		options_fail("there is no process %d", (int)pid);
	if (!maps)
		options_fail("cannot look at process %d: %s", (int)pid, strerror(errno));
	while (getline(&line, &size, maps) > 0)
		if (read_mapping(line, &m) && m.is_code)
			add_mapping(files, pid, &m);
	if (ferror(maps))
		options_fail("cannot look at process %d: %s", (int)pid, strerror(errno));
	fclose(maps);
	free(line);
}

/* Addresses in a file count from where its beginning is mapped. */
bool trace_place(pid_t pid, uint64_t address, char *place, size_t size)
{
	FILE *maps = open_maps(pid);
	uint64_t beginning = 0;
	bool found = false;
	char *line = NULL;
	struct mapping m;
	size_t length = 0;

	while (maps && !found && getline(&line, &length, maps) > 0) {
		if (!read_mapping(line, &m))
			continue;
		if (!m.offset)
			beginning = m.from;
		found = m.from <= address && address < m.to;
		if (found)
			snprintf(place, size, "%s+0x%" PRIx64, strrchr(m.name, '/') + 1,
				 address - beginning);
	}
	if (maps)
		fclose(maps);
	free(line);
	return found;
}

/* ---- of a program ---------------------------------------------------------------------------- */

/* The dynamic linker that it asks for; NULL: none. */
static char *interpreter(const char *path)
{
	FILE *file = fopen(path, "re");
	char name[256] = "";
	Elf64_Ehdr elf;
	Elf64_Phdr segment;
	unsigned i;

	if (!file)
		return NULL;
	if (fread(&elf, sizeof(elf), 1, file) != 1 || memcmp(elf.e_ident, ELFMAG, SELFMAG) ||
	    elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_phentsize != sizeof(segment))
		elf.e_phnum = 0;
	for (i = 0; i < elf.e_phnum && !*name; i++) {
		if (fseek(file, (long)(elf.e_phoff + i * sizeof(segment)), SEEK_SET) != 0 ||
		    fread(&segment, sizeof(segment), 1, file) != 1)
			break;
		if (segment.p_type == PT_INTERP && segment.p_filesz < sizeof(name) &&
		    fseek(file, (long)segment.p_offset, SEEK_SET) == 0 &&
		    fread(name, 1, segment.p_filesz, file) != segment.p_filesz)
			break;
	}
	fclose(file);
	return *name ? options_printf("%s", name) : NULL;
}

/* A line of the list: "liblull.so.1 => /usr/lib/liblull.so.1 (0x7f...)", or without the arrow. */
static void add_listed(struct trace_files *files, char *line)
{
	char *arrow = strstr(line, "=> "), *path = arrow ? arrow + 3 : line + strspn(line, " \t"),
	     *end;

	end = strstr(path, " (0x");
	if (!end)
		return;
	*end = '\0';
	if (strchr(path, '/'))
		trace_files_add(files, path, path);
}

/* Do as `ldd` does: the dynamic linker lists what it would load, and runs nothing of it. */
static void add_all_listed(struct trace_files *files, char *linker, const char *program)
{
	char *line = NULL;
	size_t size = 0;
	int ends[2];
	pid_t child;
	FILE *list;

	if (pipe(ends) != 0)
		options_fail("cannot make a pipe: %s", strerror(errno));
	child = fork();
	if (child < 0)
		options_fail("cannot fork: %s", strerror(errno));
	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(linker, linker, "--list", program, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	list = fdopen(ends[0], "r");
	if (!list)
		options_fail("out of memory");
	while (getline(&line, &size, list) > 0)
		add_listed(files, line);
	fclose(list);
	free(line);
	/* One that cannot be listed cannot be run either, which is for others to say. */
	waitpid(child, NULL, 0);
}

/* "/lib", "/lib64", "/usr/lib32/": only root puts anything there. */
static bool is_in_usual_place(const char *path)
{
	return !strncmp(path, "/lib", 4) || !strncmp(path, "/usr/lib", 8);
}

/*
 * A dynamic linker of the system runs nothing of what it lists. Any other file could do anything,
 * so both the name and the file that it leads to must be where root alone puts them; and the name
 * must be one of a dynamic linker, since other programs there have a --list that does other things.
 */
static bool is_of_system(const char *linker)
{
	const char *slash = strrchr(linker, '/');
	char *file = realpath(linker, NULL);
	struct stat st;
	bool is;

	is = file && slash && !fnmatch("/ld[-.6]*", slash, 0) && !strstr(linker, "/../") &&
	     is_in_usual_place(linker) && is_in_usual_place(file) && stat(file, &st) == 0 &&
	     S_ISREG(st.st_mode) && st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH));
	free(file);
	return is;
}

void trace_files_of_program(struct trace_files *files, const char *path, bool may_run)
{
	char *linker = interpreter(path);

	if (linker && !may_run && !is_of_system(linker))
		options_fail("cannot find the libraries of '%s' without running '%s', which it names "
			     "as its dynamic linker",
			     path, linker);
	trace_files_add(files, path, path);
	if (linker)
		add_all_listed(files, linker, path);
	free(linker);
}

/* ---- what was asked for ----------------------------------------------------------------------- */

/* Find the program as execvp() does; NULL with errno. */
static char *find_program(const char *name)
{
	const char *at = getenv("PATH");

	if (strchr(name, '/'))
		return access(name, X_OK) == 0 ? options_printf("%s", name) : NULL;
	for (at = at ? at : "/bin:/usr/bin"; *at;) {
		size_t len = strcspn(at, ":");
		char *path = options_printf("%.*s%s%s", (int)len, at, len ? "/" : "./", name);

		if (access(path, X_OK) == 0)
			return path;
		free(path);
		at += len + (at[len] == ':');
	}
	errno = ENOENT;
	return NULL;
}

void trace_files_find(struct trace_files *files, const struct trace_order *order, pid_t pid)
{
	char *path;

	if (order->object) {
		/* Make it a path with a slash, or libraries would look for it along the PATH. */
		path = realpath(order->object, NULL);
		if (!path || access(path, R_OK) != 0)
			options_bad("--object: cannot read '%s': %s", order->object, strerror(errno));
		trace_files_add(files, order->object, path);
		free(path);
		if (!files->count)
			options_bad("--object: '%s' has no probes of lull", order->object);
	}
	if (!order->run) {
		trace_files_of_process(files, pid);
		if (!files->count)
			options_fail("process %d has no probes of lull: it does not use the library, "
				     "or uses one that was built without <sys/sdt.h>",
				     (int)pid);
		return;
	}
	path = find_program(order->run[0]);
	if (!path)
		options_bad("--run: cannot run '%s': %s", order->run[0], strerror(errno));
	/* A user who asks what there is to trace does not ask to run any of it. */
	trace_files_of_program(files, path, !order->list);
	if (!files->count)
		options_fail("'%s' is not linked with probes of lull; --object FILE names a library "
			     "that it loads later, or, if it is a script, the program that it starts",
			     path);
	free(path);
}
