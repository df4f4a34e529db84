/* SPDX-License-Identifier: MIT */
/*
 * bytes.c - hash bytes and strings: SipHash-1-3.
 *
 * Four words of state, which begin as the key. Each word of the message is mixed in before and after a
 * round, so that an attacker who does not know the state cannot choose a word that undoes an earlier one. A hash
 * without such a key inside (multiply, shift, next word) has pairs of words that cancel under any seed; one that
 * multiplies two halves of 64 bits has words that make its product zero.
 *
 * J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF" (2012), with one round for each word and
 * three at the end, as hash tables use it.
 */
#include <endian.h>
#include <string.h>

#include <lull/hash.h>

struct sip_state {
	uint64_t a, b, c, d;
};

static inline uint64_t sip_rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static inline void sip_round(struct sip_state *s)
{
	s->a += s->b;
	s->b = sip_rotate(s->b, 13) ^ s->a;
	s->a = sip_rotate(s->a, 32);
	s->c += s->d;
	s->d = sip_rotate(s->d, 16) ^ s->c;
	s->a += s->d;
	s->d = sip_rotate(s->d, 21) ^ s->a;
	s->c += s->b;
	s->b = sip_rotate(s->b, 17) ^ s->c;
	s->c = sip_rotate(s->c, 32);
}

static inline void add_word(struct sip_state *s, uint64_t word)
{
	s->d ^= word;
	sip_round(s);
	s->a ^= word;
}

static inline uint64_t word_at(const unsigned char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return le64toh(word);
}

/* Return the @left bytes at @at, fewer than 8, which are the last of @size bytes. */
static inline uint64_t last_bytes(const unsigned char *at, size_t left, size_t size)
{
	uint64_t word = 0;

	if (left == 0)
		return 0;
	if (size >= sizeof(word)) /* with bytes that have been hashed, which are shifted out */
		return word_at(at + left - sizeof(word)) >> (64 - 8 * left);
	for (size_t i = 0; i < left; i++)
		word |= (uint64_t)at[i] << 8 * i;
	return word;
}

uint64_t lull_hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
	const unsigned char *at = (const unsigned char *)bytes;
	size_t left = size;
	/* The other half of the key is no secret of its own, but as unlike the first as it can be. */
	const uint64_t other = lull_hash_mix64(seed);
	struct sip_state s = {
		seed ^ UINT64_C(0x736f6d6570736575),
		other ^ UINT64_C(0x646f72616e646f6d),
		seed ^ UINT64_C(0x6c7967656e657261),
		other ^ UINT64_C(0x7465646279746573),
	};

	for (; left >= sizeof(uint64_t); left -= sizeof(uint64_t), at += sizeof(uint64_t))
		add_word(&s, word_at(at));
	add_word(&s, last_bytes(at, left, size) | (uint64_t)size << 56);
	s.c ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(&s);
	return s.a ^ s.b ^ s.c ^ s.d;
}

uint64_t lull_hash_string(const char *string, uint64_t seed)
{
	return lull_hash_bytes(string, strlen(string), seed);
}
