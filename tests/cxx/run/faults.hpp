/* SPDX-License-Identifier: MIT */
/*
 * faults.hpp - for the test programs beside it: keys and values that throw when they are told to.
 */
#ifndef LULL_TEST_FAULTS_HPP
#define LULL_TEST_FAULTS_HPP

#include <utility>

#include "test.hpp"

struct fault {
	int where;
};

/* The calling thread throws at the n-th place from now on where it can. 0: never. */
inline thread_local int faults_in;

inline void may_fail(int where)
{
	if (faults_in > 0 && --faults_in == 0)
		throw fault{ where };
}

/* A word, on the heap, that is copied, moved, hashed and compared with difficulties. */
struct word {
	std::string text;

	word(const char *from) : text(from) { born(); }
	explicit word(std::string from) : text(std::move(from)) { born(); }
	word(const word &from) : text(from.text) { born(); }
	word(word &&from) : text(from.text) /* a copy: a failed move leaves what it was */
	{
		born();
		from.text = "moved";
	}
	word &operator=(const word &) = delete;
	~word()
	{
		text[0] = '\0'; /* the address sanitizer knows when this is twice */
		alive--;
	}

private:
	void born()
	{
		may_fail(1);
		text.reserve(40);
		alive++;
	}
};

struct hash_words {
	using is_avalanching = void;
	size_t operator()(const word &w) const
	{
		may_fail(2);
		return static_cast<unsigned char>(w.text[0]) % 2; /* long chains of equal hashes */
	}
};

struct compare_words {
	bool operator()(const word &a, const word &b) const
	{
		may_fail(3);
		return a.text == b.text;
	}
};

#endif /* LULL_TEST_FAULTS_HPP */
