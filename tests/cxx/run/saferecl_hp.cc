/* SPDX-License-Identifier: MIT */
/*
 * saferecl_hp.cc - [saferecl.hp] of the C++ standard, sentence by sentence: docs/CXX.md has the table.
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <vector>

#include <lull/hash.h>

#include "saferecl.hpp"

#ifdef __cpp_lib_span
#include <span>
#endif

namespace
{

using lull::hazard_pointer;
using lull::hazard_pointer_obj_base;
using lull::make_hazard_pointer;
using node = node_of<of_hp>;

void stay(int count)
{
	MUST(lull_hazptr_barrier_timeout(20) == -ETIMEDOUT);
	MUST(alive == count);
}

/* Make one that is retired, and stays as long as @h protects it. */
node *retired_under(hazard_pointer &h)
{
	node *p = new node;

	h.reset_protection(p);
	p->retire();
	return p;
}

/* ---- [saferecl.hp.general] ---------------------------------------------------------------------- */

TEST(saferecl_hp_general_owner_protects)
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

CLAUSE(saferecl_hp_general_protectable, is_protectable<of_hp>)

TEST(saferecl_hp_general_unassociated_upon_creation)
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

TEST(saferecl_hp_general_epochs)
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

CLAUSE(saferecl_hp_general_reclaimed_once, is_called_once<of_hp>)

/* An object that try_protect() found stays. */
TEST(saferecl_hp_general_coherence)
{
	look_and_retire<node>(
		[](std::atomic<node *> &src) {
			hazard_pointer h = make_hazard_pointer();
			node *p = src.load(std::memory_order_relaxed);

			while (!h.try_protect(p, src))
				;
			MUST(p->value == 42);
			sched_yield();
			MUST(p->value == 42);
			h.protect(src);
		},
		[](node *old, int) { old->retire(); });
}

/* A reader that stalls keeps what it protects, and nothing else. */
TEST(saferecl_hp_general_bound)
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

TEST(hazard_pointer_syn_names)
{
	static_assert(std::is_same_v<hazard_pointer_obj_base<node>, hazard_pointer_obj_base<node, std::default_delete<node>>>);
	static_assert(std::is_same_v<decltype(lull::make_hazard_pointer()), hazard_pointer>);
	static_assert(!noexcept(lull::make_hazard_pointer()));
	static_assert(noexcept(lull::swap(std::declval<hazard_pointer &>(), std::declval<hazard_pointer &>())));
	static_assert(sizeof(hazard_pointer) == sizeof(void *));
	static_assert(std::is_same_v<lull::std_::hazard_pointer, hazard_pointer>);
}

/* ---- [saferecl.hp.base] -------------------------------------------------------------------------- */

CLAUSE(saferecl_hp_base_deleter_is_a_function_object, deleter_is_an_object<of_hp>)
CLAUSE(saferecl_hp_base_deleter_requirements, deleter_is_made_and_assigned<of_hp>)
CLAUSE(saferecl_hp_base_incomplete_type, may_be_incomplete<of_hp>)
CLAUSE(saferecl_hp_base_special_members, has_special_members<of_hp>)

/* A copy of a retired object is another object. */
TEST(saferecl_hp_base_copy_of_a_retired_object)
{
	struct copied : counted, hazard_pointer_obj_base<copied> {
	};
	copied *p = new copied, *copy;
	hazard_pointer h = make_hazard_pointer();

	h.reset_protection(p);
	p->retire();
	copy = new copied(*p);
	*copy = *p;
	copy->retire();
	left_are(1);
	h.reset_protection();
	left_are(0);
}

TEST(saferecl_hp_base_retire_is_noexcept)
{
	static_assert(noexcept(std::declval<node &>().retire()));
}

CLAUSE(saferecl_hp_base_retire_assigns_the_deleter, assigns_the_deleter<of_hp>)

TEST_OF(T, saferecl_hp_base_retire_reclaims_objects_of_any_shape, node, cat<of_hp>, wide<of_hp>, with_virtual_base<of_hp>)
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

TEST(saferecl_hp_base_retire_in_a_deleter)
{
	(new chained(50))->retire();
	left_are(0);
	lull_hazptr_barrier();
}

CLAUSE(saferecl_hp_base_retire_with_a_lock_held, runs_no_deleter_inside<of_hp>)

/* ---- what only frees ------------------------------------------------------------------------------ */

CLAUSE(only_frees, only_free<of_hp>)

/* There is no other thread that could free, as lull starts none here. Not what is protected. */
TEST(the_thread_that_retires_frees)
{
	struct lull_reclaim_counts counts;
	std::atomic<plain<of_hp> *> src{ new plain<of_hp> };
	hazard_pointer h = make_hazard_pointer();
	plain<of_hp> *kept = h.protect(src);

	set_mode(LULL_RECLAIM_POLL);
	kept->retire();
	for (int i = 0; i < 20000; i++)
		(new plain<of_hp>)->retire();
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
	set_mode(LULL_RECLAIM_THREAD);
}

