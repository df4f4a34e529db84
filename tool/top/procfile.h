/* SPDX-License-Identifier: MIT */
/*
 * Files of /proc/PID, by a descriptor of that directory: it stays with the process, so that a
 * number which is used again is never taken for it.
 */
#ifndef LULL_TOOL_PROCFILE_H
#define LULL_TOOL_PROCFILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* NULL: errno says why. ESRCH and ENOENT: there is no such process, or thread, any more. */
FILE *proc_open(int dir, const char *name);
DIR *proc_list(int dir, const char *name);
/* The beginning of the file, without its last newline. NULL: it cannot be read, or is empty. */
const char *proc_read(int dir, const char *name, char *to, size_t size);
/* The state in stat: R, S, D, T, Z, ...; 0: it is gone; '?': we may not know. */
char proc_state(int dir, const char *name);
/* The same from the contents of stat. */
char proc_state_in(const char *stat);
/* The last number in the line of status that begins with this; 0: there is none. */
uint32_t proc_status(int dir, const char *name, const char *key);
/* Return whether the text occurs in the file. */
bool proc_has(int dir, const char *name, const char *text);

#endif
