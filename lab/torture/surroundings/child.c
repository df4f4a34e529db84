/* SPDX-License-Identifier: MIT */
/* lull torture --flavor wild: a round's process, from its begin to its end, seen from outside. See surroundings.h. */
#include "torture/surroundings/surroundings.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/options.h"

#define LOOK_MS 10
#define WORK_IS_OVER "\nwork is over\n"
#define TEXT_BYTES 65536u
#define DUMP_MS 1000 /* for a round that hangs to say what it knows itself */

/* Text from a pipe. What does not fit is read and thrown away. */
struct stream {
	int fd; /* -1: it is not read */
	size_t len;
	char text[TEXT_BYTES];
};

static struct stream out, err;
static struct {
	pid_t pid;
	wild_set set;
	uint64_t began_ns;
	int status;
	bool was_terminated;
} round_;

static void blame(struct wild_end *end, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The first failure is the one that counts. */
static void blame(struct wild_end *end, const char *fmt, ...)
{
	va_list ap;

	if (end->failure[0])
		return;
	va_start(ap, fmt);
	vsnprintf(end->failure, sizeof(end->failure), fmt, ap);
	va_end(ap);
	options_one_line(end->failure);
}

/* ---- its begin ------------------------------------------------------------------------------- */

static char **words_for(wild_set set, uint64_t seed)
{
	char **words = options_alloc(16, sizeof(*words));
	unsigned n = 0;

	words[n++] = options_printf("lull");
	/* The program with the faults has no other subcommand. */
	if (!torture.fault_name)
		words[n++] = options_printf("torture");
	words[n++] = options_printf("--flavor");
	words[n++] = options_printf("wild");
	words[n++] = options_printf("--round-of-wild");
	words[n++] = options_printf("--patience");
	words[n++] = options_printf("%u", torture.patience_s);
	words[n++] = options_printf("--seed");
	words[n++] = options_printf("%llu", (unsigned long long)seed);
	words[n++] = options_printf("--conditions");
	words[n++] = options_printf("%s", wild_names(set));
	if (torture.fault_name) {
		words[n++] = options_printf("--busted");
		words[n++] = options_printf("%s", torture.fault_name);
	}
	return words;
}

static void open_pipe(int fds[2])
{
	if (pipe2(fds, O_CLOEXEC) != 0)
		options_fail("no pipe: %s", strerror(errno));
}

static void begin(wild_set set, uint64_t seed)
{
	int out_fds[2], err_fds[2];
	char **words = words_for(set, seed);
	pid_t parent = getpid();
	unsigned i;

	open_pipe(out_fds);
	open_pipe(err_fds);
	fflush(stdout);
	round_.pid = fork();
	if (round_.pid < 0)
		options_fail("cannot fork: %s", strerror(errno));
	if (round_.pid == 0) {
		setsid();
		torture_die_with(parent);
		dup2(out_fds[1], STDOUT_FILENO);
		if (set & WILD_BIT(WILD_STDERR_DEAD))
			close(err_fds[0]);
		wild_surround(set, seed, err_fds);
		execv("/proc/self/exe", words);
		_exit(EXIT_FAILURE);
	}
	close(out_fds[1]);
	close(err_fds[1]);
	out.fd = out_fds[0];
	err.fd = err_fds[0];
	fcntl(out.fd, F_SETFL, O_NONBLOCK);
	fcntl(err.fd, F_SETFL, O_NONBLOCK);
	if (set & WILD_BIT(WILD_STDERR_DEAD)) {
		close(err.fd);
		err.fd = -1;
	}
	for (i = 0; words[i]; i++)
		free(words[i]);
	free(words);
}

/* ---- meanwhile ------------------------------------------------------------------------------- */

static void drain(struct stream *s)
{
	char rest[4096];
	ssize_t got;

	while (s->fd >= 0) {
		bool is_full = s->len == TEXT_BYTES - 1;

		got = read(s->fd, is_full ? rest : s->text + s->len, is_full ? sizeof(rest) : TEXT_BYTES - 1 - s->len);
		if (got <= 0)
			return;
		s->len += is_full ? 0 : (size_t)got;
		s->text[s->len] = '\0';
	}
}

static void drain_both(void)
{
	drain(&out);
	if (!(round_.set & WILD_BIT(WILD_STDERR_FULL)))
		drain(&err);
}

static bool is_over(int options)
{
	pid_t got;

	do
		got = waitpid(round_.pid, &round_.status, options);
	while (got < 0 && errno == EINTR);
	return got == round_.pid;
}

/* Read what the round says, and send the SIGTERM that it is to end by when it asks for it. */
static void serve(void)
{
	struct pollfd poll_fd = { .fd = out.fd, .events = POLLIN };

	poll(&poll_fd, 1, LOOK_MS);
	/* A pipe whose other end is closed everywhere is always ready. */
	if (poll_fd.revents & POLLHUP)
		torture_sleep_us(1000 * LOOK_MS / 2);
	drain_both();
	if (!round_.was_terminated && strstr(out.text, "\nsend SIGTERM\n")) {
		round_.was_terminated = true;
		kill(round_.pid, SIGTERM);
	}
}

static void print_hang(void)
{
	printf("--- a round (seed and conditions follow) has not ended after %u s; its threads:\n", torture.patience_s);
	wild_dump_threads(round_.pid);
	kill(round_.pid, SIGQUIT); /* its handler dumps the library's state */
	torture_sleep_us(1000 * DUMP_MS);
	drain_both();
	printf("--- its last output:\n%s---\n", out.len > 4096 ? out.text + out.len - 4096 : out.text);
	fflush(stdout);
}

/* Returns whether it has come to an end by itself. */
static bool watch(struct wild_end *end)
{
	uint64_t until_ns = round_.began_ns + torture.patience_s * UINT64_C(1000000000);

	while (!is_over(WNOHANG)) {
		if (bench_now_ns() < until_ns) {
			serve();
			continue;
		}
		print_hang();
		kill(round_.pid, SIGKILL);
		is_over(0);
		blame(end, "the round has not ended after %u s%s", torture.patience_s,
		      strstr(out.text, WORK_IS_OVER) ? ", though its work was over" : "");
		return false;
	}
	return true;
}

/* ---- and its end ----------------------------------------------------------------------------- */

static bool is_line_of(enum wild_condition c, const char *line)
{
	const char *const *known = wild_row(c)->line;

	return (round_.set & WILD_BIT(c)) && ((known[0] && strstr(line, known[0])) || (known[1] && strstr(line, known[1])));
}

static bool is_expected(const char *line)
{
	unsigned i;

	if (strncmp(line, "lull: ", 6) != 0)
		return false;
	for (i = 0; i < NR_WILD; i++)
		if (is_line_of((enum wild_condition)i, line))
			return true;
	return false;
}

/* Find the first line on standard error that is not expected; "": there is none. */
static void odd_line(char *text, size_t size)
{
	char *line, *rest = err.text;

	text[0] = '\0';
	while ((line = strsep(&rest, "\n")))
		/* A sanitizer begins by a rule. */
		if (*line && !*text && strspn(line, "=") < strlen(line) && !is_expected(line))
			snprintf(text, size, "%s", line);
}

static void judge_status(struct wild_end *end, bool work_is_over, const char *odd)
{
	bool to_die = round_.set & WILD_BIT(WILD_END_SIGTERM);
	int status = round_.status;
	const char *said = *odd ? ", and said: " : "";

	if (WIFSIGNALED(status) && !(to_die && round_.was_terminated && WTERMSIG(status) == SIGTERM))
		blame(end, "the round died from signal %d (%s)%s%s%s", WTERMSIG(status), strsignal(WTERMSIG(status)),
		      work_is_over ? " after its work" : "", said, odd);
	else if (WIFEXITED(status) && WEXITSTATUS(status))
		blame(end, "the round exited with status %d%s%s", WEXITSTATUS(status), said, odd);
	else if (WIFEXITED(status) && to_die)
		blame(end, "the round was to end by SIGTERM, and exited with status 0");
	else if (!work_is_over)
		blame(end, "the round ended before its work was over");
	else if (*odd)
		blame(end, "the round said on standard error: %s", odd);
}

/* "effect NAME N" */
static void note_effect(const char *line, struct wild_end *end)
{
	unsigned long long n;
	char name[32];
	unsigned i;

	if (sscanf(line, "effect %31s %llu", name, &n) != 2)
		return;
	for (i = 0; i < NR_WILD; i++)
		if (strcmp(wild_row((enum wild_condition)i)->name, name) == 0)
			end->effect[i] += n;
}

static void judge_output(struct wild_end *end)
{
	char *line, *rest = out.text;

	while ((line = strsep(&rest, "\n"))) {
		if (strncmp(line, "failure", 7) == 0 && strstr(line, ": "))
			blame(end, "%s", strstr(line, ": ") + 2);
		note_effect(line, end);
	}
}

/* Children of the round must have ended with it; those that are left become this process's. */
static void judge_rest(struct wild_end *end)
{
	unsigned left = 0;

	kill(-round_.pid, SIGKILL);
	while (waitpid(-round_.pid, NULL, 0) > 0)
		left++;
	if (left)
		blame(end, "the round left %u processes behind", left);
}

void wild_run_round(wild_set set, uint64_t seed, struct wild_end *end)
{
	bool work_is_over;
	char odd[300];

	memset(end, 0, sizeof(*end));
	memset(&round_, 0, sizeof(round_));
	out.len = err.len = 0;
	out.text[0] = err.text[0] = '\0';
	round_.set = set;
	round_.began_ns = bench_now_ns();
	begin(set, seed);
	watch(end);
	drain_both();
	end->ns = bench_now_ns() - round_.began_ns;
	work_is_over = strstr(out.text, WORK_IS_OVER);
	odd_line(odd, sizeof(odd));
	/* Judge the output first: it tells more than the exit status. */
	judge_output(end);
	judge_status(end, work_is_over, odd);
	judge_rest(end);
	close(out.fd);
	if (err.fd >= 0)
		close(err.fd);
}