/* Readers find each as it was made, whoever frees it: this thread, another one that retires, or the reclaimer. */
TEST(plain_ones_are_read_while_they_go)
{
	std::atomic<plain<of_hp> *> src[4] = {};
	std::atomic<int> over{ 0 };

	for (auto &s : src)
		(s = new plain<of_hp>)->value = 7;
	in_threads(4, [&](int me) {
		hazard_pointer one = make_hazard_pointer(), other = make_hazard_pointer();

		for (unsigned i = 0; me < 2 && over < 2; i++) {
			plain<of_hp> *p = one.protect(src[i % 4]), *q = other.protect(src[(i + 1) % 4]);

			MUST(p->value == 7 && q->value == 7);
		}
		if (me < 2)
			return;
		for (int i = 0; i < 5000; i++) {
			auto *fresh = new plain<of_hp>;

			fresh->value = 7;
			src[(i + me) % 4].exchange(fresh)->retire();
			if (i % 64 == 0)
				sched_yield();
		}
		over++;
	});
	for (auto &s : src)
		s.exchange(nullptr)->retire();
	lull_hazptr_barrier();
}

TEST(synchronize_knows_the_base)
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

static_assert(std::is_nothrow_default_constructible_v<hazard_pointer> && std::is_nothrow_move_constructible_v<hazard_pointer> &&
	      std::is_nothrow_move_assignable_v<hazard_pointer> && std::is_nothrow_swappable_v<hazard_pointer> &&
	      !std::is_copy_constructible_v<hazard_pointer> && !std::is_copy_assignable_v<hazard_pointer>);

bool is_named(hazard_pointer_obj_base<node> *base)
{
	return lull_hazptr_synchronize_timeout(base, 0) == -ETIMEDOUT;
}

/* Hazard pointers, and a plain model: which object each of them protects. */
enum { EMPTY = -2, NOTHING = -1, OBJECTS = 3, PLACES = 6 };
struct holders {
	hazard_pointer h[PLACES];
	int model[PLACES] = { EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY };
	node objects[OBJECTS];
	std::atomic<node *> src{ nullptr };
	std::uint64_t random = test_seed();

	int chance(int limit)
	{
		random += 0x9e3779b97f4a7c15u;
		return static_cast<int>((lull_hash_mix64(random) >> 33) % static_cast<unsigned>(limit));
	}
	node *object(int which) { return which == NOTHING ? nullptr : &objects[which]; }
	/* Empty ones may not protect. */
	bool can_protect(int i) const { return model[i] != EMPTY; }

	void check()
	{
		for (int i = 0; i < PLACES; i++)
			MUST(h[i].empty() == (model[i] == EMPTY));
		for (int k = 0; k < OBJECTS; k++)
			MUST(is_named(&objects[k]) == (std::count(model, model + PLACES, k) > 0));
	}
};

/* CLAUSE_STEP(name) { what may be done with places @i and @j, and object @k or none } */
std::vector<void (*)(holders &all, int i, int j, int k)> steps;
#define CLAUSE_STEP(name)                                                                                              \
	static void name(holders &, int, int, int);                                                                    \
	[[maybe_unused]] static const bool has_##name = (steps.push_back(name), true);                                 \
	static void name([[maybe_unused]] holders &all, [[maybe_unused]] int i, [[maybe_unused]] int j, [[maybe_unused]] int k)

CLAUSE_STEP(saferecl_hp_holder_ctor_default_is_empty)
{
	all.h[i].~hazard_pointer();
	new (&all.h[i]) hazard_pointer;
	all.model[i] = EMPTY;
}

CLAUSE_STEP(saferecl_hp_holder_ctor_destructor_ends_the_epoch)
{
	hazard_pointer h = make_hazard_pointer(), none;

	if (all.can_protect(i))
		h.reset_protection(all.object(k));
}

CLAUSE_STEP(saferecl_hp_holder_ctor_move)
{
	hazard_pointer moved(std::move(all.h[j]));

	MUST(all.h[j].empty() && moved.empty() == !all.can_protect(j));
	all.h[j].~hazard_pointer();
	new (&all.h[j]) hazard_pointer(std::move(moved));
	MUST(moved.empty());
}

/* To itself it has no effect. */
CLAUSE_STEP(saferecl_hp_holder_ctor_move_assignment)
{
	hazard_pointer &returned = (all.h[i] = std::move(all.h[j]));

	MUST(&returned == &all.h[i]);
	if (i != j)
		all.model[i] = std::exchange(all.model[j], +EMPTY);
}

