/* SPDX-License-Identifier: MIT */
/*
 * fuzz_keys.c - key files (lab/instruments/hash/key_file.h) against a plain way to read them. The input is the limit, the seed, and
 * the end of the file; before that the file has as many short lines, or as long a line, as no input would have.
 */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_exit.h"
#include "instruments/hash/key_file.h"

#define FILE_MAX  (1u << 18)
#define LINES_MAX 4096u /* and so many bytes of input are used */
#define NUMBERED  1500u /* lines; more than the table of keys has room for at first */

struct line {
	const char *text;
	size_t length;
};

struct model {
	struct line line[LINES_MAX];
	size_t count, duplicates, empty, bytes;
	bool more, bad;
};

struct reading {
	struct keys keys;
	char path[64];
	size_t limit;
	uint64_t seed;
};

static bool same(const struct line *line, const char *text, size_t length)
{
	return line->length == length && !memcmp(line->text, text, length);
}

/* Find the line in the model; m->count: it is not there. */
static size_t model_find(const struct model *m, const char *text, size_t length)
{
	size_t i = 0;

	while (i < m->count && !same(&m->line[i], text, length))
		i++;
	return i;
}

/* Returns false when that was the end of it. */
static bool model_take(struct model *m, const char *text, size_t length, size_t limit)
{
	if (length > KEYS_LENGTH_LIMIT) {
		m->bad = true;
		return false;
	}
	if (!length) {
		m->empty++;
	} else if (model_find(m, text, length) < m->count) {
		m->duplicates++;
	} else if (m->count == limit) {
		m->more = true;
		return false;
	} else {
		m->line[m->count++] = (struct line){ text, length };
		m->bytes += length;
	}
	return true;
}

static void model_read(struct model *m, const char *text, size_t size, size_t limit)
{
	const char *end = text + size;

	memset(m, 0, sizeof(*m));
	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		if (!model_take(m, text, (size_t)((stop ? stop : end) - text), limit))
			break;
		text = stop ? stop + 1 : end;
	}
	m->bad |= !m->count;
}

static void read_keys(void *arg)
{
	struct reading *r = arg;

	keys_read_file(&r->keys, r->path, r->limit, r->seed);
}

static void compare(const struct keys *keys, const struct model *m)
{
	static bool met[LINES_MAX];

	memset(met, 0, sizeof(met));
	fuzz_must(keys->count == m->count && keys->duplicates == m->duplicates);
	fuzz_must(keys->empty == m->empty && keys->bytes == m->bytes && keys->more == m->more);
	for (size_t i = 0; i < keys->count; i++) {
		const struct bench_hash_key *asked = &keys->asked[i], *kept = &keys->kept[i];
		size_t at = model_find(m, asked->text, asked->length);

		fuzz_must(at < m->count && !met[at]);
		met[at] = true;
		fuzz_must(asked->text != kept->text && same(&m->line[at], kept->text, kept->length));
		fuzz_must(asked->hash == kept->hash &&
			  asked->hash == bench_hash_text(asked->text, asked->length));
	}
}

/* The same file and seed once more: the same order. */
static void read_again(struct reading *r)
{
	struct reading again = *r;
	struct fuzz_text text;

	fuzz_must(fuzz_run(read_keys, &again, &text) == FUZZ_RETURNED);
	for (size_t i = 0; i < r->keys.count; i++) {
		const struct line line = { r->keys.asked[i].text, r->keys.asked[i].length };

		fuzz_must(same(&line, again.keys.asked[i].text, again.keys.asked[i].length));
	}
	keys_free(&again.keys);
}

static size_t numbered_lines(char *file)
{
	size_t size = 0;

	for (unsigned i = 0; i < NUMBERED; i++)
		size += (size_t)sprintf(file + size, "%u\n", i);
	return size;
}

/* Fills the file; returns its size. */
static size_t make_file(int fd, char *file, struct fuzz_input *input)
{
	unsigned first = fuzz_byte(input);
	size_t pad = 0;

	if (input->left > LINES_MAX - NUMBERED - 2)
		input->left = LINES_MAX - NUMBERED - 2;
	if (first == 8)
		pad = numbered_lines(file);
	else if (first < 8)
		memset(file, 'x', pad = KEYS_LENGTH_LIMIT - 4 + first);
	memcpy(file + pad, input->at, input->left);
	fuzz_must(ftruncate(fd, 0) == 0);
	fuzz_must(pwrite(fd, file, pad + input->left, 0) == (ssize_t)(pad + input->left));
	return pad + input->left;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char file[FILE_MAX];
	static struct model model;
	struct fuzz_input input = { data, size };
	struct reading r = { .limit = 1 + 8 * fuzz_byte(&input), .seed = fuzz_byte(&input) };
	struct fuzz_text text;
	int status;

	if (fd < 0)
		fd = memfd_create("keys", MFD_CLOEXEC);
	fuzz_must(fd >= 0);
	snprintf(r.path, sizeof(r.path), "/proc/self/fd/%d", fd);
	size = make_file(fd, file, &input);
	model_read(&model, file, size, r.limit);
	status = fuzz_run(read_keys, &r, &text);
	if (model.bad) {
		fuzz_must_complain(status, &text);
		return 0;
	}
	fuzz_must(status == FUZZ_RETURNED && !text.out[0] && !text.err[0]);
	compare(&r.keys, &model);
	read_again(&r);
	keys_free(&r.keys);
	return 0;
}
