/* SPDX-License-Identifier: MIT */
/*
 * sections.cc - lull::rcu_ptr retires what it loses, and a section keeps what it finds; so does a section of a domain.
 */
#include <memory>
#include <vector>

#include <lull/rcu>
#include <lull/rcu_domain.hpp>
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

/* ---- domains ------------------------------------------------------------------------------------------- */

struct page : living, lull::srcu_obj_base<page> {
};

/* Incomplete where it names its base, with a deleter of its own. */
struct counts_pages;
struct counted_page;
struct counts_pages {
	std::atomic<int> *deleted = nullptr;

	void operator()(counted_page *p) const;
};
struct counted_page : lull::srcu_obj_base<counted_page, counts_pages> {
};

void counts_pages::operator()(counted_page *p) const
{
	delete p;
	++*deleted;
}

static_assert(!std::is_copy_constructible_v<lull::srcu_section> && std::is_nothrow_move_constructible_v<lull::srcu_section>);
static_assert(!std::is_copy_assignable_v<lull::srcu_section> && std::is_nothrow_move_assignable_v<lull::srcu_section>);
static_assert(!std::is_copy_constructible_v<lull::srcu_domain> && !std::is_move_constructible_v<lull::srcu_domain>);
static_assert(sizeof(lull::srcu_domain) == sizeof(lull_rcu_domain) && std::is_standard_layout_v<lull::srcu_domain>);

TEST(srcu_retires)
{
	lull::srcu_domain pages, others("others");
	std::atomic<int> deleted{0};
	std::atomic<page *> current{new page};
	lull::srcu_section section(pages), beside(others);
	page *found = current;

	current.exchange(new page)->retire(pages);
	pages.retire(new page);
	pages.retire(new int(3), [&deleted](int *i) {
		delete i;
		++deleted;
	});
	(new counted_page)->retire(pages, counts_pages{&deleted});
	beside.unlock();
	others.barrier();
	others.synchronize();
	nap();
	MUST(alive == 3 && found->is_whole() && deleted == 0);
	section.unlock();
	pages.barrier();
	MUST(alive == 1 && deleted == 2);
	current.load()->retire(pages);
	/* Its destructor calls the deleters that wait. */
}

TEST(srcu_synchronizes)
{
	lull::srcu_domain pages;
	lull_rcu_domain *c = pages.native_handle();
	std::atomic<bool> over{false};
	const int phase = lull_rcu_domain_read_lock(c);

	MUST(static_cast<void *>(c) == static_cast<void *>(&pages));
	runner waits([&] {
		pages.synchronize();
		over = true;
	});
	nap();
	MUST(!over);
	lull_rcu_domain_read_unlock(c, phase);
	waits.join();
	MUST(over);
}

/* One section goes through other objects, and ends on another thread; each way to end it ends it once. */
TEST(srcu_section_moves)
{
	lull::srcu_domain pages;
	lull_rcu_domain *c = pages.native_handle();
	lull::srcu_section none, first(pages);
	const lull_rcu_cookie cookie = lull_rcu_domain_gp_start(c);

	MUST(!none && static_cast<bool>(first));
	lull::srcu_section second(std::move(first));
	MUST(!first && static_cast<bool>(second)); /* NOLINT: it is in no section */
	first.unlock();
	none = std::move(second);
	second = lull::srcu_section();
	none.swap(first);
	MUST(!none && static_cast<bool>(first));
	MUST(!lull_rcu_domain_gp_poll(c, cookie));
	runner([c, cookie, moved = std::move(first)]() mutable {
		MUST(!lull_rcu_domain_gp_poll(c, cookie));
		moved.unlock();
		MUST(!moved);
		moved.unlock();
	}).join();
	MUST(lull_rcu_domain_gp_poll(c, cookie));
}

/* Each end is counted where its begin was: a grace period waits for the section from before it, and for no later one. */
TEST(srcu_section_swaps)
{
	lull::srcu_domain pages;
	lull_rcu_domain *c = pages.native_handle();
	lull::srcu_section early(pages);
	const lull_rcu_cookie cookie = lull_rcu_domain_gp_start(c);
	lull::srcu_section late(pages);

	early.swap(late);
	MUST(!lull_rcu_domain_gp_poll(c, cookie));
	late.unlock();
	MUST(lull_rcu_domain_gp_poll(c, cookie));
	late = lull::srcu_section(pages);
	early = std::move(late); /* the one that was there ends now */
	MUST(static_cast<bool>(early) && !late); /* NOLINT: it is in no section */
	early.unlock();
	/* A domain with an open section cannot be destroyed. */
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
