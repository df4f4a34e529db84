/* SPDX-License-Identifier: MIT */
/*
 * rcu_ptr.hpp - lull::rcu_ptr<T>: a pointer that readers follow in read sections, and that retires what it loses; and
 * lull::rcu_section, the section. C++17 and later.
 *
 *	struct config : lull::rcu_obj_base<config> { ... };
 *	lull::rcu_ptr<config> current;
 *
 *	reader					updater
 *	lull::rcu_section section;		current.publish(std::make_unique<config>(...));
 *	const config *c = current.read();
 *	... use *c until the section ends ...
 *
 * An rcu_ptr owns the object that it points to. An object that it no longer points to may still be in use, so it is never
 * deleted at once: publish() retires it, and exchange() returns a lull::retired<T>, which retires the object when it ends.
 * Neither can be forgotten by mistake, as the old value of a raw pointer can, and neither allocates: T has a base with
 * retire(), namely rcu_obj_base, rcu_cohort_obj_base, bridge_obj_base or bridge_cohort_obj_base. For objects that only wait
 * for hazard pointers a section is no protection, so read() does not compile for them.
 *
 * lull::rcu_ref<T> has the same functions for a std::atomic<T *> that is there already. It owns nothing.
 *
 * Coroutines. A section belongs to a thread, so no coroutine may be suspended in one: it might go on elsewhere, and never.
 * The compiler cannot see the lifetime of a local variable, but it can see two other things. lull::rcu_read(f) runs f in a
 * section; f cannot be a coroutine. And a promise that derives from lull::no_section_across_await aborts at a co_await in a
 * section, whether it would suspend or not. To keep an object across a suspension, take a lull::held (held.hpp).
 */
#ifndef LULL_RCU_PTR_HPP
#define LULL_RCU_PTR_HPP

#include <lull/held.hpp>
#include <lull/rcu>

namespace lull
{

/* ---- sections ----------------------------------------------------------------------------------- */

/*
 * A read section, from here to the end of the block. Sections may be nested. Neither moved, copied nor allocated: it begins
 * and ends on one thread.
 */
class rcu_section
{
      public:
	rcu_section() noexcept
	{
		lull_rcu_read_lock();
	}

	~rcu_section()
	{
		lull_rcu_read_unlock();
	}

