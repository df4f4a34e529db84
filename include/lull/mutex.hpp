/* SPDX-License-Identifier: MIT */
/*
 * mutex.hpp - the locks of mutex.h, mutex_robust.h and cond.h in the shapes of the C++ standard.
 *
 *	lull::mutex m;				{ std::unique_lock<lull::mutex> hold(m);
 *	lull::condition_variable changed;	  changed.wait(hold, [&] { return ready; });
 *	bool ready;				  ... }
 *
 *	{ std::lock_guard<lull::mutex> hold(m);
 *	  ready = true; }
 *	changed.notify_all();
 *
 * std::lock_guard, std::scoped_lock, std::unique_lock and std::lock take them all. This header includes neither
 * <mutex> nor <chrono>: a program that uses their names does. A mutex and a condition variable of static storage are
 * initialised before any code runs. A mutex has no destructor, so destructors of static objects may still lock it.
 *
 * Contexts are those of the C headers: not in signal handlers, and no call is a cancellation point. Misuse
 * ends the program with one line, where the standard's types may do anything: a second lock by the owner, an unlock by
 * another thread, a wait with a mutex that the caller does not hold.
 */
#ifndef LULL_MUTEX_HPP
#define LULL_MUTEX_HPP

#include <exception>
#include <type_traits>

#include <lull/cond.h>
#include <lull/mutex_robust.h>
#include <lull/detail/timing.hpp>

/* For clang's -Wthread-safety. The body of what locks is not looked into: it calls C. */
#ifdef __clang__
#define LULL__CAPABILITY __attribute__((capability("mutex")))
#define LULL__LOCKS(how) __attribute__((how, no_thread_safety_analysis))
#else
#define LULL__CAPABILITY
#define LULL__LOCKS(how)
#endif

namespace lull
{

/* A struct lull_mutex, and nothing else: C code may lock native_handle(), and cast the one to the other. */
class LULL__CAPABILITY mutex
{
public:
	using native_handle_type = lull_mutex *;

	constexpr mutex() noexcept = default;
	/* @flags: LULL_MUTEX_SHARED, for memory that processes share. */
	explicit mutex(uint32_t flags) noexcept { lull_mutex_init(&m, flags); }
	mutex(const mutex &) = delete;
	mutex &operator=(const mutex &) = delete;

	/* Waits as long as it takes. Cannot fail. */
	void lock() noexcept LULL__LOCKS(acquire_capability()) { lull_mutex_lock(&m); }
	/* Returns false if a thread holds it, also if this thread does; never for another reason. */
	bool try_lock() noexcept LULL__LOCKS(try_acquire_capability(true)) { return lull_mutex_trylock(&m); }
	/* Another thread may free the mutex at once. */
	void unlock() noexcept LULL__LOCKS(release_capability()) { lull_mutex_unlock(&m); }

	native_handle_type native_handle() noexcept { return &m; }

protected:
	lull_mutex m;
};

/*
 * A mutex that a thread can give up waiting for. It is a lull::mutex too, so std::unique_lock<lull::mutex> and
 * conditions take it. If the mutex is free, no clock is read.
 */
class timed_mutex : public mutex
{
public:
	constexpr timed_mutex() noexcept = default;
	explicit timed_mutex(uint32_t flags) noexcept : mutex(flags) {}

	/* Waits for @length at most. More than 500 years are for ever. */
	template <class Rep, class Period, template <class, class> class Duration>
	bool try_lock_for(const Duration<Rep, Period> &length) noexcept(std::is_arithmetic<Rep>::value)
		LULL__LOCKS(try_acquire_capability(true))
	{
		return try_lock() || lull_mutex_timedlock(&m, detail::deadline_after(length)) == 0;
	}

