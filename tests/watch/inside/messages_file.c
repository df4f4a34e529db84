/* SPDX-License-Identifier: MIT */
/*
 * messages_file.c - LULL_MESSAGES: lull's lines go to a file and not to standard error. The variable is read when a program
 * begins, so each case is a program of its own: this one, with an argument.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "child.h"

#include "../src/base/message.h"

static char folder[] = "/tmp/lull-test-messages-XXXXXX", path[64];
static rlim_t room; /* in the file; 0: enough */
static uid_t user; /* whose program it is, with root's rights; 0: one like any other */

WITH_ARGUMENTS(argc, argv)
{
	if (argc < 1)
		return RUN_TESTS;
	setenv("LULL_MESSAGES", "/nowhere", 1); /* too late */
	errno = EINTR;
	lull__say("one");
	must(errno == EINTR);
	lull__say("two");
	if (!strcmp(argv[0], "last"))
		lull__die("three");
	return 0;
}

SETUP
{
	memcpy(strrchr(folder, '-') + 1, "XXXXXX", 6);
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/lines", folder);
}

TEARDOWN
{
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
	user = 0;
	room = 0;
}

static void run_program(const char *messages, const char *argument)
{
	alarm(60);
	setenv("LULL_MESSAGES", messages, 1);
	must(!user || setreuid(user, 0) == 0);
	must(!room || setrlimit(RLIMIT_FSIZE, &(struct rlimit){ room, room }) == 0);
	execl(test_program, test_program, "--file", "watch.inside.messages_file", argument, (char *)NULL);
	_exit(126);
}

/* Let a program say its lines. @on_stderr: what there is of lull's then, as a pattern. */
static void check(const char *messages, const char *argument, const char *on_stderr, const char *in_file)
{
	int fd;
	char found[512] = "";
	struct child child;

#ifdef LULL_TEST_EMULATED
	SKIP("the emulator does not start programs of its own kind");
#endif
	if (child_begin(&child))
		run_program(messages, argument);
	child_await(&child);
	if (fnmatch(on_stderr, child.text, 0) != 0)
		fail_msg("on standard error: %s", child.text);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd >= 0) {
		assert_true(read(fd, found, sizeof(found) - 1) >= 0);
		close(fd);
	}
	assert_string_equal(found, in_file);
}

TEST(new_and_old)
{
	check(path, "says", "", "lull: one\nlull: two\n");
	check(path, "says", "", "lull: one\nlull: two\nlull: one\nlull: two\n");
}

TEST(empty)
{
	check("", "says", "lull: one\nlull: two\n", "");
}

/* The line before an abort is in both places. */
TEST(last)
{
	check(path, "last", "lull: three\n", "lull: one\nlull: two\nlull: three\n");
}

#define COMPLAINT(path) "lull: LULL_MESSAGES is \"" path "\", where no line can go (error *\nlull: one\nlull: two\n"

TEST(bad_paths)
{
	char path_of_600[601];

	memset(path_of_600, '/', 600);
	path_of_600[600] = '\0';
	check("/no/such/folder/lines", "says", COMPLAINT("/no/such/folder/lines"), "");
	check("/tmp", "says", COMPLAINT("/tmp"), "");
	check("/dev/full", "says", COMPLAINT("/dev/full"), "");
	check("lines", "says", COMPLAINT("lines"), "");
	check(path_of_600, "says", COMPLAINT("(a long path)"), "");
	assert_int_equal(mkfifo(path, 0600), 0); /* that nobody reads */
	check(path, "says", COMPLAINT("*/lines"), "");
}

/* A line of which only the beginning finds room is on standard error, too. */
TEST(no_room_for_all)
{
	room = 14;
	check(path, "says", "lull: LULL_MESSAGES is \"*/lines\", where no line can go (error *\nlull: two\n", "lull: one\nlull");
}

/* As where a program is set to run as its owner: not a file that its caller may not write. */
TEST(privileged)
{
	if (geteuid() != 0)
		SKIP("only root can be another user with root's rights");
	user = 65534;
	check(path, "says", "lull: one\nlull: two\n", "");
}