CLAUSE_STEP(makes_one)
{
	all.h[i] = make_hazard_pointer();
	all.model[i] = NOTHING;
}

CLAUSE_STEP(saferecl_hp_holder_mem_protect)
{
	all.src = all.object(k);
	if (all.can_protect(i)) {
		MUST(all.h[i].protect(all.src) == all.object(k));
		all.model[i] = k;
	}
}

/* If it fails, it protects nothing, and has seen what is there. */
CLAUSE_STEP(saferecl_hp_holder_mem_try_protect)
{
	node *seen = all.object(j % (OBJECTS + 1) - 1);

	all.src = all.object(k);
	if (all.can_protect(i)) {
		const bool is_same = seen == all.object(k);

		MUST(all.h[i].try_protect(seen, all.src) == is_same && seen == all.object(k));
		all.model[i] = is_same ? k : NOTHING;
	}
}

CLAUSE_STEP(saferecl_hp_holder_mem_reset_protection)
{
	if (!all.can_protect(i))
		return;
	if (j == 0)
		all.h[i].reset_protection();
	else if (j == 1)
		all.h[i].reset_protection(nullptr);
	else /* of a null pointer value, too */
		all.h[i].reset_protection(static_cast<const node *>(all.object(k)));
	all.model[i] = j < 2 ? +NOTHING : k;
}

CLAUSE_STEP(saferecl_hp_holder_mem_swap)
{
	all.h[i].swap(all.h[j]);
	std::swap(all.model[i], all.model[j]);
}

CLAUSE_STEP(saferecl_hp_holder_nonmem_swap)
{
	if (k == NOTHING)
		std::swap(all.h[i], all.h[j]);
	else
		swap(all.h[i], all.h[j]); /* found by its arguments */
	std::swap(all.model[i], all.model[j]);
}

/* One that is not empty stays what it is. */
CLAUSE_STEP(saferecl_hp_holder_nonmem_make_batch)
{
	lull::make_hazard_pointer_batch(all.h + i, PLACES - static_cast<std::size_t>(i));
	std::replace(all.model + i, all.model + PLACES, +EMPTY, +NOTHING);
}

CLAUSE_STEP(saferecl_hp_holder_nonmem_clear_batch)
{
	lull::clear_hazard_pointer_batch(all.h, static_cast<std::size_t>(i));
	std::fill(all.model, all.model + i, +EMPTY);
}

TEST(saferecl_hp_holder_mem_empty)
{
	holders all;

	node *seen;

	static_assert(noexcept(all.h[0].empty()) && noexcept(all.h[0].protect(all.src)) && noexcept(all.h[0].swap(all.h[1])) &&
		     noexcept(all.h[0].reset_protection(all.objects)) && noexcept(all.h[0].reset_protection(nullptr)) &&
		     noexcept(all.h[0].reset_protection()) && noexcept(all.h[0].try_protect(seen, all.src)) &&
		      noexcept(lull::clear_hazard_pointer_batch(all.h)));
	all.check();
	for (int n = 0; n < 3000; n++) {
		const int which = all.chance(static_cast<int>(steps.size())), i = all.chance(PLACES), j = all.chance(PLACES);

		steps[static_cast<std::size_t>(which)](all, i, j, all.chance(OBJECTS + 1) - 1);
		all.check();
	}
}

/*
 * The place changes between the two looks: when the slot releases an object that is parked because of it, lull calls
 * the program's notify().
 */
std::atomic<node *> changing;
node *changed_to;

void change(void *) noexcept
{
	if (changed_to)
		changing = std::exchange(changed_to, nullptr);
}

void park(hazard_pointer &h, node *from, node *to)
{
	node *p = retired_under(h);

	lull_reclaim_poll(100, 0);
	MUST(alive == 3 && p->value == 42);
	changing = from;
	changed_to = to;
}

TEST(saferecl_hp_holder_mem_protect_looks_again)
{
	node *a = new node, *b = new node, *seen = a;
	hazard_pointer h = make_hazard_pointer();

	set_mode(LULL_RECLAIM_POLL, change);
	park(h, a, b);
	MUST(h.protect(changing) == b && !changed_to);
	MUST(is_named(b) && !is_named(a));
	h.reset_protection();
	lull_reclaim_poll(100, 0);
	MUST(alive == 2);
	park(h, a, b);
	MUST(!h.try_protect(seen, changing) && seen == b && !changed_to);
	MUST(!is_named(a) && !is_named(b));
	set_mode(LULL_RECLAIM_THREAD);
	a->retire();
	b->retire();
	left_are(0);
}

