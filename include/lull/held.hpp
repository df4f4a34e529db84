/* SPDX-License-Identifier: MIT */
/*
 * held.hpp - lull::held<T>: one object, kept by a hazard pointer, to be returned, stored and moved. C++17 and later.
 *
 *	lull::held<config> current()		// may be called anywhere
 *	{
 *		return lull::hold(variable);	// std::atomic<config *>
 *	}
 *
 *	auto c = current();
 *	if (c) ... use c->name for as long as you like, on any thread
 *
 * A held<T> is like a unique_ptr that keeps the object instead of owning it. It is two words: the object, and a hazard
 * pointer of hazptr_pool.h. There are as many as there is memory for.
 *
 * How an object is retired decides how it may be kept; its base says it, so what does not fit does not compile:
 *
 *	base of T				lull::hold(atomic)	lull::keep(p), in a section
 *	hazard_pointer_obj_base, cohort_obj_base	yes			no
 *	bridge_obj_base, bridge_cohort_obj_base		yes			yes
 *	rcu_obj_base, rcu_cohort_obj_base		no			no
 *
 * hold() finds and keeps at once. keep() is for an object that was found in a read section, on whatever way (bridge.h): one
 * store, no second look.
 */
#ifndef LULL_HELD_HPP
#define LULL_HELD_HPP

#include <lull/cohort.hpp>
#include <lull/hazard_pointer>

namespace lull
{

template <class T> class held;
template <class T> [[nodiscard]] held<T> hold(const std::atomic<T *> &src);
template <class T> [[nodiscard]] held<T> keep(T *found);

/* Keeps one object, or nothing. A held object must not be retired a second time, nor deleted. */
template <class T> class held
{
      public:
	using element_type = T;

	constexpr held() noexcept = default;

	constexpr held(std::nullptr_t) noexcept
	{
	}

	held(held &&other) noexcept : slot(std::exchange(other.slot, nullptr)), object(std::exchange(other.object, nullptr))
	{
	}

	held &operator=(held &&other) noexcept
	{
		held(std::move(other)).swap(*this);
		return *this;
	}

	~held()
	{
		reset();
	}

	/* Keep nothing from now on. On any thread. */
	void reset() noexcept
	{
		object = nullptr;
		if (slot)
			lull_hazptr_pool_put(std::exchange(slot, nullptr));
	}

	void swap(held &other) noexcept
	{
		std::swap(slot, other.slot);
		std::swap(object, other.object);
	}

	[[nodiscard]] T *get() const noexcept
	{
		return object;
	}

	[[nodiscard]] T &operator*() const noexcept
	{
		return *object;
	}

	[[nodiscard]] T *operator->() const noexcept
	{
		return object;
	}

	[[nodiscard]] explicit operator bool() const noexcept
	{
		return object != nullptr;
	}

      private:
	friend held hold<T>(const std::atomic<T *> &src);
	friend held keep<T>(T *found);

	held(struct lull_hazptr *taken, T *kept) noexcept : slot(taken), object(kept)
	{
	}

	static struct lull_hazptr *take_slot()
	{
		struct lull_hazptr *taken = lull_hazptr_pool_get();

		if (lull_unlikely(!taken))
			detail::no_memory();
		return taken;
	}

	struct lull_hazptr *slot = nullptr;
	T *object = nullptr;
};

template <class T> inline void swap(held<T> &a, held<T> &b) noexcept
{
	a.swap(b);
}

/*
 * Keep the object that @src points to. Returns one that keeps nothing if @src is a null pointer. In a section or outside.
 * Throws std::bad_alloc if there is no memory for a hazard pointer. Not in signal handlers.
 */
template <class T> held<T> hold(const std::atomic<T *> &src)
{
	struct lull_hazptr *slot;
	T *first, *second;

	static_assert(detail::waits_for_slots<T>, "objects of T do not wait for hazard pointers: see held.hpp for T's base");
	static_assert(sizeof(src) == sizeof(T *) && std::atomic<T *>::is_always_lock_free,
		      "an atomic pointer is a pointer to lull_hazptr_protect()");
	first = src.load(std::memory_order_relaxed);
	if (!first)
		return nullptr;
	slot = held<T>::take_slot();
	lull__hazptr_set(slot, reinterpret_cast<std::uintptr_t>(first) + detail::name_offset<T>());
	/*
	 * ORDER HAZ-3: the second load of the pointer before the object's contents; pairs with HAZ-3 in
	 * lull_hazptr_publish(), and whatever release the program stores the pointer with; without it a
	 * reader sees an object before its contents; model/hazptr/aba.litmus
	 */
	second = src.load(std::memory_order_acquire);
	if (lull_unlikely(reinterpret_cast<std::uintptr_t>(first) != reinterpret_cast<std::uintptr_t>(second)))
		second = static_cast<T *>(lull__hazptr_protect_again(
			slot, &src, reinterpret_cast<std::uintptr_t>(second), detail::name_offset<T>()));
	if (lull_unlikely(!second)) {
		lull_hazptr_pool_put(slot);
		return nullptr;
	}
	LULL__HAZPTR_NOTE_LIGHT(slot, reinterpret_cast<std::uintptr_t>(second) + detail::name_offset<T>());
	return held<T>(slot, second);
}

/*
 * Keep @found, an object that the caller has found in this read section, beyond its end. Throws std::bad_alloc if there is
 * no memory for a hazard pointer. Only in a read section (debug builds check it).
 */
template <class T> held<T> keep(T *found)
{
	static_assert(detail::is_bridge_kind<T>, "only what waits for sections first, and then for hazard pointers, can be "
						 "kept beyond a section: derive T from bridge_obj_base<T>");
	if (!found)
		return nullptr;
	struct lull_hazptr *slot = held<T>::take_slot();

	/* BRI-1 */
	lull__hazptr_set_rcu(slot, reinterpret_cast<std::uintptr_t>(found) + detail::name_offset<T>());
	return held<T>(slot, found);
}

template <class T> [[nodiscard]] inline bool operator==(const held<T> &a, std::nullptr_t) noexcept
{
	return !a;
}

template <class T> [[nodiscard]] inline bool operator!=(const held<T> &a, std::nullptr_t) noexcept
{
	return static_cast<bool>(a);
}

/*
 * Derive T from bridge_obj_base<T>, publicly, if readers find its objects in read sections, or by hazard pointers, and some
 * of them keep one for longer. T may be incomplete there. D is as for cohort_obj_base.
 */
template <class T, class D = std::default_delete<T>>
class bridge_obj_base : private detail::retirable<bridge_obj_base<T, D>, T, D, detail::node<D>>
{
      public:
	/*
	 * Call @d with the object when every section that may have found it has ended, and then no hazard pointer protects
	 * it any more. Once for each object. Allocates nothing.
	 */
	void retire(D d = D()) noexcept
	{
		lull__base::template lull__check<std::bool_constant<detail::is_protectable<lull::bridge_obj_base, T>>>();
		lull_rcu_call_hazptr_sized(this->lull__prepare(std::move(d)), lull__base::lull__reclaim, sizeof(T));
	}

