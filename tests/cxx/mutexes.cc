/* SPDX-License-Identifier: MIT */
/*
 * mutexes.cc - what would compile with mutex.hpp and lose a lock, or a death, does not compile.
 */
#if __cplusplus >= 201703L
#include <chrono>
#include <mutex>
#include <utility>

#include <lull/mutex.hpp>

// wrong 1, from c++17: use of deleted function|deleted (copy |move )?constructor
// wrong 2, from c++17: use of deleted function|is implicitly deleted|selected deleted operator|overload resolution selected deleted
// wrong 3, from c++17: use of deleted function|deleted (copy |move )?constructor
// wrong 4, from c++17: no matching (member )?function
// wrong 5, from c++17: no matching (member )?function
// wrong 6, from c++17: no matching (member )?function
// wrong 7, from c++17: ignoring return(ed)? value
// wrong 8, from c++17: no matching (member )?function
// wrong 9, from c++17: ignoring return(ed)? value
// wrong 10, from c++17: could not convert|not contextually convertible

lull::mutex a, b;
lull::timed_mutex t;
lull::robust_mutex r;
lull::condition_variable c;

int main()
{
	std::unique_lock<lull::mutex> hold(a), of_timed(t);
	std::scoped_lock all(b, r);

	c.wait_for(of_timed, std::chrono::milliseconds(1));
	if (r.try_acquire() == lull::robust_status::owner_died)
		r.make_consistent();
#if defined WRONG && WRONG == 1
	lull::mutex copy = a;
#elif defined WRONG && WRONG == 2
	b = a;
#elif defined WRONG && WRONG == 3
	lull::robust_mutex copy(std::move(r));
#elif defined WRONG && WRONG == 4
	std::mutex other; /* a mutex that lull cannot unlock */
	std::unique_lock<std::mutex> of_other(other);
	c.wait(of_other);
#elif defined WRONG && WRONG == 5
	std::unique_lock<lull::robust_mutex> of_robust(r);
	c.wait(of_robust);
#elif defined WRONG && WRONG == 6
	t.try_lock_for(1000); /* of what? */
#elif defined WRONG && WRONG == 7
	r.acquire();
#elif defined WRONG && WRONG == 8
	c.wait(a); /* who unlocks it if the wait throws? */
#elif defined WRONG && WRONG == 9
	r.try_acquire_for(std::chrono::milliseconds(1));
#elif defined WRONG && WRONG == 10
	if (r.acquire())
		return 1;
#endif
	hold.unlock();
	return 0;
}
#else
/* C++14 has not got the header. */
#endif
