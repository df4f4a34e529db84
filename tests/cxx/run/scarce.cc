/* SPDX-License-Identifier: MIT */
/*
 * scarce.cc - cohort.hpp, held.hpp, rcu_ptr.hpp and counted.hpp: who allocates, and what is called when there is no memory.
 */
#include <cstdlib>
#include <cstring>
#include <new>

#include <lull/counted.hpp>
#include <lull/hazard_pointer>
#include <lull/rcu_ptr.hpp>

#include "test.hpp"

#if SANITIZED

int main()
{
	std::puts("skipped: sanitizers have operators new of their own");
	return 77;
}

#else

namespace
{

bool no_new, no_blocks, no_counts;

void *take(std::size_t size, bool is_there)
{
	void *p = nullptr;

	return is_there && posix_memalign(&p, 64, size) == 0 ? p : nullptr;
}

} // namespace

/* Not inlined: gcc would see free() beside new, and warn. */
#define NOT_INLINE __attribute__((noinline))

NOT_INLINE void *operator new(std::size_t size)
{
	void *p = take(size, !no_new);

	if (!p)
		throw std::bad_alloc();
	return p;
}

NOT_INLINE void operator delete(void *p) noexcept
{
	std::free(p);
}

NOT_INLINE void operator delete(void *p, std::size_t) noexcept
{
	std::free(p);
}

/* Of the pool of hazard pointers. */
extern "C" void *aligned_alloc(std::size_t alignment, std::size_t size) noexcept
{
	void *p = nullptr;

	return no_blocks || posix_memalign(&p, alignment, size) != 0 ? nullptr : p;
}

/* Of the counts. */
extern "C" void *calloc(std::size_t number, std::size_t size) noexcept
{
	void *p = take(number * size, !no_counts);

	return p ? std::memset(p, 0, number * size) : nullptr;
}

namespace
{

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

/* Nothing that retires asks operator new for anything, nor the pool. */
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

} // namespace

int main(int argc, char **argv)
{
	return run_tests(argc, argv, none_alive);
}

#endif
