/* SPDX-License-Identifier: MIT */
/* Finding and loading the modules of measured rows; see peers.h. */
#include "engine/peers.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"

#define MODULES_MAX 32u

#define TUNABLES "GLIBC_TUNABLES"
#define ROOM "glibc.rtld.optional_static_tls"
#define ROOM_BYTES 16384u

/* From the folder of lull-lab. The program with faults (lab/torture/busted) has no modules. */
#ifndef PEERS_FROM_BIN
#define PEERS_FROM_BIN "peers"
#endif

/* The modules that lull comes with, in the order in which they are named. */
static const struct known {
	const char *file;
	const char *library;
	const char *prefix; /* of its schemes' names; NULL: several */
} known[] = {
	{ "lull.so", "lull", NULL },
	{ "locks.so", "locks", NULL },
	{ "counts.so", "counts", NULL },
	{ "urcu.so", "liburcu", "liburcu-" },
	{ "ck.so", "ck", "ck-" },
	{ "libcds.so", "libcds", "libcds-" },
	{ "xenium.so", "xenium", "xenium-" },
	{ "cxx.so", "C++", "shared_ptr" },
	{ "absl.so", "Abseil", "absl" },
	{ "rust.so", "Rust", NULL },
};

#define NR_KNOWN (sizeof(known) / sizeof(known[0]))

static struct {
	bool looked;
	char *folder; /* in which the modules are; NULL: there is none */
	const struct peer_module *module[MODULES_MAX];
	size_t modules;
	struct missing {
		const char *library;
		char *why;
		bool broken; /* it is there and cannot be used */
	} missing[MODULES_MAX];
	size_t missings;
} peers;

/* ---- loading ----------------------------------------------------------------------------------- */

/*
 * The C library aligns the room that it keeps for thread-local variables of modules as those of the
 * program itself are aligned, and refuses a module that needs more. liburcu's need two lines.
 */
static __thread char peers_aligned __attribute__((aligned(128), used));

void peers_make_room(char **argv)
{
	const char *set = getenv(TUNABLES);
	char path[PATH_MAX], *all;
	ssize_t len;

	if (set && strstr(set, ROOM))
		return;
	len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (len < 0)
		return;
	path[len] = '\0';
	all = options_printf("%s%s" ROOM "=%u", set ? set : "", set && *set ? ":" : "", ROOM_BYTES);
	setenv(TUNABLES, all, 1);
	free(all);
	/* Should it fail: some modules will say that there is no room. */
	execv(path, argv);
}

static void add_missing(const char *library, bool broken, char *why)
{
	if (peers.missings == MODULES_MAX) {
		free(why);
		return;
	}
	peers.missing[peers.missings++] = (struct missing){ library, why, broken };
}

/* Return the folder of this program, with a slash at its end; NULL: the system does not say. */
static char *own_folder(void)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	while (len > 0 && path[len - 1] != '/')
		len--;
	return len > 0 ? options_printf("%.*s", (int)len, path) : NULL;
}

static bool is_folder(const char *path)
{
	DIR *dir = opendir(path);

	if (dir)
		closedir(dir);
	return dir != NULL;
}

/* Return the folder with the modules: as the user says, or as in a build tree, or as installed. */
static char *find_folder(void)
{
	static const char *const places[] = { "peers", PEERS_FROM_BIN };
	const char *asked = getenv("LULL_PEERS_PATH");
	char *own = own_folder(), *path = NULL;
	size_t i;

	if (asked && *asked)
		path = options_printf("%s", asked);
	for (i = 0; !path && own && i < sizeof(places) / sizeof(places[0]); i++) {
		path = options_printf("%s%s", own, places[i]);
		if (!is_folder(path) && i + 1 < sizeof(places) / sizeof(places[0])) {
			free(path);
			path = NULL;
		}
	}
	free(own);
	return path;
}

/* Load the module @path. Return what is wrong, or NULL. */
static char *load(const char *path)
{
	const struct peer_module *module;
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	char *why;

	if (!handle) {
		why = options_printf("%s", dlerror());
		why[strcspn(why, "\n")] = '\0';
		return why;
	}
	module = dlsym(handle, PEER_MODULE_SYMBOL);
	/* It stays loaded: whatever a library did when it came is not always undone. */
	if (!module)
		return options_printf("%s: no module of measured rows", path);
	if (strcmp(module->build, PEER_BUILD))
		return options_printf("%s: a module for %s, and this is %s", path, module->build,
				      PEER_BUILD);
	if (peers.modules == MODULES_MAX)
		return options_printf("%s: one module too many", path);
	peers.module[peers.modules++] = module;
	return NULL;
}

static void load_known(const struct known *k)
{
	char *path = options_printf("%s/%s", peers.folder, k->file), *why;

	if (access(path, F_OK) != 0)
		add_missing(k->library, false,
			    options_printf("there is no module %s in %s", k->file, peers.folder));
	else if ((why = load(path)))
		add_missing(k->library, true, why);
	free(path);
}

