/* SPDX-License-Identifier: MIT */
/*
 * coroutines.cc - a coroutine is not suspended in a read section, and may have a lull::held across suspensions.
 */
#include <cstdio>

#ifdef __cpp_impl_coroutine
#include <coroutine>
#include <memory>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lull/rcu_ptr.hpp>

#include "keeping.hpp"

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

/* What is awaited is handed on as it is: also what can be moved only, and what gives a value. */
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

void holds_go_on()
{
	int step = 0;

	current.publish(std::make_unique<object>());
	task t = keeps_across(step);
	MUST(step == 1);
	current.publish(nullptr);
	MUST(lull_hazptr_barrier_timeout(10) != 0 && alive == 1);
	std::thread([&] { t.handle.resume(); }).join();
	MUST(step == 2);
	MUST(lull_hazptr_barrier_timeout(10) != 0 && alive == 1);
	std::thread([&] { t.handle.resume(); }).join();
	MUST(step == 3 && t.handle.done());
	t.handle.destroy();
	none_alive();
}

/* A coroutine that is destroyed while it is suspended lets go. */
void frames_end()
{
	int step = 0;

	current.publish(std::make_unique<object>());
	task t = keeps_across(step);
	current.publish(nullptr);
	t.handle.destroy();
	none_alive();
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

void online()
{
	lull_rcu_online();
	suspends().handle.destroy();
	lull_rcu_offline();
}

void section_aborts(bool really, bool is_online)
{
	pid_t child = fork();
	int status = 0;

	MUST(child >= 0);
	if (child == 0) {
		rlimit no_core = { 0, 0 };

		setrlimit(RLIMIT_CORE, &no_core);
		MUST(freopen("/dev/null", "w", stderr) != nullptr);
		if (is_online)
			lull_rcu_online();
		suspends_in_section(really);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

} // namespace

int main()
{
	holds_go_on();
	frames_end();
	online();
	section_aborts(true, false);
	section_aborts(false, false);
	section_aborts(true, true);
	return 0;
}
#else
int main()
{
	std::puts("skipped: this compiler has no coroutines");
	return 77;
}
#endif
