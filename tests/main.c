/* SPDX-License-Identifier: MIT */
/*
 * main.c - runs the tests of a program, those of each source file in a process of their own:
 *	PROGRAM [--file FILE] [--only TEST] [ARGUMENT...]
 *	PROGRAM --list
 */
#include <sys/wait.h>

#include "test.h"

static struct test_file *files;
const char *test_program, *test_only;
bool (*test_own_syscall)(long number, const long *arg, long *result);

static void list_file(struct test_file *file)
{
	for (struct test_file **at = &files;; at = &(*at)->next) {
		if (*at == file)
			return;
		if (!*at) {
			*at = file;
			return;
		}
	}
}

/* Constructors may be called in any order. */
void list_test(struct test_file *file, struct test *test)
{
	struct test **at = &file->tests;

	list_file(file);
	while (*at && (*at)->line <= test->line)
		at = &(*at)->next;
	test->next = *at;
	*at = test;
}

/* ---- cmocka's view of a test ---------------------------------------------------------------------------------- */

static struct test_file *chosen;

static int setup(void **state)
{
	const struct test *test = *state;
	void (*func)(void) = test->setup ? test->setup : chosen->setup;

	if (func)
		func();
	return 0;
}

static int teardown(void **state)
{
	const struct test *test = *state;
	void (*func)(void) = test->teardown ? test->teardown : chosen->teardown;

	if (func)
		func();
	return 0;
}

static void run(void **state)
{
	((const struct test *)*state)->run();
}

static int after(void **state)
{
	(void)state;
	chosen->after();
	return 0;
}

static int run_file(void)
{
	struct CMUnitTest tests[200];
	size_t count = 0;

	test_own_syscall = chosen->own_syscall;
	if (chosen->before)
		chosen->before();
	for (struct test *test = chosen->tests; test && count < 200; test = test->next)
		if (!test_only || !strcmp(test->name, test_only))
			tests[count++] = (struct CMUnitTest){ test->name, run, setup, teardown, test };
	if (count == 0 || count == 200) {
		fprintf(stderr, "%s: %s\n", chosen->name, count ? "too many tests" : "there is no such test");
		return 1;
	}
	return _cmocka_run_group_tests(chosen->name, tests, count, NULL, chosen->after ? after : NULL);
}

/* ---- files ---------------------------------------------------------------------------------------------------- */

/* By name, or by what comes behind the last dot. */
static bool is_called(const struct test_file *file, const char *name)
{
	const char *last = strrchr(file->name, '.');

	return !strcmp(file->name, name) || (last && !strcmp(last + 1, name));
}

static bool run_in_process(const struct test_file *file)
{
	int status = 1;
	pid_t child = fork();

	if (child == 0) {
		if (test_only)
			execl(test_program, test_program, "--file", file->name, "--only", test_only, (char *)NULL);
		else
			execl(test_program, test_program, "--file", file->name, (char *)NULL);
		perror(test_program);
		_exit(1);
	}
	return waitpid(child, &status, 0) == child && status == 0;
}

static bool has_test(const struct test_file *file, const char *name)
{
	for (const struct test *test = file->tests; test; test = test->next)
		if (!name || !strcmp(test->name, name))
			return true;
	return false;
}

static int run_files(void)
{
	bool any = false, good = true;

	for (const struct test_file *file = files; file; file = file->next)
		if (has_test(file, test_only)) {
			any = true;
			good = run_in_process(file) && good;
		}
	if (!any)
		fprintf(stderr, "%s: there is no such test\n", test_program);
	return any && good ? 0 : 1;
}

static int list(void)
{
	for (const struct test_file *file = files; file; file = file->next)
		for (const struct test *test = file->tests; test; test = test->next)
			printf("%s %s\n", file->name, test->name);
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = NULL;
	int i = 1;

	test_program = argv[0];
	if (argc == 2 && !strcmp(argv[1], "--list"))
		return list();
	for (; i + 1 < argc && (!strcmp(argv[i], "--file") || !strcmp(argv[i], "--only")); i += 2)
		*(!strcmp(argv[i], "--file") ? &name : &test_only) = argv[i + 1];
	if (!name && files && files->next && i == argc)
		return run_files();
	for (chosen = files; chosen && name && !is_called(chosen, name);)
		chosen = chosen->next;
	if (!chosen || (i < argc && !chosen->with_arguments)) {
		fprintf(stderr, "usage: %s [--file FILE] [--only TEST] | --list\n", argv[0]);
		return 1;
	}
	if (i < argc) {
		int status = chosen->with_arguments(argc - i, argv + i);

		if (status != RUN_TESTS)
			return status;
	}
	return run_file();
}
