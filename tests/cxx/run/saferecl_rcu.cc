/* SPDX-License-Identifier: MIT */
/*
 * saferecl_rcu.cc - [saferecl.rcu] of the C++ standard, sentence by sentence: docs/CXX.md has the table.
 */
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>

#include <lull/rcu>
#include <lull/reclaim.h>

#include "saferecl.hpp"

namespace
{

using lull::rcu_default_domain;
using lull::rcu_domain;
using lull::rcu_obj_base;

std::atomic<int> calls;

struct node : counted, rcu_obj_base<node> {
	explicit node(int v = 42) : value(v)
	{
	}
	~node()
	{
		value = -1;
	}

	std::atomic<int> value;
};

/* A thread that is in a region until it is told to leave. */
class reader
{
      public:
	reader()
		: thread([this] {
			  rcu_default_domain().lock();
			  is_in = true;
			  await([this] { return leaves.load(); });
			  ended = true;
			  rcu_default_domain().unlock();
		  })
	{
		await([this] { return is_in.load(); });
	}

	~reader()
	{
		leave();
	}

	void leave()
	{
		leaves = true;
		if (thread.joinable())
			thread.join();
	}

	std::atomic<bool> ended{ false };

      private:
	std::atomic<bool> is_in{ false }, leaves{ false };
	std::thread thread;
};

/* ---- [saferecl.rcu.general] ---------------------------------------------------------------------- */

struct final_one final : rcu_obj_base<final_one> {
};
struct hidden : private rcu_obj_base<hidden> {
};
struct virtually : virtual rcu_obj_base<virtually> {
};
struct other_base : rcu_obj_base<node> {
};
struct child : node {
};
struct deleter {
	template <class T> void operator()(T *p) const
	{
		delete p;
		calls++;
	}
};
struct two : rcu_obj_base<two>, rcu_obj_base<two, deleter> {
};
struct two_others : rcu_obj_base<two_others>, rcu_obj_base<hidden> {
};

template <class T> constexpr bool protectable = lull::detail::is_protectable<rcu_obj_base, T>;

void saferecl_rcu_general_protectable()
{
	static_assert(protectable<node> && protectable<const node> && protectable<final_one>);
	static_assert(!protectable<hidden> && !protectable<virtually> && !protectable<other_base>);
	static_assert(!protectable<child> && !protectable<two> && !protectable<two_others>);
	static_assert(!protectable<int> && !protectable<counted> && !protectable<void *>);
}

/* Locks and unlocks pair: the region that counts ends with the outermost unlock. */
void saferecl_rcu_general_nested_locks()
{
	node *p = new node;
	rcu_domain &dom = rcu_default_domain();

	dom.lock();
	dom.lock();
	p->retire();
	dom.unlock();
	std::thread([] { nap(); }).join();
	MUST(p->value == 42);
	dom.lock();
	dom.unlock();
	nap();
	MUST(p->value == 42);
	dom.unlock();
	lull::rcu_barrier();
	MUST(alive == 0);
}

/* What was scheduled after a region had begun is evaluated after it has ended. */
void saferecl_rcu_general_region_ends_first()
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
	lull::rcu_barrier();
	MUST(calls == 1 && alive == 0);
}

struct noted : rcu_obj_base<noted, void (*)(noted *)> {
	int times = 0;
};

void saferecl_rcu_general_evaluated_once()
{
	static noted notes[3];

	for (noted &n : notes)
		n.retire([](noted *p) { p->times++; });
	lull::rcu_barrier();
	nap();
	lull::rcu_barrier();
	for (noted &n : notes)
		MUST(n.times == 1);
}

/* Readers of a place that changes all the time. */
void saferecl_rcu_general_storm()
{
	std::atomic<node *> src{ new node };
	std::atomic<bool> stop{ false };
	std::vector<std::thread> readers;

	for (int i = 0; i < 3; i++)
		readers.emplace_back([&] {
			while (!stop) {
				std::scoped_lock<rcu_domain> lock(rcu_default_domain());
				node *p = src.load(std::memory_order_acquire);

				MUST(p->value == 42);
				std::this_thread::yield();
				MUST(p->value == 42);
			}
		});
	for (int i = 0; i < 20000; i++) {
		node *old = src.exchange(new node);

		if (i % 2)
			old->retire();
		else
			lull::rcu_retire(old);
	}
	stop = true;
	for (std::thread &t : readers)
		t.join();
	src.load()->retire();
	lull::rcu_barrier();
	MUST(alive == 0);
}

/* ---- [rcu.syn] ------------------------------------------------------------------------------------ */