	/*
	 * Waits until @when at most, on any clock. A clock that is set back makes the wait longer. One that is set forward
	 * does not make it shorter.
	 */
	template <class Clock, class Length, template <class, class> class TimePoint>
	bool try_lock_until(const TimePoint<Clock, Length> &when) noexcept(detail::steps_quietly<Clock, Length>)
		LULL__LOCKS(try_acquire_capability(true))
	{
		return try_lock() || detail::attempt_until(when, [this](uint64_t deadline) noexcept {
			       return lull_mutex_timedlock(&m, deadline) == 0;
		       });
	}
};

/* Result of an attempt to lock a robust mutex. The first two: the caller holds it. */
enum class [[nodiscard]] robust_status {
	locked,
	owner_died,	 /* repair what the mutex guards, and call make_consistent() */
	busy,		 /* it was not to be had, or not in time */
	not_recoverable, /* an owner that learned of a death unlocked without make_consistent() */
	not_supported	 /* this system has no robust mutexes */
};

/* Thrown by the lock() of a robust mutex. The caller does not hold the mutex. */
class LULL__API_CLASS robust_error : public std::exception
{
public:
	explicit robust_error(robust_status why) noexcept : reason(why) {}
	robust_status why() const noexcept { return reason; }
	const char *what() const noexcept override
	{
		return reason == robust_status::owner_died	? "lull::robust_mutex: its owner died, and nobody repairs" :
		       reason == robust_status::not_recoverable ? "lull::robust_mutex: what it guards was not repaired" :
								  "lull::robust_mutex: not on this system";
	}

private:
	robust_status reason;
};

/*
 * A mutex whose next owner learns that the last one has died: a struct lull_mutex_robust. There are three ways to lock it.
 *
 *	acquire()	returns a status, which must not be dropped, and throws nothing
 *	lock(repair)	calls @repair, with the mutex held, if the owner has died
 *	lock()		for std::lock_guard and its like. There is nobody to repair, so a death makes the mutex unusable
 *			(not_recoverable), and throws. Nobody can use broken data by forgetting to ask.
 *
 *	m.lock([&] { repair(); });
 *	std::lock_guard<lull::robust_mutex> hold(m, std::adopt_lock);
 *
 * Without exceptions in the compiler, lock() ends the program where it would throw.
 */
class robust_mutex
{
public:
	using native_handle_type = lull_mutex_robust *;

	constexpr robust_mutex() noexcept = default;
	explicit robust_mutex(uint32_t flags) noexcept { lull_mutex_robust_init(&m, flags); }
	robust_mutex(const robust_mutex &) = delete;
	robust_mutex &operator=(const robust_mutex &) = delete;

	robust_status acquire() noexcept { return status(lull_mutex_robust_lock(&m)); }
	/* Does not wait. */
	robust_status try_acquire() noexcept { return status(lull_mutex_robust_trylock(&m)); }

	template <class Rep, class Period, template <class, class> class Duration>
	robust_status try_acquire_for(const Duration<Rep, Period> &length) noexcept(std::is_arithmetic<Rep>::value)
	{
		robust_status got = try_acquire();

		return got == robust_status::busy ? acquire_by(detail::deadline_after(length)) : got;
	}

	template <class Clock, class Length, template <class, class> class TimePoint>
	robust_status try_acquire_until(const TimePoint<Clock, Length> &when) noexcept(detail::steps_quietly<Clock, Length>)
	{
		robust_status got = try_acquire();

		if (got == robust_status::busy)
			detail::attempt_until(when, [this, &got](uint64_t deadline) noexcept {
				got = acquire_by(deadline);
				return got != robust_status::busy;
			});
		return got;
	}

	/*
	 * Lock; if the last owner died, call @repair() and then make_consistent(). If @repair throws, nobody holds the mutex,
	 * and it is not recoverable. Throws robust_error if it cannot be locked at all.
	 */
	template <class Repair> void lock(Repair &&repair) { (void)finish(acquire(), std::forward<Repair>(repair)); }

