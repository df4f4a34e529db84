/* SPDX-License-Identifier: MIT */
/*
 * keeping.hpp - for the test programs beside it: objects that count how many of them live, and waits that end.
 */
#ifndef LULL_TEST_KEEPING_HPP
#define LULL_TEST_KEEPING_HPP

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <lull/hazptr.h>

#include "must.hpp"

#define AWAIT(...)                                                                                                     \
	do {                                                                                                           \
		auto began = std::chrono::steady_clock::now();                                                         \
		while (!(__VA_ARGS__)) {                                                                               \
			MUST(std::chrono::steady_clock::now() - began < std::chrono::seconds(60));                     \
			std::this_thread::sleep_for(std::chrono::milliseconds(1));                                     \
		}                                                                                                      \
	} while (0)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

inline std::atomic<int> alive;

/* Counts those that live, and has something on the heap that a late reader would find freed. */
struct living {
	std::string text = "alive and too long for a short string";

	living() { alive++; }
	living(const living &other) : text(other.text) { alive++; }
	living &operator=(const living &) = default;
	virtual ~living()
	{
		text = "dead";
		alive--;
	}
	bool is_whole() const { return text.size() == 37; }
};

/* Each test begins with nothing alive, and leaves nothing behind. */
inline void none_alive()
{
	lull_hazptr_barrier();
	MUST(alive == 0);
}

inline void soon()
{
	std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

#endif /* LULL_TEST_KEEPING_HPP */
