/* SPDX-License-Identifier: MIT */
/* The keys that hash tables are filled with and asked for: lines of a file, or paths found here. */
#ifndef LULL_LAB_KEY_FILE_H
#define LULL_LAB_KEY_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "hash_scheme.h"

#define KEYS_LENGTH_LIMIT 65535 /* bytes; what the tables of all peers can take */
#define KEYS_FILE_LIMIT 1000000 /* how many keys are read unless told otherwise */
#define KEYS_PATHS_LIMIT 200000 /* how many paths are looked for */
#define KEYS_ROOT "/usr"

struct keys {
	/*
	 * The same keys, in the same order, in two copies of the text (see bench_hash_shape). The
	 * order is random, but the same for the same keys and seed.
	 */
	struct bench_hash_key *asked, *kept;
	size_t count;
	size_t duplicates, empty; /* lines that were left out */
	size_t bytes;		  /* of all texts */
	bool more;		  /* the limit was reached before the end */
	char *text[2];
};

/*
 * Read them from a file, one per line, without the line's end; any other byte may be part of a key.
 * At most
 * @limit of them. Bad input (options_bad): a file that cannot be read, has no keys, a line that is
 * too long.
 */
void keys_read_file(struct keys *keys, const char *path, size_t limit, uint64_t seed);
/* The paths below @root, as a program that serves files might be asked for. */
void keys_find_paths(struct keys *keys, const char *root, size_t limit, uint64_t seed);
void keys_free(struct keys *keys);

#endif
