/* SPDX-License-Identifier: MIT */
/*
 * timing.hpp - from the durations and time points of <chrono> to deadlines of lull's C functions.
 *
 * It does not include <chrono>, which takes longer to compile than all of lull: a program that has a time point has
 * included it. So durations and time points are any templates of two types that behave like those.
 */
#ifndef LULL_TIMING_HPP
#define LULL_TIMING_HPP

#include <time.h>

#include <type_traits>
#include <utility>

#include <lull/detail/base.h>

namespace lull
{
namespace detail
{

constexpr uint64_t never = UINT64_MAX; /* as a deadline of the C functions */
constexpr uint64_t nanoseconds_of_second = 1000000000u;

constexpr uint64_t common_divisor(uint64_t a, uint64_t b) noexcept
{
	return b == 0 ? a : common_divisor(b, a % b);
}

/* Return @count times @times / @by, rounded up; `never` if that is too much. */
inline uint64_t scaled(uint64_t count, uint64_t times, uint64_t by) noexcept
{
	uint64_t whole, rest;

	if (__builtin_mul_overflow(count / by, times, &whole))
		return never;
	/* Only periods that nobody has a name for take the second way, which is right to a billionth. */
	if (__builtin_mul_overflow(count % by, times, &rest))
		rest = static_cast<uint64_t>(static_cast<long double>(count % by) / static_cast<long double>(by) *
					     static_cast<long double>(times)) + 1;
	else
		rest = rest / by + (rest % by != 0);
	return __builtin_add_overflow(whole, rest, &whole) ? never : whole;
}

/* Return the nanoseconds of a duration, rounded up; 0 for what is negative or no number. */
template <class Rep, class Period, template <class, class> class Duration>
uint64_t nanoseconds(const Duration<Rep, Period> &length) noexcept(std::is_arithmetic<Rep>::value)
{
	static_assert(Period::num > 0 && Period::den > 0, "a period is a length of time");
	if constexpr (std::is_integral<Rep>::value) {
		constexpr uint64_t num = static_cast<uint64_t>(Period::num), den = static_cast<uint64_t>(Period::den);
		constexpr uint64_t first = common_divisor(nanoseconds_of_second, den);
		constexpr uint64_t second = common_divisor(num, den / first);

		if (!(length.count() > 0))
			return 0;
		static_assert(num / second <= UINT64_MAX / (nanoseconds_of_second / first), "periods are shorter than 500 years");
		return scaled(static_cast<uint64_t>(length.count()), num / second * (nanoseconds_of_second / first),
			      den / first / second);
	} else {
		const long double exact = static_cast<long double>(length.count()) *
					  (static_cast<long double>(Period::num) / static_cast<long double>(Period::den)) *
					  static_cast<long double>(nanoseconds_of_second);

		if (!(exact > 0))
			return 0;
		if (!(exact < static_cast<long double>(never)))
			return never;
		const uint64_t floor = static_cast<uint64_t>(exact);
		return floor + (static_cast<long double>(floor) < exact);
	}
}

/* Return the time of CLOCK_MONOTONIC that is @length from now. */
template <class Duration>
uint64_t deadline_after(const Duration &length) noexcept(noexcept(nanoseconds(length)))
{
	const uint64_t wait = nanoseconds(length);
	timespec now;
	uint64_t deadline;

	clock_gettime(CLOCK_MONOTONIC, &now);
	deadline = static_cast<uint64_t>(now.tv_sec) * nanoseconds_of_second + static_cast<uint64_t>(now.tv_nsec);
	return __builtin_add_overflow(deadline, wait, &deadline) ? never : deadline;
}

/* Can no operation on these time points throw? The standard's clocks and numbers throw nothing. */
template <class Clock, class Length>
constexpr bool steps_quietly = noexcept(Clock::now()) && std::is_arithmetic<typename Length::rep>::value;

/*
 * Call @attempt(deadline) until it returns true or @when is past by its own clock, whatever that clock does
 * meanwhile. Returns whether it returned true.
 */
template <class Attempt, class Clock, class Length, template <class, class> class TimePoint>
bool attempt_until(const TimePoint<Clock, Length> &when, Attempt attempt) noexcept(steps_quietly<Clock, Length>)
{
	for (auto now = Clock::now(); now < when; now = Clock::now()) {
		if (attempt(deadline_after(when - now)))
			return true;
	}
	return false;
}

} // namespace detail
} // namespace lull

#endif /* LULL_TIMING_HPP */
