/* SPDX-License-Identifier: MIT */
/*
 * saferecl_hp.cc - [saferecl.hp] of the C++ standard, sentence by sentence: docs/CXX.md has the table.
 */
#include <array>
#include <cerrno>
#include <cstdint>

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

/* Whatever try_protect() found stays. */
TEST(saferecl_hp_general_coherence)
{
	look_and_retire<node>(
		[](std::atomic<node *> &src) {
			hazard_pointer h = make_hazard_pointer();
			node *p = src.load(std::memory_order_relaxed);

			while (!h.try_protect(p, src))
				;
			MUST(p->value == 42);
			std::this_thread::yield();
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

/* Those that read find each as it was made, whoever frees it: this thread, another one that retires, or the reclaimer. */
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
				std::this_thread::yield();
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

TEST(saferecl_hp_holder_ctor_default_is_empty)
{
	hazard_pointer h;

	MUST(h.empty());
	static_assert(std::is_nothrow_default_constructible_v<hazard_pointer> && std::is_nothrow_move_constructible_v<hazard_pointer> &&
		      std::is_nothrow_move_assignable_v<hazard_pointer> && std::is_nothrow_swappable_v<hazard_pointer>);
	static_assert(!std::is_copy_constructible_v<hazard_pointer> && !std::is_copy_assignable_v<hazard_pointer>);
}

TEST(saferecl_hp_holder_ctor_move)
{
	hazard_pointer none, h = make_hazard_pointer();

	retired_under(h);
	hazard_pointer g(std::move(h)), still_none(std::move(none));
	MUST(h.empty() && !g.empty() && none.empty() && still_none.empty());
	stay(1);
	g.reset_protection();
	left_are(0);
}

TEST(saferecl_hp_holder_ctor_destructor_ends_the_epoch)
{
	{
		hazard_pointer h = make_hazard_pointer(), none;

		retired_under(h);
		stay(1);
	}
	left_are(0);
}

TEST(saferecl_hp_holder_ctor_move_assignment)
{
	hazard_pointer h = make_hazard_pointer(), g = make_hazard_pointer(), none, &itself = h;
	node *q;

	retired_under(h);
	q = retired_under(g);
	stay(2);
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

TEST(saferecl_hp_holder_mem_empty)
{
	hazard_pointer h;

	static_assert(noexcept(h.empty()));
	MUST(h.empty());
	h = make_hazard_pointer();
	MUST(!h.empty()); /* unassociated is not empty */
	h.reset_protection();
	MUST(!h.empty());
}

TEST(saferecl_hp_holder_mem_protect)
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

TEST(saferecl_hp_holder_mem_try_protect)
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

void park(hazard_pointer &h, node *from, node *to)
{
	node *p = retired_under(h);

	lull_reclaim_poll(100, 0);
	MUST(alive == 3 && p->value == 42);
	changing = from;
	changed_to = to;
}

bool is_named(hazard_pointer_obj_base<node> *base)
{
	return lull_hazptr_synchronize_timeout(base, 0) == -ETIMEDOUT;
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

TEST(saferecl_hp_holder_mem_reset_protection)
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
	retired_under(h);
	stay(1);
	h.reset_protection(nullptr);
	left_are(0);
}

TEST(saferecl_hp_holder_mem_swap)
{
	hazard_pointer h = make_hazard_pointer(), g = make_hazard_pointer(), none;
	node *p = retired_under(h);

	static_assert(noexcept(h.swap(g)));
	retired_under(g);
	h.swap(g);
	stay(2);
	h.reset_protection(); /* that of the second */
	left_are(1);
	MUST(p->value == 42);
	g.swap(none);
	MUST(g.empty() && !none.empty());
	stay(1);
	none.reset_protection();
	left_are(0);
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

TEST(saferecl_hp_holder_nonmem_swap)
{
	hazard_pointer h = make_hazard_pointer(), none;

	retired_under(h);
	swap(h, none); /* found by its arguments */
	MUST(h.empty());
	std::swap(h, none);
	MUST(none.empty());
	stay(1);
	h = hazard_pointer();
	left_are(0);
}

/* Made here, used there, ended on a third thread; and of a thread that is gone. */
TEST(saferecl_hp_holder_moved_between_threads)
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

TEST(saferecl_hp_holder_nonmem_make_batch)
{
	std::array<hazard_pointer, 20> batch;
	std::vector<hazard_pointer> vector(3);
	hazard_pointer array[2];

	batch[3] = make_hazard_pointer(); /* one that is not empty stays what it is */
	retired_under(batch[3]);
	lull::make_hazard_pointer_batch(batch);
	for (const hazard_pointer &h : batch)
		MUST(!h.empty());
	stay(1);
	batch[3].reset_protection();
	left_are(0);
	lull::make_hazard_pointer_batch(vector);
	lull::make_hazard_pointer_batch(array);
	MUST(!vector[0].empty() && !vector[2].empty() && !array[1].empty());
	lull::make_hazard_pointer_batch(nullptr, 0);
#ifdef __cpp_lib_span
	hazard_pointer more[5];

	lull::make_hazard_pointer_batch(std::span<hazard_pointer>());
	lull::make_hazard_pointer_batch(std::span(more).subspan(1, 3));
	MUST(more[0].empty() && !more[1].empty() && !more[3].empty() && more[4].empty());
#endif
}

TEST(saferecl_hp_holder_nonmem_clear_batch)
{
	std::array<hazard_pointer, 12> batch;

	static_assert(noexcept(lull::clear_hazard_pointer_batch(batch)));
	lull::make_hazard_pointer_batch(batch);
	retired_under(batch[7]);
	batch[2] = hazard_pointer();
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
	return run_tests(argc, argv);
}
