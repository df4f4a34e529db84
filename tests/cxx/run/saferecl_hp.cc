/* SPDX-License-Identifier: MIT */
/*
 * saferecl_hp.cc - [saferecl.hp] of the C++ standard, sentence by sentence: docs/CXX.md has the table.
 */
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <lull/hazard_pointer>
#include <lull/reclaim.h>

#include "saferecl.hpp"

#ifdef __cpp_lib_span
#include <span>
#endif

namespace
{

using lull::hazard_pointer;
using lull::hazard_pointer_obj_base;
using lull::make_hazard_pointer;

/* The base is behind something else. */
struct node : counted, hazard_pointer_obj_base<node> {
	explicit node(int v = 42) : value(v)
	{
	}
	~node()
	{
		value = -1;
	}

	std::atomic<int> value;
	std::atomic<node *> next{ nullptr };
};

/* Wait until all that is retired and not protected is gone; then so many are left. */
void left_are(int count)
{
	await([=] { return alive == count; });
}

void stay(int count)
{
	MUST(lull_hazptr_barrier_timeout(20) == -ETIMEDOUT);
	MUST(alive == count);
}

/* ---- [saferecl.hp.general] ---------------------------------------------------------------------- */

void saferecl_hp_general_owner_protects()
{
	std::atomic<node *> src{ new node };
	hazard_pointer h = make_hazard_pointer();
	node *p = h.protect(src);

	src = nullptr;
	p->retire();
	stay(1);
	MUST(p->value == 42);
	h.reset_protection();
	left_are(0);
}

struct of_const : hazard_pointer_obj_base<of_const> {
};
struct final_one final : hazard_pointer_obj_base<final_one> {
};
struct hidden : private hazard_pointer_obj_base<hidden> {
};
struct virtually : virtual hazard_pointer_obj_base<virtually> {
};
struct other_base : hazard_pointer_obj_base<node> {
};
struct child_of_one : of_const {
};
struct left : hazard_pointer_obj_base<left> {
};
struct deleter {
	template <class T> void operator()(T *p) const
	{
		delete p;
	}
};
struct two : hazard_pointer_obj_base<two>, hazard_pointer_obj_base<two, deleter> {
};
struct two_others : hazard_pointer_obj_base<two_others>, hazard_pointer_obj_base<left> {
};

template <class T> constexpr bool protectable = lull::detail::is_protectable<hazard_pointer_obj_base, T>;

void saferecl_hp_general_protectable()
{
	static_assert(protectable<node> && protectable<const node> && protectable<final_one>);
	static_assert(!protectable<hidden> && !protectable<virtually> && !protectable<other_base>);
	static_assert(!protectable<child_of_one> && !protectable<two> && !protectable<two_others>);
	static_assert(!protectable<int> && !protectable<counted> && !protectable<void *>);
}

void saferecl_hp_general_unassociated_upon_creation()
{
	std::vector<hazard_pointer> used(40), h(40);
	node *p = new node;

	/* Slots that have protected it. */
	lull::make_hazard_pointer_batch(used.data(), used.size());
	for (hazard_pointer &u : used)
		u.reset_protection(p);
	used.clear();
	lull::make_hazard_pointer_batch(h.data(), h.size());
	p->retire();
	left_are(0);
}

void saferecl_hp_general_epochs()
{
	node *p = new node, *q = new node;
	hazard_pointer h = make_hazard_pointer();

	h.reset_protection(p);
	h.reset_protection(q);
	p->retire();
	left_are(1);
	h.reset_protection(q); /* the same object again */
	q->retire();
	stay(1);
	h.reset_protection(nullptr);
	left_are(0);
}

/* Each is reclaimed once, by a call with its address. */
struct noted : hazard_pointer_obj_base<noted, void (*)(noted *)> {
	int times = 0;
};
noted notes[3];
std::atomic<int> calls;

void note(noted *p)
{
	MUST(p >= notes && p < notes + 3);
	p->times++;
	calls++;
}

void saferecl_hp_general_reclaimed_once()
{
	calls = 0;
	for (noted &n : notes)
		n.retire(note);
	await([] { return calls == 3; });
	lull_hazptr_barrier();
	nap();
	for (noted &n : notes)
		MUST(n.times == 1);
}

/* Readers of a place that changes all the time: whatever try_protect() found stays. */
void saferecl_hp_general_coherence()
{
	std::atomic<node *> src{ new node };
	std::atomic<bool> stop{ false };
	std::vector<std::thread> readers;

	for (int i = 0; i < 3; i++)
		readers.emplace_back([&] {
			while (!stop) {
				hazard_pointer h = make_hazard_pointer();
				node *p = src.load(std::memory_order_relaxed);

				while (!h.try_protect(p, src))
					;
				MUST(p->value == 42);
				std::this_thread::yield();
				MUST(p->value == 42);
				h.protect(src);
			}
		});
	for (int i = 0; i < 20000; i++)
		src.exchange(new node)->retire();
	stop = true;
	for (std::thread &t : readers)
		t.join();
	src.load()->retire();
	left_are(0);
}

/* A reader that stalls keeps what it protects, and nothing else. */
void saferecl_hp_general_bound()
{
	std::atomic<node *> src{ new node };
	hazard_pointer h = make_hazard_pointer();
	node *p = h.protect(src);

	for (int i = 0; i < 20000; i++)
		src.exchange(new node)->retire();
	left_are(2);
	MUST(p->value == 42);
	h.reset_protection();
	src.load()->retire();
	left_are(0);
}

/* ---- [hazard.pointer.syn] ------------------------------------------------------------------------ */

void hazard_pointer_syn_names()
{
	static_assert(std::is_same_v<hazard_pointer_obj_base<node>, hazard_pointer_obj_base<node, std::default_delete<node>>>);
	static_assert(std::is_same_v<decltype(lull::make_hazard_pointer()), hazard_pointer>);
	static_assert(!noexcept(lull::make_hazard_pointer()));
	static_assert(noexcept(lull::swap(std::declval<hazard_pointer &>(), std::declval<hazard_pointer &>())));
	static_assert(sizeof(hazard_pointer) == sizeof(void *));
	static_assert(std::is_same_v<lull::std_::hazard_pointer, hazard_pointer>);
}

/* ---- [saferecl.hp.base] -------------------------------------------------------------------------- */

/* Stateful: it knows where to count, and what it has to free. */
struct stateful {
	std::shared_ptr<std::string> text;
	std::atomic<int> *count = nullptr;

