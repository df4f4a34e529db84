/* SPDX-License-Identifier: MIT */
/* lull doctor: findings, a line each on stdout, and kept for the JSON. */
#include "doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void doctor_section(struct report *r, const char *name)
{
	printf("%s\n", name);
	r->section = name;
}

void doctor_say(struct report *r, const char *key, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("  %-16s %s\n", key, text);
	r->finding = realloc(r->finding, (r->findings + 1) * sizeof(*r->finding));
	if (!r->finding)
		options_fail("out of memory");
	r->finding[r->findings++] = (struct doctor_finding){ r->section, options_printf("%s", key),
							     options_printf("%s", text) };
}

void doctor_forget(struct report *r)
{
	while (r->findings) {
		free(r->finding[--r->findings].key);
		free(r->finding[r->findings].text);
	}
	free(r->finding);
	r->finding = NULL;
}
