/* SPDX-License-Identifier: MIT */
/*
 * shared_file.h - memory that other processes can read but not change.
 */
#ifndef LULL_SHARED_FILE_H
#define LULL_SHARED_FILE_H

#include <stddef.h>
#include <stdint.h>

struct lull__shared_file {
	int fd;
	uint64_t device, inode;
};

/* Signals are blocked. */
void *lull__shared_file_make(struct lull__shared_file *file, const char *name, size_t size); /* NULL: none */
/* Forget @file. At @at is private memory from now on, with zeros. */
void lull__shared_file_drop(struct lull__shared_file *file, void *at, size_t size);

#endif /* LULL_SHARED_FILE_H */
