/* SPDX-License-Identifier: MIT */
/*
 * saferecl_rcu.cc - [saferecl.rcu] of the C++ standard, sentence by sentence: docs/CXX.md has the table.
 */
#include <dlfcn.h>

#include "saferecl.hpp"

namespace
{

using lull::rcu_default_domain;
using lull::rcu_domain;
using lull::rcu_obj_base;
using node = node_of<of_rcu>;

void none_left()
{
	lull::rcu_barrier();
	MUST(alive == 0);
}

/* ---- [saferecl.rcu.general] ---------------------------------------------------------------------- */

CLAUSE(saferecl_rcu_general_protectable, is_protectable<of_rcu>)

/* Locks and unlocks pair: the region that counts ends with the outermost unlock. */
TEST(saferecl_rcu_general_nested_locks)
{
	node *p = new node;
	rcu_domain &dom = rcu_default_domain();

	dom.lock();
	dom.lock();
	p->retire();
	dom.unlock();
	runner([] { nap(); }).join();
	MUST(p->value == 42);
	dom.lock();
	dom.unlock();
	nap();
	MUST(p->value == 42);
	dom.unlock();
	none_left();
}

/* A callback that was scheduled after a region had begun is evaluated after it has ended. */
TEST(saferecl_rcu_general_region_ends_first)
{
	reader r;
	static reader *seen;

	struct looks {
		void operator()(node *p) const
		{
			MUST(seen->ended);
			delete p;
			calls++;
		}
	};
	calls = 0;
	seen = &r;
	lull::rcu_retire(new node, looks());
	nap();
	MUST(calls == 0 && alive == 1);
	r.leave();
	none_left();
	MUST(calls == 1);
}

CLAUSE(saferecl_rcu_general_evaluated_once, is_called_once<of_rcu>)

TEST(saferecl_rcu_general_storm)
{
	look_and_retire<node>(
		[](std::atomic<node *> &src) {
			std::scoped_lock<rcu_domain> lock(rcu_default_domain());
			node *p = src.load(std::memory_order_acquire);

			MUST(p->value == 42);
			sched_yield();
			MUST(p->value == 42);
		},
		[](node *old, int i) { i % 2 ? old->retire() : lull::rcu_retire(old); });
}

/* ---- [rcu.syn] ------------------------------------------------------------------------------------ */

TEST(rcu_syn_names)
{
	static_assert(std::is_same_v<rcu_obj_base<node>, rcu_obj_base<node, std::default_delete<node>>>);
	static_assert(std::is_same_v<decltype(rcu_default_domain()), rcu_domain &>);
	static_assert(noexcept(rcu_default_domain()) && noexcept(lull::rcu_synchronize()) && noexcept(lull::rcu_barrier()));
	static_assert(noexcept(lull::rcu_synchronize(rcu_default_domain())) && noexcept(lull::rcu_barrier(rcu_default_domain())));
	static_assert(!noexcept(lull::rcu_retire(static_cast<node *>(nullptr))));
	static_assert(std::is_same_v<lull::std_::rcu_domain, rcu_domain>);
}

/* ---- [saferecl.rcu.base] -------------------------------------------------------------------------- */

CLAUSE(saferecl_rcu_base_incomplete_type, may_be_incomplete<of_rcu>)
CLAUSE(saferecl_rcu_base_deleter_is_a_function_object, deleter_is_an_object<of_rcu>)
CLAUSE(saferecl_rcu_base_deleter_requirements, deleter_is_made_and_assigned<of_rcu>)
CLAUSE(saferecl_rcu_base_trivially_copyable, has_special_members<of_rcu>)
CLAUSE(saferecl_rcu_base_special_members, has_special_members<of_rcu>)
CLAUSE(saferecl_rcu_base_retire_assigns_the_deleter, assigns_the_deleter<of_rcu>)

TEST(saferecl_rcu_base_retire)
{
	reader r;
	node *p = new node;

	static_assert(noexcept(p->retire()) && noexcept(p->retire({}, rcu_default_domain())));
	p->retire({}, rcu_default_domain());
	nap();
	MUST(alive == 1 && p->value == 42);
	r.leave();
	none_left();
}

TEST_OF(T, saferecl_rcu_base_retire_objects_of_any_shape, cat<of_rcu>, wide_plain<of_rcu>, wide<of_rcu>, with_virtual_base<of_rcu>,
	final_one<of_rcu>)
{
	for (int i = 0; i < 300; i++)
		(new T)->retire();
	none_left();
}

/* Deleters retire, in both ways, and wait. */
struct chained : counted, rcu_obj_base<chained> {
	explicit chained(int depth)
	{
		if (depth > 1)
			next = new chained(depth - 1);
	}
	~chained()
	{
		if (depth_of_wait-- > 0)
			lull::rcu_synchronize();
		if (next && alive % 2)
			next->retire();
		else if (next)
			lull::rcu_retire(next);
	}
	chained *next = nullptr;
	static inline int depth_of_wait = 3;
};

TEST(saferecl_rcu_base_retire_in_a_deleter)
{
	(new chained(12))->retire();
	lull::rcu_barrier();
	left_are(0);
}

CLAUSE(saferecl_rcu_base_retire_with_a_lock_held, runs_no_deleter_inside<of_rcu>)

/* ---- what only frees ------------------------------------------------------------------------------ */

TEST(only_frees)
{
	only_free<of_rcu>();
	calls = 0;
	lull::rcu_retire(new with_destructor<of_rcu>);
	lull::rcu_barrier();
	MUST(calls == 1);
}

/* There is no other thread that could free, as lull starts none here. */
TEST(the_thread_that_retires_frees)
{
	struct lull_reclaim_counts counts;

	set_mode(LULL_RECLAIM_POLL);
	for (int i = 0; i < 20000; i++)
		(new final_one<of_rcu>)->retire();
	lull_reclaim_stats(&counts);
	MUST(counts.items < 10000);
	(new node)->retire(); /* it has a destructor */
	lull::rcu_retire(new node);
	for (int i = 0; i < 20000; i++)
		(new final_one<of_rcu>)->retire();
	MUST(alive == 2);
	set_mode(LULL_RECLAIM_THREAD);
	none_left();
}

TEST(limits_count_the_size)
{
	using large = wide<of_rcu>;
	struct lull_reclaim_counts before, after;
	reader r;

	lull_reclaim_stats(&before);
	lull::rcu_retire(new large);
	(new large)->retire();
	lull::rcu_retire(new large, deleter());
	lull_reclaim_stats(&after);
	MUST(after.bytes - before.bytes >= 2 * sizeof(large) && after.bytes - before.bytes < 3 * sizeof(large));
	r.leave();
	none_left();
}

/* ---- [saferecl.rcu.domain] ------------------------------------------------------------------------ */

TEST(saferecl_rcu_domain_general_lockable)
{
	static_assert(!std::is_copy_constructible_v<rcu_domain> && !std::is_copy_assignable_v<rcu_domain> &&
		      !std::is_default_constructible_v<rcu_domain>);
	static_assert(noexcept(rcu_default_domain().lock()) && noexcept(rcu_default_domain().try_lock()) &&
		      noexcept(rcu_default_domain().unlock()));
	std::mutex m;
	node *p = new node;

	{
		std::scoped_lock<rcu_domain> one(rcu_default_domain());
		std::unique_lock<rcu_domain> two_at_once(rcu_default_domain(), std::try_to_lock);
		std::scoped_lock<rcu_domain, std::mutex> both(rcu_default_domain(), m);

		MUST(two_at_once.owns_lock());
		p->retire();
		nap();
		MUST(p->value == 42);
	}
	none_left();
}

/* Many threads lock and unlock the one domain at once: no data race (seen by ThreadSanitizer). */
TEST(saferecl_rcu_domain_members_lock)
{
	in_threads(4, [](int) {
		for (int n = 0; n < 10000; n++) {
			rcu_default_domain().lock();
			rcu_default_domain().unlock();
		}
	});
}

TEST(saferecl_rcu_domain_members_try_lock)
{
	node *p = new node;

	MUST(rcu_default_domain().try_lock());
	MUST(rcu_default_domain().try_lock());
	p->retire();
	rcu_default_domain().unlock();
	nap();
	MUST(p->value == 42);
	rcu_default_domain().unlock();
	none_left();
}

/* No deleter runs inside unlock(): it may be called with a lock held that deleters take. */
TEST(saferecl_rcu_domain_members_unlock)
{
	for (int i = 0; i < 200; i++) {
		std::scoped_lock lock(taken_by_deleter);

		rcu_default_domain().lock();
		lull::rcu_retire(new node, takes_lock());
		rcu_default_domain().unlock();
	}
	none_left();
}

/* ---- [saferecl.rcu.domain.func] ------------------------------------------------------------------- */

rcu_domain *const at_start = &rcu_default_domain();

TEST(saferecl_rcu_domain_func_default_domain)
{
	rcu_domain *other = nullptr;

	runner([&] { other = &rcu_default_domain(); }).join();
	MUST(&rcu_default_domain() == at_start && other == at_start);

#ifdef LULL_TEST_CXX_PLUGIN /* tests/cxx/compilers builds none */
	/* Also in a module that shows none of its symbols. */
	void *module = dlopen(LULL_TEST_CXX_PLUGIN, RTLD_NOW | RTLD_LOCAL);

	MUST(module != nullptr);
	MUST(reinterpret_cast<void *(*)()>(dlsym(module, "plugin_default_domain"))() == at_start);
	dlclose(module);
#endif
}

TEST(saferecl_rcu_domain_func_synchronize)
{
	reader r;
	std::atomic<bool> done{ false };
	int seen = 0;
	runner waits([&] {
		lull::rcu_synchronize();
		MUST(r.ended);
		seen = 1;
		done = true;
	});

	nap();
	MUST(!done);
	r.leave();
	waits.join();
	MUST(seen == 1);
	lull::rcu_synchronize(rcu_default_domain());
}

TEST(saferecl_rcu_domain_func_barrier)
{
	static int plain_store;
	struct stores {
		void operator()(node *p) const
		{
			delete p;
			plain_store = 7; /* seen by a thread that returns from the barrier */
		}
	};

	for (int i = 0; i < 100; i++) {
		plain_store = 0;
		lull::rcu_retire(new node, stores());
		lull::rcu_barrier(rcu_default_domain());
		MUST(plain_store == 7);
	}
	lull::rcu_barrier();
}

struct move_only {
	explicit move_only(std::unique_ptr<int> p) : state(std::move(p)) {}
	move_only(move_only &&) = default;
	void operator()(node *p)
	{
		MUST(*state == 5);
		delete p;
		calls++;
	}
	std::unique_ptr<int> state;
};

TEST(saferecl_rcu_domain_func_retire)
{
	reader r;

	calls = 0;
	lull::rcu_retire(new node, move_only(std::make_unique<int>(5)));
	lull::rcu_retire(new node);
	lull::rcu_retire(new int(3));
	lull::rcu_retire(new counted, std::default_delete<counted>(), rcu_default_domain());
	lull::rcu_retire(static_cast<void *>(std::malloc(10)), std::free);
	nap();
	MUST(alive == 3 && calls == 0);
	r.leave();
	none_left();
	MUST(calls == 1);
}

/* A move that throws schedules nothing. */
struct throws_when_moved {
	throws_when_moved() = default;
	throws_when_moved(throws_when_moved &&)
	{
		throw 7;
	}
	void operator()(node *) const
	{
		std::abort();
	}
};

TEST(saferecl_rcu_domain_func_retire_throws)
{
	node n;
	int caught = 0;

	try {
		lull::rcu_retire(&n, throws_when_moved());
	} catch (int thrown) {
		caught = thrown;
	}
	MUST(caught == 7);
	lull::rcu_barrier();
}

} // namespace
