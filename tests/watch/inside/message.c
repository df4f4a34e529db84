/* SPDX-License-Identifier: MIT */
/*
 * message.c - what lull's lines do to the program: they wait for no thread, raise no signal, and go to no file that
 * is not its standard error; reports are made with no lock held.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>

#include "watch/stalls.h"

#include "../src/base/message.h"

/* ---- lines, in a child whose standard error is something special ------------------------------------------------ */

static char path[] = "/tmp/lull-test-message-XXXXXX";

/* Make @fd the standard error that lull writes to. */
static void to_stderr(int fd)
{
	alarm(60);
	must(dup2(fd, 2) == 2);
	lull_debug_set_message_hook(NULL);
}

static void fill(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	char bytes[4096] = { 0 };

	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	while (write(fd, bytes, 1) > 0)
		;
	fcntl(fd, F_SETFL, flags);
}

static int ends[2]; /* of what is written to: the second */

static void make_pipe(void)
{
	must(pipe(ends) == 0);
}

static void make_socket(void)
{
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
}

static void make_full_pipe(void)
{
	make_pipe();
	fill(ends[1]);
}

/* A page is free: the first lines go there. */
static void make_nearly_full_pipe(void)
{
	char bytes[4096];

	make_full_pipe();
	must(read(ends[0], bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes));
}

static void make_full_socket(void)
{
	make_socket();
	fill(ends[1]);
}

/* Ctrl-S. */
static void make_stopped_terminal(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);

	must(master >= 0);
	must(grantpt(master) == 0 && unlockpt(master) == 0);
	ends[1] = open(ptsname(master), O_RDWR | O_NOCTTY);
	must(ends[1] >= 0);
	must(tcflow(ends[1], TCOOFF) == 0);
}

static bool has_terminals(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	const char *name = master >= 0 ? ptsname(master) : NULL;
	bool has = name && access(name, F_OK) == 0;

	if (master >= 0)
		close(master);
	return has;
}

TEST(never_blocks)
{
	static void (*const make[])(void) = { make_full_pipe, make_nearly_full_pipe, make_full_socket, make_stopped_terminal };

	for (size_t i = 0; i < sizeof(make) / sizeof(make[0]); i++) {
		if (make[i] == make_stopped_terminal && !has_terminals())
			SKIP("there is no /dev/pts here");
		EXPECT_FINE {
			char line[600];

			make[i]();
			to_stderr(ends[1]);
			memset(line, 'x', sizeof(line) - 1);
			line[sizeof(line) - 1] = '\0';
			for (int n = 0; n < 100; n++)
				lull__say("%s", line);
		}
	}
}

static bool is_pending(int number)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, number) == 1;
}

static void block(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void make_full_file(void)
{
	struct rlimit limit = { 8, 8 };

	ends[1] = open(path, O_RDWR | O_TRUNC | O_APPEND);
	must(ends[1] >= 0 && write(ends[1], "12345678", 8) == 8);
	must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

TEST(raises_no_signal)
{
	static const struct {
		void (*make)(void);
		int signal;
	} ways[] = { { make_pipe, SIGPIPE }, { make_socket, SIGPIPE }, { make_full_file, SIGXFSZ } };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		EXPECT_FINE {
			ways[i].make();
			close(ends[0]);
			to_stderr(ends[1]);
			lull__say("nobody reads this any more");
			/* Blocked: as if there had been nothing. And one of the program's own stays. */
			block(ways[i].signal);
			lull__say("nobody reads this any more");
			must(!is_pending(ways[i].signal));
			raise(ways[i].signal);
			lull__say("nobody reads this any more");
			must(is_pending(ways[i].signal));
		}
}

/* A daemon: 0 to 2 are closed, and the first file that it opens becomes 2. */
static void say_after_closing(void)
{
	int fd;

	for (fd = 0; fd < 3; fd++)
		close(fd);
	do
		fd = open(path, O_RDWR | O_TRUNC);
	while (fd >= 0 && fd < 2);
	if (fd != 2 || write(2, "DATA", 4) != 4)
		_exit(1);
	lull__say("this is not for that file");
	close(2);
	lull__say("this is for nobody");
}

/* Closed when the program said what its standard error is. */
static void say_without_stderr(void)
{
	close(2);
	lull_debug_set_message_hook(NULL);
	say_after_closing();
}

static void check_data(void)
{
	char data[64] = "";
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, data, sizeof(data) - 1), 4);
	close(fd);
	assert_string_equal(data, "DATA");
}

