/* SPDX-License-Identifier: MIT */
/* lull torture: runs that are interrupted; see interrupt.h. */
#include "torture/interrupt.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "torture/torture.h"

static volatile sig_atomic_t signal_seen;

static void note_signal(int signal)
{
	signal_seen = signal;
}

void torture_catch_interrupts(void)
{
	struct sigaction action = { .sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND }, old;
	static const int signals[] = { SIGINT, SIGTERM };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

bool torture_interrupted(void)
{
	return signal_seen;
}

const char *torture_end_words(bool failed)
{
	static char words[96];
	const char *word = failed ? "FAILURE" : "SUCCESS";

	if (!signal_seen)
		return word;
	snprintf(words, sizeof(words), "%s, but interrupted after %.1f of %g s", word,
		 (double)(bench_now_ns() - torture.began_ns) / 1e9, torture.seconds);
	return words;
}

int torture_end_status(bool failed)
{
	if (failed)
		return EXIT_FAILURE;
	return signal_seen ? 128 + signal_seen : EXIT_SUCCESS;
}