void rcu_syn_names()
{
	static_assert(std::is_same_v<rcu_obj_base<node>, rcu_obj_base<node, std::default_delete<node>>>);
	static_assert(std::is_same_v<decltype(rcu_default_domain()), rcu_domain &>);
	static_assert(noexcept(rcu_default_domain()) && noexcept(lull::rcu_synchronize()) && noexcept(lull::rcu_barrier()));
	static_assert(noexcept(lull::rcu_synchronize(rcu_default_domain())) && noexcept(lull::rcu_barrier(rcu_default_domain())));
	static_assert(!noexcept(lull::rcu_retire(static_cast<node *>(nullptr))));
	static_assert(std::is_same_v<lull::std_::rcu_domain, rcu_domain>);
}

/* ---- [saferecl.rcu.base] -------------------------------------------------------------------------- */

struct late_type;
using base_of_late = rcu_obj_base<late_type>;
struct holds_late {
	std::atomic<late_type *> p;
};
struct late_type : base_of_late {
	holds_late *inside = nullptr;
};

void saferecl_rcu_base_incomplete_type()
{
	holds_late holder{ { new late_type } };

	holder.p.load()->retire();
	lull::rcu_barrier();
}

struct stateful {
	std::shared_ptr<std::string> text;

	template <class T> void operator()(T *p)
	{
		MUST(*text == "a text that is too long to fit into the string itself");
		delete p;
		calls++;
	}
};
struct with_state : counted, rcu_obj_base<with_state, stateful> {
};
struct with_function : counted, rcu_obj_base<with_function, void (*)(with_function *)> {
};

void saferecl_rcu_base_deleter_is_a_function_object()
{
	auto text = std::make_shared<std::string>("a text that is too long to fit into the string itself");

	calls = 0;
	(new with_state)->retire({ text });
	(new with_function)->retire([](with_function *p) { delete p; });
	lull::rcu_barrier();
	MUST(calls == 1 && alive == 0);
	MUST(text.use_count() == 1); /* the deleter is gone as well */
}

struct default_only {
	default_only() = default;
	explicit default_only(int s) : state(s)
	{
	}
	default_only(const default_only &) = delete;
	default_only &operator=(default_only &&other) noexcept
	{
		state = other.state;
		return *this;
	}
	template <class T> void operator()(T *p)
	{
		delete p;
		calls += state;
	}
	int state = 1;
};
struct with_default_only : rcu_obj_base<with_default_only, default_only> {
};

void saferecl_rcu_base_deleter_requirements()
{
	calls = 0;
	(new with_default_only)->retire();
	(new with_default_only)->retire(default_only(5));
	lull::rcu_barrier();
	MUST(calls == 6);
}

void saferecl_rcu_base_trivially_copyable()
{
	static_assert(std::is_trivially_copyable_v<rcu_obj_base<final_one>>);
	static_assert(std::is_trivially_copyable_v<rcu_obj_base<noted, void (*)(noted *)>>);
	static_assert(std::is_trivially_copyable_v<final_one> && std::is_trivially_destructible_v<final_one>);
	static_assert(!std::is_trivially_copyable_v<rcu_obj_base<with_state, stateful>>);
	static_assert(sizeof(rcu_obj_base<final_one>) == 2 * sizeof(void *));
	static_assert(sizeof(rcu_obj_base<noted, void (*)(noted *)>) == 3 * sizeof(void *));
}

void saferecl_rcu_base_special_members()
{
	using base = rcu_obj_base<final_one>;

	static_assert(!std::is_default_constructible_v<base> && !std::is_copy_constructible_v<base> &&
		      !std::is_move_constructible_v<base> && !std::is_copy_assignable_v<base> &&
		      !std::is_move_assignable_v<base> && !std::is_destructible_v<base>);
	final_one *p = new final_one, *copy = new final_one(*p);
	*copy = *p;
	p->retire();
	*copy = final_one();
	copy->retire();
	lull::rcu_barrier();
}

struct assigned {
	assigned() = default;
	assigned(assigned &&) = default;
	assigned &operator=(assigned &&)
	{
		assignments++;
		return *this;
	}
	template <class T> void operator()(T *p)
	{
		delete p;
	}
	static inline int assignments;
};
struct with_assigned : rcu_obj_base<with_assigned, assigned> {
};

void saferecl_rcu_base_retire()
{
	reader r;
	node *p = new node;

	static_assert(noexcept(p->retire()) && noexcept(p->retire({}, rcu_default_domain())));
	p->retire({}, rcu_default_domain());
	(new with_assigned)->retire();
	(new with_assigned)->retire(assigned());
	MUST(assigned::assignments == 2);
	nap();
	MUST(alive == 1 && p->value == 42);
	r.leave();
	lull::rcu_barrier();
	MUST(alive == 0);
}

