/* SPDX-License-Identifier: MIT */
/* lull urcu: a program, and the liburcu that it would load. Nothing of the program is executed. */
#ifndef LULL_TOOL_URCU_PROGRAM_H
#define LULL_TOOL_URCU_PROGRAM_H

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>

/* A file in memory, to read. */
struct urcu_file {
	const unsigned char *bytes;
	size_t size;
};

/* Return whether the file at @path could be mapped; it may be empty. */
int urcu_map(struct urcu_file *file, const char *path);
void urcu_unmap(struct urcu_file *file);

/* The ELF header, if it is one for this machine; else NULL. */
const ElfW(Ehdr) *urcu_elf(const struct urcu_file *file);
/* Contents that the program header of @type describes, *@size bytes; NULL: there is none. */
const char *urcu_segment(const struct urcu_file *file, ElfW(Word) type, size_t *size);
/* The size of the first of @names (the last one is NULL) that @file exports; 0: it exports none of them. */
size_t urcu_symbol_size(const struct urcu_file *file, const char *const *names);

/*
 * Find @command as execvp(3) does and store its path. Then, where it is a script, store in @loads the program that the
 * kernel would run, else the same path. Ends with one line where nothing could be preloaded.
 */
void urcu_find_program(const char *command, char path[PATH_MAX], char loads[PATH_MAX]);

/* Which build suits the liburcu that the program @loads would load: 13 or 14. *@file is to be freed. Ends with one line
 * if there is none. */
int urcu_build_for(const char *command, const char *loads, char **file);

#endif
