/* SPDX-License-Identifier: MIT */
/* lull urcu: what an ELF file says. Each offset in it is checked, as the file may be anything. */
#include "urcu/urcu_program.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

int urcu_map(struct urcu_file *file, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *bytes;

	file->bytes = NULL;
	file->size = 0;
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return 0;
	}
	bytes = st.st_size ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	close(fd);
	if (bytes != MAP_FAILED) {
		file->bytes = bytes;
		file->size = (size_t)st.st_size;
	}
	return bytes != MAP_FAILED || !st.st_size;
}

void urcu_unmap(struct urcu_file *file)
{
	if (file->bytes)
		munmap((void *)(uintptr_t)file->bytes, file->size);
	file->bytes = NULL;
	file->size = 0;
}

/* @count things of @each bytes at @offset; NULL: they are not all in the file, or not aligned. */
static const void *part(const struct urcu_file *file, uint64_t offset, uint64_t count, size_t each)
{
	if (offset > file->size || (each && count > (file->size - offset) / each) || offset % (each < 8 ? 1 : 4))
		return NULL;
	return file->bytes + offset;
}

const ElfW(Ehdr) *urcu_elf(const struct urcu_file *file)
{
	const ElfW(Ehdr) *head = part(file, 0, 1, sizeof(*head));

	if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
	    head->e_machine != MACHINE || head->e_phentsize != sizeof(ElfW(Phdr)))
		return NULL;
	return head;
}

const char *urcu_segment(const struct urcu_file *file, ElfW(Word) type, size_t *size)
{
	const ElfW(Ehdr) *head = urcu_elf(file);
	const ElfW(Phdr) *segment = head ? part(file, head->e_phoff, head->e_phnum, sizeof(*segment)) : NULL;

	for (int i = 0; segment && i < head->e_phnum; i++) {
		if (segment[i].p_type != type)
			continue;
		*size = segment[i].p_filesz;
		return part(file, segment[i].p_offset, segment[i].p_filesz, 1);
	}
	return NULL;
}

static int is_one_of(const char *const *names, const char *strings, size_t size, size_t at)
{
	if (at >= size || !memchr(strings + at, '\0', size - at))
		return 0;
	for (; *names; names++)
		if (!strcmp(*names, strings + at))
			return 1;
	return 0;
}

size_t urcu_symbol_size(const struct urcu_file *file, const char *const *names)
{
	const ElfW(Ehdr) *head = urcu_elf(file);
	const ElfW(Shdr) *section = head && head->e_shentsize == sizeof(*section) ?
					    part(file, head->e_shoff, head->e_shnum, sizeof(*section)) : NULL;

	for (int i = 0; section && i < head->e_shnum; i++) {
		const ElfW(Shdr) *text = section[i].sh_link < head->e_shnum ? &section[section[i].sh_link] : NULL;
		uint64_t count = section[i].sh_size / sizeof(ElfW(Sym));
		const ElfW(Sym) *symbol = part(file, section[i].sh_offset, count, sizeof(*symbol));
		const char *strings = text ? part(file, text->sh_offset, text->sh_size, 1) : NULL;

		if (section[i].sh_type != SHT_DYNSYM || !symbol || !strings)
			continue;
		for (; count; count--, symbol++)
			if (symbol->st_shndx != SHN_UNDEF && is_one_of(names, strings, text->sh_size, symbol->st_name))
				return symbol->st_size;
	}
	return 0;
}
