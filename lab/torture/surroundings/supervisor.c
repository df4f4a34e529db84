/* SPDX-License-Identifier: MIT */
/* lull torture --flavor wild: round after round, until the time is over. See surroundings.h. */
#include "torture/surroundings/surroundings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/options.h"
#include "common/progress.h"
#include "torture/flavors.h"
#include "torture/interrupt.h"

#define FAILURES_MOST 5u
#define EFFECT_BY 8u /* rounds within which a condition has to take effect once */

struct wild_record wild_records[NR_WILD];

const struct torture_flavor torture_wild = {
	.name = "wild",
	.rounds = true,
};

/* ---- which conditions come next -------------------------------------------------------------- */

static struct {
	enum wild_condition card[NR_WILD];
	unsigned count, next;
} deck;

/* All that can be had come up before any comes up again. */
static void shuffle(uint64_t *rng)
{
	unsigned i;

	deck.count = deck.next = 0;
	for (i = 0; i < NR_WILD; i++)
		if (!wild_why_not((enum wild_condition)i))
			deck.card[deck.count++] = (enum wild_condition)i;
	for (i = deck.count; i > 1; i--) {
		unsigned other = (unsigned)torture_random(rng, i);
		enum wild_condition card = deck.card[i - 1];

		deck.card[i - 1] = deck.card[other];
		deck.card[other] = card;
	}
}

static wild_set next_set(uint64_t *rng)
{
	if (torture.conditions)
		return wild_parse(torture.conditions);
	if (deck.next == deck.count)
		shuffle(rng);
	return wild_draw(deck.card[deck.next++], rng);
}

/* Skipped is what was asked for by name, and cannot be had. */
static bool all_can_be_had(wild_set set)
{
	unsigned i;

	for (i = 0; i < NR_WILD; i++) {
		const char *why = (set & WILD_BIT(i)) ? wild_why_not((enum wild_condition)i) : NULL;

		if (!why)
			continue;
		printf("skipped: condition %s: %s\n", wild_row((enum wild_condition)i)->name, why);
		return false;
	}
	return true;
}

/* ---- what came of it ------------------------------------------------------------------------- */

static void note(wild_set set, uint64_t seed, const struct wild_end *end)
{
	unsigned i;

	for (i = 0; i < NR_WILD; i++) {
		if (!(set & WILD_BIT(i)))
			continue;
		wild_records[i].rounds++;
		wild_records[i].failed += end->failure[0] != '\0';
		wild_records[i].effect += end->effect[i];
	}
	if (!end->failure[0])
		return;
	wild_note_failure(set, seed, end->failure);
	torture_fail("round with seed %llu, conditions %s: %s", (unsigned long long)seed, wild_names(set), end->failure);
	printf("failure after %.1f s: %s\n  repeat with: lull torture --flavor wild --seed %llu --conditions %s "
	       "--seconds 0.1%s%s\n",
	       (double)(bench_now_ns() - torture.began_ns) / 1e9, end->failure, (unsigned long long)seed,
	       wild_names(set), torture.fault_name ? " --busted " : "",
	       torture.fault_name ? torture.fault_name : "");
	fflush(stdout);
}

/* Check that each condition took effect at least once: one that never does is not tested. */
static void check_effects(void)
{
	unsigned i;

	for (i = 0; i < NR_WILD; i++) {
		const struct wild_record *record = &wild_records[i];
		const char *name = wild_row((enum wild_condition)i)->name;

		if (record->effect || record->rounds - record->failed < EFFECT_BY)
			continue;
		torture_fail("condition %s took no effect", name);
		printf("failure after %.1f s: condition %s took no effect in %llu rounds\n",
		       (double)(bench_now_ns() - torture.began_ns) / 1e9, name, (unsigned long long)record->rounds);
	}
}

static void say(uint64_t now_ns, uint64_t rounds)
{
	bench_progress("torture: %.0f of %.0f s: %llu rounds, %u failures", (double)(now_ns - torture.began_ns) / 1e9,
		       torture.seconds, (unsigned long long)rounds, torture_failed());
}

/* The first round of given conditions has the seed that was given, so that it is the one that failed. */
int torture_wild_supervise(struct jsonout *json)
{
	uint64_t rng = torture.seed, seed = torture.seed, rounds = 0, end_ns;
	bool had = !torture.conditions || all_can_be_had(wild_parse(torture.conditions));

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	torture.began_ns = bench_now_ns();
	end_ns = torture.began_ns + (uint64_t)(torture.seconds * 1e9);
	torture_catch_interrupts();
	while (had && !torture_interrupted() && torture_failed() < FAILURES_MOST && (!rounds || bench_now_ns() < end_ns)) {
		wild_set set = next_set(&rng);
		struct wild_end end;

		if (!torture.conditions || rounds)
			seed = torture_random(&rng, 1000000000) + 1;
		wild_run_round(set, seed, &end);
		if (torture_interrupted())
			break; /* so was the round */
		rounds++;
		bench_progress_clear();
		note(set, seed, &end);
		say(bench_now_ns(), rounds);
	}
	bench_progress_clear();
	check_effects();
	wild_print_summary(rounds);
	wild_write_json(json, rounds);
	return torture_end_status(torture_failed());
}
