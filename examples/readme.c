/* SPDX-License-Identifier: MIT */
/*
 * The README's program: one thread reads a configuration without a lock, another replaces it again and
 * again. The reader never waits, and never sees a half-written or a freed one.
 */
#include <lull/rcu.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct config {
	int low, high;
};

static struct config *config; /* updated by main() alone, read by anybody */

static struct config *new_config(int low)
{
	struct config *c = malloc(sizeof(*c));

	if (!c)
		abort();
	c->low = low;
	c->high = low + 10;
	return c;
}

static bool in_range(int value)
{
	LULL_RCU_GUARD(); /* a read section, to the end of the function */
	struct config *c = lull_rcu_dereference(config);

	return c->low <= value && value < c->high;
}

static void *reader(void *reads)
{
	while (!in_range(1000000))
		++*(unsigned long *)reads;
	return NULL;
}

int main(void)
{
	unsigned long reads = 0;
	pthread_t thread;

	lull_rcu_assign(config, new_config(0));
	if (pthread_create(&thread, NULL, reader, &reads) != 0)
		return 1;
	for (int low = 1; low <= 1000000; low++)
		lull_rcu_free(lull_rcu_replace(config, new_config(low)));
	pthread_join(thread, NULL);

	printf("%lu reads went on while 1000000 configurations came and went\n", reads);
	free(config);
	return 0;
}
