/* SPDX-License-Identifier: MIT */
/*
 * task.c - what a thread of this process is doing, according to /proc: does it run, and where is it?
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../os/os.h"
#include "symbol.h"
#include "task.h"

/* Does /proc show this process? In a PID namespace with the /proc of another one it shows other processes. */
static bool proc_is_ours(void)
{
	char link[16];
	ssize_t got = readlink("/proc/self", link, sizeof(link) - 1);

	link[got > 0 ? got : 0] = '\0';
	return got > 0 && atoi(link) == (int)getpid();
}

/* Return the state of thread @tid: the letter behind its name, which may contain anything, brackets too. */
static enum lull_thread_state state_of(uint32_t tid)
{
	char stat[256], path[64];
	const char *behind;

	snprintf(path, sizeof(path), "/proc/self/task/%u", tid);
	if (!lull__task_file(tid, "/stat", stat, sizeof(stat)))
		return access("/proc/self/task", F_OK) == 0 && access(path, F_OK) != 0 ? LULL_THREAD_GONE
										       : LULL_THREAD_UNKNOWN;
	behind = strrchr(stat, ')');
	switch (behind && behind[1] ? behind[2] : '?') {
	case 'R':
		return LULL_THREAD_RUNS;
	case 'S':
	case 'D':
	case 'I':
		return LULL_THREAD_SLEEPS;
	case 'T':
	case 't':
		return LULL_THREAD_STOPPED;
	case 'Z': /* the first thread has exited and others go on */
	case 'X':
		return LULL_THREAD_GONE;
	default:
		return LULL_THREAD_UNKNOWN;
	}
}

/* Return the name of a system call in which threads sleep, or NULL. */
static const char *call_name(long number)
{
	static const struct {
		long number;
		const char *name;
	} calls[] = {
		{ SYS_futex, "futex" },
		{ SYS_read, "read" },
		{ SYS_write, "write" },
		{ SYS_pread64, "pread" },
		{ SYS_pwrite64, "pwrite" },
		{ SYS_readv, "readv" },
		{ SYS_writev, "writev" },
		{ SYS_ppoll, "ppoll" },
		{ SYS_pselect6, "pselect" },
		{ SYS_epoll_pwait, "epoll_wait" },
		{ SYS_nanosleep, "nanosleep" },
		{ SYS_clock_nanosleep, "clock_nanosleep" },
		{ SYS_accept, "accept" },
		{ SYS_accept4, "accept" },
		{ SYS_connect, "connect" },
		{ SYS_recvfrom, "recv" },
		{ SYS_recvmsg, "recvmsg" },
		{ SYS_sendto, "send" },
		{ SYS_sendmsg, "sendmsg" },
		{ SYS_wait4, "wait" },
		{ SYS_waitid, "waitid" },
		{ SYS_flock, "flock" },
		{ SYS_fcntl, "fcntl" },
		{ SYS_fsync, "fsync" },
		{ SYS_fdatasync, "fdatasync" },
		{ SYS_rt_sigtimedwait, "sigtimedwait" },
		{ SYS_rt_sigsuspend, "sigsuspend" },
#ifdef SYS_poll
		{ SYS_poll, "poll" },
		{ SYS_select, "select" },
		{ SYS_epoll_wait, "epoll_wait" },
		{ SYS_pause, "pause" },
#endif
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == number)
			return calls[i].name;
	return NULL;
}

/*
 * Put into @buf where @tid is. The file has "NUMBER six arguments SP PC", "-1 SP PC" or "running": see
 * proc(5).
 */
static void where_is(uint32_t tid, char *buf, size_t size)
{
	char line[256], at[128];
	const char *pc, *call;
	long number;

	buf[0] = '\0';
	if (!lull__task_file(tid, "/syscall", line, sizeof(line)) || line[0] == 'r')
		return;
	number = strtol(line, NULL, 10);
	pc = strrchr(line, ' ');
	lull__symbol(pc ? (const void *)(uintptr_t)strtoull(pc, NULL, 16) : NULL, at, sizeof(at));
	call = call_name(number);
	if (number < 0)
		snprintf(buf, size, "at %s", at);
	else if (call)
		snprintf(buf, size, "in %s at %s", call, at);
	else
		snprintf(buf, size, "in system call %ld at %s", number, at);
}

void lull__task_read(uint32_t tid, struct lull__task *task)
{
	int saved = errno;

	*task = (struct lull__task){ .name = "?" };
	if (tid && proc_is_ours()) {
		lull__thread_name(tid, task->name, sizeof(task->name));
		task->state = state_of(tid);
		if (task->state != LULL_THREAD_RUNS)
			where_is(tid, task->where, sizeof(task->where));
	}
	errno = saved;
}
