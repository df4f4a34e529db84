/* SPDX-License-Identifier: MIT */
/*
 * A file of results: it is opened before the run, so that a path that cannot be written costs no
 * measurement, written beside its final name, and renamed when it is complete. Whatever ends the
 * program before that leaves nothing behind, and the old file as it was.
 */
#ifndef LULL_TOOL_OUTFILE_H
#define LULL_TOOL_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

struct outfile;

/* Return whether @path means standard output: "-". */
bool outfile_is_stdout(const char *path);
/*
 * option is what the path was given to, for the complaint. Unwritable: exit 2. Standard output is for the results alone
 * then: what is printed goes nowhere.
 */
struct outfile *outfile_open(const char *option, const char *path);
FILE *outfile_stream(struct outfile *out);
const char *outfile_path(const struct outfile *out);
/*
 * Writes, syncs, renames. Returns 0, or the errno of what failed, a write before this call included.
 * Frees nothing but the temporary file.
 */
int outfile_finish(struct outfile *out);
void outfile_free(struct outfile *out);

#endif
