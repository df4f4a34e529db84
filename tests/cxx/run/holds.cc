/* SPDX-License-Identifier: MIT */
/*
 * holds.cc - lull::held keeps an object, wherever it is stored, moved and ended.
 */
#include <csignal>
#include <deque>
#include <memory>
#include <vector>

#include <lull/hazard_pointer>
#include <lull/held.hpp>
#include <lull/rcu_ptr.hpp>

#include "test.hpp"

namespace
{

struct by_hazptr : living, lull::hazard_pointer_obj_base<by_hazptr> {
};
struct by_both : living, lull::bridge_obj_base<by_both> {
	by_both *next = nullptr;
};

static_assert(sizeof(lull::held<by_both>) == 2 * sizeof(void *));
static_assert(!std::is_copy_constructible_v<lull::held<by_both>> && !std::is_copy_assignable_v<lull::held<by_both>>);
static_assert(std::is_nothrow_move_constructible_v<lull::held<by_both>> &&
	      std::is_nothrow_move_assignable_v<lull::held<by_both>> && std::is_nothrow_destructible_v<lull::held<by_both>>);
static_assert(std::is_nothrow_default_constructible_v<lull::held<by_both>>);
static_assert(sizeof(by_both) == sizeof(living) + sizeof(lull_head) + sizeof(void *));

template <class T> std::atomic<T *> shared{nullptr};

template <class T> lull::held<T> current()
{
	return lull::hold(shared<T>);
}

template <class T> bool keeps_when_retired(lull::held<T> &kept)
{
	shared<T>.exchange(nullptr)->retire();
	return lull_hazptr_barrier_timeout(10) != 0 && alive == 1 && kept->is_whole();
}

TEST_OF(T, keeps, by_hazptr, by_both)
{
	MUST(!current<T>() && current<T>() == nullptr && current<T>().get() == nullptr);
	shared<T> = new T;
	{
		lull::held<T> kept = current<T>();

		MUST(kept && kept != nullptr && kept.get() == shared<T>.load() && &*kept == kept.get());
		MUST(keeps_when_retired(kept));
		MUST(!current<T>());
	}
}

TEST_OF(T, moves, by_hazptr, by_both)
{
	lull::held<T> first, second = nullptr;

	shared<T> = new T;
	first = current<T>();
	second = std::move(first);
	MUST(!first && second && second.get() == shared<T>.load());
	lull::held<T> third(std::move(second));
	MUST(!second && third);
	lull::held<T> &same = third;
	third = std::move(same);
	MUST(third && third->is_whole());
	swap(first, third);
	MUST(first && !third);
	MUST(keeps_when_retired(first));
	/* On another thread, whose end does not matter. */
	runner([&, handed = std::move(first)]() mutable {
		MUST(handed->is_whole());
		second = std::move(handed);
	}).join();
	MUST(alive == 1 && second->is_whole());
	runner([&] { second.reset(); }).join();
	MUST(!second);
	second.reset();
}

/* More than any thread has slots. */
TEST(many)
{
	std::vector<lull::held<by_both>> holds;
	std::deque<std::unique_ptr<by_both>> objects;

	for (int i = 0; i < 100; i++) {
		std::atomic<by_both *> variable{new by_both};

		holds.push_back(lull::hold(variable));
		variable.load()->retire();
	}
	MUST(lull_hazptr_barrier_timeout(10) != 0 && alive == 100);
	for (auto &kept : holds)
		MUST(kept->is_whole());
	holds.erase(holds.begin() + 10, holds.end());
	AWAIT(alive == 10);
	holds.clear();
}

/* From a section, found on any way. */
TEST(keeps_from_section)
{
	by_both *list = new by_both;
	lull::held<by_both> kept;

	list->next = new by_both;
	{
		lull::rcu_section section;

		kept = lull::keep(list->next);
		MUST(kept.get() == list->next);
		MUST(!lull::keep(static_cast<by_both *>(nullptr)));
	}
	list->next->retire();
	list->retire();
	AWAIT(alive == 1);
	MUST(lull_hazptr_barrier_timeout(10) != 0 && kept->is_whole());
	kept.reset();
}

/* Readers that only have sections are safe as well. */
TEST(sections_keep)
{
	reader r;
	by_both *found = new by_both;

	found->retire();
	MUST(lull_hazptr_barrier_timeout(20) != 0 && alive == 1 && found->is_whole());
	r.leave();
}

/*
 * Before any instruction of hold() another thread changes the pointer: hold() returns the old object only if its hazard
 * pointer named it by then.
 */
#if defined(__x86_64__) && !SANITIZED /* the flags without <x86intrin.h>, which takes a third of the time of this file */
constexpr unsigned long long trap_flag = 0x100;
int steps, change_at;
by_both *was, *is;
lull_hazptr *next_slot;
bool was_named;

void trapped(int)
{
	if (steps++ != change_at)
		return;
	was_named = lull_load_relaxed(&next_slot->addr) - reinterpret_cast<std::uintptr_t>(was) < sizeof(by_both);
	shared<by_both>.store(is, std::memory_order_relaxed);
}

TEST(looks_twice)
{
	bool found_old = false, found_new = false;

	was = new by_both;
	is = new by_both;
	signal(SIGTRAP, trapped);
	(void)current<by_both>(); /* all is linked */
	for (change_at = 0; change_at <= steps; change_at++) {
		next_slot = lull_hazptr_pool_get();
		lull_hazptr_pool_put(next_slot);
		shared<by_both> = was;
		steps = 0;
		__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | trap_flag);
		lull::held<by_both> kept = lull::hold(shared<by_both>);
		__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~trap_flag);
		if (change_at >= steps)
			break;
		MUST(kept.get() == is || (kept.get() == was && was_named));
		MUST(lull_hazptr_synchronize_range_timeout(kept.get(), sizeof(by_both), 0) != 0); /* and it is the one that is kept */
		(kept.get() == is ? found_new : found_old) = true;
	}
	MUST(found_old && found_new && change_at > 20);
	signal(SIGTRAP, SIG_DFL);
	shared<by_both> = nullptr;
	delete was;
	delete is;
}
#endif

/* Others publish and retire meanwhile. Which object a hold gets does not matter: it is whole. */
TEST_OF(T, storm, by_hazptr, by_both)
{
	shared<T> = new T;
	reads_while_it_changes(
		[](int, int looks) {
			lull::held<T> older;

			for (int n = 0; n < looks; n++) {
				lull::held<T> now = current<T>();

				MUST(now->is_whole() && (!older || older->is_whole()));
				if (n % 7 == 0)
					older = std::move(now);
			}
		},
		[] { shared<T>.exchange(new T)->retire(); });
	shared<T>.exchange(nullptr)->retire();
}

AFTER_EACH(none_alive);

} // namespace
