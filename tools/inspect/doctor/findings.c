/* SPDX-License-Identifier: MIT */
/* lull doctor: findings, a line each on stdout and a member each of the JSON. */
#include "inspect/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>

void doctor_section(struct report *r, const char *name)
{
	printf("%s\n", name);
	if (!r->json)
		return;
	r->section = json_object();
	jsonout_set(r->findings, name, r->section);
}

void doctor_say(struct report *r, const char *key, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("  %-16s %s\n", key, text);
	jsonout_set(r->section, key, json_string(text));
}
