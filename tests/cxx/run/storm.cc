/* SPDX-License-Identifier: MIT */
/*
 * storm.cc - everything of lull.hpp at once, by threads that end in the middle of it, while whatever may throw throws.
 *
 * With the same seed, which is printed, each thread makes the same choices again. No verdict depends on time: no object is
 * used after its end, what a call that throws has left is what was there before, nothing stays locked, and at last no object
 * is left. A machine that is slow does less before the two seconds are over.
 */
#include <pthread.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <lull/lull.hpp>

#include "faults.hpp"
#include "own_new.hpp"

namespace
{

/* ---- what is made, found, kept and retired ------------------------------------------------------- */

constexpr unsigned fresh = 0xfee1900du, gone = 0xdeadbeefu;

/* The text is on the heap and says which number this has; a reader who comes too late finds neither. */
struct living {
	explicit living(int n) : number(n), text(40, letter(n)), numbers(8, n)
	{
		may_fail(4);
		alive++;
	}
	living(const living &other) : number(other.number), text(other.text), numbers(other.numbers)
	{
		may_fail(5);
		alive++;
	}
	living &operator=(const living &) = delete;
	~living()
	{
		MUST(state == fresh);
		text[0] = '\0';
		numbers[0] = -1;
		state = gone;
		alive--;
	}
	static char letter(int n) { return static_cast<char>('a' + n % 26); }
	void check() const
	{
		MUST(state == fresh && text.size() == 40 && text[0] == letter(number) && text[39] == letter(number));
		MUST(numbers.size() == 8 && numbers[0] == number && numbers[7] == number);
	}

	volatile unsigned state = fresh;
	int number;
	std::string text;
	std::vector<int> numbers;
};

struct config : living, lull::rcu_obj_base<config> {
	using living::living;
};
struct node : living, lull::hazard_pointer_obj_base<node> {
	using living::living;
};
struct both : living, lull::bridge_obj_base<both> {
	using living::living;
};
struct simple : living, lull::counted_base<simple> {
	using living::living;
};
struct often : living, lull::counted_base<often, lull::by_percpu_ref> {
	using living::living;
};
struct route : living, lull::rcu_obj_base<route> {
	using living::living;
	lull_list_head links;
};

/* Objects that a plugin has made: each counts in the plugin, too, which may be gone soon after. */
struct part : living, lull::cohort_obj_base<part> {
	part(int n, std::atomic<int> &c) : living(n), count(c) { count++; }
	~part() { count--; }
	std::atomic<int> &count;
};

using word_map = lull::hash_map<word, living, hash_words, compare_words>;

struct guarded {
	lull::timed_mutex lock;
	lull::condition_variable changed;
	std::string text;
	std::size_t length = 0;
};

struct world {
	lull::rcu_ptr<config> current;
	std::atomic<node *> nodes[3]{};
	lull::rcu_ptr<both> bridges[3];
	lull::counted_ptr<simple> simples;
	lull::counted_ptr<often> oftens;
	std::atomic<part *> parts{ nullptr };
	word_map map;
	lull::list<route, &route::links> routes;
	lull::mutex route_lock;
	std::size_t route_count = 0;
	guarded shared;
	lull::robust_mutex robust;
	int robust_one = 0, robust_other = 0;

	/* Objects that threads hand over to threads they do not know. */
	lull::mutex shelf_lock;
	std::vector<lull::held<both>> held_shelf;
	std::vector<lull::hazard_pointer> pointer_shelf;
	std::vector<lull::counted<simple>> counted_shelf;
};

/* ---- one thread after the other ------------------------------------------------------------------ */

constexpr int places = 4, own_words = 6, common_words = 6;

struct end_of_thread {
};

std::atomic<long> thrown, steps, threads, deaths;

/* A place where threads run, one at a time, and what they have kept and know. */
struct place {
	place(world &the, int at, std::uint64_t seed) : w(the), number(at), random(seed) {}

