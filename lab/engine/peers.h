/* SPDX-License-Identifier: MIT */
/*
 * The rows that the instruments measure come from modules (lab/peers/body/peer_module.h), which are looked for when one
 * of these instruments runs: in the folder that LULL_PEERS_PATH names, or in peers/ beside lull-lab, or where they are
 * installed. So lull-lab depends on none of the libraries that it is compared with, and a module that is missing is a
 * few rows that are missing.
 */
#ifndef LULL_LAB_PEERS_H
#define LULL_LAB_PEERS_H

#include <stddef.h>

#include "common/json.h"
#include "peer_module.h"

/*
 * Start this program, whose arguments are @argv, once more if that is needed for the modules to have
 * room for their thread-local variables. They are compiled for the quick kind, as in a program that
 * is linked with its libraries (lab/peers/CMakeLists.txt); but for libraries that come later the C
 * library keeps 1.5 KB, of which liburcu alone takes 1.2, and more only for a program that asks for
 * it when it is started.
 */
void peers_make_room(char **argv);

/*
 * Load the modules, once; until then there are none. @builtin has the rows that are compiled into the
 * command, and may be NULL. A command that only looks at a process never calls this.
 */
void peers_load(const struct peer_module *builtin);

/*
 * Fill @schemes with at most @most schemes of @kind and return how many they are. Those that the
 * NULL-terminated @order names come first and in its order, then any others.
 */
size_t peers_schemes(enum peer_kind kind, const char *const *order, const void **schemes, size_t most);
/* Return the scheme of @kind that is called @name; NULL: there is none. */
const void *peers_scheme(enum peer_kind kind, const char *name);
/* The same, or end the program with one line: cannot measure anything without it. */
const void *peers_need(enum peer_kind kind, const char *name);

/* Return "liburcu 0.13.2, ck 0.7.1", the libraries of the modules that were loaded, or "". */
const char *peers_versions(void);
/* Return the name of the @i-th module that is missing, and @why; NULL: there are no more. */
const char *peers_missing(size_t i, const char **why);
/* Print "liburcu: there is no module urcu.so in /usr/lib/lull/peers" for each that is missing; for the end of --list. */
void peers_print_missing(void);
/* Print "liburcu is left out: ..." for each module that is there and cannot be used. */
void peers_print_broken(void);

#endif
