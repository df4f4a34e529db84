/* SPDX-License-Identifier: MIT */
/*
 * saferecl.hpp - for saferecl_hp.cc and saferecl_rcu.cc: what [saferecl.hp] and [saferecl.rcu] say in the same words, told
 * once, for a domain D: the base that it gives, how to wait for all deleters, and what keeps an object.
 */
#ifndef LULL_TEST_SAFERECL_HPP
#define LULL_TEST_SAFERECL_HPP

#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include <lull/hazard_pointer>
#include <lull/rcu>

#include "test.hpp"

namespace
{

/* A clause that both have: a function of its name, which does what the template does. */
#define CLAUSE(name, ...)                                                                                              \
	TEST(name)                                                                                                     \
	{                                                                                                              \
		__VA_ARGS__();                                                                                         \
	}

struct of_hp {
	template <class T, class D> using base = lull::hazard_pointer_obj_base<T, D>;
	template <class T> static constexpr bool protectable = lull::detail::is_protectable<lull::hazard_pointer_obj_base, T>;
	static void barrier() { lull_hazptr_barrier(); }
};
struct of_rcu {
	template <class T, class D> using base = lull::rcu_obj_base<T, D>;
	template <class T> static constexpr bool protectable = lull::detail::is_protectable<lull::rcu_obj_base, T>;
	static void barrier() { lull::rcu_barrier(); }
};

template <class R, class T, class D = std::default_delete<T>> using base = typename R::template base<T, D>;

std::atomic<int> calls;
const char long_text[] = "a text that is too long to fit into the string itself";

/* The base is behind something else. */
template <class R> struct node_of : counted, base<R, node_of<R>> {
	explicit node_of(int v = 42) : value(v) {}
	~node_of() { value = -1; }

	std::atomic<int> value;
	std::atomic<node_of *> next{ nullptr };
};

/* Wait until all that is retired and not protected is gone; then so many are left. */
void left_are(int count)
{
	AWAIT(alive == count);
}

/* ---- which classes -------------------------------------------------------------------------------- */

struct deleter {
	template <class T> void operator()(T *p) const
	{
		delete p;
		calls++;
	}
};
template <class R> struct final_one final : base<R, final_one<R>> {
};
template <class R> struct hidden : private base<R, hidden<R>> {
};
template <class R> struct virtually : virtual base<R, virtually<R>> {
};
template <class R> struct other_base : base<R, node_of<R>> {
};
template <class R> struct child_of_one : node_of<R> {
};
template <class R> struct left : base<R, left<R>> {
};
template <class R> struct two : base<R, two<R>>, base<R, two<R>, deleter> {
};
template <class R> struct two_others : base<R, two_others<R>>, base<R, left<R>> {
};

template <class R> void is_protectable()
{
	static_assert(R::template protectable<node_of<R>> && R::template protectable<const node_of<R>> &&
		      R::template protectable<final_one<R>>);
	static_assert(!R::template protectable<hidden<R>> && !R::template protectable<virtually<R>> &&
		      !R::template protectable<other_base<R>> && !R::template protectable<child_of_one<R>> &&
		      !R::template protectable<two<R>> && !R::template protectable<two_others<R>>);
	static_assert(!R::template protectable<int> && !R::template protectable<counted> && !R::template protectable<void *>);
}

/* T may be incomplete where the base is named, and its pointers stored. */
template <class R> struct late_type;
template <class R> struct holds_late {
	std::atomic<late_type<R> *> p;
	base<R, late_type<R>> *as_base = nullptr;
};
template <class R> struct late_type : base<R, late_type<R>> {
	holds_late<R> *inside = nullptr;
};

template <class R> void may_be_incomplete()
{
	holds_late<R> holder{ { new late_type<R> } };

	holder.p.load()->retire();
	R::barrier();
}

/* ---- deleters ------------------------------------------------------------------------------------- */

template <class R> struct noted : base<R, noted<R>, void (*)(noted<R> *)> {
	int times = 0;
};

/* Each is reclaimed once, by a call with its address. */
template <class R> void is_called_once()
{
	static noted<R> notes[3];

	calls = 0;
	for (noted<R> &n : notes)
		n.retire([](noted<R> *p) {
			MUST(p >= notes && p < notes + 3);
			p->times++;
			calls++;
		});
	AWAIT(calls == 3);
	R::barrier();
	nap();
	R::barrier();
	for (noted<R> &n : notes)
		MUST(n.times == 1);
}

/* Stateful: it knows where to count, and what it has to free. */
struct stateful {
	std::shared_ptr<std::string> text;
	std::atomic<int> *count = nullptr;

