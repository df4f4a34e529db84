/* SPDX-License-Identifier: MIT */
/*
 * memory.cc - who allocates, what is called when there is no memory, and which operator delete frees.
 */
#include <cerrno>
#include <cstdlib>
#include <new>

#include <lull/counted.hpp>
#include <lull/hazard_pointer>
#include <lull/rcu>
#include <lull/rcu_domain.hpp>
#include <lull/rcu_ptr.hpp>

#include "test.hpp"

#if SANITIZED

SKIPPED("sanitizers have operators new of their own")

#else

namespace
{

thread_local int news; /* of this thread */
std::atomic<int> plain_deletes, sized_deletes, aligned_deletes;
std::atomic<std::size_t> last_size, last_alignment;
bool no_new, no_blocks, no_counts;

void *take(std::size_t size, std::size_t alignment)
{
	void *p = nullptr;

	news++;
	if (no_new || posix_memalign(&p, alignment < sizeof(void *) ? sizeof(void *) : alignment, size) != 0)
		throw std::bad_alloc();
	return p;
}

} // namespace

/* The pool's allocations. */
extern "C" void *aligned_alloc(std::size_t alignment, std::size_t size) noexcept
{
	void *p = nullptr;

	return no_blocks || posix_memalign(&p, alignment, size) != 0 ? nullptr : p;
}

/* The counts' allocations. */
extern "C" void *calloc(std::size_t number, std::size_t size) noexcept
{
	void *p = nullptr;

	return no_counts || posix_memalign(&p, 64, number * size) != 0 ? nullptr : std::memset(p, 0, number * size);
}

void *operator new(std::size_t size)
{
	return take(size, 1);
}

void *operator new(std::size_t size, std::align_val_t alignment)
{
	return take(size, static_cast<std::size_t>(alignment));
}

void operator delete(void *p) noexcept
{
	plain_deletes++;
	std::free(p);
}

void operator delete(void *p, std::size_t size) noexcept
{
	sized_deletes++;
	last_size = size;
	std::free(p);
}

void operator delete(void *p, std::align_val_t alignment) noexcept
{
	aligned_deletes++;
	last_alignment = static_cast<std::size_t>(alignment);
	std::free(p);
}

void operator delete(void *p, std::size_t size, std::align_val_t alignment) noexcept
{
	aligned_deletes++;
	last_size = size;
	last_alignment = static_cast<std::size_t>(alignment);
	std::free(p);
}

