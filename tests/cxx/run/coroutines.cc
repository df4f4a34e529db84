/* SPDX-License-Identifier: MIT */
/*
 * coroutines.cc - a coroutine is not suspended in a read section, and may have a lull::held across suspensions.
 */
#ifdef __cpp_impl_coroutine
#include <coroutine>
#include <memory>

#include <lull/rcu_ptr.hpp>

#include "child.hpp"
#include "test.hpp"

namespace
{

struct object : living, lull::bridge_obj_base<object> {
};

lull::rcu_ptr<object> current;

struct task {
	struct promise_type : lull::no_section_across_await {
		task get_return_object() noexcept { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
		std::suspend_never initial_suspend() const noexcept { return {}; }
		std::suspend_always final_suspend() const noexcept { return {}; }
		void return_void() const noexcept {}
		void unhandled_exception() const noexcept { std::abort(); }
	};

	std::coroutine_handle<> handle;
};

/* An awaited value is handed on as it is: also one that can be moved only, and one that gives a value. */
struct gives {
	std::unique_ptr<int> value;

	explicit gives(int n) : value(std::make_unique<int>(n)) {}
	bool await_ready() const noexcept { return true; }
	void await_suspend(std::coroutine_handle<>) const noexcept {}
	std::unique_ptr<int> await_resume() noexcept { return std::move(value); }
};

task keeps_across(int &step)
{
	lull::held<object> kept = lull::rcu_read([] { return lull::keep(current.read()); });

	MUST(kept->is_whole());
	MUST(*co_await gives(7) == 7);
	gives later(8);
	MUST(*co_await later == 8 && !later.value); /* later itself, and no copy */
	step = 1;
	co_await std::suspend_always();
	MUST(kept->is_whole());
	step = 2;
	co_await std::suspend_always();
	kept.reset();
	step = 3;
}

TEST(holds_go_on)
{
	int step = 0;

	current.publish(std::make_unique<object>());
	task t = keeps_across(step);
	MUST(step == 1);
	current.publish(nullptr);
	MUST(lull_hazptr_barrier_timeout(10) != 0 && alive == 1);
	runner([&] { t.handle.resume(); }).join();
	MUST(step == 2);
	MUST(lull_hazptr_barrier_timeout(10) != 0 && alive == 1);
	runner([&] { t.handle.resume(); }).join();
	MUST(step == 3 && t.handle.done());
	t.handle.destroy();
}

/* A coroutine that is destroyed while it is suspended releases its hold. */
TEST(frames_end)
{
	int step = 0;

	current.publish(std::make_unique<object>());
	task t = keeps_across(step);
	current.publish(nullptr);
	t.handle.destroy();
}

task suspends_in_section(bool really)
{
	lull::rcu_section section;

	if (really)
		co_await std::suspend_always();
	else
		co_await std::suspend_never();
}

/* Threads that are online count as being in a section, and are in none. */
task suspends()
{
	co_await std::suspend_never();
}

TEST(online)
{
	lull_rcu_online();
	suspends().handle.destroy();
	lull_rcu_offline();
}

DEATH_TEST(suspends_in_a_section, "")
{
	suspends_in_section(true);
}

DEATH_TEST(awaits_in_a_section, "")
{
	suspends_in_section(false);
}

DEATH_TEST(suspends_online_in_a_section, "")
{
	lull_rcu_online();
	suspends_in_section(true);
}

AFTER_EACH(none_alive);

} // namespace
#else
#include "test.hpp"

SKIPPED("this compiler has no coroutines")
#endif
