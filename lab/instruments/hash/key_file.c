/* SPDX-License-Identifier: MIT */
/* Reading keys; see key_file.h. */
#include "instruments/hash/key_file.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/options.h"
#include "common/progress.h"

/* ---- a set of texts -------------------------------------------------------------------------- */

/* Keys while they come in: texts one behind the other, and a table that knows those that are there.
 */
struct collection {
	char *text;
	size_t bytes, room;
	struct item {
		size_t at, length;
		uint64_t hash;
	} * item;
	size_t count, items_room, limit;
	size_t *slot; /* index + 1; a power of two of them, at most half of them used */
	size_t slots;
	size_t duplicates, empty;
	bool more;
};

static void *grow(void *p, size_t *room, size_t needed, size_t size)
{
	if (needed <= *room)
		return p;
	*room = needed + needed / 2 + 64;
	p = realloc(p, *room * size);
	if (!p)
		options_fail("out of memory");
	return p;
}

static size_t *find_slot(const struct collection *c, const char *text, size_t length, uint64_t hash)
{
	size_t at = hash & (c->slots - 1);

	for (; c->slot[at]; at = (at + 1) & (c->slots - 1)) {
		const struct item *item = &c->item[c->slot[at] - 1];

		if (item->hash == hash && item->length == length &&
		    !memcmp(c->text + item->at, text, length))
			break;
	}
	return &c->slot[at];
}

static void rehash(struct collection *c)
{
	size_t i;

	if (c->slots && c->count * 2 < c->slots)
		return;
	c->slots = c->slots ? c->slots * 2 : 1024;
	free(c->slot);
	c->slot = options_alloc(c->slots, sizeof(*c->slot));
	for (i = 0; i < c->count; i++) {
		size_t at = c->item[i].hash & (c->slots - 1);

		while (c->slot[at])
			at = (at + 1) & (c->slots - 1);
		c->slot[at] = i + 1;
	}
}

/* Returns false when no more are wanted. */
static bool collect(struct collection *c, const char *text, size_t length)
{
	uint64_t hash = bench_hash_text(text, length);
	size_t *slot;

	if (!length) {
		c->empty++;
		return true;
	}
	rehash(c);
	slot = find_slot(c, text, length, hash);
	if (*slot) {
		c->duplicates++;
		return true;
	}
	if (c->count == c->limit) {
		c->more = true;
		return false;
	}
	c->text = grow(c->text, &c->room, c->bytes + length, 1);
	c->item = grow(c->item, &c->items_room, c->count + 1, sizeof(*c->item));
	memcpy(c->text + c->bytes, text, length);
	c->item[c->count++] = (struct item){ c->bytes, length, hash };
	*slot = c->count;
	c->bytes += length;
	return true;
}

static void shuffle(struct collection *c, uint64_t seed)
{
	uint64_t state = seed * 0x9e3779b97f4a7c15u | 1;
	size_t i;

	for (i = c->count; i > 1; i--) {
		size_t j = (size_t)(bench_random(&state) % i);
		struct item item = c->item[j];

		c->item[j] = c->item[i - 1];
		c->item[i - 1] = item;
	}
}

static struct bench_hash_key *copy_keys(const struct collection *c, char **text)
{
	struct bench_hash_key *key = options_alloc(c->count, sizeof(*key));
	size_t i, at = 0;

	*text = options_alloc(c->bytes + KEYS_LENGTH_LIMIT, 1);
	for (i = 0; i < c->count; i++) {
		key[i] = (struct bench_hash_key){ *text + at, c->item[i].hash, c->item[i].length };
		memcpy(*text + at, c->text + c->item[i].at, c->item[i].length);
		at += c->item[i].length;
	}
	return key;
}

static void finish(struct keys *keys, struct collection *c, uint64_t seed)
{
	shuffle(c, seed);
	*keys = (struct keys){
		.count = c->count,
		.duplicates = c->duplicates,
		.empty = c->empty,
		.bytes = c->bytes,
		.more = c->more,
	};
	keys->asked = copy_keys(c, &keys->text[0]);
	keys->kept = copy_keys(c, &keys->text[1]);
	free(c->text);
	free(c->item);
	free(c->slot);
}

void keys_free(struct keys *keys)
{
	free(keys->asked);
	free(keys->kept);
	free(keys->text[0]);
	free(keys->text[1]);
	memset(keys, 0, sizeof(*keys));
}

/* ---- lines of a file ------------------------------------------------------------------------- */

static FILE *open_keys(const char *path)
{
	FILE *file = fopen(path, "re");
	struct stat st;

	if (!file || fstat(fileno(file), &st) != 0)
		options_bad("--keys: cannot read '%s': %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		options_bad("--keys: cannot read '%s': it is a directory; give a file with one key per "
			    "line",
			    path);
	return file;
}

/* Reads up to the line's end, which is not stored. Returns false at the end of the file. */
static bool read_line(FILE *file, const char *path, size_t number, char *line, size_t *length)
{
	size_t n = 0;
	int c;

	while ((c = getc_unlocked(file)) != EOF && c != '\n') {
		if (n == KEYS_LENGTH_LIMIT)
			options_bad("--keys: '%s' line %zu is too long: a key has at most %d bytes",
				    path, number, KEYS_LENGTH_LIMIT);
		line[n++] = (char)c;
	}
	*length = n;
	return c != EOF || n;
}

void keys_read_file(struct keys *keys, const char *path, size_t limit, uint64_t seed)
{
	struct collection c = { .limit = limit };
	char *line = options_alloc(KEYS_LENGTH_LIMIT, 1);
	FILE *file = open_keys(path);
	size_t number = 1, length;

	while (read_line(file, path, number, line, &length) && collect(&c, line, length))
		number++;
	if (ferror(file))
		options_bad("--keys: cannot read '%s': %s", path, strerror(errno));
	if (!c.count)
		options_bad("--keys: '%s' has no keys%s", path,
			    c.empty ? ": all its lines are empty" : ": it is empty");
	fclose(file);
	free(line);
	finish(keys, &c, seed);
}

/* ---- paths ----------------------------------------------------------------------------------- */

static struct collection *walked; /* nftw() hands nothing through */

static int walk(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	size_t length = strlen(path);

	(void)st;
	(void)type;
	(void)ftw;
	return length > KEYS_LENGTH_LIMIT || collect(walked, path, length) ? 0 : 1;
}

void keys_find_paths(struct keys *keys, const char *root, size_t limit, uint64_t seed)
{
	struct collection c = { .limit = limit };

	bench_progress("looking for paths under %s", root);
	walked = &c;
	/* Leave out what cannot be read; the caller deals with too few paths. */
	nftw(root, walk, 32, FTW_PHYS);
	walked = NULL;
	bench_progress_clear();
	if (!c.count)
		options_bad("no paths under %s can be used as keys; name a file with --keys",
			    root);
	finish(keys, &c, seed);
}