TEST(only_to_stderr)
{
	expect_fine(say_after_closing);
	check_data();
	expect_fine(say_without_stderr);
	check_data();
}

/* Text that there is room for arrives, with errno as it was. */
static void say_something(void)
{
	errno = 7;
	lull__say("one %d", 1);
	lull__say("two");
	must(errno == 7);
}

TEST(arrives)
{
	char text[4096];

	assert_int_equal(run_child(say_something, text, sizeof(text)), 0);
	assert_string_equal(text, "lull: one 1\nlull: two\n");
	EXPECT_ABORT("this is wrong (thread \"")
		lull__misuse("this is %s", "wrong");
}

/* The pipe cannot be opened once more: it is written to all the same, if it has room. */
TEST(without_descriptors)
{
	char text[256] = "";

#ifdef LULL_TEST_EMULATED
	SKIP("the emulator has descriptors of its own");
#endif
	if (under_valgrind())
		SKIP("valgrind has descriptors of its own");
	make_pipe();
	EXPECT_FINE {
		struct rlimit one = { 1, 1 }; /* poll(2) wants as many as it looks at */

		to_stderr(ends[1]);
		must(dup2(2, 0) == 0);
		must(setrlimit(RLIMIT_NOFILE, &one) == 0);
		lull__say("there is room for this");
		fill(2);
		lull__say("but not for this");
	}
	assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
	assert_int_equal(strncmp(text, "lull: there is room for this\n", 29), 0);
	close(ends[0]);
	close(ends[1]);
}

#define LETTERS "abcdefghijklmnopqrstuvwxyz\n"

static int interrupted, is_written;

static void note_signal(int number)
{
	(void)number;
	lull_store_release(&interrupted, 1);
}

static void *writes_letters(void *fd)
{
	assert_int_equal(lull__write(*(int *)fd, LETTERS, strlen(LETTERS), true), 0);
	lull_store_release(&is_written, 1);
	return NULL;
}

/* A write that waits for room, and that signals interrupt: all of it arrives, and each byte once. */
TEST(interrupted)
{
	struct sigaction action, saved;
	char bytes[4096], last[64] = "";
	pthread_t writer;
	size_t length = 0;
	ssize_t got = 0;

	memset(&action, 0, sizeof(action));
	action.sa_handler = note_signal;
	assert_int_equal(sigaction(SIGUSR1, &action, &saved), 0);
	make_full_pipe();
	writer = start_thread(writes_letters, &ends[1]);
	for (int i = 0; i < 20; i++) {
		lull_store_relaxed(&interrupted, 0);
		interrupt_until(writer, SIGUSR1, &interrupted, 1);
	}
	assert_int_equal(lull_load_acquire(&is_written), 0);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	for (bool all = false; !all || got > 0;) {
		all = lull_load_acquire(&is_written);
		got = read(ends[0], bytes, sizeof(bytes));
		for (ssize_t i = 0; i < got; i++)
			if (bytes[i] && length < sizeof(last) - 1) /* the pipe was filled with zeros */
				last[length++] = bytes[i];
		sched_yield();
	}
	join_thread(writer);
	assert_string_equal(last, LETTERS);
	sigaction(SIGUSR1, &saved, NULL);
	close(ends[0]);
	close(ends[1]);
}

static void hear_aloud(const char *line)
{
	must(dprintf(2, "<%s> heard by %d", line, (int)gettid()) > 0);
}

static void misuse_here(void)
{
	lull_debug_set_message_hook(hear_aloud);
	lull_rcu_offline();
}

/* The hook is told once, in the thread at fault, without a newline; and no other writes to standard error. */
TEST(hook_hears_abort)
{
	unsigned said, heard_by;
	char text[4096], *end;
	int status;

	status = run_child(misuse_here, text, sizeof(text));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_int_equal(strncmp(text, "<lull_rcu_offline: not online (thread \"", 39), 0);
	end = strstr(text, "\", tid ");
	assert_non_null(end);
	assert_int_equal(sscanf(end, "\", tid %u)> heard by %u", &said, &heard_by), 2);
	assert_int_equal(said, heard_by);
#ifndef LULL_TEST_EMULATED /* the emulator says something of itself */
	assert_null(strchr(text, '\n'));
#endif
}

