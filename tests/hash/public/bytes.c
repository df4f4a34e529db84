/* SPDX-License-Identifier: MIT */
/*
 * bytes.c - hashes of bytes and strings: attacks by strangers who know all but the seed.
 *
 * The library's hash is compared with a plain SipHash in this file, and that one with the values that its
 * authors have published for SipHash-2-4, and with those of OpenSSL for SipHash-1-3.
 */
#include "test.h"

#include <inttypes.h>
#include <sys/random.h>

#include <lull/hash.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Key: bytes 0 to 15; message n: bytes 0 to n - 1. */
static const uint64_t of_2_4[] = {
	0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a, 0x85676696d7fb7e2d,
	0xcf2794e0277187b7, 0x18765564cd99a68d, 0xcbc9466e58fee3ce, 0xab0200f58b01d137,
	0x93f5f5799a932462, 0x9e0082df0ba9e4b0, 0x7a5dbbc594ddb9f3, 0xf4b32f46226bada7,
	0x751e8fbc860ee5fb, 0x14ea5627c0843d90, 0xf723ca908e7af2ee, 0xa129ca6149be45e5,
	0x3f2acc7f57c29bdb, 0x699ae9f52cbe4794, 0x4bc1b3f0968dd39c, 0xbb6dc91da77961bd,
	0xbed65cf21aa2ee98, 0xd0f2cbb02e3b67c7, 0x93536795e3a33e88, 0xa80c038ccd5ccec8,
	0xb8ad50c6f649af94, 0xbce192de8a85b8ea, 0x17d835b85bbb15f3, 0x2f2e6163076bcfad,
	0xde4daaaca71dc9a5, 0xa6a2506687956571, 0xad87a3535c49ef28, 0x32d892fad841c342,
	0x7127512f72f27cce, 0xa7f32346f95978e3, 0x12e0b01abb051238, 0x15e034d40fa197ae,
	0x314dffbe0815a3b4, 0x027990f029623981, 0xcadcd4e59ef40c4d, 0x9abfd8766a33735c,
	0x0e3ea96b5304a7d0, 0xad0c42d6fc585992, 0x187306c89bc215a9, 0xd4a60abcf3792b95,
	0xf935451de4f21df2, 0xa9538f0419755787, 0xdb9acddff56ca510, 0xd06c98cd5c0975eb,
	0xe612a3cb9ecba951, 0xc766e62cfcadaf96, 0xee64435a9752fe72, 0xa192d576b245165a,
	0x0a8787bf8ecb74b2, 0x81b3e73d20b49b6f, 0x7fa8220ba3b2ecea, 0x245731c13ca42499,
	0xb78dbfaf3a8d83bd, 0xea1ad565322a1a0b, 0x60e61c23a3795013, 0x6606d7e446282b93,
	0x6ca4ecb15c5f91e1, 0x9f626da15c9625f3, 0xe51b38608ef25f57, 0x958a324ceb064572,
};
static const uint64_t of_1_3[] = {
	0xabac0158050fc4dc, 0xc9f49bf37d57ca93, 0x82cb9b024dc7d44d, 0x8bf80ab8e7ddf7fb,
	0xcf75576088d38328, 0xdef9d52f49533b67, 0xc50d2b50c59f22a7, 0xd3927d989bb11140,
	0x369095118d299a8e, 0x25a48eb36c063de4, 0x79de85ee92ff097f, 0x70c118c1f94dc352,
	0x78a384b157b4d9a2, 0x306f760c1229ffa7, 0x605aa111c0f95d34, 0xd320d86d2a519956,
	0xcc4fdd1a7d908b66, 0x9cf2689063dbd80c, 0x8ffc389cb473e63e, 0xf21f9de58d297d1c,
	0xc0dc2f46a6cce040, 0xb992abfe2b45f844, 0x7ffe7b9ba320872e, 0x525a0e7fdae6c123,
	0xf464aeb267349c8c, 0x45cd5928705b0979, 0x3a3e35e3ca9913a5, 0xa91dc74e4ade3b35,
	0xfb0bed02ef6cd00d, 0x88d93cb44ab1e1f4, 0x540f11d643c5e663, 0x2370dd1f8c21d1bc,
	0x81157b6c16a7b60d, 0x4d54b9e57a8ff9bf, 0x759f12781f2a753e, 0xcea1a3bebf186b91,
	0x2cf508d3ada26206, 0xb6101c2da3c33057, 0xb3f47496ae3a36a1, 0x626b57547b108392,
	0xc1d2363299e41531, 0x667cc1923f1ad944, 0x65704ffec8138825, 0x24f280d1c28949a6,
	0xc2ca1cedfaf8876b, 0xc2164bfc9f042196, 0xa16e9c9368b1d623, 0x49fb169c8b5114fd,
	0x9f3143f8df074c46, 0xc6fdaf2412cc86b3, 0x7eaf49d10a52098f, 0x1cf313559d292f9a,
	0xc44a30dda2f41f12, 0x36fae98943a71ed0, 0x318fb34c73f0bce6, 0xa27abf3670a7e980,
	0xb4bcc0db243c6d75, 0x23f8d852fdb71513, 0x8f035f4da67d8a08, 0xd89cd0e5b7e8f148,
	0xf6f4e6bcf7a644ee, 0xaec59ad80f1837f2, 0xc3b2f6154b6694e0, 0x9d199062b7bbb3a8,
};

