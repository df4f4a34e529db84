/* SPDX-License-Identifier: MIT */
/* lull torture --flavor wild: the conditions, and which of them go together. See surroundings.h. */
#include "torture/surroundings/surroundings.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/cpus.h"
#include "common/options.h"
#include "torture/flavors.h"

#define B(c) WILD_BIT(WILD_##c)
#define EXTRAS_MOST 4u

/* Conditions of the mix alone: only the mix can do without memory and threads, and has its own load. */
#define NOT_IN_FLAVORS                                                                                       \
	(B(NO_CLONE) | B(IDLE_FREES) | B(CROWD) | B(BIG_PARKED) | B(NO_THREADS) | B(NO_MEMORY) | B(BURST) | B(SMALL_STACK) | B(LATE_USE) | B(STALL) | B(FLOOD) | B(FAULT) | \
	 B(COOKIES) | B(POLL) | B(CALLER) | B(STDERR_FULL) | B(STDERR_DEAD) | B(STDERR_REUSED) |             \
	 B(STDERR_CLOSED) | B(FORK) | B(RAW_FORK) | B(NO_OPENAT) | B(END_EXIT) | B(END_AT_ONCE))

static const char *no_preload(void)
{
	if (TORTURE_HAS_SANITIZER)
		return "the sanitizer in this build replaces these calls itself";
	return wild_preload_path() ? NULL : "the library with failing calls is not beside the command";
}

static const char *no_shared_library(void)
{
	const char *why = no_preload();

	if (!why && torture.fault_name && torture.use_fault != FAULT_NO_EFFECT)
		why = "the library is part of this program, so nobody can tell whose call it is";
	return why;
}

static const char *no_sanitizer(void)
{
	return TORTURE_HAS_SANITIZER ? "the sanitizer in this build needs more than that" : NULL;
}

static const char *no_fork(void)
{
	return TORTURE_HAS_SANITIZER ? "the sanitizer in this build does not work in a child that makes threads" : NULL;
}

static const char *no_end_of_main(void)
{
#ifdef LULL__TSAN
	return "ThreadSanitizer does not work after the main thread has ended";
#else
	return NULL;
#endif
}

static const char *no_fifo(void)
{
	struct sched_param old = { 0 }, fifo = { .sched_priority = 1 };
	int policy = sched_getscheduler(0);

	sched_getparam(0, &old);
	if (sched_setscheduler(0, SCHED_FIFO, &fifo) != 0)
		return "real-time priorities need CAP_SYS_NICE";
	sched_setscheduler(0, policy, &old);
	return NULL;
}

/* To lower a thread's nice value takes the same right as FIFO. */
static const char *no_nice(void)
{
	return geteuid() == 0 && !no_fifo() ? NULL : "only a process with CAP_SYS_NICE can lower a nice value";
}

static const char *one_cpu_only(void)
{
	return bench_cpus() < 2 ? "there is only one processor" : NULL;
}

