// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * hazptr_acquire() and hazptr_synchronize(): slots of the CPUs, and slots of tasks in lists.
 *
 *	reader				updater
 *	slot = wildcard			unlink A
 *	full barrier			count the wildcards up (full barrier)
 *	load the pointer: A		each slot, until it has been seen once without A and
 *	slot = A				without an older wildcard
 *	...				each list, up to the last that is in it now:
 *	slot = NULL (release)			the same
 *
 * A wildcard is an odd number that synchronize counts up. A slot with a wildcard that was made
 * after that belongs to a reader that loads the pointer after the unlinking. A slot with an older
 * one may become A. So a synchronize waits for each slot for one reader at most, however many come,
 * and any number of them run at once without a lock.
 *
 * What is named moves in one direction: from a CPU's slot to a list, which it enters before the
 * slot is cleared. The scan goes in the same direction: all slots of all CPUs, then the lists, so
 * it meets what moves in one of the two. What enters a list after the scan has begun with it was
 * not A in any slot when the scan passed the slot, or was acquired in the list after the unlinking.
 *
 * Slots and lists belong to possible CPUs, and the scan visits all of them: what a task names while
 * its CPU goes offline stays named.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "hazptr.h"
#include "hazptr_internal.h"

#define SLOTS 4
#define AT_ONCE 64	/* entries of a list that are looked at under one lock */
#define SPINS 200	/* looks at one reader before a synchronize sleeps between them */
#define SLEEP_US 100

struct hazptr_cpu_slot {
	void *addr;
	struct hazptr_ctx *ctx; /* for this CPU only */
};

struct hazptr_cpu {
	struct hazptr_cpu_slot slot[SLOTS]; /* a line */
	raw_spinlock_t lock ____cacheline_aligned;
	struct list_head list;
	u64 stamp; /* of the last entry of @list */
};

static DEFINE_PER_CPU_ALIGNED(struct hazptr_cpu, hazptr_cpus);

/* The wildcard of who acquires now. Odd, so no object has it for an address. */
static atomic_long_t wildcard = ATOMIC_LONG_INIT(1);

/* ---- readers ---- */

/* Put @ctx, which names @addr, into the list of @cpu. */
static void enter_list(struct hazptr_cpu *cpu, struct hazptr_ctx *ctx, void *addr)
{
	unsigned long flags;

	WRITE_ONCE(ctx->parked, addr);
	ctx->cpu = cpu;
#ifdef HAZPTR_FAULTS
	ctx->phase = atomic_long_read(&wildcard);
#endif
	raw_spin_lock_irqsave(&cpu->lock, flags);
	ctx->stamp = ++cpu->stamp;
	list_add_tail(&ctx->entry, &cpu->list);
	raw_spin_unlock_irqrestore(&cpu->lock, flags);
}

static void leave_list(struct hazptr_ctx *ctx)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&ctx->cpu->lock, flags);
	list_del(&ctx->entry);
	raw_spin_unlock_irqrestore(&ctx->cpu->lock, flags);
}

/* Move what @slot names to the list of this CPU. Nothing else changes @ctx meanwhile. */
static void park(void **slot, struct hazptr_ctx *ctx)
{
	enter_list(this_cpu_ptr(&hazptr_cpus), ctx, *slot);
	ctx->slot = &ctx->parked;
	/* Release: whoever sees the slot without it finds it in the list. */
	smp_store_release(slot, NULL);
}

/*
 * An interrupt handler that comes in between uses slots too, but leaves each as it found it. So a
 * slot that is free stays free until it is marked here.
 */
static struct hazptr_cpu_slot *free_slot(struct hazptr_cpu *cpu)
{
	int n;

	for (n = 0; n < SLOTS; n++)
		if (!READ_ONCE(cpu->slot[n].addr))
			return &cpu->slot[n];
	return NULL;
}

/* Let a slot of @ctx say that it names something. Preemption is off. */
static __always_inline void mark(struct hazptr_ctx *ctx)
{
	struct hazptr_cpu *cpu = this_cpu_ptr(&hazptr_cpus);
	struct hazptr_cpu_slot *slot = free_slot(cpu);
	void *any = (void *)atomic_long_read(&wildcard);

	if (likely(slot)) {
		/*
		 * Release: all use of what the slot named before comes first, here or where it
		 * was cleared.
		 */
		smp_store_release(&slot->addr, any);
		/* Only now is the slot this ctx's: a handler could have used it until here. */
		barrier();
		slot->ctx = ctx;
		ctx->slot = &slot->addr;
	} else {
		enter_list(cpu, ctx, any);
		ctx->slot = &ctx->parked;
	}
	/* Pairs with hazptr_synchronize()'s: it sees the slot, or we see the unlinking. */
	smp_mb();
	hazptr_step(MARKED);
}

/* Let the slot of @ctx name @addr instead of anything. Preemption is off. */
static __always_inline void settle(struct hazptr_ctx *ctx, void *addr)
{
	hazptr_step(LOADED);
	if (unlikely(!addr && ctx->slot == &ctx->parked))
		leave_list(ctx);
	WRITE_ONCE(*ctx->slot, addr);
	if (!addr)
		ctx->slot = NULL;
}

