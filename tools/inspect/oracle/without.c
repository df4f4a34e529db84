/* SPDX-License-Identifier: MIT */
/* lull oracle in a build without libbpf. */
#include "common/commands.h"
#include "common/options.h"

int lull_cmd_oracle(int argc, char **argv)
{
	struct options opt = OPTIONS_INIT("oracle");

	opt.plain = true;
	options_parse(&opt, NULL, NULL,
		      "Keeps a table of which thread runs on each CPU. This build cannot: " ORACLE_WITHOUT_BPF ".",
		      argc > 1 && argv[1][0] != '-' ? 1 : argc, argv);
	options_bad("this build has no BPF support: " ORACLE_WITHOUT_BPF);
}
