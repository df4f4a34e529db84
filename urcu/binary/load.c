/* SPDX-License-Identifier: MIT */
/*
 * load.c - when the library is loaded, when it is first used, and when it finds that modules have been loaded since: is it
 * the build for this process's liburcu? And does any module use that liburcu itself?
 *
 * Nothing else happens when it is loaded: no thread, no file, no fence. A process that has not loaded liburcu, as most
 * children of one that has, does not notice. (liburcu-memb has a constructor, which is a first use.)
 *
 * A forked child does not look, unless its parent had one thread: another one may have been in dl_iterate_phdr(3), whose
 * lock is then held for ever.
 */
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if __has_include(<sys/single_threaded.h>) /* from glibc 2.32 on */
#include <sys/single_threaded.h>
#else
#define __libc_single_threaded false
#endif

#include "../../src/base/message.h"
#include "domain.h"

static pid_t looker; /* the process that may look: the one that loaded this, or a child of one that may, and had one thread */
static bool may_look, forks_alone;

/* ---- what a module exports, and what it is bound to ---------------------------------------------------- */

/*
 * The dynamic linker is not asked: dlsym() waits for a thread that loads a plugin, and that may be a thread that waits
 * in the plugin's constructor for this first use to end.
 */
struct module {
	const ElfW(Sym) *symbols;
	const char *strings;
	const uint32_t *hashes; /* NULL: none of the kind that all of today's linkers make */
	const ElfW(Rela) *bound[2]; /* the places that the dynamic linker fills in, and those for functions */
	size_t bytes[2];
	bool needs_liburcu;
	uintptr_t base, from, to; /* where it lies */
};

static void read_entry(struct module *m, const ElfW(Dyn) *entry)
{
	/* The kernel's module has offsets, where the linker has put addresses into the others. */
	ElfW(Addr) at = entry->d_un.d_ptr < m->base ? entry->d_un.d_ptr + m->base : entry->d_un.d_ptr;

	switch (entry->d_tag) {
	case DT_SYMTAB:
		m->symbols = (const ElfW(Sym) *)at;
		break;
	case DT_STRTAB:
		m->strings = (const char *)at;
		break;
	case DT_GNU_HASH:
		m->hashes = (const uint32_t *)at;
		break;
	case DT_RELA:
	case DT_JMPREL:
		m->bound[entry->d_tag == DT_JMPREL] = (const ElfW(Rela) *)at;
		break;
	case DT_RELASZ:
	case DT_PLTRELSZ:
		m->bytes[entry->d_tag == DT_PLTRELSZ] = entry->d_un.d_val;
		break;
	}
}

static struct module read_module(const struct dl_phdr_info *info)
{
	struct module m = { .base = info->dlpi_addr, .from = UINTPTR_MAX };
	const ElfW(Dyn) *first = NULL, *entry;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t at = m.base + part->p_vaddr;

		if (part->p_type == PT_DYNAMIC)
			first = (const ElfW(Dyn) *)at;
		if (part->p_type == PT_LOAD && at < m.from)
			m.from = at;
		if (part->p_type == PT_LOAD && at + part->p_memsz > m.to)
			m.to = at + part->p_memsz;
	}
	for (entry = first; entry && entry->d_tag != DT_NULL; entry++)
		read_entry(&m, entry);
	for (entry = first; m.strings && entry && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_NEEDED && !strncmp(m.strings + entry->d_un.d_val, "liburcu", 7))
			m.needs_liburcu = true;
	return m;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* Return what @m exports as @name, or NULL. */
static const ElfW(Sym) *exported(const struct module *m, const char *name)
{
	uint32_t hash = hash_of(name), count, first, at;
	const uint32_t *buckets, *chains;

	if (!m->symbols || !m->strings || !m->hashes)
		return NULL;
	count = m->hashes[0];
	first = m->hashes[1];
	buckets = m->hashes + 4 + m->hashes[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	chains = buckets + count;
	at = count ? buckets[hash % count] : 0;
	if (at < first || !at)
		return NULL;
	do {
		if ((chains[at - first] | 1) == (hash | 1) && !strcmp(m->strings + m->symbols[at].st_name, name))
			return &m->symbols[at];
	} while (!(chains[at++ - first] & 1));
	return NULL;
}

/* Is a name of @ours in @m bound to what lies in @in? A function may not be bound before its first call. */
static bool is_bound_to(const struct module *m, const struct module *in, const struct module *ours)
{
	for (int i = 0; i < 2; i++)
		for (size_t n = 0; m->bound[i] && n < m->bytes[i] / sizeof(*m->bound[i]); n++) {
			const ElfW(Rela) *one = &m->bound[i][n];
			size_t symbol = one->r_info >> (sizeof(ElfW(Addr)) == 8 ? 32 : 8);
			const char *name = symbol ? m->strings + m->symbols[symbol].st_name : "";
			uintptr_t to;

			if (strncmp(name, "urcu_", 5) != 0 || !exported(ours, name))
				continue;
			memcpy(&to, (const void *)(m->base + one->r_offset), sizeof(to));
			if (to >= in->from && to < in->to)
				return true;
		}
	return false;
}

/* Whether @m is a liburcu: the size of the flavor structure that it exports; 0: it is none. */
static size_t flavor_size(const struct module *m)
{
	static const char *const names[] = { "urcu_memb_flavor", "urcu_bp_flavor", "urcu_mb_flavor", "urcu_qsbr_flavor",
					     "urcu_signal_flavor" };
	const ElfW(Sym) *flavor = NULL;

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names) && !flavor; i++)
		flavor = exported(m, names[i]);
	return flavor ? flavor->st_size : 0;
}