/**
 * hazptr_acquire() - name the object that *@addr_p points to, and return it
 * @ctx: not in use; stays in place until hazptr_release()
 * @addr_p: a pointer that updaters change
 *
 * Returns NULL if the pointer is NULL; then there is nothing to release. Does not fail, does not
 * wait. An interrupt handler releases or detaches what it acquires before it returns.
 */
void *hazptr_acquire(struct hazptr_ctx *ctx, void *const *addr_p)
{
	void *addr;

	preempt_disable();
	mark(ctx);
	addr = READ_ONCE(*addr_p);
	settle(ctx, addr);
	preempt_enable();
	return addr;
}
EXPORT_SYMBOL_GPL(hazptr_acquire);

/**
 * hazptr_release() - stop naming what was acquired
 * @ctx: what hazptr_acquire() was given
 * @addr: what it returned
 */
void hazptr_release(struct hazptr_ctx *ctx, void *addr)
{
	if (!addr)
		return;
	preempt_disable(); /* else a context switch could move it meanwhile */
	if (likely(ctx->slot != &ctx->parked))
		/* All use of the object comes before; the scan loads the slot by acquire. */
		smp_store_release(ctx->slot, NULL);
	else
		leave_list(ctx);
	ctx->slot = NULL;
	preempt_enable();
}
EXPORT_SYMBOL_GPL(hazptr_release);

/**
 * hazptr_detach() - let any other task, CPU or interrupt handler release @ctx
 * @ctx: acquired here; or nothing, then nothing is done
 *
 * It is handed over by the caller: by a lock, a queue, or any other release and acquire.
 */
void hazptr_detach(struct hazptr_ctx *ctx)
{
	preempt_disable();
	if (ctx->slot && ctx->slot != &ctx->parked)
		park(ctx->slot, ctx);
	preempt_enable();
}
EXPORT_SYMBOL_GPL(hazptr_detach);

/* ---- the scan ---- */

struct scan {
	const void *addr;
	long wildcard;	/* older ones may become @addr */
	int looks;	/* at one reader */
	bool faulty_two_phase;
};

static bool is_wildcard(const void *seen)
{
	return (unsigned long)seen & 1;
}

static bool holds_up(const struct scan *scan, const void *seen)
{
	if (!is_wildcard(seen))
		return seen && seen == scan->addr;
	if (hazptr_fault(SKIP_WILDCARD))
		return false;
	if (scan->faulty_two_phase)
		return (long)seen != scan->wildcard;
	return (long)((unsigned long)seen - (unsigned long)scan->wildcard) < 0;
}

static bool entry_holds_up(const struct scan *scan, const struct hazptr_ctx *ctx)
{
	const void *seen = READ_ONCE(ctx->parked);

	if (hazptr_fault(SKIP_PARKED) && is_wildcard(seen))
		return false;
#ifdef HAZPTR_FAULTS
	if (scan->faulty_two_phase && ctx->phase == scan->wildcard)
		return false;
#endif
	return holds_up(scan, seen);
}

/* Between two looks at a reader. */
static void wait_a_little(struct scan *scan)
{
	if (hazptr_fault(FORGET))
		scan->addr = NULL;
	if (hazptr_step(WAIT))
		return;
	if (scan->looks++ < SPINS)
		cpu_relax();
	else
		usleep_range(SLEEP_US, 2 * SLEEP_US);
}

static void pass_slots(struct scan *scan, struct hazptr_cpu *cpu)
{
	int n;

	for (n = 0; n < SLOTS; n++) {
		scan->looks = 0;
		/* Acquire: what the reader did with what is gone from here comes before. */
		while (holds_up(scan, smp_load_acquire(&cpu->slot[n].addr)))
			wait_a_little(scan);
	}
}

/*
 * The cursor is an entry that names nothing, where the scan is while it does not hold the lock. All
 * slots have been passed, so what enters the list from here on does not matter.
 */
static void pass_list(struct scan *scan, struct hazptr_cpu *cpu)
{
	struct hazptr_ctx cursor = { .stamp = 0 }, *ctx;
	unsigned long flags;
	int seen = 0;
	bool wait;
	u64 last;

	scan->looks = 0;
	raw_spin_lock_irqsave(&cpu->lock, flags);
	last = cpu->stamp;
	list_add(&cursor.entry, &cpu->list);
	while (!list_is_last(&cursor.entry, &cpu->list)) {
		ctx = list_next_entry(&cursor, entry);
		if (ctx->stamp > last)
			break;
		wait = entry_holds_up(scan, ctx);
		if (!wait) {
			list_move(&cursor.entry, &ctx->entry);
			if (ctx->stamp) /* no cursor of another scan */
				scan->looks = 0;
			if (++seen % AT_ONCE)
				continue;
		}
		raw_spin_unlock_irqrestore(&cpu->lock, flags);
		if (wait)
			wait_a_little(scan);
		else
			cond_resched();
		raw_spin_lock_irqsave(&cpu->lock, flags);
	}
	list_del(&cursor.entry);
	raw_spin_unlock_irqrestore(&cpu->lock, flags);
}

