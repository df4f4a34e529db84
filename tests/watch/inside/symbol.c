/* SPDX-License-Identifier: MIT */
/*
 * symbol.c - src/watch/symbol.c: names of addresses, over tables of symbols made up for each case and in the C library.
 */
#include "test.h"

#include <dlfcn.h>
#include <errno.h>

#define lull__symbol words_of
#include "../src/watch/symbol.c"

#ifdef DLFO_EH_SEGMENT_TYPE

/* ---- tables ------------------------------------------------------------------------------------ */

#define BASE 0x100000

static const ElfW(Sym) table[] = {
	{ 0 },
	{ .st_name = 1, .st_info = STT_FUNC, .st_shndx = 5, .st_value = 0x100, .st_size = 0x10 },   /* "one" */
	{ .st_name = 5, .st_info = STT_FUNC, .st_shndx = SHN_UNDEF, .st_value = 0x200, .st_size = 0x10 }, /* "two" */
	{ .st_name = 9, .st_info = STT_OBJECT, .st_shndx = 5, .st_value = 0x300, .st_size = 0x10 }, /* "three" */
	{ .st_name = 15, .st_info = (1 << 4) | STT_FUNC, .st_shndx = 5, .st_value = 0x400, .st_size = 1 }, /* "four" */
	{ .st_name = 20, .st_info = STT_FUNC, .st_shndx = 5, .st_value = 0x500, .st_size = 0x10 },  /* "five" */
};

#define NAMES "\0one\0two\0three\0four\0five"
#define COUNT (sizeof(table) / sizeof(table[0]))

/* Two buckets, symbols from number 1 on, a filter of one word; bucket 0 has number 1 and 2, bucket 1 those from 3 on. */
static const uint32_t gnu_hash[] = {
	2, 1, 1, 6, 0, 0, 1, 3, 0x10, 0x11, 0x20, 0x30, 0x41,
};
/* No symbol but those that are not defined here. */
static const uint32_t gnu_hash_of_none[] = { 1, 4, 1, 6, 0, 0, 0 };
/* The last bucket is no later than the first. */
static const uint32_t gnu_hash_backwards[] = { 2, 1, 1, 6, 0, 0, 3, 1, 0x10, 0x11, 0x20, 0x30, 0x41 };
static const uint32_t hash[] = { 1, COUNT, 1 };

TEST(count)
{
	const struct {
		const uint32_t *gnu_hash, *hash;
		size_t count;
	} cases[] = {
		{ gnu_hash, NULL, COUNT }, { gnu_hash_backwards, NULL, COUNT }, { gnu_hash_of_none, NULL, 4 },
		{ NULL, NULL, 0 },	   { NULL, hash, COUNT },
	};

	if (sizeof(ElfW(Addr)) != 2 * sizeof(uint32_t))
		SKIP("these tables are for addresses of 64 bits");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct symbols symbols = { table, NAMES, cases[i].gnu_hash, cases[i].hash };

		assert_int_equal(count_symbols(&symbols), cases[i].count);
	}
}

/* Defined functions alone, from the first byte to the last. */
TEST(at)
{
	static const struct {
		ElfW(Addr) at;
		int number; /* 0: none */
	} cases[] = { { 0xff, 0 },  { 0x100, 1 }, { 0x10f, 1 }, { 0x110, 0 }, { 0x208, 0 },
		      { 0x308, 0 }, { 0x400, 4 }, { 0x401, 0 }, { 0x50f, 5 } };
	struct symbols symbols = { table, NAMES, NULL, hash };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_ptr_equal(symbol_at(&symbols, cases[i].at), cases[i].number ? &table[cases[i].number] : NULL);
	symbols.names = NULL;
	assert_null(symbol_at(&symbols, 0x100));
	symbols.names = NAMES;
	symbols.table = NULL;
	assert_null(symbol_at(&symbols, 0x100));
}

/* The loader has relocated some entries, and others not (in the kernel's module). Unwanted entries are left alone. */
TEST(find)
{
	ElfW(Dyn) dynamic[] = {
		{ DT_NEEDED, { 1 } },		 { DT_HASH, { 0x4000 } },	     { DT_STRTAB, { BASE + 0x2000 } },
		{ DT_STRSZ, { 99 } },		 { DT_SYMTAB, { 0x3000 } },	     { DT_GNU_HASH, { BASE + 0x1000 } },
		{ DT_SYMENT, { sizeof(table[0]) } }, { DT_NULL, { 0 } },	     { DT_STRTAB, { 1 } },
	};
	struct link_map map = { .l_addr = BASE, .l_ld = dynamic };
	struct symbols found;

	find_symbols(&map, &found);
	assert_ptr_equal(found.table, (void *)(BASE + 0x3000));
	assert_ptr_equal(found.names, (void *)(BASE + 0x2000));
	assert_ptr_equal(found.gnu_hash, (void *)(BASE + 0x1000));
	assert_ptr_equal(found.hash, (void *)(BASE + 0x4000));
	map.l_ld = NULL;
	find_symbols(&map, &found);
	assert_true(!found.table && !found.names && !found.gnu_hash && !found.hash);
}

/* ---- real ones ----------------------------------------------------------------------------------- */

/* No other module has functions of these names, not even a sanitizer. */
TEST(functions)
{
	static const char *const names[] = { "argp_parse", "getopt_long_only", "insque", "hcreate_r" };
	char words[128], wanted[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *at = dlsym(RTLD_DEFAULT, names[i]);

		assert_non_null(at);
		words_of(at + 1, words, sizeof(words));
		snprintf(wanted, sizeof(wanted), "%s+0x1", names[i]);
		assert_string_equal(words, wanted);
		words_of(at, words, 8); /* cut off */
		snprintf(wanted, 8, "%s+0x0", names[i]);
		assert_string_equal(words, wanted);
	}
}

static void nobody_exports_this(void)
{
}

/* Where symbols are not exported: the file, without its folder, and the place in it. */
TEST(files)
{
	char words[128], wanted[128];
	struct dl_find_object object;

	assert_int_equal(_dl_find_object(stdin, &object), 0);
	words_of(stdin, words, sizeof(words));
	snprintf(wanted, sizeof(wanted), "%s+0x%zx", strrchr(object.dlfo_link_map->l_name, '/') + 1,
		 (size_t)((uintptr_t)stdin - object.dlfo_link_map->l_addr));
	assert_string_equal(words, wanted);
	assert_int_equal(strncmp(words, "libc.so", 7), 0);
	assert_int_equal(_dl_find_object((void *)(uintptr_t)nobody_exports_this, &object), 0);
	words_of((void *)(uintptr_t)nobody_exports_this, words, sizeof(words));
	snprintf(wanted, sizeof(wanted), "%s+0x%zx", program_invocation_short_name,
		 (size_t)((uintptr_t)nobody_exports_this - object.dlfo_link_map->l_addr));
	assert_string_equal(words, wanted);
}

/* An address that is in no module, and none. */
TEST(nowhere)
{
	char words[128];

	words_of((void *)0x123, words, sizeof(words));
	assert_string_equal(words, "0x123");
	words_of(NULL, words, sizeof(words));
	assert_string_equal(words, "");
}
#else
TEST(with_glibc)
{
	SKIP("this C library finds no module without a lock");
}
#endif
