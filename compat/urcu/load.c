/* SPDX-License-Identifier: MIT */
/*
 * load.c - when the library is loaded: is it the build for this process's liburcu?
 *
 * Nothing else happens before the program uses liburcu: no thread, no file, no fence. A program that has not loaded
 * liburcu, as most children of a preloaded process, does not notice.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../src/os/os.h"
#include "urcu_abi.h"

/* src/os/module.c is left out: this copy of lull does not count as one; see domain.h. */
void lull__find_copies(const char *copy_in[2])
{
	copy_in[0] = copy_in[1] = NULL;
}

void lull__stay_loaded(const char *module)
{
	(void)module; /* a library that was preloaded stays */
}

/* How large the flavor structure of the liburcu behind this library is; 0: there is none. *@file: where. */
static size_t flavor_size(const char **file)
{
	static const char *const names[] = { "urcu_memb_flavor", "urcu_bp_flavor", "urcu_mb_flavor", "urcu_qsbr_flavor" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *symbol = dlsym(RTLD_NEXT, names[i]);
		void *about = NULL; /* an ElfW(Sym) */
		Dl_info info;

		if (symbol && dladdr1(symbol, &info, &about, RTLD_DL_SYMENT) && about) {
			*file = info.dli_fname;
			return (size_t)((const ElfW(Sym) *)about)->st_size;
		}
	}
	return 0;
}

__attribute__((constructor)) static void check_build(void)
{
	const char *file = NULL;
	size_t size = flavor_size(&file);
	char line[512];
	int len;

	if (!size || size == sizeof(struct rcu_flavor_struct))
		return;
	len = snprintf(line, sizeof(line), "lull: %.300s is of another version of liburcu than this library (liblull-urcu-%d.so); "
		       "start the program by: lull urcu\n", file, LULL_URCU_VERSION);
	lull__write(STDERR_FILENO, line, (size_t)len, false);
	_exit(127);
}
