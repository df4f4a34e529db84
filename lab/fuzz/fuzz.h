/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - what the fuzz targets share: the entry that libFuzzer calls, the input as a row of bytes, and a check
 * whose failure libFuzzer keeps the input of.
 */
#ifndef LULL_FUZZ_FUZZ_H
#define LULL_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The target: anything wrong with @data ends the process. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define fuzz_must(condition)                                                                       \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* Rest of the input. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

/* The next byte; zeros after the end. */
static inline unsigned fuzz_byte(struct fuzz_input *input)
{
	if (!input->left)
		return 0;
	input->left--;
	return *input->at++;
}

#endif /* LULL_FUZZ_FUZZ_H */
