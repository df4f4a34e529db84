/* SPDX-License-Identifier: MIT */
/*
 * sections.cc - lull::rcu_ptr retires what it loses, and a section keeps what it finds.
 */
#include <memory>
#include <vector>

#include <lull/rcu>
#include <lull/rcu_ptr.hpp>

#include "child.hpp"
#include "test.hpp"

namespace
{

struct config : living, lull::rcu_obj_base<config> {
	int number;

	explicit config(int n = 0) : number(n) {}
};

struct both : living, lull::bridge_obj_base<both> {
};

static_assert(!std::is_copy_constructible_v<lull::rcu_ptr<config>> && !std::is_move_constructible_v<lull::rcu_ptr<config>>);
static_assert(sizeof(lull::rcu_ptr<config>) == sizeof(config *) && sizeof(lull::retired<config>) == sizeof(config *));
static_assert(!std::is_copy_constructible_v<lull::rcu_section> && !std::is_move_constructible_v<lull::rcu_section>);
static_assert(noexcept(std::declval<lull::rcu_ptr<config> &>().publish(nullptr)));

lull::rcu_ptr<config> global;

std::unique_ptr<config> make(int number)
{
	return std::unique_ptr<config>(new config(number));
}

/* A reader on another thread, in a section until it is told. */
struct finder {
	std::atomic<bool> in{false}, leave{false};
	runner thread{[this] {
		lull::rcu_section section;
		const config *found = global.read(section);

		in = true;
		AWAIT(leave.load());
		MUST(found->is_whole());
	}};

	finder() { AWAIT(in.load()); }
	void end()
	{
		leave = true;
		thread.join();
	}
};

TEST(publishes)
{
	MUST(!global);
	global.publish(make(1));
	MUST(static_cast<bool>(global));
	finder r;
	global.publish(make(2));
	{
		lull::rcu_section section;
		lull::rcu_section nested;

		MUST(global.read()->number == 2);
		MUST(lull_rcu_read_lock_held());
	}
	MUST(!lull_rcu_read_lock_held());
	nap();
	MUST(alive == 2); /* the first is retired, and a reader has it */
	r.end();
	lull_rcu_barrier();
	MUST(alive == 1);
	global.publish(nullptr);
	MUST(!global);
}

TEST(exchanges)
{
	global.publish(make(1));
	finder r;
	{
		lull::retired<config> old = global.exchange(make(2));

		MUST(old->number == 1 && old->is_whole());
	}
	nap();
	MUST(alive == 2);
	r.end();
	lull_rcu_barrier();
	MUST(alive == 1);
	MUST(global.exchange(nullptr)->number == 2);
}

TEST(compares)
{
	auto now = make(2);

	global.publish(make(1));
	lull::rcu_section section;
	config *seen = global.read();

	MUST(!global.compare_exchange(nullptr, now) && now && now->number == 2 && global.read() == seen);
	MUST(global.compare_exchange(seen, now) && !now && global.read()->number == 2);
	MUST(seen->is_whole()); /* until the section ends */
	global.publish(nullptr);
}

TEST(ends)
{
	global.publish(make(1));
	{
		lull::rcu_ptr<config> local(make(3));
		finder r;

		local.publish(make(4));
		r.end();
	}
	lull_rcu_barrier();
	{
		lull::rcu_section section;
		const config *last;
		{
			lull::rcu_ptr<config> local(make(5));

			last = local.read();
		}
		MUST(last->is_whole() && last->number == 5); /* until the section ends */
	}
	global.publish(nullptr);
}

/* Over an atomic pointer of the program's, which stays the owner. */
TEST(refers)
{
	std::atomic<config *> pointer{new config(1)};

	{
		lull::rcu_ref ref(pointer);
		lull::rcu_ref<config> same = ref;

		same.publish(make(2));
		MUST(pointer.load()->number == 2);
		lull::rcu_section section;
		MUST(ref.read() == pointer.load());
	}
	lull_rcu_barrier();
	MUST(alive == 1);
	delete pointer.load();
}

/* From the pointer to what outlives sections. */
TEST(holds)
{
	lull::rcu_ptr<both> pointer(std::unique_ptr<both>(new both));
	lull::held<both> first = pointer.hold(), second;

	{
		lull::rcu_section section;

		second = pointer.hold(section);
	}
	MUST(first.get() == second.get() && first);
	pointer.publish(nullptr);
	MUST(!pointer.hold());
	first.reset();
	MUST(lull_hazptr_barrier_timeout(10) != 0 && second->is_whole());
	second.reset();
}

/* A function in a section. */
TEST(functions)
{
	global.publish(make(7));
	MUST(lull::rcu_read([&] {
		MUST(lull_rcu_read_lock_held());
		return global.read()->number;
	}) == 7);
	MUST(!lull_rcu_read_lock_held());
	MUST(throws([] { lull::rcu_read([] { throw 1; }); }) && !lull_rcu_read_lock_held());
	int number = 0;
	int &same = lull::rcu_read([&]() -> int & { return number; });
	MUST(&same == &number);
	global.publish(nullptr);
}

TEST(storm)
{
	global.publish(make(1));
	reads_while_it_changes(
		[](int me, int looks) {
			for (int n = 0; n < looks; n++) {
				lull::rcu_section section;
				config *found = global.read(section);

				MUST(found->is_whole());
				if (me && n % 100 == 0) {
					auto now = make(n);

					if (global.compare_exchange(found, now))
						MUST(!now);
				}
			}
		},
		[] { global.publish(make(0)); });
	global.publish(nullptr);
}

/* Debug builds find what is done outside sections. */
#ifdef LULL_DEBUG
DEATH_TEST(read_outside, "")
{
	(void)global.read();
}

TEST(keep_outside)
{
	both object;

	must_end("", [&] { (void)lull::keep(&object); });
}
#endif

AFTER_EACH(none_alive);

} // namespace