/* A list that marks the pointers of nodes that are being removed: the clean address is protected. */
TEST(saferecl_hp_holder_mem_reset_protection_of_a_marked_pointer)
{
	const auto change_mark = [](node *p) { return reinterpret_cast<node *>(reinterpret_cast<std::uintptr_t>(p) ^ 1); };
	node *n = new node, *p;
	std::atomic<node *> src{ change_mark(n) };
	hazard_pointer h = make_hazard_pointer();

	do {
		p = src.load(std::memory_order_relaxed);
		h.reset_protection(change_mark(p));
	} while (src.load(std::memory_order_acquire) != p);
	src = nullptr;
	n->retire();
	stay(1);
	MUST(change_mark(p)->value == 42);
	h.reset_protection();
	left_are(0);
}

/* ---- beyond the standard: sources that are no std::atomic<T *> ------------------------------------------------ */

/* A number of an element in a table, which changes between two looks. */
TEST(protect_by_function)
{
	node *table[] = { new node, new node, nullptr };
	std::atomic<unsigned> index{ 0 };
	unsigned looks = 0, next = 0;
	const auto look = [&] {
		node *p = table[index.load(std::memory_order_acquire)];

		if (++looks == 1)
			index = next;
		return p;
	};
	const auto nothing = []() noexcept { return static_cast<node *>(nullptr); };
	hazard_pointer h = make_hazard_pointer();

	static_assert(noexcept(h.protect(nothing)) && !noexcept(h.protect(look)), "it may throw what the function throws");
	for (const unsigned to : { 0u, 1u, 2u }) {
		index = 0;
		looks = 0;
		next = to;
		MUST(h.protect(look) == table[to]);
		MUST(looks == (to ? 3 : 2));
		MUST(is_named(table[0]) == (to == 0) && is_named(table[1]) == (to == 1));
	}
	h.protect([&] { return table[1]; });
	table[1]->retire();
	stay(2);
	h.reset_protection();
	left_are(1);
	delete table[0];
}

TEST(try_protect_by_function)
{
	node *a = new node, *b = new node, *seen = a;
	hazard_pointer h = make_hazard_pointer();
	bool thrown = false;

	MUST(h.try_protect(seen, [&] { return a; }) && seen == a && is_named(a));
	MUST(!h.try_protect(seen, [&]() noexcept { return b; }) && seen == b && !is_named(a) && !is_named(b));
	MUST(!h.try_protect(seen, [] { return nullptr; }) && !seen);
	MUST(h.try_protect(seen, [] { return nullptr; }) && !seen);
	try {
		seen = b;
		h.try_protect(seen, []() -> node * { throw 1; });
	} catch (int) {
		thrown = true;
	}
	MUST(thrown && seen == b && is_named(b) && !is_named(a));
	delete a;
	delete b;
}

TEST(saferecl_hp_holder_nonmem_make)
{
	std::vector<hazard_pointer> many;
	std::vector<node *> nodes;

	for (int i = 0; i < 500; i++) { /* no limit of eight */
		many.push_back(make_hazard_pointer());
		MUST(!many.back().empty());
		nodes.push_back(retired_under(many.back()));
	}
	stay(500);
	for (node *p : nodes)
		MUST(p->value == 42);
	many.erase(many.begin(), many.begin() + 250);
	left_are(250);
	many.clear();
	left_are(0);
}

/* Made here, used there, ended on a third thread; and of a thread that is gone. */
TEST(saferecl_hp_holder_moved_between_threads)
{
	std::atomic<node *> src{ new node };
	hazard_pointer h;
	node *p = nullptr;

	runner([&] {
		h = make_hazard_pointer();
		p = h.protect(src);
	}).join();
	p->retire();
	stay(1);
	MUST(p->value == 42);
	runner([moved = std::move(h)]() mutable { moved = hazard_pointer(); }).join();
	left_are(0);
}

/* ---- batches (C++29) ------------------------------------------------------------------------------ */

TEST(saferecl_hp_holder_nonmem_batch_of_any_kind)
{
	std::array<hazard_pointer, 20> batch;
	std::vector<hazard_pointer> vector(3);
	hazard_pointer array[2];

	lull::make_hazard_pointer_batch(batch);
	lull::make_hazard_pointer_batch(vector);
	lull::make_hazard_pointer_batch(array);
	for (const hazard_pointer &h : batch)
		MUST(!h.empty());
	MUST(!vector[0].empty() && !vector[2].empty() && !array[1].empty());
	lull::make_hazard_pointer_batch(nullptr, 0);
	lull::clear_hazard_pointer_batch(batch);
	for (const hazard_pointer &h : batch)
		MUST(h.empty());
#ifdef __cpp_lib_span
	hazard_pointer more[5];

	lull::make_hazard_pointer_batch(std::span<hazard_pointer>());
	lull::make_hazard_pointer_batch(std::span(more).subspan(1, 3));
	MUST(more[0].empty() && !more[1].empty() && !more[3].empty() && more[4].empty());
#endif
}

} // namespace
