/* SPDX-License-Identifier: MIT */
/*
 * The environment of `lull` and `lull-lab`. LULL_FENCE and LULL_OWNER_ORACLE are looked at before the library is loaded,
 * which would abort on a bad value: here that is bad input like any other.
 */
#ifndef LULL_TOOL_ENVIRONMENT_H
#define LULL_TOOL_ENVIRONMENT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Do what main() begins with. Return false where nothing is left to do: @usage or the version was printed. Makes
 * "help COMMAND" of @argv "COMMAND --help".
 */
bool environment_begin(int *argc, char **argv, void (*usage)(FILE *out));

#endif
