/* SPDX-License-Identifier: MIT */
/*
 * cohorts.cc - the end of a lull::cohort waits for what was retired into it, and for nothing else; a module may be unloaded
 * then.
 */
#include <dlfcn.h>

#include <lull/cohort.hpp>
#include <lull/hash_map.hpp>
#include <lull/hazard_pointer>
#include <lull/held.hpp>
#include <lull/mutex.hpp>
#include <lull/rcu_ptr.hpp>

#include "test.hpp"

namespace
{

/* The base is not where the object begins. */
struct by_hazptr : living, lull::cohort_obj_base<by_hazptr> {
};
struct by_rcu final : living, lull::rcu_cohort_obj_base<by_rcu> {
};
struct by_both : living, lull::bridge_cohort_obj_base<by_both> {
};

static_assert(!std::is_copy_constructible_v<lull::cohort> && !std::is_move_constructible_v<lull::cohort>);
static_assert(std::is_nothrow_default_constructible_v<lull::cohort> && sizeof(lull::cohort) == sizeof(lull_cohort));
static_assert(noexcept(std::declval<by_rcu &>().retire_to_cohort(std::declval<lull::cohort &>())));
static_assert(noexcept(std::declval<by_hazptr &>().retire()));
/* An empty deleter takes no room. */
struct plain : lull::cohort_obj_base<plain> {
};
static_assert(sizeof(plain) == sizeof(lull_cohort_head));

lull::cohort global; /* there before main(), and after it */

struct early {
	early() { (new by_rcu)->retire_to_cohort(global); }
	~early() { (new by_hazptr)->retire_to_cohort(global); }
} an_early_one;

/* The first test; what comes later has nothing alive to begin with. */
TEST(waits_for_early)
{
	global.wait();
	MUST(alive == 0);
}

TEST_OF(T, waits_for_reader, by_hazptr, by_both)
{
	std::atomic<T *> shared{new T};
	lull::held<T> kept = lull::hold(shared);
	bool ended = false;
	runner ends([&, object = shared.exchange(nullptr)] {
		lull::cohort c;

		MUST(c.empty());
		object->retire_to_cohort(c);
		MUST(!c.empty() && !c.wait_ms(10));
		kept.reset();
		c.wait();
		MUST(c.empty() && c.wait_ms(0) && alive == 0);
		(new T)->retire_to_cohort(c);
		ended = true;
	});

	ends.join();
	MUST(ended && alive == 0); /* and the end of c has waited for the second one */
}

TEST(waits_for_section)
{
	reader r;
	{
		lull::cohort c;

		(new by_rcu)->retire_to_cohort(c);
		(new by_both)->retire_to_cohort(c);
		MUST(!c.wait_ms(20) && alive == 2);
		r.leave();
	}
	MUST(alive == 0);
}

/* Held objects of another cohort, or of none, do not matter. */
TEST(waits_for_nothing_else)
{
	std::atomic<by_both *> shared{new by_both};
	lull::held<by_both> kept = lull::hold(shared), also = lull::hold(shared);
	lull::cohort other;

	shared.exchange(nullptr)->retire_to_cohort(other);
	{
		lull::cohort c;

		(new by_hazptr)->retire_to_cohort(c);
		(new by_rcu)->retire_to_cohort(c);
		(new by_both)->retire_to_cohort(c);
	}
	MUST(alive == 1 && kept->is_whole());
	kept.reset();
	MUST(!other.wait_ms(10) && also->is_whole());
	also.reset();
	other.wait();
}

/* The standard's hazard pointers protect them, too. */
TEST_OF(T, waits_for_hazard_pointer, by_hazptr, by_both)
{
	lull::hazard_pointer h = lull::make_hazard_pointer(), other = lull::make_hazard_pointer();
	std::atomic<T *> shared{new T};
	T *object = h.protect(shared);
	lull::cohort c;

	MUST(other.try_protect(object, shared) && object == shared.load());
	shared.exchange(nullptr)->retire_to_cohort(c);
	other.reset_protection();
	MUST(!c.wait_ms(10) && object->is_whole());
	h.reset_protection(object);
	MUST(!c.wait_ms(10) && object->is_whole());
	h.reset_protection();
	c.wait();
}

/* A class with a cohort of its own; its objects are in another one. Its last part goes when the object does. */
template <class T> struct owns : living, lull::cohort_obj_base<owns<T>> {
	lull::cohort own;
	T *last = new T;

	void put()
	{
		last->retire_to_cohort(own);
		last = new T;
	}
	~owns() { last->retire_to_cohort(own); }
};

TEST_OF(T, in_deleters, by_hazptr, by_rcu, by_both)
{
	{
		lull::cohort outer;

		for (int i = 0; i < 10; i++) {
			auto *object = new owns<T>;

			for (int k = 0; k < 5; k++)
				object->put();
			object->retire_to_cohort(outer);
		}
	}
	MUST(alive == 0);
}

/* No cohort at all. */
TEST(retires_alone)
{
	(new by_hazptr)->retire();
	(new by_rcu)->retire();
	(new by_both)->retire();
}

/* Deleters by value, with state; those that retire more into the cohort of which they come. */
struct counter {
	int *calls = nullptr;
	lull::cohort *again = nullptr;

