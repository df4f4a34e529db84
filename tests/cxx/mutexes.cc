/* SPDX-License-Identifier: MIT */
/*
 * mutexes.cc - what would compile with mutex.hpp and lose a lock, or a death, does not compile.
 */
// from c++17
#if __cplusplus >= 201703L
#include <chrono>
#include <mutex>
#include <utility>

#include <lull/mutex.hpp>

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
	WRONG("deleted", lull::mutex copy = a;)
	WRONG("deleted", b = a;)
	WRONG("deleted", lull::robust_mutex copy(std::move(r));)
	/* A mutex that lull cannot unlock. */
	WRONG("no matching (member )?function", std::mutex other; std::unique_lock<std::mutex> of_other(other); c.wait(of_other);)
	WRONG("ignoring return(ed)? value", std::unique_lock<lull::robust_mutex> of_robust(r); c.wait(of_robust);)
	WRONG("no matching (member )?function", t.try_lock_for(1000);) /* of what? */
	WRONG("ignoring return", r.acquire();)
	WRONG("no matching (member )?function", c.wait(a);) /* who unlocks it if the wait throws? */
	WRONG("ignoring return", r.try_acquire_for(std::chrono::milliseconds(1));)
	WRONG("could not convert|not contextually convertible", if (r.acquire()) return 1;)
	hold.unlock();
	return 0;
}
#else
/* C++14 has not got the header. */
#endif