static const struct wild_row rows[NR_WILD] = {
	[WILD_FSIZE] = {
		.name = "fsize", .what = "no file may be written: RLIMIT_FSIZE 0", .against = B(STDERR_REUSED),
	},
	[WILD_NO_MEMBARRIER] = {
		.name = "no-membarrier", .what = "membarrier is forbidden from the start",
		.against = B(LOST_MEMBARRIER) | B(FAIL_MEMBARRIER),
	},
	[WILD_LOST_MEMBARRIER] = {
		.name = "lost-membarrier", .what = "membarrier begins to fail after some time",
		.against = B(FAIL_MEMBARRIER) | B(FULL_FENCE) | B(NO_OPENAT), /* see fence.h */
	},
	[WILD_NO_MEMFD] = { .name = "no-memfd", .what = "memfd_create is forbidden", .line = { "memfd" } },
	[WILD_NO_AFFINITY] = {
		.name = "no-affinity", .what = "sched_setaffinity is forbidden",
		.against = B(FIRST_PINNED) | B(LOST_MEMBARRIER),
	},
	[WILD_NO_OPENAT] = {
		.name = "no-openat", .what = "no file can be opened any more", .why_not = no_sanitizer,
		.against = B(STDERR_REUSED) | B(STDERR_CLOSED),
	},
	[WILD_NO_THREADS] = {
		.name = "no-threads", .what = "RLIMIT_NPROC is used up for a while", .why_not = no_sanitizer,
		.against = B(FIRST_FIFO) | B(FIRST_NICE), .line = { "thread" },
	},
	[WILD_NO_MEMORY] = {
		.name = "no-memory", .what = "RLIMIT_AS is used up for a while", .why_not = no_sanitizer,
		.line = { "thread", "no memory" },
	},
	[WILD_NO_CLONE] = {
		.name = "no-clone", .what = "no thread can be started any more, once those of the library are there",
		.why_not = no_sanitizer,
		.against = B(NO_THREADS) | B(NO_MEMORY) | B(FAIL_THREADS) | B(FAIL_MALLOC) | B(FAIL_MMAP) | B(FORK) |
			   B(RAW_FORK) | B(POLL) | B(END_EXIT) | B(END_AT_ONCE) | B(END_MAIN_EXITS) | B(FAULT),
	},
	[WILD_FAIL_MALLOC] = {
		.name = "fail-malloc", .what = "the library's malloc fails now and then",
		.why_not = no_shared_library, .line = { "memory" },
	},
	[WILD_FAIL_THREADS] = {
		.name = "fail-threads", .what = "its pthread_create fails now and then", .why_not = no_shared_library,
		.line = { "thread" },
	},
	[WILD_FAIL_MMAP] = {
		.name = "fail-mmap", .what = "its mmap fails now and then", .why_not = no_shared_library,
		.line = { "no memory" },
	},
	[WILD_FAIL_MEMBARRIER] = {
		.name = "fail-membarrier", .what = "its membarrier fails now and then", .why_not = no_shared_library,
		.against = B(FULL_FENCE) | B(NO_AFFINITY),
	},
	[WILD_STDERR_FULL] = {
		.name = "stderr-full", .what = "standard error is a full pipe that nobody reads",
		.group = GROUP_STDERR,
	},
	[WILD_STDERR_DEAD] = {
		.name = "stderr-dead", .what = "standard error is a pipe whose reader has died",
		.group = GROUP_STDERR,
	},
	[WILD_STDERR_REUSED] = {
		.name = "stderr-reused", .what = "standard error is closed, and its number is a data file's",
		.group = GROUP_STDERR,
	},
	[WILD_STDERR_CLOSED] = {
		.name = "stderr-closed", .what = "there is no standard error; its number becomes a data file's",
		.group = GROUP_STDERR,
	},
	[WILD_TYPO] = {
		.name = "typo", .what = "a variable of the environment is misspelt", .line = { "LULL_STATS" },
	},
	[WILD_FULL_FENCE] = { .name = "full-fence", .what = "LULL_FENCE=full" },
	[WILD_FIRST_IDLE] = { .name = "first-idle", .what = "the first user is SCHED_IDLE", .group = GROUP_FIRST },
	[WILD_FIRST_FIFO] = {
		.name = "first-fifo", .what = "the first user is SCHED_FIFO", .group = GROUP_FIRST,
		.why_not = no_fifo,
	},
	[WILD_FIRST_NICE] = {
		.name = "first-nice", .what = "the first user is at nice 19", .group = GROUP_FIRST,
		.why_not = no_nice,
	},
	[WILD_FIRST_PINNED] = {
		.name = "first-pinned", .what = "the first user may run only on one CPU", .group = GROUP_FIRST,
		.why_not = one_cpu_only,
	},
	[WILD_ONE_CPU] = {
		.name = "one-cpu", .what = "the whole process may run only on one CPU", .against = B(FIRST_PINNED),
	},
	[WILD_NICE] = {
		.name = "nice", .what = "the whole process is at nice 19", .against = B(FIRST_NICE) | B(IDLE),
	},
	[WILD_IDLE] = { .name = "idle", .what = "the whole process is SCHED_IDLE" },
	[WILD_BURST] = { .name = "burst", .what = "hundreds of threads come and go, and memory is as before" },
	[WILD_SMALL_STACK] = {
		.name = "small-stack", .what = "threads of a burst have the smallest stacks that are possible",
		.why_not = no_sanitizer,
	},
	[WILD_LATE_USE] = {
		.name = "late-use", .what = "threads of a burst may first use the library in their last round of destructors",
	},
	[WILD_STALL] = {
		.name = "stall", .what = "readers stall for a while, and the library reports them",
		.line = { "has waited", "has not returned" },
	},
	[WILD_FLOOD] = {
		.name = "flood", .what = "threads flood the reclaimer while nobody stalls",
		.against = B(STALL) | B(POLL) | B(CALLER) | B(NO_MEMORY) | B(STDERR_FULL) | B(STDERR_DEAD) |
			B(STDERR_REUSED) | B(STDERR_CLOSED),
	},
	[WILD_IDLE_FREES] = {
		.name = "idle-frees", .what = "SCHED_IDLE threads do nothing but free",
		.against = B(POLL),
	},
	[WILD_CROWD] = {
		.name = "crowd", .what = "thousands of threads that have deferred once sleep",
		/* Where membarrier fails each heavy fence asks for the CPUs of each thread. */
		.against = B(NO_THREADS) | B(NO_MEMORY) | B(FORK) | B(RAW_FORK) | B(FLOOD) | B(FAIL_MEMBARRIER) |
			   B(LOST_MEMBARRIER),
	},
	[WILD_BIG_PARKED] = {
		.name = "big-parked", .what = "a hazard pointer keeps 32 MiB that are retired",
		.against = B(NO_MEMORY) | B(FLOOD),
	},
	[WILD_COOKIES] = {
		.name = "cookies", .what = "a stream of polled cookies, beside readers that overlap",
		.against = B(STALL),
	},
	[WILD_FAULT] = { .name = "fault", .what = "a callback faults, and a handler mends it" },
	[WILD_FORK] = {
		.name = "fork", .what = "children use everything, and exit in either way", .why_not = no_fork,
	},
	[WILD_RAW_FORK] = { .name = "raw-fork", .what = "children of _Fork() read and lock", .why_not = no_fork },
	[WILD_POLL] = { .name = "poll", .what = "the program runs callbacks in its own loop", .group = GROUP_MODE },
	[WILD_CALLER] = { .name = "caller", .what = "callbacks run in the threads that defer", .group = GROUP_MODE },
	[WILD_END_MAIN_EXITS] = {
		.name = "end-main-exits", .what = "main ends by pthread_exit(), then the others end",
		.group = GROUP_END, .why_not = no_end_of_main,
	},
	[WILD_END_SIGTERM] = { .name = "end-sigterm", .what = "SIGTERM has to end the process", .group = GROUP_END },
	[WILD_END_EXIT] = {
		.name = "end-exit", .what = "a thread calls exit() while all use the library", .group = GROUP_END,
	},
	[WILD_END_AT_ONCE] = { .name = "end-at-once", .what = "a thread calls _exit() while all use the library", .group = GROUP_END },
	[WILD_END_CONTEXT] = {
		.name = "end-context", .what = "main returns with a context of hazard pointers on its stack",
		.group = GROUP_END,
	},
	[WILD_WORK] = { .name = "work-rcu", .what = "flavor rcu", .group = GROUP_WORK, .against = NOT_IN_FLAVORS },
	{ .name = "work-rcu-qsbr", .what = "flavor rcu-qsbr", .group = GROUP_WORK, .against = NOT_IN_FLAVORS },
	{ .name = "work-hazptr", .what = "flavor hazptr", .group = GROUP_WORK, .against = NOT_IN_FLAVORS },
	{ .name = "work-shazptr", .what = "flavor shazptr", .group = GROUP_WORK, .against = NOT_IN_FLAVORS },
	{ .name = "work-bridge", .what = "flavor bridge", .group = GROUP_WORK, .against = NOT_IN_FLAVORS },
	{
		.name = "work-percpu_ref", .what = "flavor percpu_ref", .group = GROUP_WORK,
		.against = NOT_IN_FLAVORS | B(FAIL_MALLOC) | B(FAIL_MMAP),
	},
	{
		.name = "work-hash", .what = "flavor hash", .group = GROUP_WORK,
		.against = NOT_IN_FLAVORS | B(FAIL_MALLOC),
	},
	{ .name = "work-mutex", .what = "flavor mutex", .group = GROUP_WORK, .against = NOT_IN_FLAVORS },
	{ .name = "work-cohort", .what = "flavor cohort", .group = GROUP_WORK, .against = NOT_IN_FLAVORS },
};

