/* SPDX-License-Identifier: MIT */
/* --json of lull doctor and lull top in a build without jansson: refused before anything is looked at. */
#include "common/options.h"
#include "doctor/doctor.h"
#include "top/top.h"

static _Noreturn void refuse(void)
{
	options_bad("--json: this build writes none: " LULL_WITHOUT_JSON);
}

struct jsonout *doctor_json_open(const struct options *opt)
{
	if (opt->json_path)
		refuse();
	return NULL;
}

void doctor_json_close(struct jsonout *json, const struct report *r)
{
	(void)json;
	(void)r;
}

void top_need_json(void)
{
	refuse();
}

char *top_told(const struct top_view *view)
{
	(void)view;
	refuse();
}
