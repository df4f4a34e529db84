/* SPDX-License-Identifier: MIT */
/*
 * A small user of an installed lull: publishes, reads, replaces, frees. Gets the version that it should
 * find as its argument.
 */
#include <lull/rcu.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int *current;

static int *new_value(int value)
{
	int *p = malloc(sizeof(*p));

	if (!p)
		abort();
	*p = value;
	return p;
}

static int read_value(void)
{
	int value;

	lull_rcu_read_lock();
	value = *lull_rcu_dereference(current);
	lull_rcu_read_unlock();
	return value;
}

int main(int argc, char **argv)
{
	int *old;

	if (argc != 2 || strcmp(argv[1], lull_version()) != 0) {
		fprintf(stderr, "this is lull %s\n", lull_version());
		return 1;
	}

	lull_rcu_assign(current, new_value(1));
	if (read_value() != 1)
		return 1;
	old = lull_rcu_replace(current, new_value(2));
	lull_rcu_free(old);
	if (read_value() != 2)
		return 1;
	lull_rcu_barrier();
	free(current);
	return 0;
}