      protected:
	bridge_obj_base() = default;
	bridge_obj_base(const bridge_obj_base &) = default;
	bridge_obj_base &operator=(const bridge_obj_base &) = default;
	~bridge_obj_base() = default;

      private:
	using lull__base = detail::retirable<bridge_obj_base<T, D>, T, D, detail::node<D>>;
	friend lull__base;
};

/* The same for objects that a cohort waits for. */
template <class T, class D = std::default_delete<T>>
class bridge_cohort_obj_base : private detail::retirable<bridge_cohort_obj_base<T, D>, T, D, detail::cohort_node<D>>
{
      public:
	void retire_to_cohort(cohort &c, D d = D()) noexcept
	{
		lull__check();
		lull_cohort_call_rcu_hazptr_sized(c.native_handle(), this->lull__prepare_member(std::move(d)),
						  lull__base::lull__reclaim_member, sizeof(T));
	}

	/* The same for no cohort. */
	void retire(D d = D()) noexcept
	{
		lull__check();
		lull_rcu_call_hazptr_sized(this->lull__prepare(std::move(d)), lull__base::lull__reclaim, sizeof(T));
	}

      protected:
	bridge_cohort_obj_base() = default;
	bridge_cohort_obj_base(const bridge_cohort_obj_base &) = default;
	bridge_cohort_obj_base &operator=(const bridge_cohort_obj_base &) = default;
	~bridge_cohort_obj_base() = default;

      private:
	using lull__base = detail::retirable<bridge_cohort_obj_base<T, D>, T, D, detail::cohort_node<D>>;
	friend lull__base;

	static void lull__check() noexcept
	{
		lull__base::template lull__check<std::bool_constant<detail::is_protectable<lull::bridge_cohort_obj_base, T>>>();
	}
};

} // namespace lull

#endif /* LULL_HELD_HPP */
