/* SPDX-License-Identifier: MIT */
/*
 * misuse.cc - lull/hazard_pointer and lull/rcu: what ends the program, with one line that says why.
 */
#include <string>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* In C++ the name of a function may be that of a structure. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <lull/debug.h>
#pragma GCC diagnostic pop
#include <lull/hazard_pointer>
#include <lull/rcu>
#include <lull/reclaim.h>

#include "saferecl.hpp"

namespace
{

struct node : lull::hazard_pointer_obj_base<node> {
};

struct config : lull::rcu_obj_base<config> {
	~config()
	{
		lull::rcu_barrier();
	}
};

std::atomic<node *> src;

void protects_with_an_empty_one()
{
	lull::hazard_pointer h;

	h.protect(src);
}

void clears_an_empty_one()
{
	lull::hazard_pointer h = lull::make_hazard_pointer(), g = std::move(h);

	h.reset_protection();
}

void synchronizes_in_a_region()
{
	lull::rcu_default_domain().lock();
	lull::rcu_synchronize();
}

void waits_in_a_region()
{
	lull::rcu_default_domain().lock();
	lull::rcu_barrier();
}

void waits_in_a_deleter()
{
	struct lull_reclaim_config poll;

	/* On this thread: a forked child of ThreadSanitizer's has no other. */
	lull_reclaim_default_config(&poll);
	poll.mode = LULL_RECLAIM_POLL;
	lull_reclaim_configure(&poll);
	(new config)->retire();
	lull::rcu_barrier();
}

/* Run @work in a child, which must abort after one line that has @words. */
bool ends(const char *name, void (*work)(), const char *words)
{
	std::string text;
	char part[512];
	int pipe_ends[2], status = 0;
	pid_t child;

	std::printf("%s\n", name);
	std::fflush(nullptr);
	if (pipe(pipe_ends) != 0 || (child = fork()) < 0)
		return false;
	if (child == 0) {
		rlimit no_core = { 0, 0 };

		setrlimit(RLIMIT_CORE, &no_core);
		dup2(pipe_ends[1], 2);
		lull_debug_set_message_hook(nullptr); /* this is standard error from now on */
		alarm(60);
		work();
		_exit(0);
	}
	close(pipe_ends[1]);
	for (ssize_t got; (got = read(pipe_ends[0], part, sizeof(part))) > 0;)
		text.append(part, static_cast<std::size_t>(got));
	close(pipe_ends[0]);
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && text.compare(0, 6, "lull: ") == 0 &&
	    text.find(words) != std::string::npos)
		return true;
	std::fprintf(stderr, "%s: status %x, wrote: %s\n", name, static_cast<unsigned>(status), text.c_str());
	return false;
}

} // namespace

int main()
{
	bool all = true;

#ifdef LULL_DEBUG
	all &= ends("protects_with_an_empty_one", protects_with_an_empty_one, "hazard_pointer: it is empty");
	all &= ends("clears_an_empty_one", clears_an_empty_one, "hazard_pointer: it is empty");
#else
	(void)protects_with_an_empty_one;
	(void)clears_an_empty_one;
#endif
	all &= ends("synchronizes_in_a_region", synchronizes_in_a_region, "lull_rcu_synchronize");
	all &= ends("waits_in_a_region", waits_in_a_region, "lull_rcu_barrier");
	all &= ends("waits_in_a_deleter", waits_in_a_deleter, "lull_rcu_barrier");
	return all ? 0 : 1;
}