struct animal : counted {
	virtual ~animal() = default;
	long weight = 3;
};
struct cat : animal, rcu_obj_base<cat> {
	std::string name = "a name that is too long to fit into the string itself";
};
struct alignas(256) wide : rcu_obj_base<wide> { /* only frees: by operator delete for such an alignment */
	char bytes[300];
};
struct alignas(256) wide_counted : counted, rcu_obj_base<wide_counted> {
	char bytes[300];
};
struct with_virtual_base : virtual counted, rcu_obj_base<with_virtual_base> {
	std::string name = "a name that is too long to fit into the string itself";
};

void saferecl_rcu_base_retire_objects_of_any_shape()
{
	for (int i = 0; i < 300; i++) {
		(new cat)->retire();
		(new wide)->retire();
		(new wide_counted)->retire();
		(new with_virtual_base)->retire();
		(new final_one)->retire();
	}
	lull::rcu_barrier();
	MUST(alive == 0);
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

void saferecl_rcu_base_retire_in_a_deleter()
{
	(new chained(12))->retire();
	lull::rcu_barrier();
	await([] { return alive == 0; });
}

/* ---- what only frees ------------------------------------------------------------------------------ */

/* A class's own operator delete is called, and its destructor, if there is any: then it is no longer plain. */
struct own_delete : rcu_obj_base<own_delete> {
	static void operator delete(void *p)
	{
		::operator delete(p);
		calls++;
	}
};
struct own_sized_delete : rcu_obj_base<own_sized_delete> {
	static void operator delete(void *p, std::size_t size)
	{
		MUST(size == sizeof(own_sized_delete));
		::operator delete(p);
		calls++;
	}
};
/* Only std::default_delete may call this one. */
struct hidden_delete : rcu_obj_base<hidden_delete> {
	static hidden_delete *make()
	{
		return new hidden_delete;
	}

      private:
	friend std::default_delete<hidden_delete>;
	static void operator delete(void *p)
	{
		::operator delete(p);
		calls++;
	}
};
struct with_destructor : rcu_obj_base<with_destructor> {
	~with_destructor()
	{
		calls++;
	}
};

template <class T> constexpr bool plain = lull::detail::only_frees<T, std::default_delete<T>>();

void only_frees()
{
	static_assert(plain<final_one> && plain<wide> && plain<late_type> && plain<int>);
	static_assert(!plain<node> && !plain<own_delete> && !plain<own_sized_delete> && !plain<with_destructor> &&
		      !plain<hidden_delete>);
	static_assert(!lull::detail::only_frees<two, deleter>() && !plain<std::string>);
#ifdef __cpp_lib_destroying_delete
	struct destroying {
		static void operator delete(destroying *, std::destroying_delete_t)
		{
		}
	};
	static_assert(!plain<destroying>);
#endif
	calls = 0;
	(new own_delete)->retire();
	(new own_sized_delete)->retire();
	hidden_delete::make()->retire();
	(new with_destructor)->retire();
	lull::rcu_retire(new with_destructor);
	lull::rcu_barrier();
	MUST(calls == 5);
}

/* The thread that retires frees: there is no other that could, as lull starts none here. */
void the_thread_that_retires_frees()
{
	struct lull_reclaim_config config;
	struct lull_reclaim_counts counts;

	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	MUST(lull_reclaim_configure(&config) == 0);
	for (int i = 0; i < 20000; i++)
		(new final_one)->retire();
	lull_reclaim_stats(&counts);
	MUST(counts.items < 10000);
	(new node)->retire(); /* it has a destructor */
	lull::rcu_retire(new node);
	for (int i = 0; i < 20000; i++)
		(new final_one)->retire();
	MUST(alive == 2);
	lull_reclaim_default_config(&config);
	MUST(lull_reclaim_configure(&config) == 0);
	lull::rcu_barrier();
	MUST(alive == 0);
}

void limits_count_the_size()
{
	struct lull_reclaim_counts before, after;
	reader r;

	lull_reclaim_stats(&before);
	lull::rcu_retire(new wide_counted);
	(new wide_counted)->retire();
	lull::rcu_retire(new wide_counted, deleter());
	lull_reclaim_stats(&after);
	MUST(after.bytes - before.bytes >= 2 * sizeof(wide_counted));
	MUST(after.bytes - before.bytes < 3 * sizeof(wide_counted));
	r.leave();
	lull::rcu_barrier();
	MUST(alive == 0);
}

/* ---- [saferecl.rcu.domain] ------------------------------------------------------------------------ */

void saferecl_rcu_domain_general_lockable()
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
	lull::rcu_barrier();
	MUST(alive == 0);
}

/* Many threads lock and unlock the one domain at once: no data race (seen by ThreadSanitizer). */
void saferecl_rcu_domain_members_lock()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([] {
			for (int n = 0; n < 10000; n++) {
				rcu_default_domain().lock();
				rcu_default_domain().unlock();
			}
		});
	for (std::thread &t : threads)
		t.join();
}