/* Known to fail, and not drawn until they are mended: one, or what fails together. */
static const char *const not_yet[] = {
	"end-context", NULL,
};

/* Reports are what a standard error is tried by. */
static wild_set complete(wild_set set)
{
	if (set & (B(STDERR_FULL) | B(STDERR_DEAD) | B(STDERR_REUSED) | B(STDERR_CLOSED)))
		set |= B(STALL);
	if (set & (B(SMALL_STACK) | B(LATE_USE)))
		set |= B(BURST);
	return set;
}

const struct wild_row *wild_row(enum wild_condition c)
{
	return &rows[c];
}

static bool is_not_yet(wild_set set)
{
	unsigned i;

	for (i = 0; not_yet[i]; i++) {
		wild_set fails = wild_parse(not_yet[i]);

		if ((set & fails) == fails)
			return true;
	}
	return false;
}

/* Conditions asked for by name run although they are known to fail. */
const char *wild_why_not(enum wild_condition c)
{
	static const char *answer[NR_WILD];
	static bool asked[NR_WILD];

	if (!asked[c]) {
		asked[c] = true;
		answer[c] = rows[c].why_not ? rows[c].why_not() : NULL;
		if (!answer[c] && is_not_yet(complete(WILD_BIT(c))) && !torture.conditions)
			answer[c] = "known to fail, and not yet mended";
	}
	return answer[c];
}

