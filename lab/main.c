/* SPDX-License-Identifier: MIT */
/* lull-lab: what measures and tortures. `lull compare` and the like run it. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/environment.h"
#include "common/options.h"
#include "commands.h"
#include "engine/peers.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	bool loads_peers;
} commands[] = {
	{ "compare", lull_cmd_compare, true },
	{ "refscale", lull_cmd_refscale, true },
	{ "rcuscale", lull_cmd_rcuscale, true },
	{ "hashscale", lull_cmd_hashscale, true },
	{ "keyscale", lull_cmd_keyscale, false },
	{ "labelscale", lull_cmd_labelscale, false },
	{ "mutexscale", lull_cmd_mutexscale, true },
	{ "tradeoff", lull_cmd_tradeoff, false },
	{ "torture", lull_cmd_torture, false },
	{ "peers", lull_cmd_peers, true },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *out)
{
	fprintf(out, "Usage: lull-lab COMMAND [OPTION...]\n\nIt is run by 'lull', whose --help describes the commands:\n");
	for (size_t i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "%s %s", i ? "," : "", commands[i].name);
	fprintf(out, "\n");
}

int main(int argc, char **argv)
{
	if (!environment_begin(&argc, argv, usage))
		return 0;
	for (size_t i = 0; i < NR_COMMANDS; i++) {
		const struct command *c = &commands[i];

		if (strcmp(argv[1], c->name))
			continue;
		if (c->loads_peers)
			peers_make_room(argv);
		return c->run(argc - 1, argv + 1);
	}
	options_bad("unknown command '%s'; 'lull --help' lists them", argv[1]);
}
