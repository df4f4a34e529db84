/* SPDX-License-Identifier: MIT */
/* Times, bytes and large numbers in words; see units.h. */
#include "common/units.h"

#include <stdio.h>
#include <string.h>

/* Take the zeros off the end of @text, which has a point if @decimals is not 0. */
static void strip_zeros(char *text, int decimals)
{
	char *end = text + strlen(text);

	if (!decimals)
		return;
	while (end[-1] == '0')
		end--;
	if (end[-1] == '.')
		end--;
	*end = '\0';
}

/*
 * Write @value, which is not negative, in the first of @nr_units units in which it is below 1000. Each is
 * 1000 of the one before.
 */
static struct units_text scaled(double value, const char *const *unit, unsigned nr_units)
{
	struct units_text t;
	unsigned i = 0;
	int decimals;

	/* 999.5 would be rounded to 1000. */
	while (i + 1 < nr_units && value >= 999.5) {
		value /= 1000;
		i++;
	}
	decimals = units_decimals(value);
	snprintf(t.text, sizeof(t.text) - 4, "%.*f", decimals, value);
	strip_zeros(t.text, decimals);
	strcat(t.text, unit[i]);
	return t;
}

struct units_text units_time(double ns)
{
	static const char *const unit[] = { " ns", " us", " ms", " s" };
	static const struct units_text unknown = { "n/a" };

	return ns >= 0 ? scaled(ns, unit, sizeof(unit) / sizeof(unit[0])) : unknown;
}

struct units_text units_bytes(double bytes)
{
	static const char *const unit[] = { " B", " kB", " MB", " GB", " TB", " PB", " EB" };
	static const struct units_text none = { "-" };

	return bytes >= 0 ? scaled(bytes, unit, sizeof(unit) / sizeof(unit[0])) : none;
}

struct units_text units_count(double count)
{
	static const char *const unit[] = { "", " k", " M", " G", " T", " P", " E" };

	return scaled(count, unit, sizeof(unit) / sizeof(unit[0]));
}

struct units_text units_age(double seconds)
{
	unsigned long long whole;
	struct units_text t;

	/* Print a time that would be rounded to 60 seconds as a minute. */
	if (!(seconds >= 59.95))
		return units_time(seconds * 1e9);
	whole = (unsigned long long)(seconds < 60 ? 60 : seconds);
	if (whole < 3600)
		snprintf(t.text, sizeof(t.text), "%llu min %02llu s", whole / 60, whole % 60);
	else if (whole < 86400)
		snprintf(t.text, sizeof(t.text), "%llu h %02llu min", whole / 3600, whole / 60 % 60);
	else
		snprintf(t.text, sizeof(t.text), "%llu d %02llu h", whole / 86400, whole / 3600 % 24);
	return t;
}

int units_decimals(double value)
{
	if (value < 0)
		value = -value;
	return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}
