/* SPDX-License-Identifier: MIT */
/*
 * lull rcuscale --flavor: how long updaters wait for readers of each kind, one of them busy, in the lines of the letter
 * that introduced simple hazard pointers ("Introduce simple hazard pointers for lockdep", B. Feng, 2025). Its five
 * blocks are --flavor letter.
 */
#include <stdlib.h>
#include <string.h>

#include <lull/shazptr.h>

#include "common/figures.h"
#include "common/options.h"
#include "engine/peers.h"
#include "instruments/rcu/rcuscale.h"

static const struct flavor {
	const char *name;
	bool scans, letter; /* has a scan to skip; is in the letter */
} flavors[] = {
	{ "rcu", false, true },
	{ "shazptr", true, true },
	{ "shazptr-wildcard", true, true },
	{ "hazptr", false, false },
	{ "hazptr-fenced", false, false },
};

#define NR_FLAVORS (sizeof(flavors) / sizeof(flavors[0]))

_Static_assert(NR_FLAVORS <= RCUSCALE_FLAVORS_MAX, "room for all");

void rcuscale_letter_flavors(struct rcuscale_letter *letter, const char *arg)
{
	const char *words[NR_FLAVORS + 3];
	size_t count, i, j, word;
	char **items;

	for (i = 0; i < NR_FLAVORS; i++)
		words[i] = flavors[i].name;
	words[NR_FLAVORS] = "letter";
	words[NR_FLAVORS + 1] = "all";
	words[NR_FLAVORS + 2] = NULL;
	items = options_split("--flavor", arg, &count);
	for (i = 0; i < count; i++) {
		word = options_word("--flavor", items[i], words);
		for (j = 0; j < NR_FLAVORS; j++)
			if (word == j || word == NR_FLAVORS + 1 ||
			    (word == NR_FLAVORS && flavors[j].letter))
				letter->flavor[j] = true;
		/* Both ways, one after the other. */
		letter->both = letter->both || word >= NR_FLAVORS;
		free(items[i]);
	}
	free(items);
	letter->given = true;
}

void rcuscale_letter_check(const struct rcuscale_letter *letter)
{
	size_t i;

	if (letter->skip_self_scan && !letter->given)
		options_bad("--skip-self-scan belongs to --flavor shazptr and shazptr-wildcard");
	for (i = 0; i < NR_FLAVORS && letter->skip_self_scan && !letter->both; i++)
		if (letter->flavor[i] && !flavors[i].scans)
			options_bad("--skip-self-scan: %s has no such scan; only shazptr and "
				    "shazptr-wildcard have one",
				    flavors[i].name);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

struct letter_block {
	const struct flavor *flavor;
	struct rcuscale_job job;
	const struct bench_gp_scheme *gp;
	bool skip;
	uint64_t *ns;
	uint32_t count;
	uint64_t interrupts;
	bool known;
};

static const char *block_name(const void *rows, size_t i)
{
	return ((const struct letter_block *)rows)[i].flavor->name;
}

static void run_block(void *rows, size_t i, uint64_t budget_ns)
{
	struct letter_block *b = (struct letter_block *)rows + i;
	struct rcuscale_block block;

	b->job.budget_ns = budget_ns;
	lull_shazptr_set_skip_self_scan(b->skip);
	rcuscale_run(b->gp, &b->job, &block);
	lull_shazptr_set_skip_self_scan(false);
	memcpy(b->ns + b->count, block.ns, block.count * sizeof(*block.ns));
	b->count += block.count;
	b->interrupts += block.interrupts;
	b->known = block.interrupts_known;
	free(block.ns);
}

/* The letter has microseconds with at most three digits behind the point. */
static void line(const char *what, double ns)
{
	printf("%s grace-period duration: %.3f\n", what, ns / 1000);
}

static void print_block(struct letter_block *b, struct jsonout *json, unsigned threads)
{
	struct bench_latency lat = bench_latency_of(b->ns, b->count);
	json_t *row = jsonout_latency(json, b->flavor->name, threads,
				      b->skip ? "flavor_skip_self_scan" : "flavor", &lat);

	printf("\n%s%s:\n\n", b->flavor->name, b->skip ? " (skip_self_scan=1)" : "");
	printf("Average grace-period duration: %.3f microseconds\n", lat.mean / 1000);
	line("Minimum", lat.min);
	line("50th percentile", lat.p50);
	line("90th percentile", lat.p90);
	line("99th percentile", lat.p99);
	line("Maximum", lat.max);
	if (!b->known)
		return;
	printf("(%u calls; interrupts per call: %.2f)\n", b->count,
	       (double)b->interrupts / b->count);
	jsonout_set(row, "interrupts_per_call", json_real((double)b->interrupts / b->count));
}

/* In the order of the letter. */
static size_t list_blocks(const struct rcuscale_letter *letter, struct letter_block *blocks,
			  size_t samples)
{
	size_t count = 0, i;
	int skip;

	for (i = 0; i < NR_FLAVORS; i++)
		for (skip = 0; skip < 2; skip++) {
			if (!letter->flavor[i] || (skip && !flavors[i].scans) ||
			    (flavors[i].scans && !letter->both && skip != letter->skip_self_scan))
				continue;
			blocks[count++] = (struct letter_block){
				.flavor = &flavors[i],
				.gp = peers_need(PEER_GP, flavors[i].name),
				.skip = skip,
				.ns = options_alloc(samples, sizeof(uint64_t)),
			};
		}
	return count;
}

void rcuscale_letter(const struct rcuscale_letter *letter, struct jsonout *json)
{
	unsigned rounds = letter->rounds > letter->calls ? letter->calls : letter->rounds;
	struct rcuscale_job job = { .what = WHAT_SYNCHRONIZE, .setup = letter->setup };
	struct letter_block blocks[2 * NR_FLAVORS];
	size_t count, i;

	job.most = (letter->calls + rounds - 1) / rounds;
	count = list_blocks(letter, blocks, (size_t)job.most * rounds);
	for (i = 0; i < count; i++) {
		blocks[i].job = job;
		rcuscale_prime(blocks[i].gp);
	}
	rcuscale_rounds(&(struct rcuscale_rounds){ "flavors", rounds, count, letter->seconds, blocks, block_name,
						   run_block });
	for (i = 0; i < count; i++) {
		if (blocks[i].count)
			print_block(&blocks[i], json, letter->setup == SETUP_IDLE ? 1 : 2);
		free(blocks[i].ns);
	}
}
