/* SPDX-License-Identifier: MIT */
/*
 * Times, bytes and large numbers in words, all rounded alike: to three significant digits, and no more than two
 * after the point.
 */
#ifndef LULL_TOOL_UNITS_H
#define LULL_TOOL_UNITS_H

#ifdef __cplusplus
extern "C" {
#endif

/* A number and its unit. */
struct units_text {
	char text[32];
};

/* Write @ns with its unit: "0.4 ns", "455 ns", "10.4 us", "12 ms", "1.5 s"; "n/a" when it is negative. */
struct units_text units_time(double ns);
/* Write @seconds as units_time() below a minute, and then "2 min 05 s", "3 h 20 min", "12 d 03 h". */
struct units_text units_age(double seconds);
/* Write @bytes with its unit: "0 B", "512 B", "12.3 kB" of 1000 bytes each; "-" when it is negative. */
struct units_text units_bytes(double bytes);
/* Write @count in powers of 1000: "999", "1.23 k", "12.3 M". */
struct units_text units_count(double count);

/* Return how many digits after the point that is for @value. For columns that share a unit. */
int units_decimals(double value);

#ifdef __cplusplus
}
#endif

#endif