	template <class T> void operator()(T *p)
	{
		MUST(*text == "a text that is too long to fit into the string itself");
		delete p;
		(*count)++;
	}
};

struct with_state : counted, hazard_pointer_obj_base<with_state, stateful> {
};

void saferecl_hp_base_deleter_is_a_function_object()
{
	auto text = std::make_shared<std::string>("a text that is too long to fit into the string itself");
	std::atomic<int> count{ 0 };

	(new with_state)->retire({ text, &count });
	await([&] { return count == 1; });
	lull_hazptr_barrier();
	MUST(alive == 0);
	MUST(text.use_count() == 1); /* the deleter is gone as well */

	static noted by_function;
	by_function.retire([](noted *p) { p->times++; });
	lull_hazptr_barrier();
	MUST(by_function.times == 1);
}

struct assigned {
	assigned() = default;
	assigned(assigned &&) = default;
	assigned &operator=(assigned &&)
	{
		MUST(constructed);
		assignments++;
		return *this;
	}
	template <class T> void operator()(T *p)
	{
		delete p;
	}

	bool constructed = true;
	static inline int assignments;
};

struct with_assigned : hazard_pointer_obj_base<with_assigned, assigned> {
};

/* It can do what is asked for and no more: it is made by default, and assigned. */
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

struct with_default_only : counted, hazard_pointer_obj_base<with_default_only, default_only> {
};

void saferecl_hp_base_deleter_requirements()
{
	calls = 0;
	(new with_default_only)->retire();
	(new with_default_only)->retire(default_only(5));
	await([] { return calls == 6; });
	MUST(alive == 0);
}

struct late_type;
using base_of_late = hazard_pointer_obj_base<late_type>;
struct holds_late {
	std::atomic<late_type *> p;
	hazard_pointer h;
};
struct late_type : base_of_late {
	holds_late *inside = nullptr;
};

void saferecl_hp_base_incomplete_type()
{
	holds_late holder{ { new late_type }, make_hazard_pointer() };

	MUST(holder.h.protect(holder.p));
	holder.p.load()->retire();
}

struct plain : counted, hazard_pointer_obj_base<plain> {
};

void saferecl_hp_base_special_members()
{
	using base = hazard_pointer_obj_base<of_const>;

	static_assert(!std::is_default_constructible_v<base> && !std::is_copy_constructible_v<base> &&
		      !std::is_move_constructible_v<base> && !std::is_copy_assignable_v<base> &&
		      !std::is_move_assignable_v<base> && !std::is_destructible_v<base>);
	static_assert(std::is_nothrow_default_constructible_v<of_const> && std::is_trivially_copyable_v<of_const> &&
		      std::is_trivially_destructible_v<of_const>);
	static_assert(sizeof(base) == 2 * sizeof(void *) && sizeof(of_const) == sizeof(base));
	static_assert(sizeof(hazard_pointer_obj_base<noted, void (*)(noted *)>) == 3 * sizeof(void *));

	/* A copy of a retired object is another object. */
	plain *p = new plain, *copy;
	hazard_pointer h = make_hazard_pointer();

	h.reset_protection(p);
	p->retire();
	copy = new plain(*p);
	*copy = *p;
	copy->retire();
	left_are(1);
	h.reset_protection();
	left_are(0);
}

void saferecl_hp_base_retire_is_noexcept()
{
	static_assert(noexcept(std::declval<node &>().retire()));
	static_assert(noexcept(std::declval<with_state &>().retire(stateful())));
}

void saferecl_hp_base_retire_assigns_the_deleter()
{
	const int before = assigned::assignments;

	(new with_assigned)->retire();
	MUST(assigned::assignments == before + 1);
	(new with_assigned)->retire(assigned());
	MUST(assigned::assignments == before + 2);
	lull_hazptr_barrier();
}

/* Bases at several places, destructors that are virtual. */
struct animal : counted {
	virtual ~animal() = default;
	long weight = 3;
};
struct cat : animal, hazard_pointer_obj_base<cat> {
	std::string name = "a name that is too long to fit into the string itself";
};
struct alignas(256) wide : hazard_pointer_obj_base<wide>, counted {
	char bytes[300];
};
struct with_virtual_base : virtual counted, hazard_pointer_obj_base<with_virtual_base> {
	std::string name = "a name that is too long to fit into the string itself";
};

template <class T> void protect_and_retire()
{
	std::atomic<T *> src{ new T };
	std::atomic<const T *> const_src{ src.load() };
	hazard_pointer h = make_hazard_pointer(), c = make_hazard_pointer();
	T *p = h.protect(src);

	MUST(c.protect(const_src) == p);
	p->retire();
	stay(1);
	h.reset_protection();
	stay(1);
	c.reset_protection();
	left_are(0);
}

void saferecl_hp_base_retire_reclaims_objects_of_any_shape()
{
	protect_and_retire<node>();
	protect_and_retire<cat>();
	protect_and_retire<wide>();
	protect_and_retire<with_virtual_base>();
}

/* Deleters retire, protect and make hazard pointers themselves. */
struct chained : counted, hazard_pointer_obj_base<chained> {
	explicit chained(int depth)
	{
		if (depth > 1)
			next = new chained(depth - 1);
	}
	~chained()
	{
		hazard_pointer h = make_hazard_pointer();

		h.reset_protection(next);
		if (next)
			next->retire();
	}
	chained *next = nullptr;
};

void saferecl_hp_base_retire_in_a_deleter()
{
	(new chained(50))->retire();
	left_are(0);
	lull_hazptr_barrier();
}

/* No deleter runs inside retire(): a lock may be held there that deleters take. */
std::mutex taken_by_deleter;
struct takes_lock {
	template <class T> void operator()(T *p) const
	{
		std::scoped_lock lock(taken_by_deleter);

		delete p;
	}
};
struct with_takes_lock : counted, hazard_pointer_obj_base<with_takes_lock, takes_lock> {
};

void saferecl_hp_base_retire_with_a_lock_held()
{
	for (int i = 0; i < 500; i++) {
		std::scoped_lock lock(taken_by_deleter);

		(new with_takes_lock)->retire();
	}
	left_are(0);
}

/* ---- what only frees ------------------------------------------------------------------------------ */

struct plain_front {
	long before;
};
struct plain_one : plain_front, hazard_pointer_obj_base<plain_one> {
	std::atomic<int> value{ 0 };
};
struct alignas(128) wide_one : plain_front, hazard_pointer_obj_base<wide_one> {
	long more[16];
};
/* What may do anything is not called inside retire(). */
thread_local bool retires;

void free_and_count(void *p)
{
	MUST(!retires);
	::operator delete(p);
	calls++;
}

struct own_delete : hazard_pointer_obj_base<own_delete> {
	static void operator delete(void *p)
	{
		free_and_count(p);
	}
};
struct delete_of_base : plain_front {
	static void operator delete(void *p, std::size_t)
	{
		free_and_count(p);
	}
};
struct inherits_delete : delete_of_base, hazard_pointer_obj_base<inherits_delete> {
};
/* Only std::default_delete may call this one. */
struct hidden_delete : hazard_pointer_obj_base<hidden_delete> {
	static hidden_delete *make()
	{
		return new hidden_delete;
	}