/* ---- reports, while others want to go on ------------------------------------------------------------------------- */

static int reported, go_on;

/* Report a stall of a reader to @hook, at once. */
static pthread_t begin_stall(lull_stall_hook hook)
{
	reported = go_on = 0;
	report_to(hook, NULL, 10);
	return start_holder(in_section, NULL);
}

/* The hook lets the reader go, and waits for a grace period of its own. */
static void hook_that_synchronizes(const struct lull_stall *stall, void *arg)
{
	(void)stall;
	(void)arg;
	let_go();
	lull_rcu_synchronize();
	lull_store_release(&reported, 1);
}

TEST(hook_synchronizes)
{
	pthread_t reader = begin_stall(hook_that_synchronizes);

	lull_rcu_synchronize();
	lull_debug_set_stall_hook(NULL, NULL);
	join_thread(reader);
	assert_int_equal(reported, 1);
}

static void hook_that_waits(const struct lull_stall *stall, void *arg)
{
	(void)stall;
	(void)arg;
	if (lull_xchg_relaxed(&reported, 1))
		return;
	let_go();
	await_flag(&go_on, 1);
}

/* One thread's report does not come to an end; the grace periods of the others do. */
TEST(others_go_on)
{
	pthread_t reader = begin_stall(hook_that_waits), reporter = start_waiter(lull_rcu_synchronize);

	await_flag(&reported, 1);
	lull_rcu_synchronize();
	lull_rcu_gp_wait(lull_rcu_gp_start());
	lull_store_release(&go_on, 1);
	join_thread(reporter);
	join_thread(reader);
}

static int called;

static void note_call(struct lull_head *head)
{
	(void)head;
	lull_store_release(&called, 1);
}

/* The background thread's report does not come to an end; what is deferred can be reclaimed by others. */
TEST(deferrals_go_on)
{
	static struct lull_head head;
	pthread_t reader = begin_stall(hook_that_waits);

	lull_rcu_call(&head, note_call);
	await_flag(&reported, 1);
	for (int ms = 0; ms < 10000 && !lull_load_acquire(&called); ms++, nap_ms(1))
		lull_reclaim_poll(SIZE_MAX, 0);
	assert_int_equal(lull_load_acquire(&called), 1);
	lull_store_release(&go_on, 1);
	lull_rcu_barrier();
	join_thread(reader);
}

static int stop_reading, calls_run;

static void *reads_on_and_on(void *unused)
{
	while (!lull_load_acquire(&stop_reading)) {
		lull_rcu_read_lock();
		nap_ms(20);
		lull_rcu_read_unlock();
	}
	return unused;
}

static void count_call(struct lull_head *head)
{
	free(head);
	lull_add_release(&calls_run, 1);
}

/* Each grace period is reported, and more is deferred all the time: callbacks run all the same. */
TEST(reports_put_nothing_off)
{
	pthread_t readers[2];

	report_to(count_stall, NULL, 5);
	for (int i = 0; i < 2; i++, nap_ms(10))
		readers[i] = start_thread(reads_on_and_on, NULL);
	for (int ms = 0; ms < 20000 && (lull_load_acquire(&calls_run) < 200 || lull_load_relaxed(&stalls) < 10); ms++) {
		lull_rcu_call(malloc(sizeof(struct lull_head)), count_call);
		nap_ms(1);
	}
	assert_true(lull_load_acquire(&calls_run) >= 200);
	assert_true(lull_load_relaxed(&stalls) >= 10);
	lull_store_release(&stop_reading, 1);
	for (int i = 0; i < 2; i++)
		join_thread(readers[i]);
	lull_rcu_barrier();
}

BEFORE_ALL
{
	int fd = mkstemp(path);

	must(fd >= 0);
	close(fd);
	alarm(100);
}

AFTER_ALL
{
	must(unlink(path) == 0);
}