	rcu_section(const rcu_section &) = delete;
	rcu_section &operator=(const rcu_section &) = delete;
	static void *operator new(std::size_t) = delete;
	static void *operator new[](std::size_t) = delete;
};

namespace detail
{
/* Names that std::coroutine_traits finds in what a coroutine returns, and co_await in what it waits for. */
template <class R, class = void> struct is_coroutine_type : std::false_type {
};
template <class R> struct is_coroutine_type<R, std::void_t<typename R::promise_type>> : std::true_type {
};

template <class R, class = void> struct has_await_ready : std::false_type {
};
template <class R> struct has_await_ready<R, std::void_t<decltype(std::declval<R &>().await_ready())>> : std::true_type {
};
} // namespace detail

/* Run @f in a read section, and return what it returns. An @f that returns a coroutine does not compile. */
template <class F> auto rcu_read(F &&f) noexcept(noexcept(std::forward<F>(f)())) -> decltype(std::forward<F>(f)())
{
	using result = std::remove_cv_t<std::remove_reference_t<decltype(std::forward<F>(f)())>>;

	static_assert(!detail::is_coroutine_type<result>::value && !detail::has_await_ready<result>::value,
		      "a coroutine would be suspended in a read section");
	rcu_section section;

	return std::forward<F>(f)();
}

#ifdef __cpp_impl_coroutine
namespace detail
{
/* Awaits what the program has in a variable. (g++ 12 would take a copy of a reference that await_transform() returns.) */
template <class Awaiter> struct awaits_reference {
	Awaiter &of;

	decltype(auto) await_ready() noexcept(noexcept(of.await_ready()))
	{
		return of.await_ready();
	}

	template <class Handle> decltype(auto) await_suspend(Handle handle) noexcept(noexcept(of.await_suspend(handle)))
	{
		return of.await_suspend(handle);
	}

	decltype(auto) await_resume() noexcept(noexcept(of.await_resume()))
	{
		return of.await_resume();
	}
};
} // namespace detail

/* For promise types to derive from: a co_await in a read section aborts with a line that says so. */
struct no_section_across_await {
	template <class Awaitable> decltype(auto) await_transform(Awaitable &&awaitable) const noexcept
	{
		/* An online thread need not be in a section. */
		if (lull_unlikely(lull__rcu_in_section()))
			lull__rcu_misuse("co_await in a read section: it would be suspended with the coroutine");
		if constexpr (std::is_lvalue_reference_v<Awaitable> &&
			      detail::has_await_ready<std::remove_reference_t<Awaitable>>::value)
			return detail::awaits_reference<std::remove_reference_t<Awaitable>>{ awaitable };
		else
			return static_cast<Awaitable &&>(awaitable);
	}
};
#endif

/* ---- pointers ----------------------------------------------------------------------------------- */

/* Deleter with which std::unique_ptr retires an object. */
struct retire_object {
	template <class T> void operator()(T *object) const noexcept
	{
		static_assert(detail::waits_for_sections<T>,
			      "T needs a base that retires it after a grace period: see rcu_ptr.hpp");
		object->retire();
	}
};

/* An object that has been unlinked. Readers may still use it; it is retired when this ends. */
template <class T> using retired = std::unique_ptr<T, retire_object>;

namespace detail
{

/* The functions of rcu_ptr and of rcu_ref, which is Me and has `at()`. */
template <class Me, class T> class rcu_pointer
{
      public:
	using element_type = T;

	/*
	 * Fetch the pointer, in a read section (debug builds check that). The object stays until the section ends. With a
	 * section as an argument there is one for sure.
	 */
	[[nodiscard]] T *read() const noexcept
	{
		static_assert(!is_hazptr_kind<T>, "objects of T do not wait for read sections: use lull::hold()");
#ifdef LULL_DEBUG
		lull__rcu_check_fetch("rcu_ptr::read", &where(), sizeof(T *));
#endif
		/*
		 * ORDER RCU-9: load the pointer before what is read through it; pairs with RCU-9 in exchange();
		 * without it a reader sees an object before its contents; model/rcu/publish.litmus
		 */
		return where().load(std::memory_order_acquire);
	}

	[[nodiscard]] T *read(const rcu_section &) const noexcept
	{
		return read();
	}

	/* Does it point to an object? Any context. */
	[[nodiscard]] explicit operator bool() const noexcept
	{
		return where().load(std::memory_order_relaxed) != nullptr;
	}

	/*
	 * Let this point to @now, and return what it pointed to before. Readers that find @now see all that was stored in
	 * it before, and the caller sees all of the old object. In sections, with locks held, in callbacks: yes.
	 */
	retired<T> exchange(std::unique_ptr<T> now) noexcept
	{
		/*
		 * ORDER RCU-9: the object's contents before the pointer, and the old pointer before what is done with that
		 * object; pairs with RCU-9 in read(); without it a reader sees an object before its contents, and a
		 * deleter what was there before it; model/rcu/publish.litmus
		 */
		return retired<T>(where().exchange(now.release(), std::memory_order_acq_rel));
	}

	/* Let this point to @now, or nowhere, and retire what it pointed to before. */
	void publish(std::unique_ptr<T> now) noexcept
	{
		exchange(std::move(now)).reset();
	}

	/*
	 * If this points to @expected, let it point to @now, which is null then, and retire *@expected. Else change nothing
	 * and return false. Call it in the section in which @expected was read: else that may be another object by now.
	 * When that section ends, the thread may wait for a moment, so that not too many objects wait (reclaim.h).
	 */
	[[nodiscard]] bool compare_exchange(T *expected, std::unique_ptr<T> &now) noexcept
	{
		T *old = expected;

		/* RCU-9, as in exchange() */
		if (!where().compare_exchange_strong(old, now.get(), std::memory_order_acq_rel, std::memory_order_relaxed))
			return false;
		(void)now.release();
		retired<T>(old).reset();
		return true;
	}

	/* Keep the object beyond sections, as lull::hold() does; T has to have a base that allows it: held.hpp. */
	[[nodiscard]] held<T> hold() const
	{
		return lull::hold(where());
	}

	/* In a read section: the same by lull::keep(), without a second look. */
	[[nodiscard]] held<T> hold(const rcu_section &) const
	{
		return lull::keep(read());
	}

      private:
	std::atomic<T *> &where() noexcept
	{
		return static_cast<Me *>(this)->at();
	}

	const std::atomic<T *> &where() const noexcept
	{
		return static_cast<const Me *>(this)->at();
	}
};

} // namespace detail

/* Owns the object that it points to. Constant-initialised with nullptr. */
template <class T> class rcu_ptr : public detail::rcu_pointer<rcu_ptr<T>, T>
{
      public:
	constexpr rcu_ptr() noexcept = default;

	explicit rcu_ptr(std::unique_ptr<T> first) noexcept : pointer(first.release())
	{
	}

	rcu_ptr(const rcu_ptr &) = delete;
	rcu_ptr &operator=(const rcu_ptr &) = delete;

	/* Retire the object; readers that are in their sections may still have it. */
	~rcu_ptr()
	{
		retired<T>(pointer.load(std::memory_order_relaxed)).reset();
	}

	/* For whatever wants an atomic pointer: lull::hold(), a lull::hazard_pointer. */
	[[nodiscard]] const std::atomic<T *> &native_handle() const noexcept
	{
		return pointer;
	}

      private:
	friend class detail::rcu_pointer<rcu_ptr<T>, T>;

	std::atomic<T *> &at() noexcept
	{
		return pointer;
	}

	const std::atomic<T *> &at() const noexcept
	{
		return pointer;
	}

	std::atomic<T *> pointer{nullptr};
};

/* The same for an atomic pointer that is there already, and stays the property of its owner. */
template <class T> class rcu_ref : public detail::rcu_pointer<rcu_ref<T>, T>
{
      public:
	explicit rcu_ref(std::atomic<T *> &refers_to) noexcept : pointer(&refers_to)
	{
	}

      private:
	friend class detail::rcu_pointer<rcu_ref<T>, T>;

	std::atomic<T *> &at() const noexcept
	{
		return *pointer;
	}

	std::atomic<T *> *pointer;
};

template <class T> rcu_ref(std::atomic<T *> &) -> rcu_ref<T>;

} // namespace lull

#endif /* LULL_RCU_PTR_HPP */
