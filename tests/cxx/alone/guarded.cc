// SPDX-License-Identifier: MIT
/* guarded.cc - clang's -Wthread-safety knows lull's mutexes. It is compiled, and that is the test. */
#include <lull/mutex.hpp>

#ifdef __clang__
#define GUARDED_BY(m) __attribute__((guarded_by(m)))
#else
#define GUARDED_BY(m)
#endif

static lull::mutex lock;
static lull::timed_mutex timed;
static int with_lock GUARDED_BY(lock), with_timed GUARDED_BY(timed);

int count();

int count()
{
	int sum = 0;

	lock.lock();
	sum += ++with_lock;
	lock.unlock();
	if (timed.try_lock()) {
		sum += ++with_timed;
		timed.unlock();
	}
	return sum;
}