      private:
	friend std::default_delete<hidden_delete>;
	static void operator delete(void *p)
	{
		free_and_count(p);
	}
};

template <class T> constexpr bool is_plain = lull::detail::only_frees<T, std::default_delete<T>>();

/* Those that only free go by another queue; what is called, and with which alignment, stays the same. */
void only_frees()
{
	static_assert(is_plain<plain_one> && is_plain<wide_one> && is_plain<final_one>);
	static_assert(!is_plain<node> && !is_plain<own_delete> && !is_plain<inherits_delete> && !is_plain<hidden_delete>);
	calls = 0;
	retires = true;
	for (int i = 0; i < 2000; i++) {
		(new plain_one)->retire();
		(new wide_one)->retire();
		(new own_delete)->retire();
		(new inherits_delete)->retire();
		hidden_delete::make()->retire();
	}
	retires = false;
	lull_hazptr_barrier();
	MUST(calls == 3 * 2000);
}

/* The thread that retires frees: there is no other that could, as lull starts none here. Not what is protected. */
void the_thread_that_retires_frees()
{
	struct lull_reclaim_config config;
	struct lull_reclaim_counts counts;
	std::atomic<plain_one *> src{ new plain_one };
	hazard_pointer h = make_hazard_pointer();
	plain_one *kept = h.protect(src);

	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	MUST(lull_reclaim_configure(&config) == 0);
	kept->retire();
	for (int i = 0; i < 20000; i++)
		(new plain_one)->retire();
	lull_reclaim_stats(&counts);
	MUST(counts.items > 0 && counts.items < 10000);
	kept->value = 7; /* the address sanitizer looks */
	MUST(lull_hazptr_barrier_timeout(20) == -ETIMEDOUT);
	lull_reclaim_stats(&counts);
	MUST(counts.items == 1);
	h.reset_protection();
	lull_hazptr_barrier();
	lull_reclaim_stats(&counts);
	MUST(counts.items == 0);
	lull_reclaim_default_config(&config);
	MUST(lull_reclaim_configure(&config) == 0);
}

/* Those that read find each as it was made, whoever frees it: this thread, another one that retires, or the reclaimer. */
void plain_ones_are_read_while_they_go()
{
	std::atomic<plain_one *> src[4] = {};
	std::atomic<int> over{ 0 };
	std::vector<std::thread> all;

	for (auto &s : src)
		(s = new plain_one)->value = 7;
	for (int k = 0; k < 2; k++)
		all.emplace_back([&] {
			hazard_pointer one = make_hazard_pointer(), other = make_hazard_pointer();

			for (unsigned i = 0; over < 2; i++) {
				plain_one *p = one.protect(src[i % 4]), *q = other.protect(src[(i + 1) % 4]);

				MUST(p->value == 7 && q->value == 7);
			}
		});
	for (unsigned k = 0; k < 2; k++)
		all.emplace_back([&, k] {
			for (unsigned i = 0; i < 5000; i++) {
				auto *fresh = new plain_one;

				fresh->value = 7;
				plain_one *old = src[(i + k) % 4].exchange(fresh);
				old->retire();
				if (i % 64 == 0)
					std::this_thread::yield();
			}
			over++;
		});
	for (auto &one : all)
		one.join();
	for (auto &s : src)
		s.exchange(nullptr)->retire();
	lull_hazptr_barrier();
}

void synchronize_knows_the_base()
{
	node *p = new node;
	hazard_pointer_obj_base<node> *base = p;
	hazard_pointer h = make_hazard_pointer();

	h.reset_protection(p);
	MUST(lull_hazptr_synchronize_timeout(base, 0) == -ETIMEDOUT);
	MUST(lull_hazptr_synchronize_timeout(p, 0) == 0);
	MUST(lull_hazptr_synchronize_range_timeout(p, sizeof(*p), 0) == -ETIMEDOUT);
	h.reset_protection();
	MUST(lull_hazptr_synchronize_timeout(base, 0) == 0);
	p->retire();
	left_are(0);
}

/* ---- [saferecl.hp.holder] ------------------------------------------------------------------------ */

void saferecl_hp_holder_ctor_default_is_empty()
{
	hazard_pointer h;

	MUST(h.empty());
	static_assert(std::is_nothrow_default_constructible_v<hazard_pointer>);
	static_assert(!std::is_copy_constructible_v<hazard_pointer> && !std::is_copy_assignable_v<hazard_pointer>);
}

void saferecl_hp_holder_ctor_move()
{
	node *p = new node;
	hazard_pointer none, h = make_hazard_pointer();

	static_assert(std::is_nothrow_move_constructible_v<hazard_pointer>);
	h.reset_protection(p);
	hazard_pointer g(std::move(h)), still_none(std::move(none));
	MUST(h.empty() && !g.empty() && none.empty() && still_none.empty());
	p->retire();
	stay(1);
	g.reset_protection();
	left_are(0);
}

void saferecl_hp_holder_ctor_destructor_ends_the_epoch()
{
	node *p = new node;

	{
		hazard_pointer h = make_hazard_pointer();

		h.reset_protection(p);
		p->retire();
		stay(1);
	}
	left_are(0);
	{
		hazard_pointer none;
	}
}

void saferecl_hp_holder_ctor_move_assignment()
{
	node *p = new node, *q = new node;
	hazard_pointer h = make_hazard_pointer(), g = make_hazard_pointer(), none;

	static_assert(std::is_nothrow_move_assignable_v<hazard_pointer>);
	h.reset_protection(p);
	g.reset_protection(q);
	p->retire();
	q->retire();
	stay(2);
	hazard_pointer &itself = h;
	h = std::move(itself); /* no effect */
	MUST(!h.empty());
	stay(2);
	hazard_pointer &returned = (h = std::move(g)); /* ends what h protected, keeps what g did */
	MUST(&returned == &h && g.empty() && !h.empty());
	left_are(1);
	MUST(q->value == 42);
	h = std::move(none);
	MUST(h.empty() && none.empty());
	left_are(0);
}

void saferecl_hp_holder_mem_empty()
{
	hazard_pointer h;

	static_assert(noexcept(h.empty()));
	MUST(h.empty());
	h = make_hazard_pointer();
	MUST(!h.empty()); /* unassociated is not empty */
	h.reset_protection();
	MUST(!h.empty());
}

void saferecl_hp_holder_mem_protect()
{
	node *p = new node;
	std::atomic<node *> src{ nullptr };
	hazard_pointer h = make_hazard_pointer();

	static_assert(noexcept(h.protect(src)));
	MUST(h.protect(src) == nullptr);
	src = p;
	MUST(h.protect(src) == p);
	p->retire();
	stay(1);
	src = nullptr;
	MUST(h.protect(src) == nullptr); /* protects nothing now */
	left_are(0);
}

void saferecl_hp_holder_mem_try_protect()
{
	node *p = new node, *q = new node, *seen;
	std::atomic<node *> src{ p };
	hazard_pointer h = make_hazard_pointer();

	static_assert(noexcept(h.try_protect(seen, src)));
	seen = p;
	MUST(h.try_protect(seen, src) && seen == p);
	p->retire();
	stay(2);
	src = q;
	MUST(!h.try_protect(seen, src)); /* it protects nothing now, and has seen what is there */
	MUST(seen == q);
	left_are(1);
	MUST(h.try_protect(seen, src) && seen == q);
	q->retire();
	stay(1);
	src = nullptr;
	MUST(!h.try_protect(seen, src) && seen == nullptr);
	MUST(h.try_protect(seen, src) && seen == nullptr);
	left_are(0);
}

/*
 * The place changes between the two looks: when the slot lets go of an object that is parked because of it, lull calls
 * the program's notify().
 */
std::atomic<node *> changing;
node *changed_to;

void change(void *) noexcept
{
	if (changed_to)
		changing = std::exchange(changed_to, nullptr);
}

void park(hazard_pointer &h)
{
	node *p = new node;

	h.reset_protection(p);
	p->retire();
	lull_reclaim_poll(100, 0);
	MUST(alive == 3 && p->value == 42);
}

bool is_named(hazard_pointer_obj_base<node> *base)
{
	return lull_hazptr_synchronize_timeout(base, 0) == -ETIMEDOUT;
}

void saferecl_hp_holder_mem_protect_looks_again()
{
	struct lull_reclaim_config config;
	node *a = new node, *b = new node, *seen = a;
	hazard_pointer h = make_hazard_pointer();

	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	config.notify = change;
	MUST(lull_reclaim_configure(&config) == 0);
	park(h);
	changing = a;
	changed_to = b;
	MUST(h.protect(changing) == b && !changed_to);
	MUST(is_named(b) && !is_named(a));
	h.reset_protection();
	lull_reclaim_poll(100, 0);
	MUST(alive == 2);

	park(h);
	changing = a;
	changed_to = b;
	MUST(!h.try_protect(seen, changing) && seen == b && !changed_to);
	MUST(!is_named(a) && !is_named(b));
	lull_reclaim_default_config(&config);
	MUST(lull_reclaim_configure(&config) == 0);
	a->retire();
	b->retire();
	left_are(0);
}

/* A list that marks the pointers of nodes that are being removed: the clean address is protected. */
std::uintptr_t marked(node *p)
{
	return reinterpret_cast<std::uintptr_t>(p) | 1;
}

node *without_mark(node *p)
{
	return reinterpret_cast<node *>(reinterpret_cast<std::uintptr_t>(p) & ~std::uintptr_t(1));
}

void saferecl_hp_holder_mem_reset_protection_of_a_marked_pointer()
{
	node *n = new node, *p;
	std::atomic<node *> src{ reinterpret_cast<node *>(marked(n)) };
	hazard_pointer h = make_hazard_pointer();

	do {
		p = src.load(std::memory_order_relaxed);
		h.reset_protection(without_mark(p));
	} while (src.load(std::memory_order_acquire) != p);
	src = nullptr;
	n->retire();
	stay(1);
	MUST(without_mark(p)->value == 42);
	h.reset_protection();
	left_are(0);
}

void saferecl_hp_holder_mem_reset_protection()
{
	node *p = new node;
	hazard_pointer h = make_hazard_pointer();

	static_assert(noexcept(h.reset_protection(p)) && noexcept(h.reset_protection(nullptr)) && noexcept(h.reset_protection()));
	h.reset_protection(static_cast<const node *>(p));
	p->retire();
	stay(1);
	h.reset_protection(static_cast<node *>(nullptr)); /* a null pointer value */
	left_are(0);
	MUST(!h.empty());

	p = new node;
	h.reset_protection(p);
	p->retire();
	stay(1);
	h.reset_protection(nullptr);
	left_are(0);
}

void saferecl_hp_holder_mem_swap()
{
	node *p = new node, *q = new node;
	hazard_pointer h = make_hazard_pointer(), g = make_hazard_pointer(), none;

	static_assert(noexcept(h.swap(g)) && std::is_nothrow_swappable_v<hazard_pointer>);
	h.reset_protection(p);
	g.reset_protection(q);
	p->retire();
	q->retire();
	h.swap(g);
	stay(2);
	h.reset_protection(); /* that of q */
	left_are(1);
	MUST(p->value == 42);
	g.swap(none);
	MUST(g.empty() && !none.empty());
	stay(1);
	none.reset_protection();
	left_are(0);
}

void saferecl_hp_holder_nonmem_make()
{
	std::vector<hazard_pointer> many;
	std::vector<node *> nodes;

	for (int i = 0; i < 500; i++) { /* no limit of eight */
		many.push_back(make_hazard_pointer());
		nodes.push_back(new node);
		MUST(!many.back().empty());
		many.back().reset_protection(nodes.back());
		nodes.back()->retire();
	}
	MUST(lull_hazptr_barrier_timeout(20) == -ETIMEDOUT);
	MUST(alive == 500);
	for (node *p : nodes)
		MUST(p->value == 42);
	many.erase(many.begin(), many.begin() + 250);
	left_are(250);
	many.clear();
	left_are(0);
}

void saferecl_hp_holder_nonmem_swap()
{
	node *p = new node;
	hazard_pointer h = make_hazard_pointer(), none;

	h.reset_protection(p);
	p->retire();
	swap(h, none); /* found by its arguments */
	MUST(h.empty());
	std::swap(h, none);
	MUST(none.empty());
	stay(1);
	h = hazard_pointer();
	left_are(0);
}

/* Made here, used there, ended on a third thread; and of a thread that is gone. */
void saferecl_hp_holder_moved_between_threads()
{
	std::atomic<node *> src{ new node };
	hazard_pointer h;
	node *p = nullptr;

	std::thread([&] {
		h = make_hazard_pointer();
		p = h.protect(src);
	}).join();
	p->retire();
	stay(1);
	MUST(p->value == 42);
	std::thread([moved = std::move(h)]() mutable { moved = hazard_pointer(); }).join();
	left_are(0);
}

/* ---- batches (C++29) ------------------------------------------------------------------------------ */

void saferecl_hp_holder_nonmem_make_batch()
{
	std::array<hazard_pointer, 20> batch;
	std::vector<hazard_pointer> vector(3);
	hazard_pointer plain[2];
	node *p = new node;

	batch[3] = make_hazard_pointer(); /* one that is not empty stays what it is */
	batch[3].reset_protection(p);
	p->retire();
	lull::make_hazard_pointer_batch(batch);
	for (const hazard_pointer &h : batch)
		MUST(!h.empty());
	stay(1);
	batch[3].reset_protection();
	left_are(0);
	lull::make_hazard_pointer_batch(vector);
	lull::make_hazard_pointer_batch(plain);
	MUST(!vector[0].empty() && !vector[2].empty() && !plain[1].empty());
	lull::make_hazard_pointer_batch(nullptr, 0);
#ifdef __cpp_lib_span
	hazard_pointer more[5];

	lull::make_hazard_pointer_batch(std::span<hazard_pointer>());
	lull::make_hazard_pointer_batch(std::span(more).subspan(1, 3));
	MUST(more[0].empty() && !more[1].empty() && !more[3].empty() && more[4].empty());
#endif
}

void saferecl_hp_holder_nonmem_clear_batch()
{
	std::array<hazard_pointer, 12> batch;
	node *p = new node;

	static_assert(noexcept(lull::clear_hazard_pointer_batch(batch)));
	lull::make_hazard_pointer_batch(batch);
	batch[7].reset_protection(p);
	batch[2] = hazard_pointer();
	p->retire();
	stay(1);
	lull::clear_hazard_pointer_batch(batch.data(), 7);
	stay(1);
	lull::clear_hazard_pointer_batch(batch);
	for (const hazard_pointer &h : batch)
		MUST(h.empty());
	left_are(0);
}

} // namespace

