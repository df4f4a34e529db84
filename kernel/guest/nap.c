// SPDX-License-Identifier: MIT
/*
 * nap US: sleep so many microseconds, again and again. Its CPU is nearly idle, but never for a tick's length, so the kernel
 * keeps the tick there.
 */
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

int main(int argc, char **argv)
{
	struct timespec nap = { .tv_nsec = argc > 1 ? atol(argv[1]) * 1000 : 0 };

	if (nap.tv_nsec <= 0 || nap.tv_nsec >= 1000000000 || prctl(PR_SET_TIMERSLACK, 1))
		return 2;
	for (;;)
		nanosleep(&nap, NULL);
}
