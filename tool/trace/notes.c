/* SPDX-License-Identifier: MIT */
/*
 * Which probes an ELF file contains: its section .note.stapsdt has a note for each place. The file is not ours, so
 * nothing in it is trusted before it is checked.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/options.h"
#include "trace/trace.h"

#define PROVIDER "lull"
#define NOTE_TYPE 3u
#define NOTE_OWNER "stapsdt"
#define NOTES_LIMIT ((uint64_t)64 << 20) /* bytes; a million places */

const char *const trace_probe_name[TRACE_PROBES] = {
	[TRACE_SECTION_ENTER] = "section_enter",
	[TRACE_SECTION_EXIT] = "section_exit",
	[TRACE_GP_START] = "gp_start",
	[TRACE_GP_END] = "gp_end",
	[TRACE_BATCH_START] = "batch_start",
	[TRACE_BATCH_END] = "batch_end",
	[TRACE_SCAN_START] = "scan_start",
	[TRACE_SCAN_END] = "scan_end",
	[TRACE_MUTEX_WAIT_START] = "mutex_wait_start",
	[TRACE_MUTEX_WAIT_END] = "mutex_wait_end",
	[TRACE_WAIT_START] = "wait_start",
	[TRACE_WAIT_END] = "wait_end",
	[TRACE_STALL] = "stall",
};

struct image {
	int fd;
	uint64_t size;
	uint64_t notes_left; /* bytes that may still be read as notes */
};

static bool read_at(const struct image *image, void *to, size_t size, uint64_t at)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(image->fd, (char *)to + done, size - done, (off_t)(at + done));

		/* It may have become shorter since it was measured. */
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

/* @size bytes at @offset, to be freed; NULL where the file does not have them. */
static void *part(const struct image *image, uint64_t offset, uint64_t size)
{
	void *bytes;

	if (offset > image->size || size > image->size - offset)
		return NULL;
	bytes = options_alloc(1, size);
	if (read_at(image, bytes, size, offset))
		return bytes;
	free(bytes);
	return NULL;
}

/* A string that ends within what is left of [*at, end); steps over it. NULL: it does not. */
static const char *string(const char **at, const char *end)
{
	const char *text = *at, *zero = memchr(text, '\0', (size_t)(end - text));

	if (zero)
		*at = zero + 1;
	return zero ? text : NULL;
}

/* "8@%rdi -4@$3" are two. */
static unsigned count_words(const char *text)
{
	unsigned words = 0;

	for (; *text; text++)
		words += *text != ' ' && (text[1] == ' ' || !text[1]);
	return words;
}

/* Three addresses, then provider, name and arguments. */
static void read_probe(const char *at, const char *end, struct trace_notes *notes)
{
	const char *provider, *name, *args;
	unsigned i;

	if (end - at < (ptrdiff_t)(3 * sizeof(Elf64_Addr)))
		return;
	at += 3 * sizeof(Elf64_Addr);
	provider = string(&at, end);
	name = provider ? string(&at, end) : NULL;
	args = name ? string(&at, end) : NULL;
	if (!args || strcmp(provider, PROVIDER))
		return;
	for (i = 0; i < TRACE_PROBES; i++) {
		if (!strcmp(trace_probe_name[i], name)) {
			notes->places[i]++;
			notes->args[i] = count_words(args);
		}
	}
}

static size_t padded(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

static void read_notes(const char *at, const char *end, struct trace_notes *notes)
{
	while (end - at >= (ptrdiff_t)sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr head;
		size_t left, owner, body;

		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		left = (size_t)(end - at);
		owner = padded(head.n_namesz);
		body = padded(head.n_descsz);
		if (owner > left || body > left - owner)
			return;
		if (head.n_type == NOTE_TYPE && head.n_namesz == sizeof(NOTE_OWNER) &&
		    !memcmp(at, NOTE_OWNER, sizeof(NOTE_OWNER)))
			read_probe(at + owner, at + owner + head.n_descsz, notes);
		at += owner + body;
	}
}

/* Limit the bytes read: the sections of a sound file do not overlap, those of others may, thousands of times. */
static void read_section(struct image *image, const Elf64_Shdr *section, struct trace_notes *notes)
{
	char *body;

	if (section->sh_type != SHT_NOTE || section->sh_size > image->notes_left)
		return;
	image->notes_left -= section->sh_size;
	body = part(image, section->sh_offset, section->sh_size);
	if (body)
		read_notes(body, body + section->sh_size, notes);
	free(body);
}

static void read_sections(struct image *image, struct trace_notes *notes)
{
	Elf64_Shdr *section;
	Elf64_Ehdr elf;
	unsigned i;

	if (!read_at(image, &elf, sizeof(elf), 0) || memcmp(elf.e_ident, ELFMAG, SELFMAG) ||
	    elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_shentsize != sizeof(*section))
		return;
	section = part(image, elf.e_shoff, elf.e_shnum * sizeof(*section));
	for (i = 0; section && i < elf.e_shnum; i++)
		read_section(image, &section[i], notes);
	free(section);
}

bool trace_notes_read(const char *path, struct trace_notes *notes)
{
	struct image image = { .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
	struct stat st;
	unsigned i;

	memset(notes, 0, sizeof(*notes));
	if (image.fd < 0)
		return false;
	if (fstat(image.fd, &st) == 0 && S_ISREG(st.st_mode)) {
		image.size = (uint64_t)st.st_size;
		image.notes_left = image.size < NOTES_LIMIT ? image.size : NOTES_LIMIT;
		read_sections(&image, notes);
	}
	close(image.fd);
	for (i = 0; i < TRACE_PROBES; i++)
		if (notes->places[i])
			return true;
	return false;
}