int main(int argc, char **argv)
{
	const clause clauses[] = {
		CLAUSE(saferecl_hp_general_owner_protects),
		CLAUSE(saferecl_hp_general_protectable),
		CLAUSE(saferecl_hp_general_unassociated_upon_creation),
		CLAUSE(saferecl_hp_general_epochs),
		CLAUSE(saferecl_hp_general_reclaimed_once),
		CLAUSE(saferecl_hp_general_coherence),
		CLAUSE(saferecl_hp_general_bound),
		CLAUSE(hazard_pointer_syn_names),
		CLAUSE(saferecl_hp_base_deleter_is_a_function_object),
		CLAUSE(saferecl_hp_base_deleter_requirements),
		CLAUSE(saferecl_hp_base_incomplete_type),
		CLAUSE(saferecl_hp_base_special_members),
		CLAUSE(saferecl_hp_base_retire_is_noexcept),
		CLAUSE(saferecl_hp_base_retire_assigns_the_deleter),
		CLAUSE(saferecl_hp_base_retire_reclaims_objects_of_any_shape),
		CLAUSE(saferecl_hp_base_retire_in_a_deleter),
		CLAUSE(saferecl_hp_base_retire_with_a_lock_held),
		CLAUSE(only_frees),
		CLAUSE(the_thread_that_retires_frees),
		CLAUSE(plain_ones_are_read_while_they_go),
		CLAUSE(synchronize_knows_the_base),
		CLAUSE(saferecl_hp_holder_ctor_default_is_empty),
		CLAUSE(saferecl_hp_holder_ctor_move),
		CLAUSE(saferecl_hp_holder_ctor_destructor_ends_the_epoch),
		CLAUSE(saferecl_hp_holder_ctor_move_assignment),
		CLAUSE(saferecl_hp_holder_mem_empty),
		CLAUSE(saferecl_hp_holder_mem_protect),
		CLAUSE(saferecl_hp_holder_mem_try_protect),
		CLAUSE(saferecl_hp_holder_mem_protect_looks_again),
		CLAUSE(saferecl_hp_holder_mem_reset_protection_of_a_marked_pointer),
		CLAUSE(saferecl_hp_holder_mem_reset_protection),
		CLAUSE(saferecl_hp_holder_mem_swap),
		CLAUSE(saferecl_hp_holder_nonmem_make),
		CLAUSE(saferecl_hp_holder_nonmem_swap),
		CLAUSE(saferecl_hp_holder_moved_between_threads),
		CLAUSE(saferecl_hp_holder_nonmem_make_batch),
		CLAUSE(saferecl_hp_holder_nonmem_clear_batch),
	};

	return run(clauses, argc, argv);
}