	/* Throws robust_error: owner_died (and from then on not_recoverable), not_recoverable, not_supported. */
	void lock() { (void)finish(acquire()); }
	bool try_lock() { return finish(try_acquire()); }

	template <class Rep, class Period, template <class, class> class Duration>
	bool try_lock_for(const Duration<Rep, Period> &length)
	{
		return finish(try_acquire_for(length));
	}

	template <class Clock, class Length, template <class, class> class TimePoint>
	bool try_lock_until(const TimePoint<Clock, Length> &when)
	{
		return finish(try_acquire_until(when));
	}

	void unlock() noexcept { lull_mutex_robust_unlock(&m); }

	/* Say that what the mutex guards is repaired. Aborts if the lock did not report a death. */
	void make_consistent() noexcept { lull_mutex_robust_consistent(&m); }

	native_handle_type native_handle() noexcept { return &m; }

private:
	friend class condition_variable;
	lull_mutex_robust m;

	static robust_status status(int err) noexcept
	{
		return err == 0			? robust_status::locked :
		       err == -EOWNERDEAD	? robust_status::owner_died :
		       err == -ENOTRECOVERABLE	? robust_status::not_recoverable :
		       err == -ENOTSUP		? robust_status::not_supported :
						  robust_status::busy;
	}

	robust_status acquire_by(uint64_t deadline) noexcept { return status(lull_mutex_robust_timedlock(&m, deadline)); }

	[[noreturn]] static void fail(robust_status why)
	{
#ifdef __cpp_exceptions
		throw robust_error(why);
#else
		(void)why;
		std::terminate();
#endif
	}

	/* Is it locked? */
	bool finish(robust_status got)
	{
		if (got == robust_status::owner_died)
			unlock(); /* and nobody can lock it again */
		if (got != robust_status::locked && got != robust_status::busy)
			fail(got);
		return got == robust_status::locked;
	}

	template <class Repair> bool finish(robust_status got, Repair &&repair)
	{
		struct unlock_on_throw {
			robust_mutex *held;
			~unlock_on_throw()
			{
				if (held)
					held->unlock();
			}
		};

		if (got != robust_status::owner_died)
			return finish(got);
		unlock_on_throw guard{ this };
		std::forward<Repair>(repair)();
		make_consistent();
		guard.held = nullptr;
		return true;
	}
};

namespace detail
{

/*
 * Return the lull_mutex in a mutex of ours; a struct lull_mutex has lock() and unlock(), too.
 */
inline lull_mutex *native(lull_mutex *m) noexcept
{
	return m;
}

inline lull_mutex *native(mutex *m) noexcept
{
	return m->native_handle();
}

template <class Lock> using if_ours = decltype(native(std::declval<Lock &>().mutex()));
template <class Lock>
using if_robust = std::enable_if_t<std::is_same<decltype(std::declval<Lock &>().mutex()), robust_mutex *>::value>;

} // namespace detail

enum class cv_status { no_timeout, timeout };

/*
 * A struct lull_cond. @lock is a std::unique_lock<lull::mutex>, or of another mutex of lull that is not robust, or
 * anything else whose mutex() returns a pointer to such a mutex. The caller holds it, also when a wait returns or throws.
 * All that sleep at a time use the same mutex.
 */
class condition_variable
{
public:
	using native_handle_type = lull_cond *;

	constexpr condition_variable() noexcept = default;
	explicit condition_variable(uint32_t flags) noexcept { lull_cond_init(&c, flags); }
	condition_variable(const condition_variable &) = delete;
	condition_variable &operator=(const condition_variable &) = delete;
	/* All waiters have been notified; they need not have returned. Aborts if one still sleeps. */
	~condition_variable() { lull_cond_destroy(&c); }

	void notify_one() noexcept { lull_cond_signal(&c); }
	void notify_all() noexcept { lull_cond_broadcast(&c); }

