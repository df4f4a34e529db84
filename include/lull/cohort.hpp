/* SPDX-License-Identifier: MIT */
/*
 * cohort.hpp - lull::cohort: what a plugin or an object has retired is gone when its cohort ends. C++17 and later.
 *
 *	struct node : lull::cohort_obj_base<node> { ... };
 *	lull::cohort mine;
 *
 *	node *old = variable.exchange(now);
 *	old->retire_to_cohort(mine);
 *	... at the end: ~cohort waits until each deleter has returned
 *
 * cohort.h explains cohorts, and says what holds a wait up. The names are those of P3427 (synchronous reclamation). That
 * paper lets the destructor run deleters without a look at hazard pointers; here it waits for the readers.
 *
 * A class may have a cohort as a member, and objects of the class may be retired into another one: a deleter may end a
 * cohort, also one that is not empty (cohort.h).
 *
 * No deleter of a cohort's, and none of the code that lull was given to call one, runs any more after ~cohort() or
 * wait(): the module that has the code may be unloaded.
 */
#ifndef LULL_COHORT_HPP
#define LULL_COHORT_HPP

#include <lull/detail/kinds.hpp>

namespace lull
{

/* Constant-initialised. Neither copied nor moved: what is retired into it knows its address. */
class cohort
{
      public:
	constexpr cohort() noexcept = default;
	cohort(const cohort &) = delete;
	cohort &operator=(const cohort &) = delete;

	/* Wait as wait() does. If the cohort is empty, in any context. */
	~cohort()
	{
		lull_cohort_destroy(&native);
	}

	/*
	 * Wait until all that was retired into this has been deleted, also what the deleters retire into it. Blocks; aborts
	 * in a read section, and in a deleter of this cohort.
	 */
	void wait() noexcept
	{
		lull_cohort_wait(&native);
	}

	/* Wait in the same way for @timeout_ms at most. Returns whether the cohort is empty. */
	[[nodiscard]] bool wait_ms(std::uint64_t timeout_ms) noexcept
	{
		return lull_cohort_wait_timeout(&native, timeout_ms) == 0;
	}

	/* Has all that was retired into this been deleted? Any context. */
	[[nodiscard]] bool empty() const noexcept
	{
		return lull_cohort_is_empty(&native);
	}

	struct lull_cohort *native_handle() noexcept
	{
		return &native;
	}

      private:
	struct lull_cohort native;
};

/*
 * Derive T from cohort_obj_base<T>, publicly, in place of hazard_pointer_obj_base<T>: hazard pointers protect its objects,
 * and a cohort waits for them. T may be incomplete there. D is called with the address of the object when it is reclaimed;
 * it is moved into the object and out again.
 */
template <class T, class D = std::default_delete<T>>
class cohort_obj_base : private detail::retirable<cohort_obj_base<T, D>, T, D, detail::cohort_node<D>>
{
      public:
	/* Call @d with the object when no hazard pointer protects it any more; @c waits for that. Allocates nothing. */
	void retire_to_cohort(cohort &c, D d = D()) noexcept
	{
		lull__check();
		lull_cohort_call_hazptr_sized(c.native_handle(), this->lull__prepare_member(std::move(d)),
					      lull__base::lull__reclaim_member, sizeof(T));
	}

	/* The same for no cohort. */
	void retire(D d = D()) noexcept
	{
		lull__check();
		lull_hazptr_call_sized(this->lull__prepare(std::move(d)), lull__base::lull__reclaim, sizeof(T));
	}

      protected:
	cohort_obj_base() = default;
	cohort_obj_base(const cohort_obj_base &) = default;
	cohort_obj_base &operator=(const cohort_obj_base &) = default;
	~cohort_obj_base() = default;

      private:
	using lull__base = detail::retirable<cohort_obj_base<T, D>, T, D, detail::cohort_node<D>>;
	friend lull__base;

	static void lull__check() noexcept
	{
		lull__base::template lull__check<std::bool_constant<detail::is_protectable<lull::cohort_obj_base, T>>>();
	}
};

/* The same in place of rcu_obj_base<T>: read sections keep the objects. */
template <class T, class D = std::default_delete<T>>
class rcu_cohort_obj_base : private detail::retirable<rcu_cohort_obj_base<T, D>, T, D, detail::cohort_node<D>>
{
      public:
	/* Call @d with the object when every section that may have found it has ended; @c waits for that. */
	void retire_to_cohort(cohort &c, D d = D()) noexcept
	{
		lull__check();
		lull_cohort_call_rcu_sized(c.native_handle(), this->lull__prepare_member(std::move(d)),
					   lull__base::lull__reclaim_member, sizeof(T));
	}

	/* The same for no cohort. */
	void retire(D d = D()) noexcept
	{
		lull__check();
		lull_rcu_call_sized(this->lull__prepare(std::move(d)), lull__base::lull__reclaim, sizeof(T));
	}

      protected:
	rcu_cohort_obj_base() = default;
	rcu_cohort_obj_base(const rcu_cohort_obj_base &) = default;
	rcu_cohort_obj_base &operator=(const rcu_cohort_obj_base &) = default;
	~rcu_cohort_obj_base() = default;

      private:
	using lull__base = detail::retirable<rcu_cohort_obj_base<T, D>, T, D, detail::cohort_node<D>>;
	friend lull__base;

	static void lull__check() noexcept
	{
		lull__base::template lull__check<std::bool_constant<detail::is_protectable<lull::rcu_cohort_obj_base, T>>>();
	}
};

} // namespace lull

#endif /* LULL_COHORT_HPP */
