/* SPDX-License-Identifier: MIT */
/*
 * rwsem.cc - percpu_rwsem.hpp: what std::shared_mutex does.
 */
#include <lull/percpu_rwsem.hpp>

#if defined _GLIBCXX_MUTEX || defined _GLIBCXX_SHARED_MUTEX || defined _LIBCPP_MUTEX || defined _LIBCPP_SHARED_MUTEX
#error percpu_rwsem.hpp includes neither <mutex> nor <shared_mutex>
#endif

#include <mutex>
#include <shared_mutex>
#include <type_traits>

#include "test.hpp"

namespace
{

using rwsem = lull::percpu_rwsem;

static_assert(!std::is_copy_constructible<rwsem>::value && !std::is_move_constructible<rwsem>::value &&
	      !std::is_copy_assignable<rwsem>::value && !std::is_move_assignable<rwsem>::value &&
	      std::is_nothrow_default_constructible<rwsem>::value && std::is_nothrow_destructible<rwsem>::value, "");
static_assert(sizeof(rwsem) == sizeof(lull_percpu_rwsem) && std::is_standard_layout<rwsem>::value, "");

constexpr int threads = 4, turns = 300;

TEST(excludes)
{
	rwsem m;
	long left = 0, right = 0;

	in_threads(threads, [&](int me) {
		for (int i = 0; i < turns; i++) {
			if ((i + me) % 8 == 0) {
				std::lock_guard<rwsem> hold(m);
				left++;
				sched_yield();
				right++;
			} else {
				std::shared_lock<rwsem> hold(m);
				MUST(left == right);
			}
		}
	});
	std::scoped_lock all(m);
	MUST(left > 0 && left == right);
}

TEST(tries)
{
	rwsem m;

	{
		std::shared_lock<rwsem> hold(m, std::try_to_lock), second(m, std::try_to_lock);
		MUST(hold.owns_lock() && second.owns_lock());
		MUST(!m.try_lock());
		/* Another thread gives it back. */
		second.release();
		runner([&] { m.unlock_shared(); }).join();
	}
	std::unique_lock<rwsem> hold(m, std::try_to_lock);
	MUST(hold.owns_lock());
	MUST(!m.try_lock_shared());
	runner([&] { MUST(!m.try_lock() && !m.try_lock_shared()); }).join();
	hold.unlock();
	MUST(m.try_lock_shared());
	m.unlock_shared();
}

TEST(is_the_structure)
{
	rwsem m;
	lull_percpu_rwsem *c = m.native_handle();

	MUST(static_cast<void *>(c) == static_cast<void *>(&m));
	lull_percpu_rwsem_read_lock(c);
	MUST(!m.try_lock());
	lull_percpu_rwsem_read_unlock(c);
	{
		LULL_PERCPU_WRITE_GUARD(c);
		MUST(!m.try_lock_shared());
	}
	m.lock();
	m.unlock();
}

} // namespace
