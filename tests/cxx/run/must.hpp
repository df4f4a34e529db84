/* SPDX-License-Identifier: MIT */
/*
 * must.hpp - for the test programs beside it: MUST(condition) ends the program with a line if it is false; what sanitizers
 * there are; what is called.
 */
#ifndef LULL_TEST_MUST_HPP
#define LULL_TEST_MUST_HPP

#include <cstdio>
#include <cstdlib>

#define MUST(...) must_be((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

inline void must_be(bool condition, const char *text, const char *file, int line)
{
	if (!condition) {
		std::fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
		std::abort();
	}
}

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#else
#define UNDER_TSAN 0
#endif
#if UNDER_TSAN || defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
/* clang's thread sanitizer brings its own operator new, and no other. */
#define HAS_OWN_NEW __has_feature(thread_sanitizer)

/* A function to call, of any type, which lives as long as the call; it may take a number. */
class callable
{
      public:
	template <class Work> callable(const Work &work) : what(&work), how(call_of<Work>) {}
	void operator()(int number = 0) const { how(what, number); }

      private:
	template <class Work> static void call_of(const void *what, int number)
	{
		call(*static_cast<const Work *>(what), number, 0);
	}
	template <class Work> static auto call(const Work &work, int number, int) -> decltype(work(number), void())
	{
		work(number);
	}
	template <class Work> static void call(const Work &work, int, long) { work(); }

	const void *what;
	void (*how)(const void *, int);
};

#endif /* LULL_TEST_MUST_HPP */