/* ---- SipHash, as simple as it can be written -------------------------------------------------- */

static uint64_t rotated(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotated(v[1], 13) ^ v[0];
	v[3] = rotated(v[3], 16) ^ v[2];
	v[0] = rotated(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotated(v[1], 17) ^ v[2];
	v[3] = rotated(v[3], 21) ^ v[0];
	v[2] = rotated(v[2], 32);
}

static uint64_t plain_siphash(const unsigned char *bytes, size_t size, const uint64_t key[2], int rounds, int last)
{
	uint64_t v[4] = { key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
			  key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573) };

	for (size_t at = 0; at <= size; at += 8) {
		uint64_t word = 0;

		for (size_t i = at; i < at + 8 && i < size; i++)
			word |= (uint64_t)bytes[i] << i % 8 * 8;
		if (size - at < 8)
			word |= (uint64_t)size << 56;
		v[3] ^= word;
		for (int i = 0; i < rounds; i++)
			sip_round(v);
		v[0] ^= word;
	}
	v[2] ^= 0xff;
	for (int i = 0; i < last; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

TEST(plain_siphash)
{
	const uint64_t key[2] = { UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908) };
	unsigned char bytes[COUNT(of_2_4)];

	for (size_t i = 0; i < COUNT(of_2_4); i++) {
		bytes[i] = (unsigned char)i;
		assert_int_equal(plain_siphash(bytes, i, key, 2, 4), of_2_4[i]);
		assert_int_equal(plain_siphash(bytes, i, key, 1, 3), of_1_3[i]);
	}
}

/* ---- the library's ---------------------------------------------------------------------------- */

static uint64_t a_seed(void)
{
	uint64_t seed;

	assert_int_equal(getrandom(&seed, sizeof(seed), 0), sizeof(seed));
	print_message("seed %" PRIu64 "\n", seed);
	return seed;
}

/* Each size and alignment; the bytes end where the memory does, so that a sanitizer sees a read behind them. */
TEST(is_siphash)
{
	const uint64_t seed = a_seed(), key[2] = { seed, lull_hash_mix64(seed) };

	for (size_t size = 0; size <= 100; size++) {
		for (size_t skip = 0; skip < 8; skip++) {
			unsigned char *all = (unsigned char *)malloc(skip + size ? skip + size : 1);
			unsigned char *bytes = all + skip;

			assert_non_null(all);
			for (size_t i = 0; i < size; i++)
				bytes[i] = (unsigned char)(i * 37 + 1 + skip + size);
			assert_int_equal(lull_hash_bytes(bytes, size, seed), plain_siphash(bytes, size, key, 1, 3));
			free(all);
		}
	}
}

TEST(string)
{
	char text[65];

	assert_int_equal(lull_hash_bytes(NULL, 0, 7), lull_hash_string("", 7));
	for (size_t size = 0; size < sizeof(text); size++) {
		memset(text, 'x', size);
		text[size] = '\0';
		assert_int_equal(lull_hash_string(text, 7), lull_hash_bytes(text, size, 7));
	}
}

/* ---- strangers -------------------------------------------------------------------------------- */

#define STRINGS 65536u
#define WORDS	32u /* of each string */

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Is there no more among @hashes than chance? Two of 65,536 are equal once in 2^33 runs. 63.2 % of as many buckets are
 * hit: 41,427, give or take 79; no bucket has more than 20 in 10^14 runs.
 */
static void expect_chance(uint64_t *hashes)
{
	static unsigned char low[STRINGS], high[STRINGS];
	unsigned low_used = 0, high_used = 0, longest = 0;

	memset(low, 0, sizeof(low));
	memset(high, 0, sizeof(high));
	for (size_t i = 0; i < STRINGS; i++) {
		unsigned char *bucket = &low[hashes[i] % STRINGS], *other = &high[hashes[i] >> 48];

		low_used += !*bucket;
		high_used += !*other;
		*bucket += *bucket < 255;
		*other += *other < 255;
		if (*bucket > longest)
			longest = *bucket;
		if (*other > longest)
			longest = *other;
	}
	assert_in_range(low_used, 40600, 42300);
	assert_in_range(high_used, 40600, 42300);
	assert_in_range(longest, 4, 20);
	qsort(hashes, STRINGS, sizeof(*hashes), compare);
	for (size_t i = 1; i < STRINGS; i++)
		assert_true(hashes[i - 1] != hashes[i]);
}

/*
 * 2^16 strings: in each of 16 pairs of words the two differ by @first and @second, or not. A hash that goes
 * from word to word, and lets the second difference take back what the first has done, makes all of them
 * equal.
 */
static void hash_pairs(uint64_t first, uint64_t second, uint64_t seed)
{
	static uint64_t hashes[STRINGS];
	uint64_t words[WORDS];

	for (uint32_t string = 0; string < STRINGS; string++) {
		char text[sizeof(words) + 1] = { 0 };

		for (unsigned i = 0; i < WORDS; i++) {
			words[i] = UINT64_C(0x4142434445464748) + i;
			if (string >> i / 2 & 1)
				words[i] ^= i % 2 ? second : first;
		}
		memcpy(text, words, sizeof(words));
		assert_int_equal(strlen(text), sizeof(words)); /* it is a string, too */
		hashes[string] = lull_hash_string(text, seed);
	}
	expect_chance(hashes);
}

TEST(constructed)
{
	const uint64_t top = UINT64_C(1) << 63;
	const struct {
		uint64_t first, second;
	} pairs[] = {
		{ top, top | top >> 32 }, /* by a multiplication, and a shift by half */
		{ top, top },		  /* by either alone */
		{ top, top >> 32 },
		{ top, top | UINT64_C(0xff) << 48 },
		{ top >> 1 | top, top },
		{ UINT64_C(0x0101010101010101), UINT64_C(0x0101010101010101) }, /* by an exclusive or, a sum */
	};

	for (int run = 0; run < (under_valgrind() ? 1 : 4); run++) {
		uint64_t seed = run ? a_seed() : 0;

		for (size_t i = 0; i < COUNT(pairs); i++)
			hash_pairs(pairs[i].first, pairs[i].second, seed);
	}
}

/* Keys of 8 bytes and a few more that differ in 16 bits only, wherever these are. */
TEST(few_bits)
{
	static uint64_t hashes[STRINGS];
	const uint64_t seed = a_seed();

	for (size_t size = 8; size <= (under_valgrind() ? 8 : 13); size += 5) {
		for (unsigned shift = 0; shift <= 48; shift += 12) {
			for (uint64_t i = 0; i < STRINGS; i++) {
				unsigned char bytes[16] = { 0 };
				uint64_t word = i << shift;

				memcpy(bytes + size - 8, &word, sizeof(word));
				hashes[i] = lull_hash_bytes(bytes, size, seed);
			}
			expect_chance(hashes);
		}
	}
}

/* Seeds that differ little, and hashes of strings of zeros, of which only the length differs. */
TEST(seeds_and_lengths)
{
	static uint64_t hashes[STRINGS];
	static const unsigned char zeros[STRINGS];

	for (uint64_t i = 0; i < STRINGS; i++)
		hashes[i] = lull_hash_bytes("constant", 8, i << 40);
	expect_chance(hashes);
	for (uint64_t i = 0; i < STRINGS; i++)
		hashes[i] = lull_hash_bytes(zeros, i % 2048, i / 2048);
	expect_chance(hashes);
}
