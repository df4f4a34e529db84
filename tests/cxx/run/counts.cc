/* SPDX-License-Identifier: MIT */
/*
 * counts.cc - lull::counted: references that are taken from shared pointers, copied, moved and dropped, in both ways to count.
 */
#include <malloc.h>
#include <new>
#include <stdexcept>
#include <vector>

#include <lull/counted.hpp>

#include "test.hpp"

namespace
{

template <class Count> struct object : living, lull::counted_base<object<Count>, Count> {
	int number;

	explicit object(int n = 0) : number(n)
	{
		if (n < 0)
			throw std::runtime_error("no such number");
	}
};

using simple = object<lull::by_refcount>;
using scaled = object<lull::by_percpu_ref>;

static_assert(sizeof(lull::counted<simple>) == sizeof(void *) && sizeof(lull::counted_owner<simple>) == sizeof(void *));
static_assert(std::is_nothrow_copy_constructible_v<lull::counted<simple>> &&
	      std::is_nothrow_move_constructible_v<lull::counted<simple>>);
static_assert(!std::is_copy_constructible_v<lull::counted_owner<simple>> &&
	      std::is_nothrow_move_constructible_v<lull::counted_owner<simple>>);
static_assert(!std::is_copy_constructible_v<lull::counted_ptr<simple>>);

void all_gone()
{
	lull_rcu_barrier();
	lull_rcu_barrier(); /* without restartable sequences a kill takes one */
	MUST(alive == 0);
}

TEST_OF(T, references, simple, scaled)
{
	lull::counted<T> kept;
	{
		auto owner = lull::make_counted<T>(5);
		auto first = owner.share(), second = first;

		MUST(owner && owner->number == 5 && first.get() == owner.get() && &*second == owner.get());
		kept = std::move(second);
		MUST(!second && kept);
		second = kept;
		auto &same = second;
		second = same;
		MUST(second.get() == kept.get());
		second.swap(first);
		first = nullptr;
		lull::counted_owner<T> moved(std::move(owner));
		MUST(!owner && !owner.share() && moved);
		owner = std::move(moved);
		owner.reset();
		MUST(!owner);
		owner.reset();
	}
	lull_rcu_barrier();
	lull_rcu_barrier();
	MUST(alive == 1 && kept->is_whole());
	runner([handed = std::move(kept)] { MUST(handed->is_whole()); }).join();
}

TEST_OF(T, pointers, simple, scaled)
{
	lull::counted_ptr<T> pointer;
	lull::counted_owner<T> old;

	MUST(!pointer && !pointer.get());
	pointer.publish(lull::make_counted<T>(1));
	auto first = pointer.get();
	MUST(pointer && first->number == 1);
	old = pointer.exchange(lull::make_counted<T>(2));
	MUST(old.get() == first.get() && pointer.get()->number == 2);
	first.reset();
	lull_rcu_barrier();
	MUST(alive == 2 && old->is_whole());
	old.reset();
	pointer.publish(nullptr);
	MUST(!pointer.get());
	all_gone();
	{
		lull::counted_ptr<T> ends(lull::make_counted<T>(3));

		first = ends.get();
	}
	lull_rcu_barrier();
	lull_rcu_barrier();
	MUST(alive == 1 && first->is_whole());
	first.reset();
}

/* In a section, found by other means. */
TEST_OF(T, tries, simple, scaled)
{
	auto owner = lull::make_counted<T>(1);
	T *found = owner.get();
	lull::counted<T> got;

	lull_rcu_read_lock();
	got = lull::counted<T>::try_get(found);
	MUST(got.get() == found && !lull::counted<T>::try_get(nullptr));
	got.reset();
	owner.reset();
	if (std::is_same_v<T, simple> || lull_percpu_ref_per_cpu())
		MUST(!lull::counted<T>::try_get(found)); /* its end is near, and comes after the section */
	MUST(found->is_whole());
	lull_rcu_read_unlock();
}

/* An object that is about to end, and is still published: get() comes back for the next one. */
TEST(waits_for_the_next)
{
	lull::counted_ptr<simple> pointer(lull::make_counted<simple>(1));
	simple *first = pointer.get().get();
	std::atomic<bool> called{false};
	std::atomic<int> got{0};

	lull_rcu_read_lock();
	(void)lull::counted_owner<simple>(first); /* drops the pointer's reference, which is a mistake */
	runner reader([&] {
		called = true;
		got = pointer.get()->number;
	});
	AWAIT(called.load());
	nap();
	MUST(got == 0);
	alignas(lull::counted_owner<simple>) unsigned char nobody[sizeof(lull::counted_owner<simple>)];
	new (nobody) lull::counted_owner<simple>(pointer.exchange(lull::make_counted<simple>(2)));
	reader.join(); /* it may have found the first one to the last, so that stays as long */
	lull_rcu_read_unlock();
	MUST(got == 2);
	pointer.publish(nullptr);
}

TEST_OF(T, constructors_throw, simple, scaled)
{
	MUST(throws<std::runtime_error>([] { (void)lull::make_counted<T>(-1); }));
}

/* The counts for each CPU go with the object, also when its constructor throws. */
TEST(counts_end)
{
#if defined(__GLIBC__) && !SANITIZED
	std::size_t before = 0;

	for (int i = 0; i < 6000; i++) {
		if (i == 3000) {
			all_gone();
			before = mallinfo2().uordblks;
		}
		if (i % 2)
			(void)lull::make_counted<scaled>(i);
		else
			constructors_throw<scaled>();
		if (i % 100 == 0)
			all_gone();
	}
	all_gone();
	MUST(mallinfo2().uordblks < before + 64 * 1024);
#endif
}

/* The first reference of a simple count is like any other. */
TEST(simple_first)
{
	lull::counted<simple> first = lull::make_counted<simple>(1);
	lull::counted<simple> second = first;

	first.reset();
	MUST(second->is_whole());
	second.reset();
}

/* A copy of an object has references of its own. */
TEST_OF(T, copies, simple, scaled)
{
	auto first = lull::make_counted<T>(1);
	auto second = lull::make_counted<T>(*first);
	auto more = first.share();

	*second = *first;
	first.reset();
	more.reset();
	lull_rcu_barrier();
	lull_rcu_barrier();
	MUST(alive == 1 && second->is_whole());
	second.reset();
}

TEST_OF(T, storm, simple, scaled)
{
	lull::counted_ptr<T> pointer(lull::make_counted<T>(1));

	reads_while_it_changes(
		[&](int, int looks) {
			lull::counted<T> older;

			for (int n = 0; n < looks; n++) {
				auto now = pointer.get(), copy = now;

				MUST(copy->is_whole() && (!older || older->is_whole()));
				if (n % 7 == 0)
					older = std::move(now);
			}
		},
		[&] {
			pointer.publish(lull::make_counted<T>(2));
			if (std::is_same_v<T, scaled>)
				sched_yield();
		});
	pointer.publish(nullptr);
}

AFTER_EACH(all_gone);

} // namespace
