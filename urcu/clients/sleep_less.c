/* SPDX-License-Identifier: MIT */
/* Linked into programs whose only way to run for another time than 10 seconds is another sleep(). */
#include <stdlib.h>
#include <time.h>

unsigned int sleep(unsigned int seconds)
{
	const char *given = getenv("LULL_CLIENTS_SLEEP_MS");
	long ms = given ? atol(given) : (long)seconds * 1000;
	struct timespec rest = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&rest, &rest))
		;
	return 0;
}
