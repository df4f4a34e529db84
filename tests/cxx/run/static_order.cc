/* SPDX-License-Identifier: MIT */
/*
 * static_order.cc - lull/hazard_pointer and lull/rcu where a program begins and ends: before main(), in destructors of
 * static and thread_local objects, in functions of atexit(), on threads that end with main(). Each case is a process of
 * its own, in each mode of reclaim.h: what is retired is reclaimed or stays, and nothing else happens.
 */
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lull/cohort.hpp>
#include <lull/hazard_pointer>
#include <lull/rcu>

#include "test.hpp"

extern char **environ;

namespace
{

const char long_text[] = "a text that is too long to fit into the string itself";

struct node : lull::hazard_pointer_obj_base<node> {
	std::string text = long_text;
};
struct config : lull::rcu_obj_base<config> {
	std::string text = long_text;
};
struct plain : lull::rcu_obj_base<plain> {
	char bytes[100];
};

/* Their deleters use what has static storage, and retire. */
std::atomic<int> ended;
struct member : lull::cohort_obj_base<member> {
	~member()
	{
		ended++;
		(new node)->retire();
	}
};
struct rcu_member : lull::rcu_cohort_obj_base<rcu_member> {
	~rcu_member()
	{
		ended++;
		(new config)->retire();
	}
};

/* Use them in every way that a program does. */
void use_all()
{
	std::atomic<node *> src{ new node };
	std::atomic<config *> current{ new config };
	lull::hazard_pointer h = lull::make_hazard_pointer(), many[20];
	node *n = h.protect(src);
	config *c;

	lull::make_hazard_pointer_batch(many);
	MUST(n->text.size() == 53);
	src.exchange(nullptr)->retire();
	lull::rcu_default_domain().lock();
	c = current.load();
	MUST(c->text.size() == 53);
	current.exchange(nullptr)->retire();
	(new plain)->retire();
	lull::rcu_retire(new std::string(long_text));
	lull::rcu_default_domain().unlock();
}

void wait_for_all()
{
	lull::rcu_synchronize();
	lull::rcu_barrier();
	lull_hazptr_barrier();
}

void use_and_wait()
{
	use_all();
	wait_for_all();
}

/* A cohort's promise holds wherever it ends. */
void use_cohort()
{
	enum { MANY = 300 };
	{
		lull::cohort mine;

		ended = 0;
		for (int i = 0; i < MANY; i++) {
			(new member)->retire_to_cohort(mine);
			(new rcu_member)->retire_to_cohort(mine);
		}
	}
	MUST(ended == 2 * MANY);
}

void change_modes()
{
	for (int mode : { LULL_RECLAIM_POLL, LULL_RECLAIM_THREAD, LULL_RECLAIM_CALLER, LULL_RECLAIM_POLL }) {
		use_all();
		set_mode(mode);
		use_cohort();
	}
}

void poll_all()
{
	use_all();
	while (lull_reclaim_poll(SIZE_MAX, 0))
		;
}

/* A hazard pointer of static storage that goes on protecting; a cohort, and what ends right after it. */
extern lull::hazard_pointer stays;
extern lull::cohort early;

void protect_at_exit()
{
	node *n = new node;

	stays = lull::make_hazard_pointer();
	stays.reset_protection(n);
	n->retire();
}

void retire_to_early()
{
	ended = 0;
	for (int i = 0; i < 100; i++) {
		(new member)->retire_to_cohort(early);
		(new rcu_member)->retire_to_cohort(early);
	}
}

struct of_thread {
	bool waits = false;

