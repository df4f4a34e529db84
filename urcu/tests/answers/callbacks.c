/* SPDX-License-Identifier: MIT */
/* callbacks.c - questions: what are the signals of a callback's thread? */
#include "question.h"

#include <signal.h>
#include <sys/mman.h>

#include <urcu/call-rcu.h>

/* ---- signals ------------------------------------------------------------------------------------------ */

static char *page;
static size_t page_size;
static _Atomic int faults;

static void open_page(int number)
{
	(void)number;
	atomic_fetch_add(&faults, 1);
	mprotect(page, page_size, PROT_READ | PROT_WRITE);
}

static void write_to_page(struct rcu_head *head)
{
	*page = 1;
	count_call(head);
}

QUESTION(does_a_fault_in_a_callback_reach_its_handler)
{
	page_size = (size_t)sysconf(_SC_PAGESIZE);
	page = mmap(NULL, page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(page != MAP_FAILED && signal(SIGSEGV, open_page) != SIG_ERR);
	call_rcu(new_head(), write_to_page);
	rcu_barrier();
	answer("%d faults, %d calls", atomic_load(&faults), atomic_load(&called));
}

static sigset_t blocked;

static void note_signals(struct rcu_head *head)
{
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	count_call(head);
}

static void say_blocked(const int *numbers)
{
	call_rcu(new_head(), note_signals);
	rcu_barrier();
	for (; *numbers; numbers++)
		if (sigismember(&blocked, *numbers))
			answer("%s", sigabbrev_np(*numbers));
	answer("no more");
}

QUESTION(which_signals_of_faults_are_blocked_in_a_callback)
{
	say_blocked((const int[]){ SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, 0 });
}

QUESTION(which_other_signals_are_blocked_in_a_callback)
{
	say_blocked((const int[]){ SIGTERM, SIGINT, SIGUSR1, SIGALRM, SIGCHLD, SIGABRT, 0 });
}

static void aborts(struct rcu_head *head)
{
	free(head);
	abort();
}

static void says_aborted(int number)
{
	(void)number;
	answer("its handler runs");
}

QUESTION(what_does_abort_in_a_callback)
{
	MUST(signal(SIGABRT, says_aborted) != SIG_ERR);
	call_rcu(new_head(), aborts);
	rcu_barrier();
	answer("nothing");
}
