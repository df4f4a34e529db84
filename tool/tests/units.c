/* SPDX-License-Identifier: MIT */
/* units.c - times, bytes and numbers in words: three digits, whatever the unit, also where rounding changes it. */
#include "test.h"

#include "common/units.c"

#include <math.h>

TEST(time)
{
	assert_string_equal(units_time(0).text, "0 ns");
	assert_string_equal(units_time(0.4).text, "0.4 ns");
	assert_string_equal(units_time(0.943).text, "0.94 ns");
	assert_string_equal(units_time(0.004).text, "0 ns");
	assert_string_equal(units_time(7.654).text, "7.65 ns");
	assert_string_equal(units_time(455).text, "455 ns");
	assert_string_equal(units_time(10e3).text, "10 us");
	assert_string_equal(units_time(10400).text, "10.4 us");
	assert_string_equal(units_time(10449).text, "10.4 us");
	assert_string_equal(units_time(12e6).text, "12 ms");
	assert_string_equal(units_time(1.5e9).text, "1.5 s");
}

TEST(time_at_borders)
{
	assert_string_equal(units_time(99.94).text, "99.9 ns");
	assert_string_equal(units_time(99.96).text, "100 ns");
	assert_string_equal(units_time(999.4).text, "999 ns");
	assert_string_equal(units_time(999.6).text, "1 us");
	assert_string_equal(units_time(999.4e3).text, "999 us");
	assert_string_equal(units_time(999.6e3).text, "1 ms");
	assert_string_equal(units_time(999.6e6).text, "1 s");
	/* There is no larger unit. */
	assert_string_equal(units_time(1234e9).text, "1234 s");
}

TEST(time_unknown)
{
	assert_string_equal(units_time(-1).text, "n/a");
	assert_string_equal(units_time((double)NAN).text, "n/a");
}

TEST(bytes)
{
	assert_string_equal(units_bytes(-1).text, "-");
	assert_string_equal(units_bytes(0).text, "0 B");
	assert_string_equal(units_bytes(8.25).text, "8.25 B");
	assert_string_equal(units_bytes(512).text, "512 B");
	assert_string_equal(units_bytes(1024).text, "1.02 kB");
	assert_string_equal(units_bytes(999.7e3).text, "1 MB");
	assert_string_equal(units_bytes(30e6).text, "30 MB");
	assert_string_equal(units_bytes(18446744073709551615.0).text, "18.4 EB");
}

TEST(age)
{
	assert_string_equal(units_age(3.2).text, "3.2 s");
	assert_string_equal(units_age(59.94).text, "59.9 s");
	assert_string_equal(units_age(59.96).text, "1 min 00 s");
	assert_string_equal(units_age(125.9).text, "2 min 05 s");
	assert_string_equal(units_age(3599.9).text, "59 min 59 s");
	assert_string_equal(units_age(3600).text, "1 h 00 min");
	assert_string_equal(units_age(86399).text, "23 h 59 min");
	assert_string_equal(units_age(86400).text, "1 d 00 h");
	assert_string_equal(units_age(12000).text, "3 h 20 min");
	assert_string_equal(units_age(86400 + 2 * 3600).text, "1 d 02 h");
	assert_string_equal(units_age(-1).text, "n/a");
}

TEST(count)
{
	assert_string_equal(units_count(999).text, "999");
	assert_string_equal(units_count(1230).text, "1.23 k");
	assert_string_equal(units_count(12345678).text, "12.3 M");
}

/* A figure in a column of one unit is as exact as one with its own unit. */
TEST(decimals)
{
	assert_int_equal(units_decimals(0), 2);
	assert_int_equal(units_decimals(9.994), 2);
	assert_int_equal(units_decimals(9.996), 1);
	assert_int_equal(units_decimals(-50), 1);
	assert_int_equal(units_decimals(99.96), 0);
	assert_int_equal(units_decimals(-1e6), 0);
}
