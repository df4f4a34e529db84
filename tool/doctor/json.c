/* SPDX-License-Identifier: MIT */
/* lull doctor --json: the findings, and what the fences cost. */
#include "doctor/doctor.h"

#include "common/json.h"

struct jsonout *doctor_json_open(const struct options *opt)
{
	return jsonout_open(opt);
}

static json_t *findings(const struct report *r)
{
	json_t *all = json_object(), *section;
	size_t i;

	for (i = 0; i < r->findings; i++) {
		const struct doctor_finding *f = &r->finding[i];

		section = json_object_get(all, f->section);
		if (!section) {
			section = json_object();
			jsonout_set(all, f->section, section);
		}
		jsonout_set(section, f->key, json_string(f->text));
	}
	return all;
}

static void add_heavy(struct jsonout *json, const char *name, unsigned threads, const struct doctor_heavy *h)
{
	if (h->tried)
		jsonout_set(jsonout_latency(json, name, threads, "fence", &h->latency), "interrupts_per_call",
			    h->interrupts >= 0 ? json_real(h->interrupts) : json_null());
}

void doctor_json_close(struct jsonout *json, const struct report *r)
{
	if (!json)
		return;
	jsonout_stat(json, "light", 1, "fence", "ns", &r->light);
	jsonout_stat(json, "full", 1, "fence", "ns", &r->full);
	add_heavy(json, "heavy-alone", 1, &r->alone);
	add_heavy(json, "heavy-sibling", 2, &r->sibling);
	jsonout_set(jsonout_root(json), "findings", findings(r));
	jsonout_set(jsonout_root(json), "all_is_well", json_boolean(r->well));
	jsonout_set(jsonout_root(json), "advice", json_string(r->advice));
	jsonout_close(json);
}
