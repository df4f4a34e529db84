/* SPDX-License-Identifier: MIT */
/*
 * every.h - run a model in each way that its choices allow. For models of one thread that are the library's code, where
 * cbmc takes too long: they are compiled and run. The model has run(), asks choose() what its surroundings do, and says
 * assert() what must hold; never() gives a run up. All variables but those of threads begin each run as they began
 * the first.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define CHOICES_MOST 256u
#define STUCK_S	     10 /* of processor time, for a run of a few microseconds */

/* Not a variable: these are set back before each run. */
struct every {
	unsigned char taken[CHOICES_MOST], of[CHOICES_MOST];
	unsigned depth, length;
	unsigned long runs, seen_runs;
	jmp_buf end;
};
static struct every *every;

extern char __data_start[], _end[];

static void fail(const char *what)
{
	char line[400];
	int size = snprintf(line, sizeof(line), "%s, in run %lu\nVERIFICATION FAILED\n", what, every->runs);

	/* A signal may have interrupted anything. */
	_exit(write(STDOUT_FILENO, line, (size_t)size) == size ? 1 : 2);
}

#define WORDS_OF(x) #x
#define LINE_OF(x) WORDS_OF(x)
#undef assert
#define assert(holds)                                                                              \
	do {                                                                                       \
		if (!(holds))                                                                      \
			fail(__FILE__ ":" LINE_OF(__LINE__) ": " #holds);                          \
	} while (0)

/* One of 0 ... @n - 1: each of them in a run of its own. */
static unsigned choose(unsigned n)
{
	unsigned at = every->depth++;

	assert(n && n < 256 && at < CHOICES_MOST);
	if (at == every->length) {
		every->taken[at] = 0;
		every->of[at] = (unsigned char)n;
		every->length++;
	}
	assert(every->of[at] == n);
	return every->taken[at];
}

static bool chance(void)
{
	return choose(2) == 1;
}

/* What has been chosen cannot be. */
static inline void never(void)
{
	longjmp(every->end, 1);
}

static void run(void);

/* The next way in which choices fall. Returns false if there is none. */
static bool choose_next(void)
{
	every->length = every->depth;
	while (every->length) {
		unsigned last = every->length - 1;

		if (++every->taken[last] < every->of[last])
			return true;
		every->length = last;
	}
	return false;
}

static void crashed(int signal)
{
	(void)signal;
	fail("crashed");
}

static void check_progress(int signal)
{
	(void)signal;
	if (every->runs == every->seen_runs)
		fail("does not end");
	every->seen_runs = every->runs;
}

int main(void)
{
	size_t size = (size_t)(_end - __data_start);
	const struct itimerval often = { { STUCK_S, 0 }, { STUCK_S, 0 } };
	struct every *made = (struct every *)calloc(1, sizeof(*made));
	char *first = (char *)malloc(size);

	if (!made || !first)
		return 2;
	every = made;
	memcpy(first, __data_start, size);
	signal(SIGSEGV, crashed);
	signal(SIGBUS, crashed);
	signal(SIGVTALRM, check_progress);
	setitimer(ITIMER_VIRTUAL, &often, NULL);
	do {
		every->depth = 0;
		every->runs++;
		if (!setjmp(every->end))
			run();
		memcpy(__data_start, first, size);
	} while (choose_next());
	printf("%lu runs\nVERIFICATION SUCCESSFUL\n", every->runs);
	return 0;
}
