/* SPDX-License-Identifier: MIT */
/* emulated.c - what liburcu itself has for systems without futexes, to which its inline code refers: Linux has them. */
#include <stdlib.h>

int compat_futex_async(void);
int compat_futex_noasync(void);

int compat_futex_async(void)
{
	abort();
}

int compat_futex_noasync(void)
{
	abort();
}
