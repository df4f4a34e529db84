/* SPDX-License-Identifier: MIT */
/*
 * misuse.cc - the headers for C++: what ends the program, with one line that says why. Compiled without exceptions.
 */
#include <mutex>

#include <sys/syscall.h>
#include <unistd.h>

#include <lull/hazard_pointer>
#include <lull/list.hpp>
#include <lull/mutex.hpp>
#include <lull/rcu>

#include "child.hpp"
#include "test.hpp"

namespace
{

/* ---- what is protected, and waited for ---------------------------------------------------------------- */

struct node : lull::hazard_pointer_obj_base<node> {
};

struct config : lull::rcu_obj_base<config> {
	~config()
	{
		lull::rcu_barrier();
	}
};

#ifdef LULL_DEBUG
DEATH_TEST(protects_with_an_empty_one, "hazard_pointer: it is empty")
{
	std::atomic<node *> src{ nullptr };
	lull::hazard_pointer h;

	h.protect(src);
}

DEATH_TEST(clears_an_empty_one, "hazard_pointer: it is empty")
{
	lull::hazard_pointer h = lull::make_hazard_pointer(), g = std::move(h);

	h.reset_protection();
}
#endif

DEATH_TEST(synchronizes_in_a_region, "lull_rcu_synchronize")
{
	lull::rcu_default_domain().lock();
	lull::rcu_synchronize();
}

DEATH_TEST(waits_in_a_region, "lull_rcu_barrier")
{
	lull::rcu_default_domain().lock();
	lull::rcu_barrier();
}

DEATH_TEST(waits_in_a_deleter, "lull_rcu_barrier")
{
	set_mode(LULL_RECLAIM_POLL); /* on this thread: a forked child of ThreadSanitizer's has no other */
	(new config)->retire();
	lull::rcu_barrier();
}

struct element {
	lull_list_head links;
};

DEATH_TEST(splices_in_a_region, "lull_rcu_synchronize")
{
	lull::list<element, &element::links> one, other;
	element e;

	other.push_back(e);
	lull::rcu_default_domain().lock();
	one.splice_back(other);
}

/* ---- locks ----------------------------------------------------------------------------------------- */

DEATH_TEST(locks_twice, "locks mutex")
{
	lull::mutex m;

	m.lock();
	m.lock();
}

struct pointer_to_mutex {
	lull::mutex *m;
	lull::mutex *mutex() const { return m; }
};

/* Run @work, in a child, with a mutex that another thread has. */
void must_end_with_another_s(const char *words, void (*work)(lull::mutex &))
{
	lull::mutex held;
	std::atomic<bool> ready{ false }, over{ false };
	runner holder([&] {
		held.lock();
		ready = true;
		AWAIT(over.load());
		held.unlock();
	});

	AWAIT(ready.load());
	must_end(words, [&] { work(held); });
	over = true;
	holder.join();
}

TEST(unlocks_what_it_has_not)
{
	must_end_with_another_s("unlocks mutex", [](lull::mutex &held) { held.unlock(); });
}

TEST(waits_without_the_mutex)
{
	must_end_with_another_s("waits for a condition with mutex", [](lull::mutex &held) {
		lull::condition_variable slept_on;
		pointer_to_mutex lock{ &held };

		slept_on.wait(lock);
	});
}

bool robust_mutexes_are_there()
{
	lull::robust_mutex m;

	if (m.acquire() == lull::robust_status::not_supported)
		return false;
	m.unlock();
	return true;
}

TEST(says_consistent_for_nothing)
{
	if (robust_mutexes_are_there())
		must_end("nothing is wrong with mutex", [] {
			lull::robust_mutex m;

			m.lock();
			m.make_consistent();
		});
}

TEST(locks_what_has_died)
{
	static lull::robust_mutex died;

	if (!robust_mutexes_are_there())
		return;
	runner([] { (void)died.acquire(); }).join();
	must_end("terminat", [] { died.lock(); }, "");
}

#if !UNDER_TSAN
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

DEATH_TEST(destroys_beside_a_sleeper, "is destroyed while threads wait")
{
	static lull::condition_variable slept_on;
	static lull::mutex lock;
	static std::atomic<long> tid{ 0 };

	runner([] {
		std::unique_lock<lull::mutex> hold(lock);

		tid = syscall(SYS_gettid);
		slept_on.wait(hold, [] { return false; });
	}).detach();
	/* It has unlocked the mutex, and sleeps: for the condition. */
	AWAIT(tid != 0);
	lock.lock();
	AWAIT(sleeps(tid));
	lock.unlock();
	slept_on.~condition_variable();
}
#endif

} // namespace