	~of_thread()
	{
		use_all();
		if (waits)
			wait_for_all();
	}
};

void use_thread_local(bool waits)
{
	thread_local of_thread object;

	object.waits = waits;
}

/* When a case does what: in a constructor before main(), in main(), in a destructor after it. */
enum moment { BEFORE, IN_MAIN, AFTER };
const struct {
	const char *name;
	moment when;
	void (*run)();
} cases[] = {
	{ "before_main", BEFORE, use_all },
	{ "before_main_waits", BEFORE, use_and_wait },
	{ "cohort_before_main", BEFORE, use_cohort },
	{ "static_destructor", AFTER, use_all },
	{ "static_destructor_waits", AFTER, use_and_wait },
	{ "cohort_in_static_destructor", AFTER, use_cohort },
	{ "static_destructor_changes_mode", AFTER, change_modes },
	{ "static_destructor_polls", AFTER, poll_all },
	{ "retired_before_exit", IN_MAIN, use_all },
	{ "protected_at_exit", IN_MAIN, protect_at_exit },
	{ "static_cohort", IN_MAIN, retire_to_early },
	{ "main_thread_local", IN_MAIN, [] { use_thread_local(false); } },
	{ "main_thread_local_waits", IN_MAIN, [] { use_thread_local(true); } },
	{ "thread_local", IN_MAIN, [] {
		 for (int i = 0; i < 20; i++)
			 runner([=] { use_thread_local(i % 2); }).join();
		 wait_for_all();
	 } },
	{ "thread_local_after_use", IN_MAIN, [] {
		 for (int i = 0; i < 20; i++)
			 runner([] {
				 use_thread_local(true); /* made before lull's own exit handling is set up */
				 use_all();
			 }).join();
	 } },
	{ "atexit", IN_MAIN, [] {
		 std::atexit(use_all);
		 use_all();
	 } },
	{ "atexit_waits", IN_MAIN, [] {
		 std::atexit(wait_for_all);
		 std::atexit(use_all);
	 } },
	{ "atexit_cohort", IN_MAIN, [] {
		 std::atexit(use_cohort);
		 use_all();
	 } },
	{ "quick_exit", IN_MAIN, [] {
		 use_all();
		 std::at_quick_exit(use_all);
		 std::quick_exit(0);
	 } },
	{ "detached_threads", IN_MAIN, [] {
		 for (int i = 0; i < 3; i++)
			 runner([] {
				 for (;;)
					 use_all();
			 }).detach();
		 nap();
	 } },
};

std::string chosen;

void run_case(moment now)
{
	for (const auto &c : cases)
		if (chosen == c.name && c.when == now)
			c.run();
}

/* The name of the case and the mode are known to the first constructor. */
struct chooser {
	chooser()
	{
		const char *name = std::getenv("LULL_TEST_CASE"), *mode = std::getenv("LULL_TEST_MODE");

		chosen = name ? name : "";
		if (name)
			alarm(60); /* also before and after main() */
		if (mode)
			set_mode(std::atoi(mode));
	}
} choose;

struct after_early {
	~after_early()
	{
		if (chosen == "static_cohort")
			MUST(ended == 200);
	}
} checks_early;
lull::cohort early;
lull::hazard_pointer stays;

struct first_and_last {
	first_and_last() { run_case(BEFORE); }
	~first_and_last() { run_case(AFTER); }
} first_and_last_object;

/* Run this program again, as the case @name, in the mode of reclaim.h that has the number @mode. */
bool ends_well(const char *name, const char *mode)
{
	char program[] = "/proc/self/exe";
	char *const argv[] = { program, nullptr };
	pid_t child;
	int status = -1;

	std::printf("%s, mode %s\n", name, mode);
	std::fflush(stdout);
	setenv("LULL_TEST_CASE", name, 1);
	setenv("LULL_TEST_MODE", mode, 1);
	if (posix_spawn(&child, program, nullptr, nullptr, argv, environ) != 0)
		return false;
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	std::fprintf(stderr, "%s, mode %s: status %x\n", name, mode, static_cast<unsigned>(status));
	return false;
}

TEST(in_each_mode)
{
	if (!chosen.empty()) {
		run_case(IN_MAIN);
		return;
	}
	alarm(100);
	for (const auto &c : cases)
		for (const char *mode : { "0", "1", "2", "0" })
			MUST(ends_well(c.name, mode));
}

} // namespace
