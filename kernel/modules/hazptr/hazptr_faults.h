/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What breaks hazptr on purpose, to see that its tests notice. Only hazptr_faulty has it:
 * there "broken=NAME" picks one fault, and tests are called at certain steps. In other builds all
 * of it is nothing.
 */
#ifndef KERNEL_MODULES_HAZPTR_FAULTS_H
#define KERNEL_MODULES_HAZPTR_FAULTS_H

#include <linux/compiler.h>
#include <linux/types.h>

enum hazptr_fault {
	HAZPTR_FAULT_NONE,
	/* contexts */
	HAZPTR_FAULT_NO_RELOAD,		/* what was loaded first will do */
	HAZPTR_FAULT_ONE_SLOT,		/* the scan looks at the first of eight */
	HAZPTR_FAULT_SCAN_FIRST,	/* and takes what is queued afterwards */
	/* acquire */
	HAZPTR_FAULT_FORGET,		/* who has to wait forgets for what */
	HAZPTR_FAULT_TWO_PHASE,		/* lists change together with the wildcards */
	HAZPTR_FAULT_LISTS_FIRST,	/* the scan looks at lists, then at slots */
	HAZPTR_FAULT_SKIP_WILDCARD,	/* the scan takes it for nothing */
	HAZPTR_FAULT_SKIP_PARKED,	/* the same, in lists only */
	HAZPTR_FAULT_ONLINE_ONLY,	/* the scan leaves out offline CPUs */
};

enum hazptr_step {
	HAZPTR_STEP_LOOKED,	/* the object that a slot will name is loaded */
	HAZPTR_STEP_NAMED,	/* a slot names an object that is not validated yet */
	HAZPTR_STEP_TAKEN,	/* a pass has taken what is queued */
	HAZPTR_STEP_SEEN,	/* a pass has snapshots of all slots */
	HAZPTR_STEP_MARKED,	/* a slot has a wildcard */
	HAZPTR_STEP_LOADED,	/* and the object that it will name is loaded */
	HAZPTR_STEP_FLIPPED,	/* a synchronize has changed the wildcard */
	HAZPTR_STEP_HALF,	/* a synchronize has passed all slots, and lists are next */
	HAZPTR_STEP_WAIT,	/* a synchronize waits for a reader */
};

#ifdef HAZPTR_FAULTS

struct hazptr_ctx;
struct hazptr_context;

extern int hazptr_broken;
/* Returns whether it has waited, at HAZPTR_STEP_WAIT. */
extern bool (*hazptr_on_step)(enum hazptr_step step);

#define hazptr_fault(name) unlikely(READ_ONCE(hazptr_broken) == HAZPTR_FAULT_##name)

static inline bool __hazptr_step(enum hazptr_step step)
{
	bool (*on_step)(enum hazptr_step step) = READ_ONCE(hazptr_on_step);

	return on_step && on_step(step);
}

#define hazptr_step(name) __hazptr_step(HAZPTR_STEP_##name)

/* The two halves of hazptr_acquire(), for tests that stop between them. */
void hazptr_mark(struct hazptr_ctx *ctx);
void hazptr_settle(struct hazptr_ctx *ctx, void *addr);
/* One pass of call_hazptr(), now. */
void hazptr_pass_once(void);

#else

static inline bool __hazptr_never(int unused)
{
	return false;
}

#define hazptr_fault(name) __hazptr_never(HAZPTR_FAULT_##name)
#define hazptr_step(name) __hazptr_never(HAZPTR_STEP_##name)

#endif
#endif