static void pass_all_slots(struct scan *scan)
{
	int cpu;

	for_each_possible_cpu(cpu)
		if (!hazptr_fault(ONLINE_ONLY) || cpu_online(cpu))
			pass_slots(scan, per_cpu_ptr(&hazptr_cpus, cpu));
}

static void pass_all_lists(struct scan *scan)
{
	int cpu;

	for_each_possible_cpu(cpu)
		if (!hazptr_fault(ONLINE_ONLY) || cpu_online(cpu))
			pass_list(scan, per_cpu_ptr(&hazptr_cpus, cpu));
}

#ifdef HAZPTR_FAULTS
/*
 * What was published once: two wildcards, and two phases in each of which only the older one
 * counts. A list belongs to the phase in which it was entered. A reader whose wildcard the first
 * phase takes for a new one may name the object by the time of the change, and then detach into the
 * list that the second phase takes for a new one.
 */
static void faulty_two_phase(struct scan *scan)
{
	static DEFINE_MUTEX(mutex);
	int phase;

	mutex_lock(&mutex);
	scan->faulty_two_phase = true;
	smp_mb(); /* the unlinking before all looks */
	for (phase = 0; phase < 2; phase++) {
		scan->wildcard = atomic_long_read(&wildcard);
		pass_all_slots(scan);
		pass_all_lists(scan);
		atomic_long_set(&wildcard, scan->wildcard ^ 2);
		smp_mb(); /* the new wildcard before the looks of the next phase */
		hazptr_step(FLIPPED);
	}
	mutex_unlock(&mutex);
}
#else
static void faulty_two_phase(struct scan *scan)
{
}
#endif

/**
 * hazptr_synchronize() - wait until nobody names the object at @addr
 * @addr: of an object that readers cannot find any more
 *
 * May sleep. The caller names no object itself that another one waits for.
 */
void hazptr_synchronize(const void *addr)
{
	struct scan scan = { .addr = addr };

	might_sleep();
	if (hazptr_fault(TWO_PHASE)) {
		faulty_two_phase(&scan);
		return;
	}
	/* A full barrier: the unlinking comes before all looks, and before the new wildcard. */
	scan.wildcard = atomic_long_add_return(2, &wildcard);
	hazptr_step(FLIPPED);
	if (hazptr_fault(LISTS_FIRST)) {
		pass_all_lists(&scan);
		hazptr_step(HALF);
	}
	pass_all_slots(&scan);
	hazptr_step(HALF);
	if (!hazptr_fault(LISTS_FIRST))
		pass_all_lists(&scan);
}
EXPORT_SYMBOL_GPL(hazptr_synchronize);

#ifdef HAZPTR_FAULTS
void hazptr_mark(struct hazptr_ctx *ctx)
{
	preempt_disable();
	mark(ctx);
	preempt_enable();
}
EXPORT_SYMBOL_GPL(hazptr_mark);

void hazptr_settle(struct hazptr_ctx *ctx, void *addr)
{
	preempt_disable();
	settle(ctx, addr);
	preempt_enable();
}
EXPORT_SYMBOL_GPL(hazptr_settle);
#endif

/* ---- context switches ---- */

#ifdef CONFIG_TRACEPOINTS
static struct tracepoint *sched_switch;

/* The task leaves this CPU, and so does what it names. Interrupts are off. */
static void leave_cpu(void *unused, bool preempt, struct task_struct *prev,
		      struct task_struct *next, unsigned int prev_state)
{
	struct hazptr_cpu_slot *slot = this_cpu_ptr(&hazptr_cpus)->slot;
	int n;

	for (n = 0; n < SLOTS; n++)
		if (READ_ONCE(slot[n].addr))
			park(&slot[n].addr, slot[n].ctx);
}

static void find_sched_switch(struct tracepoint *tracepoint, void *unused)
{
	if (!strcmp(tracepoint->name, "sched_switch"))
		sched_switch = tracepoint;
}

static void watch_switches(void)
{
	for_each_kernel_tracepoint(find_sched_switch, NULL);
	if (sched_switch && tracepoint_probe_register(sched_switch, leave_cpu, NULL))
		sched_switch = NULL;
	if (!sched_switch)
		pr_info("hazptr: cannot see context switches: who sleeps keeps its CPU's slots\n");
}

static void unwatch_switches(void)
{
	if (!sched_switch)
		return;
	tracepoint_probe_unregister(sched_switch, leave_cpu, NULL);
	tracepoint_synchronize_unregister();
}
#else
static void watch_switches(void)
{
	pr_info("hazptr: no tracepoints in this kernel: who sleeps keeps its CPU's slots\n");
}

static void unwatch_switches(void)
{
}
#endif

int hazptr_acquire_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct hazptr_cpu *mine = per_cpu_ptr(&hazptr_cpus, cpu);

		raw_spin_lock_init(&mine->lock);
		INIT_LIST_HEAD(&mine->list);
	}
	watch_switches();
	return 0;
}

void hazptr_acquire_exit(void)
{
	unwatch_switches();
}