static int is_other_module(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), i;

	if (len < 4 || strcmp(entry->d_name + len - 3, ".so"))
		return 0;
	for (i = 0; i < NR_KNOWN; i++)
		if (!strcmp(entry->d_name, known[i].file))
			return 0;
	return 1;
}

static void load_others(void)
{
	struct dirent **entry;
	int count = scandir(peers.folder, &entry, is_other_module, alphasort), i;

	for (i = 0; i < count; i++) {
		char *path = options_printf("%s/%s", peers.folder, entry[i]->d_name), *why = load(path);

		if (why)
			add_missing(options_printf("%s", entry[i]->d_name), true, why);
		free(path);
		free(entry[i]);
	}
	if (count >= 0)
		free(entry);
}

/* Return "liburcu: there is no module ..." when @scheme was liburcu's; else NULL. */
static const char *missing_scheme(const char *scheme)
{
	static char line[PATH_MAX + 128];
	size_t i, j;

	for (i = 0; i < NR_KNOWN; i++) {
		if (!known[i].prefix || strncmp(scheme, known[i].prefix, strlen(known[i].prefix)))
			continue;
		for (j = 0; j < peers.missings; j++)
			if (!strcmp(peers.missing[j].library, known[i].library)) {
				snprintf(line, sizeof(line), "%s: %s", known[i].library,
					 peers.missing[j].why);
				return line;
			}
	}
	return NULL;
}

/* Add what was loaded and what is missing to the machine in the JSON. */
static void describe(json_t *machine)
{
	json_t *list = json_array();
	size_t i;

	json_object_set_new(machine, "peers", json_string(peers_versions()));
	for (i = 0; i < peers.missings; i++) {
		char *line = options_printf("%s: %s", peers.missing[i].library, peers.missing[i].why);

		json_array_append_new(list, jsonout_string(line));
		free(line);
	}
	json_object_set_new(machine, "peers_missing", list);
}

void peers_load(const struct peer_module *builtin)
{
	size_t i;

	if (peers.looked)
		return;
	peers.looked = true;
	options_why_missing = missing_scheme;
	jsonout_more = describe;
	if (builtin)
		peers.module[peers.modules++] = builtin;
	peers.folder = find_folder();
	if (!peers.folder)
		peers.folder = options_printf("peers");
	for (i = 0; i < NR_KNOWN; i++)
		load_known(&known[i]);
	load_others();
}

/* ---- schemes ----------------------------------------------------------------------------------- */

/* Every scheme begins with its name. */
static const char *name_of(const void *scheme)
{
	return *(const char *const *)scheme;
}

const void *peers_scheme(enum peer_kind kind, const char *name)
{
	size_t i;

	for (i = 0; i < peers.modules; i++) {
		const void *const *s = peers.module[i]->schemes[kind];

		for (; s && *s; s++)
			if (!strcmp(name_of(*s), name))
				return *s;
	}
	return NULL;
}

const void *peers_need(enum peer_kind kind, const char *name)
{
	const void *scheme = peers_scheme(kind, name);

	if (!scheme && peers.missings)
		options_fail("cannot measure anything without '%s': %s", name, peers.missing[0].why);
	if (!scheme)
		options_fail("cannot measure anything without '%s', which no module has", name);
	return scheme;
}

/* Add @scheme, unless one of its name is there. Return how many there are then. */
static size_t add_scheme(const void **schemes, size_t count, size_t most, const void *scheme)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(name_of(schemes[i]), name_of(scheme)))
			return count;
	if (count < most)
		schemes[count++] = scheme;
	return count;
}

size_t peers_schemes(enum peer_kind kind, const char *const *order, const void **schemes, size_t most)
{
	const void *const *s;
	const void *scheme;
	size_t count = 0, i;

	for (; *order; order++) {
		scheme = peers_scheme(kind, *order);
		if (scheme)
			count = add_scheme(schemes, count, most, scheme);
	}
	for (i = 0; i < peers.modules; i++)
		for (s = peers.module[i]->schemes[kind]; s && *s; s++)
			count = add_scheme(schemes, count, most, *s);
	return count;
}

/* ---- words ------------------------------------------------------------------------------------- */

const char *peers_versions(void)
{
	static char text[256];
	size_t i, len = 0;

	text[0] = '\0';
	for (i = 0; i < peers.modules && len < sizeof(text); i++) {
		const struct peer_module *m = peers.module[i];

		if (m->library)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%s%s", len ? ", " : "",
						m->library, *m->version ? " " : "", m->version);
	}
	return text;
}

const char *peers_missing(size_t i, const char **why)
{
	if (i >= peers.missings)
		return NULL;
	*why = peers.missing[i].why;
	return peers.missing[i].library;
}

void peers_print_missing(void)
{
	size_t i;

	for (i = 0; i < peers.missings; i++)
		printf("%s: %s\n", peers.missing[i].library, peers.missing[i].why);
}

void peers_print_broken(void)
{
	size_t i;

	for (i = 0; i < peers.missings; i++)
		if (peers.missing[i].broken)
			printf("%s is left out: %s\n", peers.missing[i].library, peers.missing[i].why);
}
