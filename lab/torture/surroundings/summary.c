/* SPDX-License-Identifier: MIT */
/* lull torture --flavor wild: what ran, how often, and what was skipped. See surroundings.h. */
#include "torture/surroundings/surroundings.h"

#include <stdio.h>

#include "common/json.h"
#include "engine/text_table.h"
#include "torture/interrupt.h"

static json_t *failures;

void wild_note_failure(wild_set set, uint64_t seed, const char *text)
{
	if (!failures)
		failures = json_array();
	json_array_append_new(failures, json_pack("{s:I,s:s,s:o}", "seed", (json_int_t)seed, "conditions",
						  wild_names(set), "what", jsonout_string(text)));
}

void wild_print_summary(uint64_t rounds)
{
	unsigned i;

	printf("%-16s %8s %8s %10s  %s\n", "condition", "rounds", "failed", "effects", "what it is");
	for (i = 0; i < NR_WILD; i++) {
		const struct wild_record *record = &wild_records[i];
		const struct wild_row *row = wild_row((enum wild_condition)i);
		const char *why = wild_why_not((enum wild_condition)i);

		if (torture.conditions && !record->rounds)
			continue;
		if (why)
			printf("%-16s  skipped: %s\n", row->name, why);
		else
			printf("%-16s %8llu %8llu %10llu  %s\n", row->name, (unsigned long long)record->rounds,
			       (unsigned long long)record->failed, (unsigned long long)record->effect, row->what);
	}
	printf("--- End of test: %s, %llu rounds, %u failures\n", torture_end_words(torture_failed()),
	       (unsigned long long)rounds, torture_failed());
}

static json_t *conditions(void)
{
	json_t *list = json_array();
	unsigned i;

	for (i = 0; i < NR_WILD; i++) {
		const struct wild_record *record = &wild_records[i];
		const char *why = wild_why_not((enum wild_condition)i);
		json_t *one = json_pack("{s:s,s:I,s:I,s:I}", "name", wild_row((enum wild_condition)i)->name, "rounds",
					(json_int_t)record->rounds, "failed", (json_int_t)record->failed, "effects",
					(json_int_t)record->effect);

		if (why)
			json_object_set_new(one, "skipped", json_string(why));
		json_array_append_new(list, one);
	}
	return list;
}

void wild_write_json(struct jsonout *json, uint64_t rounds)
{
	json_t *root = jsonout_root(json);

	jsonout_set(root, "flavor", json_string("wild"));
	jsonout_set(root, "seed", json_integer((json_int_t)torture.seed));
	jsonout_set(root, "rounds", json_integer((json_int_t)rounds));
	jsonout_set(root, "failures", json_integer(torture_failed()));
	jsonout_set(root, "conditions", conditions());
	jsonout_set(root, "failed_rounds", failures ? json_incref(failures) : json_array());
	if (failures)
		json_decref(failures);
	jsonout_close(json);
}
