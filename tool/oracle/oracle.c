/* SPDX-License-Identifier: MIT */
/* lull oracle: the command line. */
#include "oracle/oracle_program.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/json.h"

enum {
	OPT_GROUP = OPTIONS_OWN_KEYS,
	OPT_MODE,
	OPT_SECONDS
};

struct own {
	struct oracle_rights rights;
	bool mode_given;
	double seconds;
};

static gid_t group_named(const char *name)
{
	const struct group *group = getgrnam(name);

	if (group)
		return group->gr_gid;
	if (name[0] < '0' || name[0] > '9')
		options_bad("--group: there is no group '%s'", name);
	return (gid_t)options_unsigned("--group", name, 0, UINT32_MAX - 1);
}

/*
 * Choose among the only modes that make sense: readers need the right to write, too, or the kernel does not let them
 * map the table. It is frozen, so they cannot change it.
 */
static mode_t mode_named(const char *name)
{
	static const char *const words[] = { "0600", "0660", "0666", NULL };
	static const mode_t modes[] = { 0600, 0660, 0666 };

	return modes[options_word("--mode", name, words)];
}

static void own_option(int key, char *arg, struct options *opt)
{
	struct own *own = opt->own;

	switch (key) {
	case OPT_GROUP:
		own->rights.group = group_named(arg);
		if (!own->mode_given)
			own->rights.mode = 0660;
		break;
	case OPT_MODE:
		own->rights.mode = mode_named(arg);
		own->mode_given = true;
		break;
	case OPT_SECONDS:
		own->seconds = options_double("--seconds", arg, 0.01, 3600);
		break;
	}
}

/* ---- the actions ----------------------------------------------------------------------------- */

static void load(struct options *opt)
{
	const struct own *own = opt->own;

	oracle_load(&own->rights);
}

static void unload(struct options *opt)
{
	(void)opt;
	oracle_unload();
}

static void status(struct options *opt)
{
	struct jsonout *json = jsonout_open(opt);

	oracle_status(json);
	jsonout_close(json);
}

static void measure(struct options *opt)
{
	const struct own *own = opt->own;
	struct jsonout *json = jsonout_open(opt);

	oracle_measure(own->seconds, json);
	jsonout_close(json);
}

static const struct argp_option load_options[] = {
	{ "group", OPT_GROUP, "NAME", 0, "let only this group read the table (mode 0660)", 0 },
	{ "mode", OPT_MODE, "MODE", 0,
	  "permissions of the table: 0666 (the default without --group), 0660 or 0600; nobody can write to the table", 0 },
	{ 0 }
};

static const struct argp_option measure_options[] = {
	{ "seconds", OPT_SECONDS, "S", 0, "time to spend (1)", 0 },
	{ 0 }
};

static const struct action {
	const char *name;
	void (*run)(struct options *opt);
	const struct argp_option *options;
	bool json;
	const char *what;
} actions[] = {
	{ "load", load, load_options, false,
	  "Loads the table of the threads that run on each CPU. It stays, for the whole machine, until you "
	  "unload it or the machine restarts. Then any process may see which threads run, unless "
	  "--group or --mode says otherwise. If /sys/fs/bpf is not mounted, this mounts it; if others "
	  "may not pass through it, this lets everybody pass." },
	{ "unload", unload, NULL, false, "Removes the table from the kernel." },
	{ "status", status, NULL, true,
	  "Tells whether the table is loaded, whether this process may use it, and whether it is up to date. "
	  "While the sysctl kernel.bpf_stats_enabled is 1, the kernel counts what the table costs, and root "
	  "sees the figure." },
	{ "measure", measure, measure_options, true,
	  "Measures what the table costs at each context switch. It need not be loaded." },
};

#define NR_ACTIONS (sizeof(actions) / sizeof(actions[0]))

static void list_actions(void)
{
	printf("load     put the table of running threads into the kernel (root)\n"
	       "unload   remove the table (root)\n"
	       "status   say whether the table is loaded\n"
	       "measure  measure what the table costs at each context switch (root)\n");
}

static const struct action *action_named(const char *name)
{
	size_t i;

	for (i = 0; i < NR_ACTIONS; i++)
		if (!strcmp(actions[i].name, name))
			return &actions[i];
	options_bad("oracle: '%s' is not known; it can be load, unload, status or measure", name);
}

/* Without an action there are only the options that every command has. */
static void no_action(int argc, char **argv)
{
	struct options opt = OPTIONS_INIT("oracle");

	opt.plain = true;
	options_parse(&opt, NULL, NULL,
		      "Loads and unloads a table of the threads that run on each CPU. The table shows a thread that "
		      "waits for a mutex whether the owner runs. Say lull oracle load, unload, status or measure; "
		      "each of them has --help.",
		      argc, argv);
	if (!opt.list)
		options_bad("no action given; it can be load, unload, status or measure");
	list_actions();
	options_free(&opt);
}

int lull_cmd_oracle(int argc, char **argv)
{
	struct own own = { .rights = { .mode = 0666 }, .seconds = 1 };
	struct options opt = OPTIONS_INIT(NULL);
	const struct action *action;
	char *name, *command;

	if (argc < 2 || argv[1][0] == '-') {
		no_action(argc, argv);
		return 0;
	}
	action = action_named(argv[1]);
	name = options_printf("oracle %s", action->name);
	opt.tool = name;
	opt.plain = true;
	opt.own = &own;
	options_parse(&opt, action->options, own_option, action->what, argc - 1, argv + 1);
	command = options_printf("lull oracle%s", opt.command + strlen("lull"));
	free(opt.command);
	opt.command = command;
	if (opt.json_path && !action->json)
		options_bad("--json: this action has no results to write; status and measure have some");
	if (opt.list)
		list_actions();
	else
		action->run(&opt);
	options_free(&opt);
	free(name);
	return 0;
}
