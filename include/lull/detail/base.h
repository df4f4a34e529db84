/* SPDX-License-Identifier: MIT */
/*
 * base.h - what every lull header needs: linkage, inlining, branch hints, version.
 */
#ifndef LULL_BASE_H
#define LULL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LULL_VERSION_MAJOR 0
#define LULL_VERSION_MINOR 1
#define LULL_VERSION_PATCH 0

#ifdef __cplusplus
/* C has no other casts, and LULL_API stands before data, too. Programs that ask for these warnings need not hear of it. */
#define LULL_BEGIN_DECLS                                                                           \
	_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wold-style-cast\"")      \
	_Pragma("GCC diagnostic ignored \"-Wattributes\"") extern "C" {
#define LULL_END_DECLS                                                                             \
	}                                                                                          \
	_Pragma("GCC diagnostic pop")
/* C++20 modules refuse `static inline` in a header unit; `inline` means the same there. */
#define LULL_INLINE inline __attribute__((always_inline))
#else
#define LULL_BEGIN_DECLS
#define LULL_END_DECLS
#define LULL_INLINE static inline __attribute__((always_inline))
#endif

/*
 * The library is built with hidden visibility; the symbols that carry LULL_API are the ABI. No exception comes out of them, so
 * noexcept code of C++ calls them as C does.
 */
#ifdef __cplusplus
#define LULL_API __attribute__((visibility("default"), nothrow))
#define LULL__API_CLASS __attribute__((visibility("default"))) /* of an exception: one type for all modules */
#else
#define LULL_API __attribute__((visibility("default")))
#endif

#define lull_likely(x)	 (__builtin_expect(!!(x), 1))
#define lull_unlikely(x) (__builtin_expect(!!(x), 0))

/*
 * Casts of macros, in the words of the language: a program of C++ that asks for -Wold-style-cast would hear of C's wherever
 * the macro expands. LULL__CAST: of a pointer, to or from a number or another pointer. LULL__ANY: a pointer to anything.
 */
#ifdef __cplusplus
#define LULL__CAST(type, value) (reinterpret_cast<type>(value))
#define LULL__ANY(ptr)		(const_cast<const void *>(static_cast<const volatile void *>(ptr)))
#define LULL__NULL(type)	(static_cast<type>(nullptr))
#else
#define LULL__CAST(type, value) ((type)(value))
#define LULL__ANY(ptr)		((const void *)(uintptr_t)(ptr))
#define LULL__NULL(type)	((type)0)
#endif

/* Return the structure of @type whose @member is at @ptr. @ptr must not be NULL. */
#ifdef __cplusplus
#define lull_container_of(ptr, type, member) LULL__CAST(type *, LULL__CAST(uintptr_t, ptr) - offsetof(type, member))
#else
#define lull_container_of(ptr, type, member)                                                       \
	((type *)(void *)((char *)(uintptr_t)(ptr)-offsetof(type, member)))
#endif

#define LULL__CAT2(a, b) a##b
#define LULL__CAT(a, b)	 LULL__CAT2(a, b)

/*
 * No exception may leave a callback: lull is C, and calls it with locks held. Say so behind the parameters
 * of each callback, by noexcept, or by LULL_NOEXCEPT where the code is C too. From C++17 on, a function that
 * does not say it does not compile as a callback.
 */
#ifdef __cplusplus
#define LULL_NOEXCEPT noexcept
#else
#define LULL_NOEXCEPT
#endif
#ifdef __cpp_noexcept_function_type
#define LULL__NOEXCEPT_TYPE noexcept
#else
#define LULL__NOEXCEPT_TYPE
#endif

/* Begins with zero, in C++, where no initialiser of the structure says otherwise. */
#ifdef __cplusplus
#define LULL__ZERO = 0
#define LULL__ZEROS = {}
#else
#define LULL__ZERO
#define LULL__ZEROS
#endif

/*
 * Declare a struct @type that @enter makes and @leave ends with the block. In C++ a declaration may follow
 * `if (x)`, and would end there and then; the second statement then does not know the name.
 */
#define LULL__GUARD(type, leave, enter)                                                            \
	LULL__GUARD_NAMED(LULL__CAT(lull_guard_wants_a_block_, __COUNTER__), type, leave, enter)
#define LULL__GUARD_DECL(name, type, leave, enter)                                                 \
	struct type name __attribute__((cleanup(leave), unused)) = enter
#ifdef __cplusplus
#define LULL__GUARD_NAMED(name, type, leave, enter)                                                \
	LULL__GUARD_DECL(name, type, leave, enter);                                                \
	(void)name
#else
#define LULL__GUARD_NAMED(name, type, leave, enter) LULL__GUARD_DECL(name, type, leave, enter)
#endif

/*
 * For C++: @name(ptr, ...), which ends in free(3), does not compile for objects with a destructor. It would not call
 * the destructor, and such objects come from new. Use a callback for them, which deletes.
 */
#ifdef __cplusplus
#ifdef __has_builtin
#if __has_builtin(__is_trivially_destructible)
#define LULL__NO_DESTRUCTOR(type) __is_trivially_destructible(type)
#endif
#endif
#ifndef LULL__NO_DESTRUCTOR
#define LULL__NO_DESTRUCTOR(type) __has_trivial_destructor(type)
#endif
extern "C++" {
template <bool condition> struct lull__if {
};
template <> struct lull__if<true> {
	typedef void type;
};
}
#define LULL__ENDS_IN_FREE(name)                                                                   \
	extern "C++" template <class Type, class... Size>                                          \
	typename lull__if<!LULL__NO_DESTRUCTOR(Type)>::type name(Type *, Size...) = delete
#else
#define LULL__ENDS_IN_FREE(name) struct lull__nothing
#endif

LULL_BEGIN_DECLS

/* Return the version of the loaded library, "major.minor.patch". Any context. */
LULL_API const char *lull_version(void);

LULL_END_DECLS

#endif /* LULL_BASE_H */
