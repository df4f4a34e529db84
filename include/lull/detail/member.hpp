/* SPDX-License-Identifier: MIT */
/*
 * member.hpp - from a member of an object to the object, where the member is known by a pointer to member.
 */
#ifndef LULL_MEMBER_HPP
#define LULL_MEMBER_HPP

#include <lull/detail/base.h>

namespace lull
{
namespace detail
{

/* Is @Pointer the address of a Member of some class? */
template <class Pointer, class Member> constexpr bool points_to = false;
template <class Class, class Member> constexpr bool points_to<Member Class::*, Member> = true;

/*
 * Return the T whose member @which is at @member. offsetof() wants a name and a standard layout. In the C++ ABI of all
 * systems that lull runs on, a pointer to member is the offset; compilers make a constant of it.
 */
template <class T, class Member> T *object_of(const Member *member, Member T::*which) noexcept
{
	ptrdiff_t offset;

	static_assert(sizeof(which) == sizeof(offset), "a pointer to member is an offset");
	__builtin_memcpy(&offset, &which, sizeof(offset));
	return reinterpret_cast<T *>(reinterpret_cast<uintptr_t>(member) - static_cast<uintptr_t>(offset));
}

} // namespace detail
} // namespace lull

#endif /* LULL_MEMBER_HPP */
