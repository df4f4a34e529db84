/* SPDX-License-Identifier: MIT */
/*
 * lull torture --busted: the faults are in a library of their own, built with the tests, in a
 * program that is lull-lab again. See lab/torture/busted/busted.h.
 */
#include "torture/run.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"

#define PROGRAM "lull-torture-busted"

void torture_faults_list(void)
{
	printf("'" PROGRAM " --list' lists the faults for --busted; this program is built with the tests.\n");
}

void torture_fault_set(const char *name, char **argv)
{
	char self[PATH_MAX], path[PATH_MAX + sizeof(PROGRAM)];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		options_fail("/proc/self/exe: %s", strerror(errno));
	self[len] = '\0';
	snprintf(path, sizeof(path), "%s/" PROGRAM, dirname(self));
	execv(path, argv);
	options_bad("--busted %s needs %s (%s); this file is built with the tests, and not installed",
		    name, path, strerror(errno));
}
