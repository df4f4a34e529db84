/* SPDX-License-Identifier: MIT */
/*
 * last_line.c - the line before an abort: to whatever descriptor 2 is by then, but not into a file of data; and where a core
 * dump shows it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <termios.h>

#include "child.h"

#include "../src/base/message.h"

static char path[] = "/tmp/lull-test-last-line-XXXXXX";
static char *seen; /* a page that the child shares */

static void note_message(int sig)
{
	(void)sig;
	memcpy(seen, lull__abort_message, sizeof(lull__abort_message));
	_exit(errno == EINTR || UNDER_TSAN ? 0 : 1); /* ThreadSanitizer calls handlers with an errno of its own */
}

/* Let a child abort whose descriptor 2 has become @fd since the library was loaded. @last: or only say something. */
static void abort_with_stderr(int fd, bool last)
{
	int status = 0;
	pid_t child;

	memset(seen, 0, 4096);
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct rlimit no_core = { 0, 0 };

		setrlimit(RLIMIT_CORE, &no_core);
		alarm(60);
		signal(SIGABRT, note_message);
		must(dup2(fd, 2) == 2);
		errno = EINTR; /* it is as it was */
		if (!last) {
			lull__say("this is not the last");
			_exit(0);
		}
		lull__die("this is the %s", "last");
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_string_equal(seen, last ? "this is the last" : "");
}

/* What has arrived in @from, which does not block. */
static void check_arrived(int from, const char *words)
{
	char text[256] = "";
	ssize_t got = read(from, text, sizeof(text) - 1);

	text[got > 0 ? got : 0] = '\0';
	assert_string_equal(text, words);
}

#define LAST "lull: this is the last\n"

static void check_both(int to, int from)
{
	fcntl(from, F_SETFL, O_NONBLOCK);
	abort_with_stderr(to, false);
	check_arrived(from, "");
	abort_with_stderr(to, true);
	check_arrived(from, LAST);
}

TEST(pipe_of_a_log)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	check_both(ends[1], ends[0]);
	close(ends[0]);
	close(ends[1]);
}

TEST(socket_of_a_log)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	check_both(ends[1], ends[0]);
	close(ends[0]);
	close(ends[1]);
}

TEST(terminal)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave = -1;
	struct termios raw;

	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 ||
	    (slave = open(ptsname(master), O_RDWR | O_NOCTTY)) < 0)
		SKIP("there is no /dev/pts here");
	assert_int_equal(tcgetattr(slave, &raw), 0);
	raw.c_oflag &= ~(tcflag_t)OPOST;
	assert_int_equal(tcsetattr(slave, TCSANOW, &raw), 0);
	check_both(slave, master);
	close(slave);
	close(master);
}

/* A file that is appended to is a log; any other one may be data, and the position in it the program's. */
TEST(files)
{
	int data = open(path, O_RDWR), log = open(path, O_RDWR | O_APPEND);

	assert_true(data >= 0 && log >= 0);
	abort_with_stderr(data, true);
	check_arrived(log, "");
	check_both(log, data);
	close(data);
	close(log);
}

TEST(nowhere)
{
	int null = open("/dev/null", O_WRONLY);

	assert_true(null >= 0);
	abort_with_stderr(null, true);
	close(null);
}

static void hear_last(const char *line)
{
	must(strcmp(line, "first") != 0 || strcmp(lull__abort_message, "first") == 0);
	if (strcmp(line, "first") == 0)
		lull__die("second");
	must(strcmp(lull__abort_message, "first") == 0); /* what comes after it explains less */
	_exit(0);
}

/* A hook gets it as ever, and finds it noted. */
TEST(hook)
{
	EXPECT_FINE {
		must(lull__abort_message[0] == '\0');
		lull_debug_set_message_hook(hear_last);
		lull__die("first");
	}
}

BEFORE_ALL
{
	int fd = mkstemp(path);

	must(fd >= 0);
	close(fd);
	seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(seen != MAP_FAILED);
}

AFTER_ALL
{
	must(unlink(path) == 0);
}
