/* SPDX-License-Identifier: MIT */
/* count.c - one operation, N times, for valgrind to count. usage: count N lock|update|nobody */
#include "urcu_flavor.h"

#include <string.h>

int main(int argc, char **argv)
{
	long n;

	MUST(argc == 3);
	n = atol(argv[1]);
	rcu_register_thread();
	if (!strcmp(argv[2], "nobody"))
		rcu_unregister_thread();
	if (!strcmp(argv[2], "lock")) {
		for (long i = 0; i < n; i++) {
			rcu_read_lock();
			rcu_read_unlock();
		}
	} else {
		for (long i = 0; i < n; i++)
			synchronize_rcu();
	}
	return 0;
}
