/* SPDX-License-Identifier: MIT */
/* lull torture: a run that is interrupted ends early, and says what it did until then. */
#ifndef LULL_LAB_INTERRUPT_H
#define LULL_LAB_INTERRUPT_H

#include <stdbool.h>

/* From now on SIGINT and SIGTERM are noted. The second one ends the process as usual. */
void torture_catch_interrupts(void);
bool torture_interrupted(void);

/* Return how the run ended, in words for its last line. Overwritten by the next. */
const char *torture_end_words(bool failed);
/* Return its exit status: of a run that was interrupted, what a shell has for the signal. */
int torture_end_status(bool failed);

#endif
