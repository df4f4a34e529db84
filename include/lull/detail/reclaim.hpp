/* SPDX-License-Identifier: MIT */
/*
 * reclaim.hpp - what lull/hazard_pointer and lull/rcu share: deleters, bases of classes, callbacks that delete.
 *
 * Nothing in here is for programs.
 */
#ifndef LULL_RECLAIM_HPP
#define LULL_RECLAIM_HPP

#include <lull/hazptr_pool.h>
#include <lull/rcu.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

/* std::default_delete, without the rest of <memory>, which takes as long to compile as everything else here. */
#if defined(__GLIBCXX__) && __has_include(<bits/unique_ptr.h>)
#include <bits/unique_ptr.h>
#else
#include <memory>
#endif
#ifdef __GLIBCXX__
#include <bits/functexcept.h>
#elif !defined(__cpp_exceptions)
#include <exception>
#endif

namespace lull
{

template <class T, class D> class hazard_pointer_obj_base; /* lull/hazard_pointer */

namespace detail
{

/*
 * Say that there is no memory: by an exception; without exceptions the program ends. In a program whose files are compiled in
 * part without, the linker keeps one copy of what calls this. So both kinds call the function of libstdc++, which throws.
 */
[[noreturn]] inline void no_memory()
{
#ifdef __GLIBCXX__
	std::__throw_bad_alloc();
#elif defined(__cpp_exceptions)
	throw std::bad_alloc();
#else
	std::terminate();
#endif
}

/* ---- which base a class has --------------------------------------------------------------------- */

/*
 * Find the one base of T that Base makes, Base<T, D>: `type`. `type` is void if there is no such base, or several, or
 * it is private or virtual: no pointer to T can be made of a virtual one.
 */
template <template <class, class> class Base, class T> struct base_of {
	template <class X, class D> static Base<X, D> *find(Base<X, D> *);

	template <class Object, class Found = std::remove_pointer_t<decltype(find(static_cast<Object *>(nullptr)))>,
		  class = decltype(static_cast<Object *>(static_cast<Found *>(nullptr)))>
	static Found *look(int);
	template <class Object> static void *look(...);

	using type = std::remove_pointer_t<decltype(look<T>(0))>;
};

template <class Found, class T> struct is_base_for : std::false_type {
};
template <template <class, class> class Base, class T, class D> struct is_base_for<Base<T, D>, T> : std::true_type {
};

/* Is T protectable: has it exactly one base Base<T, D>, public and not virtual, and none of another T? */
template <template <class, class> class Base, class T>
inline constexpr bool is_protectable =
	is_base_for<typename base_of<Base, std::remove_cv_t<T>>::type, std::remove_cv_t<T>>::value;

/* The base by whose address slots name a T; its head comes first. There are more of them in kinds.hpp. */
template <class T, class = void> struct named_by : std::bool_constant<is_protectable<lull::hazard_pointer_obj_base, T>> {
	using type = typename base_of<lull::hazard_pointer_obj_base, T>::type;
};

/*
 * Return how far behind the beginning of a T its base is. A constant to the compiler; unlike a conversion of a T * it
 * asks for no null pointer.
 */
template <class Base, class T> inline std::uintptr_t offset_of_base() noexcept
{
	constexpr std::uintptr_t at = alignof(T) > 4096 ? alignof(T) : 4096;

	return reinterpret_cast<std::uintptr_t>(static_cast<Base *>(reinterpret_cast<T *>(at))) - at;
}

/* ---- what an object needs to be retired ---------------------------------------------------------- */

struct head_box {
	struct lull_head head;
};

/* The head, by which lull finds the object, and its deleter; one that is empty takes no room. */
template <class D, bool is_empty = std::is_empty_v<D> && !std::is_final_v<D>> struct node : head_box, private D {
	D &deleter() noexcept
	{
		return *this;
	}
};

template <class D> struct node<D, false> : head_box {
	D stored;

	D &deleter() noexcept
	{
		return stored;
	}
};

/* Return the node of @head; of its own callback alone. */
template <class Node> inline Node *node_of(struct lull_head *head) noexcept
{
	return static_cast<Node *>(reinterpret_cast<head_box *>(head));
}

/* Take the deleter out of @n, which ends with the object; then call it with @object. */
template <class T, class D> inline void delete_by(D &stored, T *object) noexcept
{
	if constexpr (std::is_move_constructible_v<D>) {
		D d(std::move(stored));

		d(object);
	} else {
		D d = D();

		d = std::move(stored);
		d(object);
	}
}

/* ---- deleters that only free memory -------------------------------------------------------------- */

template <class T, class... Args>
auto calls_own_delete(int) -> decltype(T::operator delete(std::declval<Args>()...), std::true_type());
template <class T, class... Args> std::false_type calls_own_delete(...);

template <class T, class... Args> inline constexpr bool calls_own_delete_v = decltype(calls_own_delete<T, Args...>(0))::value;

#ifdef __cpp_lib_destroying_delete
template <class T>
inline constexpr bool has_destroying_delete =
	calls_own_delete_v<T, T *, std::destroying_delete_t> ||
	calls_own_delete_v<T, T *, std::destroying_delete_t, std::size_t> ||
	calls_own_delete_v<T, T *, std::destroying_delete_t, std::align_val_t> ||
	calls_own_delete_v<T, T *, std::destroying_delete_t, std::size_t, std::align_val_t>;
#else
template <class T> inline constexpr bool has_destroying_delete = false;
#endif

/* Has T an operator delete of its own, or of a base? */
template <class T>
inline constexpr bool has_own_delete =
	calls_own_delete_v<T, void *> || calls_own_delete_v<T, void *, std::size_t> ||
	calls_own_delete_v<T, void *, std::align_val_t> ||
	calls_own_delete_v<T, void *, std::size_t, std::align_val_t> || has_destroying_delete<T>;

/* May everybody delete a T? One that only friends may delete has an operator delete that cannot be seen from here. */
template <class T, class = void> inline constexpr bool all_may_delete = false;
template <class T> inline constexpr bool all_may_delete<T, std::void_t<decltype(delete std::declval<T *>())>> = true;

/* Does a D, called with a T *, free memory and do nothing else? Then the thread that retires may call it: rcu.h. */
template <class T, class D> constexpr bool only_frees() noexcept
{
	if constexpr (std::is_same_v<D, std::default_delete<T>> && std::is_class_v<T>)
		return std::is_trivially_destructible_v<T> && !has_own_delete<T> && all_may_delete<T>;
	else
		return std::is_same_v<D, std::default_delete<T>> && std::is_scalar_v<T>;
}

} // namespace detail
} // namespace lull

#endif /* LULL_RECLAIM_HPP */
