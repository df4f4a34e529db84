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

#ifdef __clang__ /* its AddressSanitizer would put a guard zone behind the note, and then finds the search in there */
#define NO_GUARD_ZONE __attribute__((no_sanitize("address")))
#else
#define NO_GUARD_ZONE
#endif

static const struct {
	ElfW(Nhdr) head;
	char name[8];
} note __attribute__((section(".note.lull"), used, aligned(4))) NO_GUARD_ZONE = { { sizeof(note.name), 0, 1 }, "lull" };

/* Absent in programs without a dynamic linker, which cannot unload anything. */
extern __typeof__(dlsym) dlsym __attribute__((weak));

static const char program[] = "the program";

static int look_at_module(struct dl_phdr_info *info, size_t unused, void *arg)
{
	const char **copy_in = arg;

	(void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_NOTE &&
		    memmem((const void *)(info->dlpi_addr + part->p_vaddr), part->p_memsz, &note, sizeof(note))) {
			copy_in[copy_in[0] != NULL] = *info->dlpi_name ? info->dlpi_name : program;
			return copy_in[1] != NULL;
		}
	}
	return 0;
}

void lull__find_copies(const char *copy_in[2])
{
	copy_in[0] = copy_in[1] = NULL;
	dl_iterate_phdr(look_at_module, copy_in);
}

void lull__stay_loaded(const char *module)
{
	__typeof__(dlopen) *by_name;

	if (!module || module == program || !dlsym)
		return;
	/* Where a program without a dynamic linker refers to dlopen() itself, ld warns. */
	*(void **)&by_name = dlsym(RTLD_DEFAULT, "dlopen");
	if (by_name)
		by_name(module, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
