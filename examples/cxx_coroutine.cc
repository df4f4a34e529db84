/* SPDX-License-Identifier: MIT */
/*
 * cxx_coroutine.cc - coroutines that keep an object while they are suspended, and go on with it on another thread.
 *
 * A read section belongs to a thread, so it must end before a coroutine is suspended. The coroutine finds the object in a
 * section, and keeps it by a lull::held, which is just a value: it lies in the coroutine's frame and goes where that goes.
 */
#include <cstdio>

#ifdef __cpp_impl_coroutine
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <lull/rcu_ptr.hpp>

namespace
{

/* ---- a scheduler: some threads, and coroutines that wait for one of them -------------------------------- */

class scheduler
{
      public:
	explicit scheduler(int how_many)
	{
		for (int i = 0; i < how_many; i++)
			threads.emplace_back([this] { run(); });
	}

	/* Ends when all that was started has ended. */
	~scheduler()
	{
		for (auto &thread : threads)
			thread.join();
	}

	/* For co_await: let others run first, and go on on any thread. */
	auto yield()
	{
		struct awaiter {
			scheduler &of;
			bool await_ready() const noexcept { return false; }
			void await_suspend(std::coroutine_handle<> suspended) const { of.add(suspended); }
			void await_resume() const noexcept {}
		};

		return awaiter{ *this };
	}

	void begin()
	{
		std::lock_guard hold(lock);

		unfinished++;
	}

	void end()
	{
		std::lock_guard hold(lock);

		if (--unfinished == 0)
			changed.notify_all();
	}

	void add(std::coroutine_handle<> ready)
	{
		std::lock_guard hold(lock);

		queue.push_back(ready);
		changed.notify_one();
	}

	/* No more will be started. */
	void close()
	{
		std::lock_guard hold(lock);

		closed = true;
		changed.notify_all();
	}

      private:
	void run()
	{
		std::unique_lock hold(lock);

		for (;;) {
			changed.wait(hold, [this] { return !queue.empty() || (closed && !unfinished); });
			if (queue.empty())
				return;
			auto next = queue.front();

			queue.pop_front();
			hold.unlock();
			next.resume();
			hold.lock();
		}
	}

	std::mutex lock;
	std::condition_variable changed;
	std::deque<std::coroutine_handle<>> queue;
	std::vector<std::thread> threads;
	int unfinished = 0;
	bool closed = false;
};

/* A coroutine for which only its scheduler waits, the first parameter of the coroutine. */
struct task {
	struct promise_type : lull::no_section_across_await { /* a co_await in a section aborts */
		scheduler &mine;

		template <class... Rest> explicit promise_type(scheduler &s, Rest &...) : mine(s) { mine.begin(); }
		~promise_type() { mine.end(); }
		task get_return_object() const noexcept { return {}; }
		auto initial_suspend() { return mine.yield(); }
		std::suspend_never final_suspend() const noexcept { return {}; }
		void return_void() const noexcept {}
		void unhandled_exception() const noexcept { std::terminate(); }
	};
};

/* ---- what they share ------------------------------------------------------------------------------------- */

struct config : lull::bridge_obj_base<config> {
	int number;

	explicit config(int n) : number(n) {}
	~config() { number = -1; }
};

lull::rcu_ptr<config> current;
std::atomic<int> changed, good;

task use(scheduler &s, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		/* The section ends with this statement; what it has found stays. */
		lull::held<config> mine = lull::rcu_read([] { return lull::keep(current.read()); });
		int before = mine->number;

		co_await s.yield();
		co_await s.yield();
		if (mine->number == before)
			good++;
		if (mine->number != current.hold()->number)
			changed++; /* another one is current by now, and mine is still whole */
	}
}

task update(scheduler &s, int rounds)
{
	for (int i = 1; i <= rounds; i++) {
		current.publish(std::make_unique<config>(i));
		co_await s.yield();
	}
}

} // namespace

int main()
{
	enum { READERS = 20, ROUNDS = 200 };

	current.publish(std::make_unique<config>(0));
	{
		scheduler s(3);

		for (int i = 0; i < READERS; i++)
			use(s, ROUNDS);
		update(s, ROUNDS);
		s.close();
	}
	std::printf("%d of %d uses found their object whole after two suspensions\n", good.load(), READERS * ROUNDS);
	std::printf("by then it was %s the current one\n", changed ? "not always" : "still");
	current.publish(nullptr);
	lull_hazptr_barrier();
	return good == READERS * ROUNDS ? 0 : 1;
}
#else
int main()
{
	std::puts("skipped: this compiler has no coroutines");
	return 77;
}
#endif