void saferecl_rcu_domain_members_try_lock()
{
	node *p = new node;

	MUST(rcu_default_domain().try_lock());
	MUST(rcu_default_domain().try_lock());
	p->retire();
	rcu_default_domain().unlock();
	nap();
	MUST(p->value == 42);
	rcu_default_domain().unlock();
	lull::rcu_barrier();
	MUST(alive == 0);
}

/* No deleter runs inside unlock(): it may be called with a lock held that deleters take. */
void saferecl_rcu_domain_members_unlock()
{
	static std::mutex m;
	struct takes_lock {
		void operator()(node *p) const
		{
			std::scoped_lock lock(m);

			delete p;
		}
	};

	for (int i = 0; i < 200; i++) {
		std::scoped_lock lock(m);

		rcu_default_domain().lock();
		lull::rcu_retire(new node, takes_lock());
		rcu_default_domain().unlock();
	}
	lull::rcu_barrier();
	MUST(alive == 0);
}

/* ---- [saferecl.rcu.domain.func] ------------------------------------------------------------------- */

rcu_domain *const at_start = &rcu_default_domain();

void saferecl_rcu_domain_func_default_domain()
{
	rcu_domain *other = nullptr;

	std::thread([&] { other = &rcu_default_domain(); }).join();
	MUST(&rcu_default_domain() == at_start && other == at_start);

#ifdef LULL_TEST_CXX_PLUGIN /* tests/cxx/compilers builds none */
	/* Also in a module that shows none of its symbols. */
	void *module = dlopen(LULL_TEST_CXX_PLUGIN, RTLD_NOW | RTLD_LOCAL);

	MUST(module != nullptr);
	MUST(reinterpret_cast<void *(*)()>(dlsym(module, "plugin_default_domain"))() == at_start);
	dlclose(module);
#endif
}

void saferecl_rcu_domain_func_synchronize()
{
	reader r;
	std::atomic<bool> done{ false };
	int seen = 0;
	std::thread waits([&] {
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

void saferecl_rcu_domain_func_barrier()
{
	int plain_store = 0;
	static int *target;
	struct stores {
		void operator()(node *p) const
		{
			delete p;
			*target = 7; /* seen by whoever returns from the barrier */
		}
	};

	target = &plain_store;
	for (int i = 0; i < 100; i++) {
		plain_store = 0;
		lull::rcu_retire(new node, stores());
		lull::rcu_barrier(rcu_default_domain());
		MUST(plain_store == 7);
	}
	lull::rcu_barrier();
}

struct move_only {
	explicit move_only(std::unique_ptr<int> p) : state(std::move(p))
	{
	}
	move_only(move_only &&) = default;
	void operator()(node *p)
	{
		MUST(*state == 5);
		delete p;
		calls++;
	}
	std::unique_ptr<int> state;
};

void saferecl_rcu_domain_func_retire()
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
	lull::rcu_barrier();
	MUST(alive == 0 && calls == 1);
}

/* What throws schedules nothing. */
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

void saferecl_rcu_domain_func_retire_throws()
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

int main(int argc, char **argv)
{
	const clause clauses[] = {
		CLAUSE(saferecl_rcu_general_protectable),
		CLAUSE(saferecl_rcu_general_nested_locks),
		CLAUSE(saferecl_rcu_general_region_ends_first),
		CLAUSE(saferecl_rcu_general_evaluated_once),
		CLAUSE(saferecl_rcu_general_storm),
		CLAUSE(rcu_syn_names),
		CLAUSE(saferecl_rcu_base_incomplete_type),
		CLAUSE(saferecl_rcu_base_deleter_is_a_function_object),
		CLAUSE(saferecl_rcu_base_deleter_requirements),
		CLAUSE(saferecl_rcu_base_trivially_copyable),
		CLAUSE(saferecl_rcu_base_special_members),
		CLAUSE(saferecl_rcu_base_retire),
		CLAUSE(saferecl_rcu_base_retire_objects_of_any_shape),
		CLAUSE(saferecl_rcu_base_retire_in_a_deleter),
		CLAUSE(only_frees),
		CLAUSE(the_thread_that_retires_frees),
		CLAUSE(limits_count_the_size),
		CLAUSE(saferecl_rcu_domain_general_lockable),
		CLAUSE(saferecl_rcu_domain_members_lock),
		CLAUSE(saferecl_rcu_domain_members_try_lock),
		CLAUSE(saferecl_rcu_domain_members_unlock),
		CLAUSE(saferecl_rcu_domain_func_default_domain),
		CLAUSE(saferecl_rcu_domain_func_synchronize),
		CLAUSE(saferecl_rcu_domain_func_barrier),
		CLAUSE(saferecl_rcu_domain_func_retire),
		CLAUSE(saferecl_rcu_domain_func_retire_throws),
	};

	return run(clauses, argc, argv);
}
