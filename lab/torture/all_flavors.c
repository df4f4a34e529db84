/* SPDX-License-Identifier: MIT */
/* lull torture --flavor all: one flavor after the other, each in a process of its own. See torture.h. */
#include "torture/flavors.h"
#include "torture/interrupt.h"
#include "torture/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json.h"

#define MORE_WORDS 9 /* lull torture, three options with values, --part-of-all; what was typed goes between */

static char **words_for(const struct torture_flavor *flavor, double seconds, char **argv)
{
	unsigned argc = 0, n = 0, i;
	char **words;

	while (argv[argc])
		argc++;
	words = options_alloc(argc + MORE_WORDS + 1, sizeof(*words));
	words[n++] = options_printf("lull");
	words[n++] = options_printf("torture");
	for (i = 1; i < argc; i++) {
		/* Its one file is for the whole. No other option begins like that, however much it is shortened. */
		if (strncmp(argv[i], "--j", 3) == 0) {
			i += !strchr(argv[i], '=');
			continue;
		}
		words[n++] = options_printf("%s", argv[i]);
	}
	words[n++] = options_printf("--part-of-all");
	words[n++] = options_printf("--flavor");
	words[n++] = options_printf("%s", flavor->name);
	words[n++] = options_printf("--seconds");
	words[n++] = options_printf("%.3f", seconds);
	words[n++] = options_printf("--seed");
	words[n++] = options_printf("%llu", (unsigned long long)torture.seed);
	return words;
}

static void free_words(char **words)
{
	unsigned i;

	for (i = 0; words[i]; i++)
		free(words[i]);
	free(words);
}

/* Returns the exit status; one that died is one that has failed. */
static int run_one(const struct torture_flavor *flavor, double seconds, char **argv)
{
	char **words = words_for(flavor, seconds, argv);
	pid_t parent = getpid(), pid;
	int status = 0;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		options_fail("cannot fork: %s", strerror(errno));
	if (pid == 0) {
		torture_die_with(parent);
		execv("/proc/self/exe", words);
		options_fail("/proc/self/exe: %s", strerror(errno));
	}
	free_words(words);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		if (torture_interrupted())
			kill(pid, SIGTERM); /* it may have been for this process alone */
	if (WIFSIGNALED(status)) {
		printf("--- flavor %s died from signal %d (%s)\n", flavor->name, WTERMSIG(status),
		       strsignal(WTERMSIG(status)));
		return EXIT_FAILURE;
	}
	return WEXITSTATUS(status);
}

static bool is_asked_for(const struct torture_flavor *flavor)
{
	return !flavor->rounds && (flavor != &torture_rcu_qsbr || !torture.without[PART_ONLINE]);
}

int torture_all(struct options *opt, struct jsonout *json, char **argv)
{
	json_t *root = jsonout_root(json), *list = json_array();
	unsigned count = 0, i;
	int worst = 0;

	for (i = 0; torture_flavors[i]; i++)
		count += is_asked_for(torture_flavors[i]);
	torture_catch_interrupts();
	for (i = 0; torture_flavors[i] && !torture_interrupted(); i++) {
		const struct torture_flavor *flavor = torture_flavors[i];
		uint64_t began_ns = bench_now_ns();
		int status;

		if (!is_asked_for(flavor))
			continue;
		status = run_one(flavor, torture.seconds / count, argv);
		worst = status <= 128 && status > worst ? status : worst;
		printf("=== %-12s %-7s %5.1f s, seed %llu\n", flavor->name,
		       status > 128 ? "STOPPED" : status ? "FAILURE" : "SUCCESS",
		       (double)(bench_now_ns() - began_ns) / 1e9, (unsigned long long)torture.seed);
		json_array_append_new(list, json_pack("{s:s,s:i,s:I}", "flavor", flavor->name, "status", status, "seed",
						      (json_int_t)torture.seed));
	}
	printf("=== End of all: %s%s\n", worst ? "FAILURE" : "SUCCESS", torture_interrupted() ? ", but interrupted" : "");
	if (root)
		json_object_set_new(root, "flavors", list);
	else
		json_decref(list);
	jsonout_close(json);
	options_free(opt);
	return worst ? worst : torture_end_status(false);
}
