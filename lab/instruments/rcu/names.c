/* SPDX-License-Identifier: MIT */
/* lull rcuscale: what is measured, and beside what, in words; see rcu_tables.h. */
#include "instruments/rcu/rcu_tables.h"

#include <stdio.h>

static const char *const setup_names[NR_SETUPS] = {
	[SETUP_IDLE] = "idle",
	[SETUP_BUSY] = "busy",
	[SETUP_THREADS64] = "threads64",
	[SETUP_SECTIONS] = "sections",
	[SETUP_STUCK] = "stuck",
};

const char *const rcuscale_setup_what[NR_SETUPS] = {
	[SETUP_IDLE] = "idle process",
	[SETUP_BUSY] = "one busy reader",
	[SETUP_THREADS64] = "64 registered threads asleep",
	[SETUP_SECTIONS] = "one reader in sections of 20 us",
	[SETUP_STUCK] = "one reader that sleeps in its section for 200 ms",
};

/* In the order of enum rcuscale_what. */
static const char *const metric_names[NR_WHATS] = { "synchronize", "call", "barrier",
						    "barrier_queued", "replace", "kill",
						    "interrupts", "wake", "paced", "updaters",
						    "scan" };

const char *const rcuscale_titles[NR_WHATS] = {
	[WHAT_SYNCHRONIZE] = "synchronize",
	[WHAT_CALL] = "call until its callback runs, one at a time",
	[WHAT_BARRIER] = "barrier, nothing queued",
	[WHAT_BARRIER_QUEUED] = "barrier, one callback queued",
	[WHAT_REPLACE] = "replacing 64-byte objects",
	[WHAT_KILL] = "kill of a percpu_ref until it is confirmed, and one membarrier",
	[WHAT_INTERRUPTS] = "interrupts",
	[WHAT_WAKE] = "waking up",
	[WHAT_PACED] = "deferred calls at a fixed rate",
	[WHAT_SCAN] = "scans",
};

const char *rcuscale_metric(enum rcuscale_what what, const char *way, enum rcuscale_setup setup)
{
	static char text[64];

	snprintf(text, sizeof(text), "%s%s%s_%s", metric_names[what], way ? "_" : "",
		 way ? way : "", setup_names[setup]);
	return text;
}
