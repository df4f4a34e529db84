/* SPDX-License-Identifier: MIT */
/* lull peers: the libraries that the instruments can measure beside lull here, and those that are missing, with the reason. */
#include "commands.h"

#include <stdio.h>

#include "common/json.h"
#include "common/options.h"
#include "engine/peers.h"

int lull_cmd_peers(int argc, char **argv)
{
	struct options opt = OPTIONS_INIT("peers");
	const char *library, *why;
	struct jsonout *json;

	opt.plain = true;
	options_parse(&opt, NULL, NULL, "Which other libraries can be measured here, and why others cannot.", argc, argv);
	json = jsonout_open(&opt);
	peers_load(NULL);
	printf("%s\n", *peers_versions() ? peers_versions() : "none");
	for (size_t i = 0; (library = peers_missing(i, &why)); i++)
		printf("%s: %s\n", library, why);
	jsonout_close(json);
	options_free(&opt);
	return 0;
}