	/* May return for no reason. */
	template <class Lock, class = detail::if_ours<Lock>> void wait(Lock &lock) noexcept
	{
		lull_cond_wait(&c, detail::native(lock.mutex()));
	}

	/*
	 * With a robust mutex; the condition variable has LULL_MUTEX_SHARED. Returns locked or owner_died, with the mutex
	 * held, or not_recoverable, without: then @lock.release() has been called.
	 */
	template <class Lock, class = detail::if_robust<Lock>> robust_status wait(Lock &lock) noexcept
	{
		const robust_status got = robust_mutex::status(lull_cond_wait_robust(&c, lock.mutex()->native_handle()));

		if (got == robust_status::not_recoverable)
			lock.release();
		return got;
	}

	/* Waits until @ready() is true. Throws what that throws. */
	template <class Lock, class Ready, class = detail::if_ours<Lock>> void wait(Lock &lock, Ready ready)
	{
		while (!ready())
			wait(lock);
	}

	/* The clocks are as in timed_mutex. Without a predicate it may return too early, but not with `timeout`. */
	template <class Lock, class Rep, class Period, template <class, class> class Duration,
		  class = detail::if_ours<Lock>>
	cv_status wait_for(Lock &lock, const Duration<Rep, Period> &length) noexcept(std::is_arithmetic<Rep>::value)
	{
		return wait_by(lock, detail::deadline_after(length));
	}

	/* Returns @ready(), at the end. */
	template <class Lock, class Rep, class Period, template <class, class> class Duration, class Ready,
		  class = detail::if_ours<Lock>>
	bool wait_for(Lock &lock, const Duration<Rep, Period> &length, Ready ready)
	{
		const uint64_t deadline = detail::deadline_after(length);

		return wait_until_ready(ready, [&] { return wait_by(lock, deadline); });
	}

	template <class Lock, class Clock, class Length, template <class, class> class TimePoint,
		  class = detail::if_ours<Lock>>
	cv_status wait_until(Lock &lock, const TimePoint<Clock, Length> &when) noexcept(detail::steps_quietly<Clock, Length>)
	{
		const bool is_told = detail::attempt_until(when, [&](uint64_t deadline) noexcept {
			return wait_by(lock, deadline) == cv_status::no_timeout;
		});

		return is_told ? cv_status::no_timeout : cv_status::timeout;
	}

	template <class Lock, class Clock, class Length, template <class, class> class TimePoint, class Ready,
		  class = detail::if_ours<Lock>>
	bool wait_until(Lock &lock, const TimePoint<Clock, Length> &when, Ready ready)
	{
		return wait_until_ready(ready, [&] { return wait_until(lock, when); });
	}

	native_handle_type native_handle() noexcept { return &c; }

private:
	lull_cond c;

	/* Call @once until @ready() is true, or @once says that the time is up. Returns @ready(). */
	template <class Ready, class Once> static bool wait_until_ready(Ready &ready, Once once)
	{
		while (!ready()) {
			if (once() == cv_status::timeout)
				return ready();
		}
		return true;
	}

	template <class Lock> cv_status wait_by(Lock &lock, uint64_t deadline) noexcept
	{
		return lull_cond_timedwait(&c, detail::native(lock.mutex()), deadline) == 0 ? cv_status::no_timeout :
											     cv_status::timeout;
	}
};

static_assert(sizeof(mutex) == sizeof(lull_mutex) && sizeof(timed_mutex) == sizeof(lull_mutex) &&
		      sizeof(robust_mutex) == sizeof(lull_mutex_robust) && sizeof(condition_variable) == sizeof(lull_cond) &&
		      std::is_standard_layout<mutex>::value && std::is_standard_layout<robust_mutex>::value,
	      "as in C");
static_assert(std::is_trivially_destructible<mutex>::value && std::is_trivially_destructible<robust_mutex>::value,
	      "static ones outlive all code");

} // namespace lull

#endif /* LULL_MUTEX_HPP */
