/* SPDX-License-Identifier: MIT */
/*
 * keeping.cc - what cohort.hpp, rcu_ptr.hpp, rcu_domain.hpp, held.hpp and counted.hpp know to go wrong does not compile.
 */
// from c++17
#if __cplusplus >= 201703L
#include <memory>
#include <mutex>
#include <utility>

#include <lull/counted.hpp>
#include <lull/hazard_pointer>
#include <lull/rcu>
#include <lull/rcu_domain.hpp>
#include <lull/rcu_ptr.hpp>

struct by_hazptr : lull::hazard_pointer_obj_base<by_hazptr> {
};
struct by_rcu : lull::rcu_obj_base<by_rcu> {
};
struct by_both : lull::bridge_obj_base<by_both> {
};
struct of_cohort : lull::cohort_obj_base<of_cohort> {
};
struct of_other : of_cohort, lull::rcu_cohort_obj_base<of_cohort> {
};
struct nothing {
};
struct simple : lull::counted_base<simple> {
};
struct scaled : lull::counted_base<scaled, lull::by_percpu_ref> {
};
struct for_nothing {
	void operator()(nothing *) const noexcept {}
};
struct of_domain : lull::srcu_obj_base<of_domain> {
};
struct wrong_deleter_in_domain : lull::srcu_obj_base<wrong_deleter_in_domain, for_nothing> {
};
struct wrong_deleter : lull::cohort_obj_base<wrong_deleter, for_nothing> {
};

/* The bases have no names that a class may have from elsewhere: it would be ambiguous there. */
struct usual {
	void begin() {}
	void end() {}
	void check() {}
	void get() {}
	void put() {}
	void prepare() {}
	void released() {}
	void reclaim() {}
	int base = 0, node = 0, head = 0, count = 0, deleter = 0, is_per_cpu = 0;
};
template <template <class> class Base> struct with_names : usual, Base<with_names<Base>> {
	void use()
	{
		with_names &me = *this; /* a name that is looked up in all bases */

		me.begin(), me.end(), me.check(), me.get(), me.put(), me.prepare(), me.released(), me.reclaim();
		me.base = me.node = me.head = me.count = me.deleter = me.is_per_cpu = 1;
	}
};
template <class T> using base1 = lull::hazard_pointer_obj_base<T>;
template <class T> using base2 = lull::rcu_obj_base<T>;
template <class T> using base3 = lull::cohort_obj_base<T>;
template <class T> using base4 = lull::rcu_cohort_obj_base<T>;
template <class T> using base5 = lull::bridge_obj_base<T>;
template <class T> using base6 = lull::bridge_cohort_obj_base<T>;
template <class T> using base7 = lull::counted_base<T>;
template <class T> using base8 = lull::counted_base<T, lull::by_percpu_ref>;
template struct with_names<base1>;
template struct with_names<base2>;
template struct with_names<base3>;
template struct with_names<base4>;
template struct with_names<base5>;
template struct with_names<base6>;
template struct with_names<base7>;
template struct with_names<base8>;
template <class T> using base9 = lull::srcu_obj_base<T>;
template struct with_names<base9>;

/* A coroutine's return value, and the thing it waits for. */
struct task {
	struct promise_type {
	};
};
struct awaiter {
	bool await_ready();
};

std::atomic<by_hazptr *> hazptr;
std::atomic<by_rcu *> rcu;
std::atomic<by_both *> both;
lull::rcu_ptr<by_rcu> pointer;
lull::cohort cohort;
lull::srcu_domain domain;

void use();

void use()
{
	lull::rcu_section section;
	lull::held<by_both> kept = lull::hold(both), more = lull::keep(pointer ? both.load() : nullptr);
	lull::counted<simple> reference = lull::make_counted<simple>();
	lull::counted_owner<scaled> owner = lull::make_counted<scaled>();

	lull::srcu_section sleeps(domain);

	(void)lull::hold(hazptr);
	lull::rcu_read([] {});
	WRONG("deleted", lull::rcu_section copy = section;)
	WRONG("deleted", lull::rcu_section moved = std::move(section);)
	WRONG("deleted", delete new lull::rcu_section;)
	WRONG("deleted", lull::srcu_section copy = sleeps;)
	WRONG("deleted", lull::srcu_domain copy = std::move(domain);)
	WRONG("explicit|cannot convert|no viable conversion|could not convert|no matching|conversion from", lull::srcu_section copy = domain;)
	WRONG("lock", std::lock_guard<lull::srcu_domain> hold(domain);)
	WRONG("T must have one base srcu_obj_base", struct late : lull::srcu_obj_base<by_rcu> { } object; object.retire(domain);)
	WRONG("a deleter is called with a T", wrong_deleter_in_domain object; object.retire(domain);)
	WRONG("a deleter is called with a T", domain.retire(new by_rcu, for_nothing());)
	WRONG("deleted", lull::held<by_both> copy = kept;)
	WRONG("deleted", lull::cohort copy = std::move(cohort);)
	WRONG("a coroutine would be suspended in a read section", lull::rcu_read([] { return task(); });)
	WRONG("a coroutine would be suspended in a read section", lull::rcu_read([] { return awaiter(); });)
	WRONG("objects of T do not wait for hazard pointers", (void)lull::hold(rcu);)
	WRONG("only what waits for sections first, and then for hazard pointers", (void)lull::keep(hazptr.load());)
	WRONG("objects of T do not wait for read sections", (void)lull::rcu_ref(hazptr).read();)
	WRONG("T needs a base that retires it after a grace period", lull::rcu_ptr<nothing> of_nothing;)
	WRONG("ignoring return value", lull::hold(both);)
	WRONG("ignoring return value", lull::make_counted<simple>();)
	WRONG("deleted|implicitly-deleted", lull::counted_owner<scaled> copy = owner;)
	WRONG("the first reference stays with its owner", lull::counted<scaled> taken = std::move(owner);)
	WRONG("T must have one such base", of_other object; object.lull::rcu_cohort_obj_base<of_cohort>::retire();)
	WRONG("a deleter is called with a T", wrong_deleter object; object.retire_to_cohort(cohort);)
	WRONG("cannot convert|no viable conversion|could not convert|no matching", pointer.publish(new by_rcu);) /* who deletes it? */
	WRONG("count by_refcount or by_percpu_ref", struct strange : lull::counted_base<strange, int> { }; (void)sizeof(strange);)
	WRONG("protected|inaccessible", lull::cohort_obj_base<of_cohort> *base = nullptr; delete base;)
	(void)reference;
	(void)more;
}
#else
/* C++14 has not got these headers. */
#endif
