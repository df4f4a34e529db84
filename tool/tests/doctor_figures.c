/* SPDX-License-Identifier: MIT */
/* doctor_figures.c - what lull doctor says of the fences, on a terminal and in JSON, from made-up samples. */
#include "test.h"

#include "doctor/fences.c"
#include "doctor/findings.c"
#include "doctor/json.c"

#include "made_up.h"

/* 1 to 200, each times 31 ns, shuffled. */
static void calls(uint64_t *ns)
{
	size_t i;

	for (i = 0; i < 200; i++)
		ns[i] = 31 * (i * 67 % 200 + 1);
}

TEST(fences)
{
	struct bench_result results[] = { { .ns = { 1.1, 1.5, 2, 5 } }, { .ns = { 1.7, 2.75, 3.5, 5 } }, { .ns = { 18, 21.5, 30, 5 } } };
	struct report r = { .section = "fence" };

	begin_printing();
	doctor_say_fences(&r, results);
	assert_float_equal(r.light.min, 0.2, 1e-9);
	assert_float_equal(r.light.median, 1.25, 1e-9);
	assert_float_equal(r.light.max, 2, 1e-9);
	assert_float_equal(r.full.min, 16.5, 1e-9);
	assert_float_equal(r.full.max, 28.5, 1e-9);
	assert_int_equal(r.full.count, 5);
	/* A fence that is faster than none is noise, which is not said. */
	results[1].ns.median = 1.25;
	doctor_say_fences(&r, results);
	assert_float_equal(r.light.median, -0.25, 1e-9);
	/* Less than a nanosecond is said. */
	results[1].ns.median = 2.2;
	doctor_say_fences(&r, results);
	assert_printed("  light            1.25 ns between a store and a load (without: 1.5 ns)\n"
		       "  full             20 ns between a store and a load (without: 1.5 ns)\n"
		       "  light            0 ns between a store and a load (without: 1.5 ns)\n"
		       "  full             20 ns between a store and a load (without: 1.5 ns)\n"
		       "  light            0.7 ns between a store and a load (without: 1.5 ns)\n"
		       "  full             20 ns between a store and a load (without: 1.5 ns)\n");
	doctor_forget(&r);
}

TEST(heavy)
{
	struct doctor_heavy told;
	struct report r = { .section = "fence" };
	uint64_t ns[200], interrupts = 350;

	begin_printing();
	calls(ns);
	doctor_say_heavy(&r, "known", ns, 200, &interrupts, &told);
	assert_true(told.tried);
	assert_float_equal(told.interrupts, 1.75, 1e-9);
	assert_float_equal(told.latency.p50, 3100, 0);
	calls(ns);
	doctor_say_heavy(&r, "unknown", ns, 200, NULL, &told);
	assert_float_equal(told.interrupts, -1, 0);
	interrupts = 0;
	doctor_say_heavy(&r, "quiet", ns, 3, &interrupts, &told);
	assert_float_equal(told.interrupts, 0, 0);
	doctor_say_heavy(&r, "none", ns, 0, &interrupts, &told);
	assert_float_equal(told.interrupts, -1, 0);
	assert_printed("  known            3.1 us, p99 6.14 us, 1.75 interrupts each\n"
		       "  unknown          3.1 us, p99 6.14 us, interrupts n/a\n"
		       "  quiet            62 ns, p99 93 ns, 0.00 interrupts each\n"
		       "  none             n/a: the sibling never had its CPU to itself, other programs are too busy\n");
	doctor_forget(&r);
}

TEST(json)
{
	char command[] = "lull doctor", *text;
	struct report r = { .well = true, .advice = "All is well.", .light = { -0.5, 0.25, 1.5, 5 },
			    .full = { 16, 20, 28, 5 } };
	struct options opt = OPTIONS_INIT("doctor");
	uint64_t ns[200], interrupts = 350;
	struct jsonout *json;
	json_t *root;

	opt.json_path = "/dev/null";
	opt.command = command;
	begin_printing();
	doctor_section(&r, "machine");
	doctor_say(&r, "cpus", "%u of %u", 3, 4);
	doctor_section(&r, "fence");
	doctor_say(&r, "light", "0.25 ns");
	assert_printed("machine\n  cpus             3 of 4\nfence\n  light            0.25 ns\n");
	begin_printing();
	calls(ns);
	doctor_say_heavy(&r, "heavy", ns, 199, &interrupts, &r.alone);
	calls(ns);
	doctor_say_heavy(&r, "heavy, sibling", ns, 200, NULL, &r.sibling);
	assert_printed("  heavy            3.1 us, p99 6.17 us, 1.76 interrupts each\n"
		       "  heavy, sibling   3.1 us, p99 6.14 us, interrupts n/a\n");
	json = doctor_json_open(&opt);
	root = json_incref(jsonout_root(json)); /* which outlives the file */
	doctor_json_close(json, &r);
	text = json_dumps(json_object_get(root, "results"), JSON_COMPACT | JSON_REAL_PRECISION(6));
	assert_same(text,
		"[{\"scheme\":\"light\",\"threads\":1,\"metric\":\"fence\",\"unit\":\"ns\",\"min\":-0.5,"
		"\"median\":0.25,\"max\":1.5},{\"scheme\":\"full\",\"threads\":1,\"metric\":\"fence\","
		"\"unit\":\"ns\",\"min\":16.0,\"median\":20.0,\"max\":28.0},{\"scheme\":\"heavy-alone\","
		"\"threads\":1,\"metric\":\"fence\",\"unit\":\"ns\",\"min\":31.0,\"median\":3100.0,"
		"\"max\":6200.0,\"mean\":3110.28,\"p50\":3100.0,\"p90\":5611.0,\"p99\":6169.0,\"count\":199,"
		"\"interrupts_per_call\":1.75879},{\"scheme\":\"heavy-sibling\",\"threads\":2,"
		"\"metric\":\"fence\",\"unit\":\"ns\",\"min\":31.0,\"median\":3100.0,\"max\":6200.0,"
		"\"mean\":3115.5,\"p50\":3100.0,\"p90\":5580.0,\"p99\":6138.0,\"count\":200,"
		"\"interrupts_per_call\":null}]");
	free(text);
	text = json_dumps(json_object_get(root, "findings"), JSON_COMPACT);
	assert_same(text,
		"{\"machine\":{\"cpus\":\"3 of 4\"},\"fence\":{\"light\":\"0.25 ns\",\"heavy\":\"3.1 us, p99 "
		"6.17 us, 1.76 interrupts each\",\"heavy, sibling\":\"3.1 us, p99 6.14 us, interrupts n/a\"}}");
	free(text);
	assert_true(json_is_true(json_object_get(root, "all_is_well")));
	assert_string_equal(jsonin_text(root, "advice"), "All is well.");
	json_decref(root);
	doctor_forget(&r);
}