/* ---- the build ----------------------------------------------------------------------------------------- */

/* Is there a flavor structure of another size than ours? The program itself may have a copy that is as old as it is. */
static int look_at_flavor(struct dl_phdr_info *info, size_t unused, void *arg)
{
	const char **other = arg;
	struct module m = read_module(info);
	size_t size = *info->dlpi_name ? flavor_size(&m) : 0;

	(void)unused;
	if (size && size != sizeof(struct rcu_flavor_struct))
		*other = info->dlpi_name;
	return *other != NULL;
}

static void check_build(void)
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

static void before_fork(void)
{
	forks_alone = __libc_single_threaded && may_look;
}

static void after_fork_child(void)
{
	may_look = forks_alone;
	if (may_look)
		looker = getpid();
}

/* A child in which no handler ran is noticed later. */
void lull__urcu_look_no_more(void)
{
	if (getpid() != looker)
		may_look = false;
}

__attribute__((constructor)) static void check_at_load(void)
{
	looker = getpid();
	may_look = true;
	pthread_atfork(before_fork, NULL, after_fork_child); /* without memory for it children do not look */
	check_build();
}

/* ---- liburcu beside this library --------------------------------------------------------------------------- */

/*
 * All modules are bound to this library, because it is loaded first. But one that is opened with RTLD_DEEPBIND is bound to
 * the libraries that it needs: to liburcu. If liburcu was there before, it is bound to this library, and so writes
 * the words here, by rules of its own.
 */
#define LIBURCUS 8
#define LOOK_WELL_ONE_IN 64 /* at least */

struct beside {
	struct module ours, liburcu[LIBURCUS];
	char names[LIBURCUS][200]; /* a module may go meanwhile */
	unsigned count;
	char user[200];
	int used; /* the one that @user is bound to; < 0: none is */
	bool mixed; /* ... and that is bound to this library */
};

static int find_liburcu(struct dl_phdr_info *info, size_t unused, void *arg)
{
	struct beside *b = arg;
	struct module m = read_module(info);

	(void)unused;
	if ((uintptr_t)&may_look >= m.from && (uintptr_t)&may_look < m.to) {
		b->ours = m;
	} else if (b->count < LIBURCUS && *info->dlpi_name && flavor_size(&m)) {
		snprintf(b->names[b->count], sizeof(*b->names), "%s", info->dlpi_name);
		b->liburcu[b->count++] = m;
	}
	return 0;
}

static int find_user(struct dl_phdr_info *info, size_t unused, void *arg)
{
	struct beside *b = arg;
	struct module m = read_module(info);

	(void)unused;
	for (unsigned i = 0; m.needs_liburcu && m.symbols && m.strings && i < b->count; i++) {
		if (!is_bound_to(&m, &b->liburcu[i], &b->ours))
			continue;
		snprintf(b->user, sizeof(b->user), "%s", *info->dlpi_name ? info->dlpi_name : "the program");
		b->used = (int)i;
	}
	return b->used >= 0;
}

/* Look again at @b->liburcu[@b->used], which may have gone meanwhile. */
static int find_mixed(struct dl_phdr_info *info, size_t unused, void *arg)
{
	struct beside *b = arg;
	struct module m = read_module(info);

	(void)unused;
	if (m.from != b->liburcu[b->used].from || !m.symbols || !m.strings)
		return 0;
	b->mixed = is_bound_to(&m, &b->ours, &b->ours);
	return 1;
}

static void find_beside(void)
{
	static uint32_t told;
	struct beside b = { .used = -1 };

	dl_iterate_phdr(find_liburcu, &b);
	if (b.count)
		dl_iterate_phdr(find_user, &b);
	if (b.used < 0)
		return;
	dl_iterate_phdr(find_mixed, &b);
	if (b.mixed)
		lull__die("%s uses %s itself, as RTLD_DEEPBIND lets it, and not what stands in for that; both write the "
			  "same words: it cannot be run like this", b.user, b.names[b.used]);
	if (!lull_xchg_relaxed(&told, 1u))
		lull__say("%s uses %s itself, as RTLD_DEEPBIND lets it, and not what stands in for that: neither waits for "
			  "the other's readers", b.user, b.names[b.used]);
}

static int count_loads(struct dl_phdr_info *info, size_t size, void *arg)
{
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs))
		*(uint64_t *)arg = info->dlpi_adds;
	return 1;
}

/* Functions may be bound when they are first called. So after each new module it looks again, and ever more rarely. */
void lull__urcu_look_beside(void)
{
	static uint64_t known_loads;
	static uint32_t looks;
	uint64_t loads = 0;
	uint32_t look;

	lull__urcu_init();
	if (!may_look)
		return;
	dl_iterate_phdr(count_loads, &loads);
	if (lull_xchg_relaxed(&known_loads, loads) != loads) {
		lull_store_relaxed(&looks, 0u);
		check_build();
	}
	look = lull_add_relaxed(&looks, 1u) + 1;
	if (!(look & (look - 1)) || look % LOOK_WELL_ONE_IN == 0)
		find_beside();
}

/* ---- the first use --------------------------------------------------------------------------------------- */

/*
 * src/os/module.c is left out: this copy of lull does not count as one; see domain.h. But a plugin may have loaded
 * liburcu since this library was.
 */
void lull__find_copies(const char *copy_in[2])
{
	copy_in[0] = copy_in[1] = NULL;
	lull__urcu_look_no_more();
	if (may_look)
		check_build();
}

void lull__stay_loaded(const char *module)
{
	(void)module; /* a library that was preloaded stays */
}
