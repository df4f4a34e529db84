/* SPDX-License-Identifier: MIT */
/*
 * module.c - the modules of this process: which contain a copy of lull, and that this one stays.
 *
 * Each copy has a note in its file, which dl_iterate_phdr(3) finds whether or not the copy's symbols are visible.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "os.h"

#define NOTE_TYPE 1

struct note {
	ElfW(Nhdr) head;
	char name[8];
};
static const struct note own_note __attribute__((section(".note.lull"), used, aligned(4))) = {
	.head = { .n_namesz = sizeof(own_note.name), .n_descsz = 0, .n_type = NOTE_TYPE },
	.name = "lull",
};

/* Absent in programs without a dynamic linker, which cannot unload anything. */
extern __typeof__(dlsym) dlsym __attribute__((weak));

static size_t padded(size_t size, size_t align)
{
	return (size + align - 1) / align * align;
}

/* Is there lull's note in the @size bytes of notes at @at, each of which is padded to @align? */
static bool has_note(const char *at, size_t size, size_t align)
{
	while (size >= sizeof(struct note)) {
		const struct note *note = (const struct note *)(const void *)at;
		size_t next = padded(sizeof(note->head) + padded(note->head.n_namesz, 4), align) +
			      padded(note->head.n_descsz, align);

		if (note->head.n_namesz == sizeof(note->name) && note->head.n_type == NOTE_TYPE &&
		    memcmp(note->name, own_note.name, sizeof(note->name)) == 0)
			return true;
		if (next > size)
			return false;
		at += next;
		size -= next;
	}
	return false;
}

static int look_at_module(struct dl_phdr_info *info, size_t unused, void *arg)
{
	struct lull__copies *copies = arg;

	(void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_NOTE && copies->count < 2 &&
		    has_note((const char *)(info->dlpi_addr + part->p_vaddr), part->p_memsz, part->p_align == 8 ? 8 : 4)) {
			copies->in[copies->count++] = *info->dlpi_name ? info->dlpi_name : NULL;
			break;
		}
	}
	return 0;
}

void lull__find_copies(struct lull__copies *copies)
{
	copies->count = 0;
	dl_iterate_phdr(look_at_module, copies);
}

void lull__stay_loaded(const char *module)
{
	__typeof__(dlopen) *by_name;

	if (!module || !dlsym)
		return;
	/* Where a program without a dynamic linker refers to dlopen() itself, ld warns. */
	*(void **)&by_name = dlsym(RTLD_DEFAULT, "dlopen");
	if (by_name)
		by_name(module, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
