/* SPDX-License-Identifier: MIT */
/*
 * task.c - src/watch/task.c over a /proc made up for each case: what a thread does, in words.
 */
#include "test.h"

#include <sys/syscall.h>

#include "../src/os/os.h"
#include "../src/watch/symbol.h"

static pid_t pid;
static const char *self, *stat_file, *syscall_file; /* NULL: not there */
static bool has_tasks, has_thread;

static pid_t pid_made_up(void)
{
	return pid;
}

static ssize_t link_made_up(const char *path, char *buf, size_t size)
{
	assert_string_equal(path, "/proc/self");
	if (!self)
		return -1;
	assert_true(strlen(self) <= size);
	memcpy(buf, self, strlen(self)); /* no end is written */
	return (ssize_t)strlen(self);
}

static int access_made_up(const char *path, int mode)
{
	assert_int_equal(mode, F_OK);
	if (strcmp(path, "/proc/self/task") == 0)
		return has_tasks ? 0 : -1;
	assert_string_equal(path, "/proc/self/task/77");
	return has_thread ? 0 : -1;
}

static bool file_made_up(uint32_t tid, const char *what, char *buf, size_t size)
{
	const char *text = strcmp(what, "/stat") == 0 ? stat_file : strcmp(what, "/syscall") == 0 ? syscall_file : NULL;

	assert_int_equal(tid, 77);
	if (text)
		snprintf(buf, size, "%s", text);
	return text != NULL;
}

static void name_made_up(uint32_t tid, char *buf, size_t size)
{
	assert_int_equal(tid, 77);
	snprintf(buf, size, "sam");
}

static void symbol_made_up(const void *addr, char *buf, size_t size)
{
	snprintf(buf, size, "<%lx>", (unsigned long)(uintptr_t)addr);
}

#define getpid		  pid_made_up
#define readlink	  link_made_up
#define access		  access_made_up
#define lull__task_file	  file_made_up
#define lull__thread_name name_made_up
#define lull__symbol	  symbol_made_up
#define lull__task_read	  read_task
#include "../src/watch/task.c"

static struct lull__task task;

static void read_it(uint32_t tid)
{
	memset(&task, 0x55, sizeof(task));
	errno = 66;
	read_task(tid, &task);
	assert_int_equal(errno, 66);
}

static void setup(void)
{
	pid = 4321;
	self = "4321";
	stat_file = "77 (sam) S 1 2 3";
	syscall_file = "running\n";
	has_tasks = has_thread = true;
}

TEST(states)
{
	static const struct {
		const char *stat;
		enum lull_thread_state state;
	} cases[] = {
		{ "77 (sam) R 1", LULL_THREAD_RUNS },	     { "77 (sam) S 1", LULL_THREAD_SLEEPS },
		{ "77 (sam) D 1", LULL_THREAD_SLEEPS },	     { "77 (sam) I 1", LULL_THREAD_SLEEPS },
		{ "77 (sam) T 1", LULL_THREAD_STOPPED },     { "77 (sam) t 1", LULL_THREAD_STOPPED },
		{ "77 (sam) Z 1", LULL_THREAD_GONE },	     { "77 (sam) X 1", LULL_THREAD_GONE },
		{ "77 (sam) Q 1", LULL_THREAD_UNKNOWN },     { "77 (R) R (S) T 1", LULL_THREAD_STOPPED },
		{ "77 () R 1", LULL_THREAD_RUNS },	     { "77 (sam)", LULL_THREAD_UNKNOWN },
		{ "77 sam R 1", LULL_THREAD_UNKNOWN },	     { "", LULL_THREAD_UNKNOWN },
	};

	setup();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		stat_file = cases[i].stat;
		read_it(77);
		assert_int_equal(task.state, cases[i].state);
		assert_string_equal(task.name, "sam");
	}
}

/* Without its file a thread is gone only if others are there, which it is not among. */
TEST(gone)
{
	setup();
	stat_file = NULL;
	read_it(77);
	assert_int_equal(task.state, LULL_THREAD_UNKNOWN);
	has_thread = false;
	read_it(77);
	assert_int_equal(task.state, LULL_THREAD_GONE);
	has_tasks = false;
	read_it(77);
	assert_int_equal(task.state, LULL_THREAD_UNKNOWN);
}

TEST(where)
{
	char file[128], words[128];

	setup();
	read_it(77);
	assert_string_equal(task.where, "");
	syscall_file = NULL;
	read_it(77);
	assert_string_equal(task.where, "");
	syscall_file = "-1 0x7ffe 0x1234\n";
	read_it(77);
	assert_string_equal(task.where, "at <1234>");
	snprintf(file, sizeof(file), "%ld 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffe 0x5678\n", (long)SYS_futex);
	syscall_file = file;
	read_it(77);
	assert_string_equal(task.where, "in futex at <5678>");
	snprintf(file, sizeof(file), "%ld 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffe 0x5678\n", (long)SYS_mincore);
	read_it(77);
	snprintf(words, sizeof(words), "in system call %ld at <5678>", (long)SYS_mincore);
	assert_string_equal(task.where, words);
	/* Where it was is not asked of one that runs. */
	stat_file = "77 (sam) R 1";
	read_it(77);
	assert_string_equal(task.where, "");
}

/* Entries of other processes in /proc are not for us. */
TEST(whose_proc)
{
	static const struct {
		pid_t pid;
		const char *self;
		bool is_ours;
	} cases[] = {
		{ 4321, "4321", true }, { 4321, "432", false }, { 432, "4321", false }, { 4321, NULL, false },
		{ 7, "7", true },	{ 7, "8", false },	{ 4321, "", false },	{ 2147483647, "2147483647", true },
	};

	setup();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		pid = cases[i].pid;
		self = cases[i].self;
		read_it(77);
		assert_string_equal(task.name, cases[i].is_ours ? "sam" : "?");
		assert_int_equal(task.state, cases[i].is_ours ? LULL_THREAD_SLEEPS : LULL_THREAD_UNKNOWN);
		assert_string_equal(task.where, "");
	}
	setup();
	read_it(0); /* no thread */
	assert_string_equal(task.name, "?");
	assert_int_equal(task.state, LULL_THREAD_UNKNOWN);
	assert_string_equal(task.where, "");
}