	template <class T> void operator()(T *p)
	{
		MUST(*text == long_text);
		delete p;
		(*count)++;
	}
};
template <class R> struct with_state : counted, base<R, with_state<R>, stateful> {
};

template <class R> void deleter_is_an_object()
{
	auto text = std::make_shared<std::string>(long_text);
	std::atomic<int> count{ 0 };
	static noted<R> by_function;

	static_assert(noexcept(std::declval<with_state<R> &>().retire(stateful())));
	(new with_state<R>)->retire({ text, &count });
	AWAIT(count == 1);
	by_function.retire([](noted<R> *p) { p->times++; });
	R::barrier();
	MUST(alive == 0 && by_function.times == 1);
	MUST(text.use_count() == 1); /* the deleter is gone as well */
}

/* It can do what is asked for and no more: it is made by default, and assigned. */
struct default_only {
	default_only() = default;
	explicit default_only(int s) : state(s) {}
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
template <class R> struct with_default_only : counted, base<R, with_default_only<R>, default_only> {
};

template <class R> void deleter_is_made_and_assigned()
{
	calls = 0;
	(new with_default_only<R>)->retire();
	(new with_default_only<R>)->retire(default_only(5));
	AWAIT(calls == 6);
	MUST(alive == 0);
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
	template <class T> void operator()(T *p) { delete p; }

	bool constructed = true;
	static inline int assignments;
};
template <class R> struct with_assigned : base<R, with_assigned<R>, assigned> {
};

template <class R> void assigns_the_deleter()
{
	const int before = assigned::assignments;

	(new with_assigned<R>)->retire();
	MUST(assigned::assignments == before + 1);
	(new with_assigned<R>)->retire(assigned());
	MUST(assigned::assignments == before + 2);
	R::barrier();
}

/* ---- objects --------------------------------------------------------------------------------------- */

template <class R> void has_special_members()
{
	using b = base<R, final_one<R>>;
	using by_function = base<R, noted<R>, void (*)(noted<R> *)>;

	static_assert(!std::is_default_constructible_v<b> && !std::is_copy_constructible_v<b> && !std::is_move_constructible_v<b> &&
		      !std::is_copy_assignable_v<b> && !std::is_move_assignable_v<b> && !std::is_destructible_v<b>);
	static_assert(std::is_nothrow_default_constructible_v<final_one<R>> && std::is_trivially_copyable_v<b> &&
		      std::is_trivially_copyable_v<final_one<R>> && std::is_trivially_destructible_v<final_one<R>>);
	static_assert(std::is_trivially_copyable_v<by_function> && !std::is_trivially_copyable_v<base<R, with_state<R>, stateful>>);
	static_assert(sizeof(b) == 2 * sizeof(void *) && sizeof(final_one<R>) == sizeof(b));
	static_assert(sizeof(by_function) == 3 * sizeof(void *));
	/* A copy of an object, also of a retired one, is another object. */
	final_one<R> *p = new final_one<R>, *copy = new final_one<R>(*p);
	*copy = *p;
	p->retire();
	*copy = final_one<R>();
	copy->retire();
	R::barrier();
}

/* Bases at several places, destructors that are virtual. */
struct animal : counted {
	virtual ~animal() = default;
	long weight = 3;
};
template <class R> struct cat : animal, base<R, cat<R>> {
	std::string name = long_text;
};
template <class R> struct alignas(256) wide : base<R, wide<R>>, counted {
	char bytes[300];
};
template <class R> struct with_virtual_base : virtual counted, base<R, with_virtual_base<R>> {
	std::string name = long_text;
};

/* No deleter runs where a program may have locked what deleters lock: inside retire(), unlock(). */
std::mutex taken_by_deleter;
struct takes_lock {
	template <class T> void operator()(T *p) const
	{
		std::scoped_lock lock(taken_by_deleter);

		delete p;
	}
};
template <class R> struct with_takes_lock : counted, base<R, with_takes_lock<R>, takes_lock> {
};

template <class R> void runs_no_deleter_inside()
{
	for (int i = 0; i < 500; i++) {
		std::scoped_lock lock(taken_by_deleter);

		(new with_takes_lock<R>)->retire();
	}
	left_are(0);
}

/* ---- what only frees ------------------------------------------------------------------------------- */

struct front {
	long before;
};
template <class R> struct plain : front, base<R, plain<R>> {
	std::atomic<int> value{ 0 };
};
template <class R> struct alignas(128) wide_plain : front, base<R, wide_plain<R>> {
	long more[16];
};
/* A deleter that may do anything is not called inside retire(). */
thread_local bool retires;

void free_and_count(void *p)
{
	MUST(!retires);
	::operator delete(p);
	calls++;
}

template <class R> struct own_delete : base<R, own_delete<R>> {
	static void operator delete(void *p) { free_and_count(p); }
};
template <class R> struct own_sized_delete : base<R, own_sized_delete<R>> {
	static void operator delete(void *p, std::size_t size)
	{
		MUST(size == sizeof(own_sized_delete));
		free_and_count(p);
	}
};
struct delete_of_base : front {
	static void operator delete(void *p, std::size_t) { free_and_count(p); }
};
template <class R> struct inherits_delete : delete_of_base, base<R, inherits_delete<R>> {
};
/* Only std::default_delete may call this one. */
template <class R> struct hidden_delete : base<R, hidden_delete<R>> {
	static hidden_delete *make() { return new hidden_delete; }

      private:
	friend std::default_delete<hidden_delete>;
	static void operator delete(void *p) { free_and_count(p); }
};
template <class R> struct with_destructor : base<R, with_destructor<R>> {
	~with_destructor()
	{
		MUST(!retires);
		calls++;
	}
};

template <class T> constexpr bool is_plain = lull::detail::only_frees<T, std::default_delete<T>>();

/* Deleters that only free go by another queue; what is called, and with which alignment, stays the same. */
template <class R> void only_free()
{
	static_assert(is_plain<plain<R>> && is_plain<wide_plain<R>> && is_plain<final_one<R>> && is_plain<late_type<R>> &&
		      is_plain<int>);
	static_assert(!is_plain<node_of<R>> && !is_plain<own_delete<R>> && !is_plain<own_sized_delete<R>> &&
		      !is_plain<inherits_delete<R>> && !is_plain<hidden_delete<R>> && !is_plain<with_destructor<R>> &&
		      !is_plain<std::string> && !lull::detail::only_frees<two<R>, deleter>());
#ifdef __cpp_lib_destroying_delete
	struct destroying {
		static void operator delete(destroying *, std::destroying_delete_t)
		{
		}
	};
	static_assert(!is_plain<destroying>);
#endif
	calls = 0;
	retires = true;
	for (int i = 0; i < 2000; i++) {
		(new plain<R>)->retire();
		(new wide_plain<R>)->retire();
		(new own_delete<R>)->retire();
		(new own_sized_delete<R>)->retire();
		(new inherits_delete<R>)->retire();
		hidden_delete<R>::make()->retire();
		(new with_destructor<R>)->retire();
	}
	retires = false;
	R::barrier();
	MUST(calls == 5 * 2000);
}

/* ---- many threads ---------------------------------------------------------------------------------- */

/* Readers of a place that changes all the time: they @look at it, while others @retire what was there. */
template <class T, class Look, class Retire> void look_and_retire(Look look, Retire retire)
{
	std::atomic<T *> src{ new T };
	std::atomic<bool> stop{ false };

	in_threads(4, [&](int me) {
		while (me < 3 && !stop)
			look(src);
		for (int i = 0; me == 3 && i < 20000; i++)
			retire(src.exchange(new T), i);
		stop = true;
	});
	src.load()->retire();
	left_are(0);
}

} // namespace

#endif /* LULL_TEST_SAFERECL_HPP */
