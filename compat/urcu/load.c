/* SPDX-License-Identifier: MIT */
/*
 * load.c - when the library is loaded, and when it is first used: is it the build for this process's liburcu?
 *
 * Nothing else happens when it is loaded: no thread, no file, no fence. A process that has not loaded liburcu, as most
 * children of one that has, does not notice. (liburcu-memb has a constructor, which is a first use.)
 */
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../src/os/os.h"
#include "urcu_abi.h"

/* ---- what a module exports --------------------------------------------------------------------------- */

/*
 * The dynamic linker is not asked: dlsym() waits for whoever loads a plugin, and that may be a thread that waits in
 * the plugin's constructor for this first use to end.
 */
struct module {
	const ElfW(Sym) *symbols;
	const char *strings;
	const uint32_t *hashes; /* NULL: none of the kind that all of today's linkers make */
};

static struct module read_module(const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *entry = NULL;
	struct module m = { NULL, NULL, NULL };

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		/* The kernel's module has offsets, where the linker has put addresses into the others. */
		ElfW(Addr) at = entry->d_un.d_ptr < info->dlpi_addr ? entry->d_un.d_ptr + info->dlpi_addr : entry->d_un.d_ptr;

		if (entry->d_tag == DT_SYMTAB)
			m.symbols = (const ElfW(Sym) *)at;
		else if (entry->d_tag == DT_STRTAB)
			m.strings = (const char *)at;
		else if (entry->d_tag == DT_GNU_HASH)
			m.hashes = (const uint32_t *)at;
	}
	return m;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* The size of @name in @m, where it is exported; else 0. */
static size_t exported_size(const struct module *m, const char *name)
{
	uint32_t hash = hash_of(name), count = m->hashes[0], first = m->hashes[1], at;
	const uint32_t *buckets = m->hashes + 4 + m->hashes[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chains = buckets + count;

	at = count ? buckets[hash % count] : 0;
	if (at < first || !at)
		return 0;
	do {
		if ((chains[at - first] | 1) == (hash | 1) && !strcmp(m->strings + m->symbols[at].st_name, name))
			return m->symbols[at].st_size;
	} while (!(chains[at++ - first] & 1));
	return 0;
}

/* ---- the build ----------------------------------------------------------------------------------------- */

/* Is there a flavor structure of another size than ours? The program itself may have a copy that is as old as it is. */
static int look_at_flavor(struct dl_phdr_info *info, size_t unused, void *arg)
{
	static const char *const names[] = { "urcu_memb_flavor", "urcu_bp_flavor", "urcu_mb_flavor", "urcu_qsbr_flavor" };
	struct module m = read_module(info);
	const char **other = arg;

	(void)unused;
	if (!*info->dlpi_name || !m.symbols || !m.strings || !m.hashes)
		return 0;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t size = exported_size(&m, names[i]);

		if (size && size != sizeof(struct rcu_flavor_struct))
			*other = info->dlpi_name;
	}
	return *other != NULL;
}

__attribute__((constructor)) static void check_build(void)
{
	const char *other = NULL;
	char line[512];
	int len;

	dl_iterate_phdr(look_at_flavor, &other);
	if (!other)
		return;
	len = snprintf(line, sizeof(line), "lull: %.300s is of another version of liburcu than this library (liblull-urcu-%d.so); "
		       "start the program by: lull urcu\n", other, LULL_URCU_VERSION);
	lull__write(STDERR_FILENO, line, (size_t)len, false);
	_exit(127);
}

/* ---- the first use --------------------------------------------------------------------------------------- */

/*
 * src/os/module.c is left out: this copy of lull does not count as one; see domain.h. But a plugin may have loaded
 * liburcu since this library was.
 */
void lull__find_copies(const char *copy_in[2])
{
	copy_in[0] = copy_in[1] = NULL;
	check_build();
}

void lull__stay_loaded(const char *module)
{
	(void)module; /* a library that was preloaded stays */
}
