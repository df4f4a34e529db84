/* SPDX-License-Identifier: MIT */
/*
 * misuse.cc - the headers for C++: what ends the program, with one line that says why. Compiled without exceptions.
 */
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* In C++ the name of a function may be that of a structure. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <lull/debug.h>
#pragma GCC diagnostic pop
#include <lull/hazard_pointer>
#include <lull/list.hpp>
#include <lull/mutex.hpp>
#include <lull/rcu>
#include <lull/reclaim.h>

#include "saferecl.hpp"

#if defined __SANITIZE_THREAD__
#define UNDER_TSAN 1
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif

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

struct element {
	lull_list_head links;
};

void splices_in_a_region()
{
	lull::list<element, &element::links> one, other;
	element e;

	other.push_back(e);
	lull::rcu_default_domain().lock();
	one.splice_back(other);
}

/* ---- locks: what other threads have done to these before --------------------------------------------- */

lull::mutex held;
lull::robust_mutex died;
lull::condition_variable slept_on;

void locks_twice()
{
	lull::mutex m;

	m.lock();
	m.lock();
}

void unlocks_what_it_has_not()
{
	held.unlock();
}

struct pointer_to_mutex {
	lull::mutex *m;
	lull::mutex *mutex() const { return m; }
};

void waits_without_the_mutex()
{
	pointer_to_mutex lock{ &held };

	slept_on.wait(lock);
}

/* Does the thread @tid of this process sleep? */
bool sleeps(long tid)
{
	const std::string path = "/proc/self/task/" + std::to_string(tid) + "/stat";
	char text[256] = "";
	std::FILE *file = std::fopen(path.c_str(), "r");

	if (!file)
		return false;
	const bool has_text = std::fgets(text, sizeof(text), file) != nullptr;
	std::fclose(file);
	const char *state = has_text ? std::strrchr(text, ')') : nullptr;
	return state && std::strncmp(state, ") S", 3) == 0;
}

void destroys_beside_a_sleeper()
{
	static lull::mutex lock;
	static std::atomic<long> tid{ 0 };

	std::thread([] {
		std::unique_lock<lull::mutex> hold(lock);

		tid = syscall(SYS_gettid);
		slept_on.wait(hold, [] { return false; });
	}).detach();
	/* It has let go of the mutex, and sleeps: for the condition. */
	while (!tid)
		std::this_thread::yield();
	lock.lock();
	while (!sleeps(tid))
		std::this_thread::yield();
	lock.unlock();
	slept_on.~condition_variable();
}

void says_consistent_for_nothing()
{
	lull::robust_mutex m;

	m.lock();
	m.make_consistent();
}

void locks_what_has_died()
{
	died.lock();
}

/* Run @work in a child, which must abort after one line that has @words, and begins with @first. */
bool ends(const char *name, void (*work)(), const char *words, const char *first = "lull: ")
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
	const std::size_t at = text.find(first);
#ifdef UNDER_TSAN
	const bool is_first = at != std::string::npos; /* its own report may come before */
#else
	const bool is_first = at == 0;
#endif
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && is_first && text.find(words, at) != std::string::npos)
		return true;
	std::fprintf(stderr, "%s: status %x, wrote: %s\n", name, static_cast<unsigned>(status), text.c_str());
	return false;
}

/* What other threads have done: one holds a mutex, one has died with a mutex. */
bool locks_end()
{
	std::atomic<bool> ready{ false }, over{ false };
	bool all = true;

	std::thread holder([&] {
		held.lock();
		ready = true;
		while (!over)
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
		held.unlock();
	});
	std::thread([] { (void)died.acquire(); }).join();
	while (!ready)
		std::this_thread::yield();
	all &= ends("locks_twice", locks_twice, "locks mutex");
	all &= ends("unlocks_what_it_has_not", unlocks_what_it_has_not, "unlocks mutex");
	all &= ends("waits_without_the_mutex", waits_without_the_mutex, "waits for a condition with mutex");
	if (lull::robust_mutex m; m.acquire() != lull::robust_status::not_supported) {
		m.unlock();
		all &= ends("says_consistent_for_nothing", says_consistent_for_nothing, "nothing is wrong with mutex");
		all &= ends("locks_what_has_died", locks_what_has_died, "terminat", "");
	}
	over = true;
	holder.join();
#ifndef UNDER_TSAN
	all &= ends("destroys_beside_a_sleeper", destroys_beside_a_sleeper, "is destroyed while threads wait");
#else
	(void)destroys_beside_a_sleeper;
#endif
	return all;
}

} // namespace

int main()
{
	bool all = locks_end();

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
	all &= ends("splices_in_a_region", splices_in_a_region, "lull_rcu_synchronize");
	return all ? 0 : 1;
}