bool wild_fits(wild_set set, enum wild_condition c)
{
	wild_set with = complete(set | WILD_BIT(c));
	unsigned of_group[GROUP_WORK + 1] = { 0 };
	enum wild_condition other;

	for (other = 0; other < NR_WILD; other++) {
		if (!(with & WILD_BIT(other)))
			continue;
		if (rows[other].against & with)
			return false;
		if (rows[other].group && of_group[rows[other].group]++)
			return false;
	}
	return true;
}

wild_set wild_draw(enum wild_condition first, uint64_t *rng)
{
	wild_set set = complete(WILD_BIT(first));
	uint64_t n = torture_random(rng, EXTRAS_MOST + 1), tries = 4 * EXTRAS_MOST;

	while (n && tries--) {
		enum wild_condition c = (enum wild_condition)torture_random(rng, NR_WILD);

		if ((set & WILD_BIT(c)) || !wild_fits(set, c) || wild_why_not(c) ||
		    is_not_yet(complete(set | WILD_BIT(c))))
			continue;
		set = complete(set | WILD_BIT(c));
		n--;
	}
	return set;
}

wild_set wild_parse(const char *text)
{
	const char *words[NR_WILD + 1] = { NULL };
	wild_set set = 0;
	size_t count, i;
	char **names;

	if (strcmp(text, "none") == 0)
		return 0;
	names = options_split("--conditions", text, &count);

	for (i = 0; i < NR_WILD; i++)
		words[i] = rows[i].name;
	for (i = 0; i < count; i++) {
		enum wild_condition c = (enum wild_condition)options_word("--conditions", names[i], words);

		if (!(set & WILD_BIT(c)) && !wild_fits(set, c))
			options_bad("--conditions: %s does not go with a condition before it", rows[c].name);
		set |= WILD_BIT(c);
		free(names[i]);
	}
	free(names);
	return complete(set);
}

const char *wild_names(wild_set set)
{
	static char text[1024];
	size_t len = 0;
	unsigned i;

	if (!set)
		return "none";
	text[0] = '\0';
	for (i = 0; i < NR_WILD; i++)
		if (set & WILD_BIT(i))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? "," : "", rows[i].name);
	return text;
}

void wild_list(void)
{
	unsigned i;

	for (i = 0; i < NR_WILD; i++) {
		const char *why = wild_why_not((enum wild_condition)i);

		printf("%-16s %s%s%s%s\n", rows[i].name, rows[i].what, why ? " (skipped: " : "", why ? why : "",
		       why ? ")" : "");
	}
}