namespace
{

struct node : lull::hazard_pointer_obj_base<node> {
	int value = 42;
};
struct plain : lull::rcu_obj_base<plain> {
	char bytes[72];
};
struct alignas(128) wide : lull::rcu_obj_base<wide> {
	char bytes[200];
};

template <class Base> constexpr std::size_t size = sizeof(Base);

/* The matching deallocation. Some compilers pass the size only when asked to (-fsized-deallocation). */
TEST(matching_delete)
{
	const int deletes = plain_deletes + sized_deletes;

	last_size = 0;
	(new plain)->retire();
	lull::rcu_barrier();
	MUST(plain_deletes + sized_deletes == deletes + 1);
	MUST(last_size == 0 || last_size == size<plain>);
#ifdef __cpp_sized_deallocation
	MUST(last_size == size<plain>);
#endif
	(new wide)->retire();
	lull::rcu_barrier();
	MUST(aligned_deletes == 1 && last_alignment == 128);
	MUST(last_size == size<wide> || last_size == size<plain> || last_size == 0);
	(new node)->retire();
	lull_hazptr_barrier();
	MUST(plain_deletes + sized_deletes == deletes + 2);
}

TEST(retire_allocates_nothing)
{
	node *n = new node;
	plain *p = new plain;
	int *i = new int(3);

	news = 0;
	no_new = true;
	n->retire();
	p->retire();
	MUST(news == 0);
	no_new = false;
	lull::rcu_retire(i);
	MUST(news == 1);
	lull::rcu_barrier();
	MUST(news == 1);
	const int deletes = plain_deletes + sized_deletes;

	lull::rcu_retire(new int(4));
	lull::rcu_barrier();
	MUST(plain_deletes + sized_deletes == deletes + 2); /* what was allocated is given back, too */
	lull_hazptr_barrier();
}

TEST(saferecl_rcu_domain_func_retire_without_memory)
{
	int *i = new int(3);

	no_new = true;
	MUST(throws<std::bad_alloc>([&] { lull::rcu_retire(i); }));
	no_new = false;
	lull::rcu_barrier();
	MUST(*i == 3);
	delete i;
}

struct page : lull::srcu_obj_base<page> {
};

TEST(srcu_memory)
{
	page *p = new page;
	int *i = new int(3);

	no_counts = true;
	MUST(throws<std::bad_alloc>([] { lull::srcu_domain none; }));
	no_counts = false;
	lull::srcu_domain pages;
	news = 0;
	no_new = true;
	p->retire(pages);
	MUST(news == 0);
	MUST(throws<std::bad_alloc>([&] { pages.retire(i); }));
	no_new = false;
	pages.barrier();
	MUST(*i == 3);
	news = 0;
	pages.retire(i);
	pages.barrier();
	MUST(news == 1);
}

TEST(saferecl_hp_holder_nonmem_make_without_memory)
{
	lull::hazard_pointer all[100];
	int made = 0;

	lull::make_hazard_pointer() = lull::hazard_pointer(); /* now there is a block */
	no_blocks = true;
	MUST(throws<std::bad_alloc>([&] {
		for (; made < 100; made++)
			all[made] = lull::make_hazard_pointer();
	}));
	MUST(made > 1 && all[made].empty());
	all[made - 1] = lull::hazard_pointer();
	all[made - 1] = lull::make_hazard_pointer(); /* that one is there */
	no_blocks = false;
	all[made] = lull::make_hazard_pointer();
}

/* How many can be made without memory? */
int how_many()
{
	lull::hazard_pointer all[100];
	int made = 0;

	no_blocks = true;
	MUST(throws<std::bad_alloc>([&] {
		for (; made < 100; made++)
			all[made] = lull::make_hazard_pointer();
	}));
	no_blocks = false;
	return made;
}

/* All or nothing: what was not empty stays, with what it protects, and what was empty is. */
TEST(saferecl_hp_holder_nonmem_make_batch_without_memory)
{
	lull::hazard_pointer all[100];
	node *n = new node;
	const int before = how_many();

	all[1] = lull::make_hazard_pointer();
	all[1].reset_protection(n);
	all[50] = lull::make_hazard_pointer();
	n->retire();
	for (int round = 0; round < 3; round++) { /* those that were made are there again */
		no_blocks = true;
		MUST(throws<std::bad_alloc>([&] { lull::make_hazard_pointer_batch(all); }));
		no_blocks = false;
		for (int i = 0; i < 100; i++)
			MUST(all[i].empty() == (i != 1 && i != 50));
		MUST(lull_hazptr_barrier_timeout(20) == -ETIMEDOUT && n->value == 42);
	}
	MUST(how_many() == before - 2); /* none is lost */
	lull::make_hazard_pointer_batch(all);
	for (const lull::hazard_pointer &h : all)
		MUST(!h.empty());
	all[1].reset_protection();
	lull_hazptr_barrier();
}

/* ---- cohort.hpp, held.hpp, rcu_ptr.hpp, counted.hpp ---------------------------------------------- */

struct object : living, lull::bridge_cohort_obj_base<object> {
};
struct by_hazptr : living, lull::cohort_obj_base<by_hazptr> {
};
struct by_rcu : living, lull::rcu_cohort_obj_base<by_rcu> {
};
struct alone : living, lull::bridge_obj_base<alone> {
};
struct simple : living, lull::counted_base<simple> {
};
struct scaled : living, lull::counted_base<scaled, lull::by_percpu_ref> {
};

/* A call that retires asks neither operator new nor the pool for anything. */
TEST(retires)
{
	lull::cohort c;
	object *o = new object, *p = new object;
	by_hazptr *h = new by_hazptr, *i = new by_hazptr;
	by_rcu *r = new by_rcu, *s = new by_rcu;
	alone *a = new alone;
	lull::rcu_ptr<alone> pointer(std::unique_ptr<alone>(new alone));
	auto second = std::unique_ptr<alone>(new alone);
	lull::counted_ptr<simple> counted(lull::make_counted<simple>());

	lull_hazptr_barrier(); /* the thread's queues are there */
	no_new = no_blocks = true;
	o->retire_to_cohort(c);
	p->retire();
	h->retire_to_cohort(c);
	i->retire();
	r->retire_to_cohort(c);
	s->retire();
	a->retire();
	pointer.publish(std::move(second));
	pointer.exchange(nullptr).reset();
	{
		lull::counted<simple> one = counted.get(), two = one;
	}
	counted.publish(nullptr);
	c.wait();
	no_new = no_blocks = false;
}

/* More holds than there is memory for; those that there are go on. */
TEST(holds)
{
	std::atomic<alone *> shared{new alone};
	lull::rcu_ptr<alone> pointer(std::unique_ptr<alone>(new alone));
	lull::held<alone> all[100];
	int made = 0;

	all[0] = lull::hold(shared);
	no_blocks = true;
	MUST(throws<std::bad_alloc>([&] {
		for (; made < 100; made++)
			all[made] = lull::hold(shared);
	}));
	MUST(made > 1 && !all[made]);
	MUST(throws<std::bad_alloc>([&] { (void)pointer.hold(); }));
	{
		lull::rcu_section section;

		MUST(throws<std::bad_alloc>([&] { (void)lull::keep(shared.load()); }));
		MUST(throws<std::bad_alloc>([&] { (void)pointer.hold(section); }));
		MUST(!lull::keep(static_cast<alone *>(nullptr)));
	}
	shared.load()->retire();
	for (int n = 0; n < made; n++)
		MUST(all[n]->is_whole());
	no_blocks = false;
	for (auto &kept : all)
		kept.reset();
	pointer.publish(nullptr);
}

/* An object for whose counts there is no memory is not made. */
TEST(counts)
{
	no_counts = true;
	MUST(throws<std::bad_alloc>([] { (void)lull::make_counted<scaled>(); }));
	no_counts = false;
	MUST(alive == 0);
	no_new = true;
	MUST(throws<std::bad_alloc>([] { (void)lull::make_counted<simple>(); }));
	no_new = false;
	auto made = lull::make_counted<scaled>();
	MUST(made->is_whole());
	made.reset();
	lull_rcu_barrier();
}

AFTER_EACH(none_alive);

} // namespace

#endif
