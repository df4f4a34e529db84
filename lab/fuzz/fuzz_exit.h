/* SPDX-License-Identifier: MIT */
/* fuzz_exit.h - calls code of the lull command, which ends the process at bad input, again and again in one process. */
#ifndef LULL_FUZZ_FUZZ_EXIT_H
#define LULL_FUZZ_FUZZ_EXIT_H

#define FUZZ_RETURNED (-1)

/* Text on standard output and standard error; cut off where it is long. */
struct fuzz_text {
	char out[4096], err[4096];
};

/*
 * Call @func. Returns the status that it called exit() with, or FUZZ_RETURNED. After an exit(), the files that
 * it had open (fopen()) are closed and the memory that it held is freed, as the end of a process would. The target is
 * linked with -Wl,--wrap=exit,--wrap=fopen,--wrap=fclose (lull_fuzz_exit() in CMakeLists.txt).
 */
int fuzz_run(void (*func)(void *arg), void *arg, struct fuzz_text *text);

/* Bad input is one line on standard error that begins with "lull", no other output, and status 2. */
void fuzz_must_complain(int status, const struct fuzz_text *text);

#endif /* LULL_FUZZ_FUZZ_EXIT_H */