	template <class T> void operator()(T *object) const noexcept
	{
		++*calls;
		if (again)
			(new T)->retire_to_cohort(*again, counter{calls});
		delete object;
	}
};
struct stateful : living, lull::cohort_obj_base<stateful, counter> {
};
struct stateful_rcu : living, lull::rcu_cohort_obj_base<stateful_rcu, counter> {
};

TEST(deleters)
{
	int calls = 0;
	{
		lull::cohort c;

		(new stateful)->retire_to_cohort(c, counter{&calls, &c});
		(new stateful_rcu)->retire_to_cohort(c, counter{&calls, &c});
	}
	MUST(calls == 4);
	(new stateful)->retire(counter{&calls});
	lull_hazptr_barrier();
	MUST(calls == 5);
}

/* A copy is another object, though the first has been retired. */
TEST(copies)
{
	lull::cohort c;
	by_rcu *first = new by_rcu, *second = new by_rcu(*first);

	*first = *second;
	first->retire_to_cohort(c);
	second->retire_to_cohort(c);
	c.wait();
	MUST(alive == 0);
}

/* ---- a module that goes away ------------------------------------------------------------------------- */

template <class Function> Function *find(void *module, const char *name)
{
	Function *found = reinterpret_cast<Function *>(dlsym(module, name));

	MUST(found != nullptr);
	return found;
}

bool is_loaded()
{
	void *module = dlopen(LULL_TEST_CXX_PLUGIN, RTLD_NOW | RTLD_NOLOAD);

	if (module)
		dlclose(module);
	return module != nullptr;
}

/* A reader that was there before keeps all that the module retires until the module is about to go. */
void unloads(bool with_module)
{
	void *module = dlopen(LULL_TEST_CXX_PLUGIN, RTLD_NOW | RTLD_LOCAL);
	reader r;

	MUST(module != nullptr);
	find<void()>(module, with_module ? "plugin_leave_to_module" : "plugin_begin")();
	runner ends([&] {
		if (!with_module)
			MUST(find<int()>(module, "plugin_end")() == 60 * 42);
		dlclose(module);
	});
	nap();
	r.leave();
	ends.join();
	lull_hazptr_barrier();
}

/* An exception that a module throws has the same type here: some systems compare the addresses of types. */
TEST(catches_what_a_module_throws)
{
	void *module = dlopen(LULL_TEST_CXX_PLUGIN, RTLD_NOW | RTLD_LOCAL);
	auto throw_it = find<void(int)>(module, "plugin_throw");

	MUST(dlsym(module, "_ZTIN4lull15bad_hash_configE") && dlsym(module, "_ZTIN4lull12robust_errorE"));
	MUST(throws<lull::bad_hash_config>([&] { throw_it(1); }) && throws<lull::robust_error>([&] { throw_it(0); }));
	dlclose(module);
}

TEST(unloads_modules)
{
	for (int i = 0; i < 10; i++)
		unloads(i % 2);
	if (is_loaded())
		std::puts("the module stays: a sanitizer, or the C++ library, keeps it");
}

AFTER_EACH(none_alive);

} // namespace
