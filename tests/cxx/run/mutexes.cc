/* SPDX-License-Identifier: MIT */
/*
 * mutexes.cc - the locks of mutex.hpp do what the standard's do, and report dead owners.
 */
#include <lull/mutex_robust.h>

/* The result that the next lock of a robust mutex pretends: a system without them is hard to get. */
static int pretended;
#define lull_mutex_robust_lock(m) (pretended ? pretended : lull_mutex_robust_lock(m))
#include <lull/mutex.hpp>
#undef lull_mutex_robust_lock

#if defined _GLIBCXX_MUTEX || defined _GLIBCXX_CHRONO || defined _LIBCPP_MUTEX || defined _LIBCPP_CHRONO
#error mutex.hpp includes neither <mutex> nor <chrono>
#endif

#include <chrono>
#include <condition_variable>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>
#include <ratio>
#include <type_traits>
#include <vector>

#include <pthread.h>

#include "test.hpp"

namespace
{

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using std::chrono::system_clock;

CONSTANT lull::mutex plain;
CONSTANT lull::timed_mutex timed;
CONSTANT lull::robust_mutex robust;
CONSTANT lull::condition_variable condition;

/* Before main(), and after it. */
struct early_and_late {
	early_and_late()
	{
		std::scoped_lock hold(plain, timed);
		robust.native_handle();
	}
	~early_and_late() { std::lock_guard<lull::mutex> hold(plain); }
} an_early_and_late_one;

template <class Mutex> constexpr bool stays = !std::is_copy_constructible<Mutex>::value &&
	!std::is_move_constructible<Mutex>::value && !std::is_copy_assignable<Mutex>::value &&
	!std::is_move_assignable<Mutex>::value && std::is_nothrow_default_constructible<Mutex>::value;
static_assert(stays<lull::mutex> && stays<lull::timed_mutex> && stays<lull::robust_mutex> &&
	      stays<lull::condition_variable>, "");
static_assert(std::is_trivially_destructible<lull::mutex>::value, "");
constexpr std::chrono::milliseconds moment(1);
static_assert(noexcept(plain.lock()) && noexcept(plain.try_lock()) && noexcept(plain.unlock()), "");
static_assert(noexcept(timed.try_lock_for(moment)) && noexcept(timed.try_lock_until(steady_clock::now())), "");
static_assert(noexcept(robust.acquire()) && noexcept(robust.try_acquire_for(moment)) && noexcept(robust.unlock()), "");
static_assert(!noexcept(robust.lock()) && !noexcept(robust.try_lock()), "");
static_assert(noexcept(condition.notify_one()) && noexcept(condition.notify_all()), "");

constexpr int threads = 4, turns = 2000;

using status = lull::robust_status;

const bool are_supported = [] {
	lull::robust_mutex m;

	return m.acquire() != status::not_supported && (m.unlock(), true);
}();

#define ROBUST_TEST(name)                                                                                              \
	static void name();                                                                                            \
	static test listed_##name(#name, are_supported ? name : [] { skip("no robust mutexes here"); }); \
	static void name()

/* ---- a mutex -------------------------------------------------------------------------------- */

TEST_OF(Mutex, excludes, lull::mutex, lull::timed_mutex, lull::robust_mutex)
{
	Mutex m;
	long count = 0;

	if (std::is_same_v<Mutex, lull::robust_mutex> && !are_supported)
		return;
	in_threads(threads, [&](int) {
		for (int i = 0; i < turns; i++) {
			std::lock_guard<Mutex> hold(m);
			count++;
		}
	});
	MUST(count == threads * turns);
	MUST(m.try_lock());
	runner([&] { MUST(!m.try_lock()); }).join();
	m.unlock();
}

/* Three locks at once, in any order: no thread waits for ever (and ThreadSanitizer sees no circle). */
TEST(three_at_once)
{
	lull::mutex a;
	lull::timed_mutex b;
	lull::robust_mutex c;
	long count = 0;

	in_threads(threads, [&](int me) {
		for (int i = 0; i < turns / 4; i++) {
			if ((i + me) % 3 == 0) {
				std::scoped_lock hold(a, b, c);
				count++;
			} else if ((i + me) % 3 == 1) {
				std::scoped_lock hold(c, a, b);
				count++;
			} else {
				std::lock(b, c, a);
				count++;
				a.unlock();
				b.unlock();
				c.unlock();
			}
		}
	});
	MUST(count == threads * (turns / 4));
}

TEST(guards_move)
{
	lull::mutex m;
	std::unique_lock<lull::mutex> first(m), second(std::move(first));

	MUST(!first.owns_lock() && second.owns_lock() && !m.try_lock());
	second = std::unique_lock<lull::mutex>();
	MUST(m.try_lock());
	std::unique_lock<lull::mutex> third(m, std::adopt_lock), fourth(m, std::defer_lock);
	MUST(!fourth.try_lock());
	third.unlock();
	MUST(fourth.try_lock());
}

TEST(is_the_structure)
{
	lull::mutex m;
	lull_mutex *c = m.native_handle();

	MUST(static_cast<void *>(c) == static_cast<void *>(&m));
	MUST(reinterpret_cast<lull::mutex *>(c) == &m);
	lull_mutex_lock(c);
	MUST(!m.try_lock());
	lull_mutex_unlock(c);
	MUST(m.try_lock());
	MUST(lull_mutex_is_locked(c));
	m.unlock();

	lull::mutex shared(LULL_MUTEX_SHARED);
	lull_mutex told;
	lull_mutex_init(&told, LULL_MUTEX_SHARED);
	MUST(std::memcmp(static_cast<void *>(&shared), &told, sizeof(told)) == 0);
}

/* The last to lock it may free it, as soon as it has it: the address sanitizer looks at the one before. */
TEST(goes_with_the_last_unlock)
{
	for (int i = 0; i < 200; i++) {
		auto *m = new lull::mutex;

		m->lock();
		runner last([&] {
			m->lock();
			m->unlock();
			delete m;
		});
		if (i % 2)
			sched_yield();
		m->unlock();
		last.join();
	}
}

/* A thread that is to be cancelled passes through everything. */
TEST(cancels_nobody)
{
	std::atomic<bool> through{ false };
	lull::timed_mutex m, held;
	lull::condition_variable c;

	held.lock();
	runner thread([&] {
		pthread_cancel(pthread_self());
		m.lock();
		m.unlock();
		MUST(m.try_lock());
		MUST(!held.try_lock_for(2ms) && !held.try_lock_until(steady_clock::now() + 2ms));
		{
			std::unique_lock<lull::mutex> hold(m, std::adopt_lock);

			MUST(!c.wait_for(hold, 2ms, [] { return false; }));
			MUST(!c.wait_until(hold, steady_clock::now() + 2ms, [] { return false; }));
		}
		c.notify_all();
		through = true;
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
	});
	thread.join();
	MUST(through);
	held.unlock();
}

/* ---- time ----------------------------------------------------------------------------------- */

template <class Number> using seconds_of = std::chrono::duration<Number>;

TEST(durations)
{
	using lull::detail::nanoseconds;
	using std::chrono::duration;
	const uint64_t never = UINT64_MAX;

	MUST(nanoseconds(1s) == 1000000000u);
	MUST(nanoseconds(0s) == 0);
	MUST(nanoseconds(-1ns) == 0 && nanoseconds(std::chrono::hours::min()) == 0);
	MUST(nanoseconds(std::chrono::hours::max()) == never);
	MUST(nanoseconds(std::chrono::nanoseconds::max()) == static_cast<uint64_t>(INT64_MAX));
	/* Never shorter than what was asked for. */
	MUST(nanoseconds(duration<int, std::pico>(1)) == 1 && nanoseconds(duration<int, std::pico>(1001)) == 2);
	MUST(nanoseconds(duration<short, std::ratio<1, 3>>(1)) == 333333334u);
	MUST(nanoseconds(duration<unsigned, std::ratio<7, 60>>(60)) == 7000000000u);
	MUST(nanoseconds(duration<unsigned long, std::ratio<3, 1000000000>>(5)) == 15u);
	/* A period that is no part of a second, and numbers that overflow on the way. */
	using odd = std::ratio<1, 2305843009213693951>;
	const uint64_t half = nanoseconds(duration<long, odd>(1152921504606846976));
	MUST(half >= 500000000u && half <= 500000001u);
	/* Not whole numbers */
	MUST(nanoseconds(seconds_of<double>(0.5)) == 500000000u);
	MUST(nanoseconds(duration<float, std::nano>(1.25f)) == 2);
	MUST(nanoseconds(seconds_of<double>(-3)) == 0);
	MUST(nanoseconds(seconds_of<double>(std::nan(""))) == 0);
	MUST(nanoseconds(seconds_of<double>(std::numeric_limits<double>::infinity())) == never);
	MUST(nanoseconds(seconds_of<long double>(1e30L)) == never);
	MUST(lull::detail::deadline_after(std::chrono::hours::max()) == never);
}

/* Says the same time again and again, as if it was set back each time that it had come to the end. */
struct stuck_clock {
	using duration = std::chrono::milliseconds;
	using rep = duration::rep;
	using period = duration::period;
	using time_point = std::chrono::time_point<stuck_clock, duration>;
	static int asked, stuck_for;
	static void stick(int times)
	{
		asked = 0;
		stuck_for = times;
	}
	static time_point now() noexcept
	{
		return time_point(duration(asked++ < stuck_for ? 100 : 200));
	}
};
int stuck_clock::asked, stuck_clock::stuck_for;

/* One millisecond. Counts who asks how long it is. */
template <class Rep, class Period> struct counted_length {
	mutable int asked = 0;
	Rep count() const { return asked++, 1; }
};

TEST_OF(Mutex, gives_up, lull::timed_mutex, lull::robust_mutex)
{
	Mutex m;

	if (std::is_same_v<Mutex, lull::robust_mutex> && !are_supported)
		return;

	MUST(m.try_lock_for(0s));
	runner([&] {
		const auto soon = steady_clock::now() + 3ms;

		MUST(!m.try_lock_until(soon));
		MUST(steady_clock::now() >= soon);
		const auto later = steady_clock::now() + 3ms;
		MUST(!m.try_lock_for(3ms));
		MUST(steady_clock::now() >= later);
		MUST(!m.try_lock_for(-1h));
		MUST(!m.try_lock_until(system_clock::now() + 2ms));
		MUST(!m.try_lock_until(system_clock::time_point()));

		/* It goes on until that clock says that it is over. */
		stuck_clock::stick(4);
		MUST(!m.try_lock_until(stuck_clock::time_point(101ms)));
		MUST(stuck_clock::asked == 5);
		/* Set forward meanwhile: it waits no shorter. */
		stuck_clock::stick(1);
		const auto then = steady_clock::now() + 20ms;
		MUST(!m.try_lock_until(stuck_clock::time_point(120ms)));
		MUST(steady_clock::now() >= then && stuck_clock::asked == 2);

		counted_length<int, std::milli> length;
		MUST(!m.try_lock_for(length) && length.asked > 0);

		std::unique_lock<Mutex> hold(m, 1ms);
		MUST(!hold);
	}).join();
	m.unlock();
}

TEST(gets_it_in_time)
{
	lull::timed_mutex m;
	std::atomic<int> waiting{ 0 };
	std::vector<runner> all;

	m.lock();
	for (int i = 0; i < 3; i++)
		all.emplace_back([&, i] {
			waiting++;
			MUST(i == 0 ? m.try_lock_for(24h) : i == 1 ? m.try_lock_until(steady_clock::time_point::max()) :
				m.try_lock_until(system_clock::now() + 24h));
			m.unlock();
		});
	while (waiting < 3)
		sched_yield();
	nap(2);
	m.unlock();
	for (auto &one : all)
		one.join();

	/* A free mutex is locked whatever the time. */
	MUST(m.try_lock_for(-1s));
	m.unlock();
	counted_length<int, std::milli> length;
	MUST(m.try_lock_for(length) && length.asked == 0);
	m.unlock();
	stuck_clock::asked = 0;
	MUST(m.try_lock_until(stuck_clock::time_point(0ms)));
	MUST(stuck_clock::asked == 0);
	m.unlock();
}

/* ---- conditions ----------------------------------------------------------------------------- */

struct queue {
	lull::mutex lock;
	lull::condition_variable filled, emptied;
	std::deque<int> items;
};

TEST(producers_and_consumers)
{
	queue q;
	long sum = 0;

	in_threads(threads, [&](int me) {
		for (int i = 1; i <= turns; i++) {
			std::unique_lock<lull::mutex> hold(q.lock);

			if (me % 2) {
				q.emptied.wait(hold, [&] { return q.items.size() < 3; });
				q.items.push_back(i);
				hold.unlock();
				q.filled.notify_one();
			} else {
				q.filled.wait(hold, [&] { return !q.items.empty(); });
				sum += q.items.front();
				q.items.pop_front();
				q.emptied.notify_one();
			}
		}
	});
	MUST(sum == threads / 2 * (static_cast<long>(turns) * (turns + 1) / 2));
}

TEST(waits_end)
{
	lull::timed_mutex m;
	lull::condition_variable c;
	std::unique_lock<lull::timed_mutex> hold(m);
	int asked = 0;

	const auto soon = steady_clock::now() + 2ms;
	while (c.wait_until(hold, soon) != lull::cv_status::timeout) /* may end for no reason */
		MUST(hold.owns_lock());
	MUST(steady_clock::now() >= soon);
	MUST(!c.wait_until(hold, soon, [] { return false; }));
	MUST(c.wait_until(hold, soon, [] { return true; }));
	MUST(!c.wait_for(hold, 2ms, [] { return false; }));
	/* The predicate has the last word. */
	MUST(c.wait_for(hold, -1ms, [&] { return asked++ == 1; }));
	asked = 0;
	MUST(c.wait_until(hold, system_clock::time_point(), [&] { return asked++ == 1; }));
	while (c.wait_for(hold, seconds_of<double>(0.001)) != lull::cv_status::timeout)
		;
	MUST(c.wait_until(hold, system_clock::now() - 1s) == lull::cv_status::timeout);

	/* Set back: it goes on until that clock says that it is over. */
	stuck_clock::stick(4);
	while (c.wait_until(hold, stuck_clock::time_point(101ms)) != lull::cv_status::timeout)
		;
	MUST(stuck_clock::asked >= 5);
	stuck_clock::stick(5);
	MUST(!c.wait_until(hold, stuck_clock::time_point(101ms), [] { return false; }));
	MUST(stuck_clock::asked >= 6);
	MUST(hold.owns_lock() && lull_mutex_is_locked(m.native_handle()));
}

/* Long before the time is up. */
TEST(waits_end_when_told)
{
	lull::mutex m;
	lull::condition_variable c;
	std::atomic<int> waiting{ 0 }, told{ 0 };

	runner waiter([&] {
		std::unique_lock<lull::mutex> hold(m);

		waiting = 1;
		MUST(c.wait_until(hold, system_clock::now() + 24h) == lull::cv_status::no_timeout);
		told = 1;
		waiting = 2;
		MUST(c.wait_for(hold, 24h) == lull::cv_status::no_timeout);
		told = 2;
		waiting = 3;
		c.wait(hold);
		told = 3;
	});
	for (int turn = 1; turn <= 3; turn++) {
		while (waiting < turn)
			sched_yield();
		m.lock();
		c.notify_one();
		m.unlock();
		while (told < turn)
			sched_yield();
	}
	waiter.join();
}

TEST(predicates_throw)
{
	lull::mutex m;
	lull::condition_variable c;

	try {
		std::unique_lock<lull::mutex> hold(m);

		try {
			c.wait(hold, []() -> bool { throw 1; });
		} catch (int) {
			MUST(hold.owns_lock() && lull_mutex_is_locked(m.native_handle()));
			throw 2;
		}
	} catch (int what) {
		MUST(what == 2);
	}
	MUST(m.try_lock());
	m.unlock();
}

/* A condition may go when its waiters have been told, before they have returned. */
TEST(goes_when_all_are_told)
{
	for (int i = 0; i < 50; i++) {
		lull::mutex m;
		auto *c = new lull::condition_variable;
		int waiting = 0;
		bool told = false;
		std::vector<runner> all;

		for (int k = 0; k < 3; k++)
			all.emplace_back([&] {
				std::unique_lock<lull::mutex> hold(m);

				waiting++;
				while (!told)
					c->wait(hold);
			});
		for (bool ready = false; !ready; sched_yield()) {
			std::lock_guard<lull::mutex> hold(m);
			ready = waiting == 3;
		}
		m.lock();
		told = true;
		c->notify_all();
		m.unlock();
		delete c;
		for (auto &one : all)
			one.join();
	}
}

TEST(conditions_of_c)
{
	lull_mutex m;
	lull::condition_variable c;
	std::unique_lock<lull_mutex> hold(m);

	MUST(!c.wait_for(hold, 1ms, [] { return false; }));
	MUST(lull_mutex_is_locked(&m));
	MUST(static_cast<void *>(c.native_handle()) == static_cast<void *>(&c));
}

/* ---- dead owners ---------------------------------------------------------------------------- */

void die_with(lull::robust_mutex &m)
{
	runner([&] { m.lock(); }).join();
}

status thrown_by(callable work)
{
	try {
		work();
	} catch (const lull::robust_error &error) {
		MUST(std::strlen(error.what()) > 0);
		return error.why();
	}
	return status::locked;
}

TEST(says_what_is_missing)
{
	lull::robust_mutex m;

	pretended = -ENOTSUP;
	MUST(m.acquire() == status::not_supported);
	MUST(thrown_by([&] { m.lock(); }) == status::not_supported);
	MUST(thrown_by([&] { m.lock([] {}); }) == status::not_supported);
	pretended = 0;
	for (status why : { status::owner_died, status::not_recoverable, status::not_supported })
		for (status other : { status::owner_died, status::not_recoverable, status::not_supported })
			MUST((std::strcmp(lull::robust_error(why).what(), lull::robust_error(other).what()) == 0) == (why == other));
}

ROBUST_TEST(is_a_mutex)
{
	lull::robust_mutex m;

	m.lock();
	runner([&] {
		MUST(m.try_acquire() == status::busy && m.try_acquire_for(1ms) == status::busy);
		stuck_clock::stick(3);
		MUST(m.try_acquire_until(stuck_clock::time_point(101ms)) == status::busy);
		MUST(stuck_clock::asked == 4);
	}).join();
	m.unlock();
	MUST(m.try_lock_for(1s));
	m.unlock();
	MUST(m.try_lock_until(steady_clock::now()));
	MUST(m.native_handle()->mutex.word != 0);
	m.unlock();
}

ROBUST_TEST(reports_a_death)
{
	lull::robust_mutex m;

	for (int i = 0; i < 4; i++) {
		status got;

		die_with(m);
		got = i == 0 ? m.acquire() : i == 1 ? m.try_acquire() : i == 2 ? m.try_acquire_for(1s) :
			m.try_acquire_until(steady_clock::now() + 1s);
		MUST(got == status::owner_died);
		m.make_consistent();
		m.unlock();
		MUST(m.acquire() == status::locked);
		m.unlock();
	}
	/* A thread that does not repair leaves a mutex that cannot be locked. */
	die_with(m);
	MUST(m.acquire() == status::owner_died);
	m.unlock();
	MUST(m.acquire() == status::not_recoverable);
	MUST(thrown_by([&] { m.lock(); }) == status::not_recoverable);
	MUST(thrown_by([&] { std::lock_guard<lull::robust_mutex> hold(m); }) == status::not_recoverable);
}

ROBUST_TEST(repairs)
{
	lull::robust_mutex m;
	int repaired = 0;

	m.lock([&] { repaired++; });
	m.unlock();
	MUST(repaired == 0);
	die_with(m);
	m.lock([&] {
		MUST(lull_mutex_robust_owner(m.native_handle()) != 0);
		repaired++;
	});
	{
		std::lock_guard<lull::robust_mutex> hold(m, std::adopt_lock);
		MUST(repaired == 1);
	}
	m.lock();
	m.unlock();

	/* A repair that fails */
	die_with(m);
	MUST(throws([&] { m.lock([] { throw 7; }); }));
	MUST(lull_mutex_robust_owner(m.native_handle()) == 0);
	MUST(m.acquire() == status::not_recoverable);
	MUST(thrown_by([&] { m.lock([&] { repaired++; }); }) == status::not_recoverable);
	MUST(repaired == 1);
}

/* Two wait, and the owner that tells them dies: the first learns of it, the second of what the first has done. */
void wait_beside_death(bool repair)
{
	lull::robust_mutex m;
	lull::condition_variable c(LULL_MUTEX_SHARED);
	bool ready = false;
	int died = 0, lost = 0;
	auto waits = [&] {
		std::unique_lock<lull::robust_mutex> hold(m);
		status got = status::locked;

		while (got == status::locked && !ready)
			got = c.wait(hold);
		MUST(hold.owns_lock() == (got != status::not_recoverable));
		if (got == status::owner_died) {
			died++;
			if (repair)
				m.make_consistent();
		} else if (got == status::not_recoverable) {
			lost++;
		}
	};
	runner first(waits), second(waits);

	while ((lull_load_acquire(&c.native_handle()->waiters) & 0x3fffff00u) != 0x200u)
		sched_yield();
	runner([&] {
		m.lock();
		ready = true;
		c.notify_all();
	}).join();
	first.join();
	second.join();
	MUST(died == 1 && lost == !repair);
}

ROBUST_TEST(robust_waits)
{
	wait_beside_death(true);
	wait_beside_death(false);
}

/* The guards of the standard cannot repair, so they let no thread in. */
ROBUST_TEST(guards_refuse)
{
	lull::robust_mutex m, n, o;
	lull::mutex beside;

	die_with(m);
	MUST(thrown_by([&] { std::lock_guard<lull::robust_mutex> hold(m); MUST(false); }) == status::owner_died);
	MUST(lull_mutex_robust_owner(m.native_handle()) == 0);
	MUST(thrown_by([&] { (void)m.try_lock(); }) == status::not_recoverable);
	die_with(n);
	MUST(thrown_by([&] { (void)n.try_lock_for(1s); }) == status::owner_died);
	die_with(o);
	MUST(thrown_by([&] { std::scoped_lock hold(beside, o); MUST(false); }) == status::owner_died);
	MUST(beside.try_lock()); /* nothing stays locked */
	beside.unlock();
}

} // namespace
