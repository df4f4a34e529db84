/* SPDX-License-Identifier: MIT */
/* callbacks.c - questions: what is a callback's thread to it, and what are its signals? */
#include "question.h"

#include <signal.h>
#include <sys/mman.h>

#include <urcu/call-rcu.h>

/* ---- its own worker ----------------------------------------------------------------------------------- */

static struct call_rcu_data *seen_thread, *seen_any;

static void look_at_own(struct rcu_head *head)
{
	seen_thread = get_thread_call_rcu_data();
	seen_any = get_call_rcu_data();
	count_call(head);
}

QUESTION(does_a_callback_know_its_worker)
{
	call_rcu(new_head(), look_at_own);
	rcu_barrier();
	answer("%s", yes_no(seen_thread == get_default_call_rcu_data()));
	answer("%s", yes_no(seen_any == get_default_call_rcu_data()));
}

QUESTION(does_a_callback_know_a_worker_that_is_not_the_default)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, -1);

	set_thread_call_rcu_data(worker);
	call_rcu(new_head(), look_at_own);
	rcu_barrier();
	answer("%s", yes_no(seen_thread == worker));
	answer("%s", yes_no(seen_any == worker));
}

static pthread_t first_thread;
static _Atomic int elsewhere, rounds;

static void again(struct rcu_head *head)
{
	if (atomic_fetch_add(&rounds, 1) == 0)
		first_thread = pthread_self();
	else if (!pthread_equal(first_thread, pthread_self()))
		atomic_fetch_add(&elsewhere, 1);
	if (atomic_load(&rounds) < 10)
		call_rcu(head, again);
	else
		count_call(head);
}

QUESTION(how_many_of_ten_rearmed_callbacks_run_elsewhere)
{
	call_rcu(new_head(), again);
	AWAIT(atomic_load(&called));
	answer("%d", atomic_load(&elsewhere));
}

QUESTION(how_many_run_elsewhere_than_on_a_worker_of_their_own)
{
	struct call_rcu_data *worker = create_call_rcu_data(0, -1);

	set_thread_call_rcu_data(worker);
	call_rcu(new_head(), again);
	AWAIT(atomic_load(&called));
	answer("%d", atomic_load(&elsewhere));
	answer("%s", yes_no(pthread_equal(first_thread, get_call_rcu_thread(worker))));
}

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
	static const char text[] = "its handler runs";

	(void)number;
	MUST(write(STDOUT_FILENO, text, sizeof(text) - 1) > 0);
}

QUESTION(what_does_abort_in_a_callback)
{
	MUST(signal(SIGABRT, says_aborted) != SIG_ERR);
	call_rcu(new_head(), aborts);
	rcu_barrier();
	answer("nothing");
}
