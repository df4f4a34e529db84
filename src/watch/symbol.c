/* SPDX-License-Identifier: MIT */
/*
 * symbol.c - an address in words: "function+0x1a", or "program+0x12f0".
 *
 * Not by dladdr(3), which takes the loader's lock. Stalls are reported with locks of the library held, and
 * a module's constructor or destructor, which runs under the loader's lock, may wait for one of those:
 *
 *	leader of a grace period		another thread
 *	a reader stalls: report it		dlopen: the loader's lock
 *	dladdr waits for the loader's lock	constructor: synchronize waits for the leader
 *
 * glibc (2.35 and later) finds a module without that lock; this file reads the table of symbols.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "symbol.h"

#ifdef DLFO_EH_SEGMENT_TYPE

struct symbols {
	const ElfW(Sym) *table;
	const char *names;
	const uint32_t *gnu_hash, *hash;
};

/* Return the address in @entry. If the loader has not relocated it, it is an offset. */
static const void *placed(const struct link_map *map, const ElfW(Dyn) *entry)
{
	ElfW(Addr) at = entry->d_un.d_ptr;

	return (const void *)(at < map->l_addr ? map->l_addr + at : at);
}

static void find_symbols(const struct link_map *map, struct symbols *found)
{
	memset(found, 0, sizeof(*found));
	for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_SYMTAB)
			found->table = placed(map, entry);
		else if (entry->d_tag == DT_STRTAB)
			found->names = placed(map, entry);
		else if (entry->d_tag == DT_GNU_HASH)
			found->gnu_hash = placed(map, entry);
		else if (entry->d_tag == DT_HASH)
			found->hash = placed(map, entry);
	}
}

/* Count the symbols. Their table does not say how long it is; the last chain of its hash table does. */
static uint32_t count_symbols(const struct symbols *symbols)
{
	const uint32_t *header = symbols->gnu_hash, *buckets, *chains;
	uint32_t last = 0;

	if (!header)
		return symbols->hash ? symbols->hash[1] : 0;
	buckets = header + 4 + header[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	chains = buckets + header[0];
	for (uint32_t i = 0; i < header[0]; i++)
		last = buckets[i] > last ? buckets[i] : last;
	if (last < header[1])
		return header[1];
	while (!(chains[last - header[1]] & 1))
		last++;
	return last + 1;
}

static const ElfW(Sym) *symbol_at(const struct symbols *symbols, ElfW(Addr) offset)
{
	uint32_t count = symbols->table && symbols->names ? count_symbols(symbols) : 0;

	for (uint32_t i = 0; i < count; i++) {
		const ElfW(Sym) *symbol = &symbols->table[i];

		if (symbol->st_shndx != SHN_UNDEF && (symbol->st_info & 0xf) == STT_FUNC &&
		    offset - symbol->st_value < symbol->st_size)
			return symbol;
	}
	return NULL;
}

void lull__symbol(const void *addr, char *buf, size_t size)
{
	struct dl_find_object object;
	const ElfW(Sym) *symbol;
	struct symbols symbols;
	const char *file;
	ElfW(Addr) offset;

	buf[0] = '\0';
	if (!addr)
		return;
	if (_dl_find_object((void *)(uintptr_t)addr, &object) != 0) {
		snprintf(buf, size, "%p", addr);
		return;
	}
	offset = (ElfW(Addr))addr - object.dlfo_link_map->l_addr;
	find_symbols(object.dlfo_link_map, &symbols);
	symbol = symbol_at(&symbols, offset);
	if (symbol) {
		snprintf(buf, size, "%s+0x%zx", symbols.names + symbol->st_name, (size_t)(offset - symbol->st_value));
		return;
	}
	file = strrchr(object.dlfo_link_map->l_name, '/');
	file = file ? file + 1 : object.dlfo_link_map->l_name;
	snprintf(buf, size, "%s+0x%zx", *file ? file : program_invocation_short_name, (size_t)offset);
}

#else

void lull__symbol(const void *addr, char *buf, size_t size)
{
	if (addr)
		snprintf(buf, size, "%p", addr);
	else
		buf[0] = '\0';
}

#endif