	world &w;
	int number;
	std::uint64_t random;
	std::map<int, int> mine; /* what must be in the map of this place's own words */
	lull::held<both> kept;
	lull::hazard_pointer pointer;
	lull::counted<simple> reference;
	lull::counted<often> other_reference;

	unsigned next(unsigned limit)
	{
		random += 0x9e3779b97f4a7c15u;
		return static_cast<unsigned>(lull_hash_mix64(random) >> 33) % limit;
	}
	int next_number() { return static_cast<int>(next(1000)); }
};

/* From here to the end of the block, or until one has come, a fault at the next place, or a later one. */
class faults
{
public:
	explicit faults(place &p)
	{
		faults_in = p.next(3) == 0 ? static_cast<int>(1 + p.next(40)) : 0;
		before_new = [] {
			if (faults_in > 0 && --faults_in == 0)
				throw std::bad_alloc();
		};
	}
	~faults() { end(); }
	static void end()
	{
		faults_in = 0;
		before_new = nullptr;
	}
};

/* Run @step, which throws or does not. Returns whether it threw. */
bool threw(place &p, callable step)
{
	try {
		faults here(p);
		step();
		return false;
	} catch (const fault &) {
	} catch (const std::bad_alloc &) {
	}
	thrown++;
	return true;
}

/* ---- the steps ----------------------------------------------------------------------------------- */

void read_config(place &p)
{
	threw(p, [&] {
		lull::rcu_section section;
		const config *found = p.w.current.read(section);

		found->check();
		living copy(*found); /* throws in the section */
		copy.check();
	});
	threw(p, [&] { lull::rcu_read([&] { std::vector<int>(p.w.current.read()->numbers).push_back(1); }); });
}

void write_config(place &p)
{
	threw(p, [&] { p.w.current.publish(std::make_unique<config>(p.next_number())); });
	threw(p, [&] {
		lull::retired<config> old = p.w.current.exchange(std::make_unique<config>(p.next_number()));
		living copy(*old);
	});
	threw(p, [&] {
		lull::rcu_section section;
		config *was = p.w.current.read();
		auto now = std::make_unique<config>(was->number + 1);

		if (!p.w.current.compare_exchange(was, now))
			now->check();
	});
	threw(p, [&] {
		auto made = std::make_unique<living>(p.next_number());

		lull::rcu_retire(made.get()); /* may throw, and then has not taken it */
		(void)made.release();
	});
}

void read_nodes(place &p)
{
	threw(p, [&] {
		lull::hazard_pointer here = lull::make_hazard_pointer();
		std::atomic<node *> &from = p.w.nodes[p.next(3)];

		if (node *found = here.protect(from)) {
			lull::hazard_pointer moved = std::move(here);
			living copy(*found);

			found->check();
			copy.check();
			if (!p.pointer.empty())
				p.pointer.reset_protection();
			p.pointer = std::move(moved); /* protects on, when this thread has ended */
		}
	});
	threw(p, [&] {
		lull::hazard_pointer batch[3];
		node *found = p.w.nodes[0].load();

		lull::make_hazard_pointer_batch(batch, 3);
		if (found && batch[1].try_protect(found, p.w.nodes[0]) && found)
			std::string(found->text).append(40, 'x');
	});
}

void write_nodes(place &p)
{
	threw(p, [&] {
		auto made = std::make_unique<node>(p.next_number());

		if (node *old = p.w.nodes[p.next(3)].exchange(p.next(5) ? made.release() : nullptr))
			old->retire();
	});
}

/* One of what is on the shelf, or nothing. */
template <class Thing> Thing take(place &p, std::vector<Thing> &shelf)
{
	std::unique_lock<lull::mutex> hold(p.w.shelf_lock);

	if (shelf.empty())
		return Thing();
	std::unique_lock<lull::mutex> moved = std::move(hold);
	Thing &chosen = shelf[p.next(static_cast<unsigned>(shelf.size()))], one = std::move(chosen);

	chosen = std::move(shelf.back());
	shelf.pop_back();
	return one;
}

template <class Thing> void give(place &p, std::vector<Thing> &shelf, Thing &&one)
{
	std::lock_guard<lull::mutex> hold(p.w.shelf_lock);

	if (shelf.size() < 20)
		shelf.push_back(std::move(one)); /* which may throw, with the lock held */
}

void hold_bridges(place &p)
{
	lull::rcu_ptr<both> &from = p.w.bridges[p.next(3)];

	threw(p, [&] {
		lull::rcu_section section;
		lull::held<both> now = from.hold(section);

		if (now)
			now->check();
		living copy(*from.read());
		p.kept = std::move(now);
	});
	threw(p, [&] {
		lull::held<both> now = from.hold();

		now->check();
		give(p, p.w.held_shelf, std::move(now));
	});
	threw(p, [&] { from.publish(std::make_unique<both>(p.next_number())); });
	threw(p, [&] {
		if (lull::held<both> taken = take(p, p.w.held_shelf))
			taken->check();
		if (p.kept)
			p.kept->check();
		if (!p.pointer.empty())
			give(p, p.w.pointer_shelf, std::move(p.pointer));
		p.pointer = take(p, p.w.pointer_shelf);
	});
}

void count(place &p)
{
	threw(p, [&] { p.w.simples.publish(lull::make_counted<simple>(p.next_number())); });
	threw(p, [&] {
		lull::counted<simple> one = p.w.simples.get(), two = one;

		living copy(*two);
		p.reference = std::move(one);
		give(p, p.w.counted_shelf, std::move(two));
	});
	threw(p, [&] {
		if (p.next(8) == 0)
			p.w.oftens.publish(lull::make_counted<often>(p.next_number()));
		p.other_reference = p.w.oftens.get();
		living copy(*p.other_reference);
		if (lull::counted<simple> taken = take(p, p.w.counted_shelf))
			taken->check();
		if (p.reference)
			p.reference->check();
	});
}

/* A key of this place alone, about which it knows everything, or one of all. */
std::string key_of(const place &p, int n)
{
	return std::string(1, static_cast<char>('A' + n)) + std::to_string(p.number);
}

void check_own_word(place &p, int n)
{
	auto found = p.w.map.find(word(key_of(p, n)));
	auto known = p.mine.find(n);

	MUST(static_cast<bool>(found) == (known != p.mine.end()));
	if (found) {
		found->second.check();
		MUST(found->second.number == known->second);
	}
}

void change_own_words(place &p)
{
	const int n = static_cast<int>(p.next(own_words)), value = p.next_number();
	bool changed = false;
	word_map &map = p.w.map;

	switch (p.next(4)) {
	case 0:
		if (!threw(p, [&] { changed = map.try_emplace(word(key_of(p, n)), value); }))
			MUST(changed == p.mine.insert({ n, value }).second);
		break;
	case 1:
		if (!threw(p, [&] { changed = map.insert_or_assign(word(key_of(p, n)), living(value)); })) {
			MUST(changed == (p.mine.count(n) == 0));
			p.mine[n] = value;
		}
		break;
	case 2:
		if (!threw(p, [&] {
			    changed = map.update(word(key_of(p, n)), [&](const living &old) {
				    old.check();
				    return living(value);
			    });
		    })) {
			MUST(changed == (p.mine.count(n) == 1));
			if (changed)
				p.mine[n] = value;
		}
		break;
	default:
		if (!threw(p, [&] { changed = map.erase(word(key_of(p, n))); }))
			MUST(changed == (p.mine.erase(n) == 1));
	}
	check_own_word(p, n);
}

void use_common_words(place &p)
{
	const word key(std::string(1, static_cast<char>('a' + p.next(common_words))));
	word_map &map = p.w.map;

	threw(p, [&] {
		if (p.next(2))
			map.insert_or_assign(word(key), living(p.next_number()));
		else
			map.erase(key);
	});
	threw(p, [&] {
		if (auto found = map.find(key)) {
			living copy(found->second);
			copy.check();
		}
	});
	threw(p, [&] { map.visit(key, [](const auto &element) { living(element.second).check(); }); });
	threw(p, [&] {
		for (const auto &element : map) {
			element.second.check();
			may_fail(6); /* out of a walk */
		}
		if (p.next(10) == 0)
			map.rehash(p.next(64) + 1);
	});
}

void change_routes(place &p)
{
	threw(p, [&] {
		std::unique_lock<lull::mutex> hold(p.w.route_lock);
		auto made = std::make_unique<route>(p.next_number());

		if (p.w.route_count < 20) {
			p.w.routes.push_back(*made.release());
			p.w.route_count++;
		}
		std::unique_lock<lull::mutex> moved = std::move(hold);
		may_fail(7);
	});
	threw(p, [&] {
		lull::rcu_section section;
		std::vector<std::string> all;

		for (const route &r : p.w.routes) {
			r.check();
			all.push_back(r.text);
		}
	});
	threw(p, [&] {
		std::scoped_lock hold(p.w.route_lock, p.w.shelf_lock);

		for (route &r : p.w.routes.locked()) {
			may_fail(8);
			if (r.number % 3 != static_cast<int>(p.next(3)))
				continue;
			p.w.routes.erase(r)->retire();
			p.w.route_count--;
		}
	});
}

void lock(place &p)
{
	guarded &g = p.w.shared;

	threw(p, [&] {
		std::unique_lock<lull::timed_mutex> hold(g.lock, std::chrono::microseconds(p.next(50)));

		if (!hold)
			return;
		MUST(g.text.size() == g.length);
		if (g.length > 200) {
			std::string().swap(g.text);
			g.length = 0;
		}
		g.text.append(20, 'y'); /* throws, and changes nothing then */
		g.length += 20;
		g.changed.notify_all();
		if (p.next(4) == 0)
			g.changed.wait_for(hold, std::chrono::microseconds(100), [&] {
				may_fail(9);
				return g.length > 100;
			});
		MUST(g.text.size() == g.length && hold.owns_lock());
	});
	threw(p, [&] {
		p.w.robust.lock([&] {
			p.w.robust_other = p.w.robust_one;
			deaths++;
		});
		std::lock_guard<lull::robust_mutex> hold(p.w.robust, std::adopt_lock);

		MUST(p.w.robust_one == p.w.robust_other);
		p.w.robust_one++;
		p.w.robust_other++;
		may_fail(10);
	});
}

/* A plugin comes, shows what it has, and goes; all that it has made is gone by then. */
void be_a_plugin(place &p)
{
	std::atomic<int> count{ 0 };

	threw(p, [&] {
		lull::cohort mine;

		for (unsigned i = p.next(5); i > 0; i--) {
			auto made = std::make_unique<part>(p.next_number(), count);

			if (part *none = nullptr; !p.w.parts.compare_exchange_strong(none, made.get()))
				continue; /* another plugin shows one */
			part *shown = made.release();
			const bool in_time = mine.wait_ms(0) && p.next(2);

			MUST(p.w.parts.exchange(nullptr) == shown);
			shown->retire_to_cohort(mine);
			may_fail(in_time ? 11 : 12);
		}
	});
	MUST(count == 0);
	threw(p, [&] {
		if (lull::held<part> found = lull::hold(p.w.parts))
			living(*found).check();
	});
}

void (*const all_steps[])(place &) = { read_config,	 write_config,	  read_nodes,	 write_nodes, hold_bridges, count,
				       change_own_words, use_common_words, change_routes, lock,	     be_a_plugin };
constexpr unsigned step_count = sizeof(all_steps) / sizeof(all_steps[0]);

/* ---- the ends of threads ------------------------------------------------------------------------- */

thread_local lull::held<both> until_the_end;

/* From the middle of everything. */
[[noreturn]] void leave(place &p, bool by_exception)
{
	std::scoped_lock both_locks(p.w.route_lock, p.w.shelf_lock);
	lull::hazard_pointer here = lull::make_hazard_pointer();
	lull::rcu_section section;
	lull::counted<often> one = p.w.oftens.get();
	auto found = p.w.map.find(word("a"));

	here.protect(p.w.nodes[0]);
	if (by_exception)
		throw end_of_thread();
	pthread_exit(nullptr);
}

void live(place &p)
{
	try {
		threads++;
		until_the_end = p.w.bridges[0].hold();
		for (unsigned left = p.next(40); left > 0; left--) {
			all_steps[p.next(step_count)](p);
			steps++;
		}
		until_the_end->check();
	} catch (const std::exception &) { /* `threw` has caught all that a step may throw */
		MUST(false);
	} catch (const fault &) {
		MUST(false);
	}
	switch (p.next(4)) {
	case 0:
		if (p.w.robust.acquire() == lull::robust_status::owner_died) {
			p.w.robust_other = p.w.robust_one;
			p.w.robust.make_consistent();
			deaths++;
		}
		p.w.robust_one++; /* and ends with the lock held */
		break;
	case 1:
		leave(p, true);
	case 2:
		leave(p, false);
	default:
		break;
	}
}

void live_and_end(place &p)
{
	try {
		live(p);
	} catch (const end_of_thread &) {
	}
}

/* ---- from the beginning to the end --------------------------------------------------------------- */

/* Check that a world with no thread in it is empty. */
void check_world(world &w, std::vector<std::unique_ptr<place>> &all)
{
	std::size_t count = 0, routes = 0;

	for (const auto &element : w.map) {
		element.second.check();
		count++;
	}
	MUST(count == w.map.size());
	for (auto &p : all)
		for (int n = 0; n < own_words; n++)
			check_own_word(*p, n);
	for (route &r : w.routes.locked()) {
		r.check();
		routes++;
		w.routes.erase(r)->retire();
	}
	MUST(routes == w.route_count);
	for (auto &from : w.nodes)
		if (node *old = from.exchange(nullptr))
			old->retire();
	MUST(w.parts == nullptr);
	MUST(w.route_lock.try_lock() && w.shelf_lock.try_lock() && w.shared.lock.try_lock());
	w.route_lock.unlock();
	w.shelf_lock.unlock();
	w.shared.lock.unlock();
}

void storm(std::uint64_t seed)
{
	const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
	world w;
	std::vector<std::unique_ptr<place>> all;
	std::vector<runner> runners;

	w.current.publish(std::make_unique<config>(1));
	for (auto &from : w.bridges)
		from.publish(std::make_unique<both>(2));
	w.simples.publish(lull::make_counted<simple>(3));
	w.oftens.publish(lull::make_counted<often>(4));
	for (int i = 0; i < places; i++)
		all.push_back(std::make_unique<place>(w, i, seed + static_cast<std::uint64_t>(i)));
	for (auto step : all_steps) /* however slow the machine is, each has been done */
		for (int i = 0; i < 3; i++)
			step(*all[0]);
	for (auto &p : all)
		runners.emplace_back([&w = *p, end] {
			do
				runner([&] { live_and_end(w); }).join();
			while (std::chrono::steady_clock::now() < end);
		});
	for (auto &runner : runners)
		runner.join();
	check_world(w, all);
}

TEST(all_at_once)
{
	storm(test_seed());
	AWAIT((lull_hazptr_barrier(), alive == 0)); /* the last references may end objects, which a barrier before does not know of */
	std::printf("%ld threads, %ld steps, %ld exceptions, %ld found that an owner had died\n", threads.load(), steps.load(),
		    thrown.load(), deaths.load());
	MUST(threads >= places && thrown > 0);
}

} // namespace
