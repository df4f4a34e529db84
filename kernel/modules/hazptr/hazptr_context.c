// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Contexts, and the objects that wait for their slots.
 *
 * One work item frees. A pass of it takes what is queued, takes a snapshot of all slots, and calls
 * back for each object that no snapshot names. The snapshots are nodes of a tree, and each context
 * brought its own, so nothing is allocated.
 *
 *	reader				updater and pass
 *	slot = A			unlink A
 *	full barrier			queue A, take A (full barriers)
 *	load the pointer: A?		load the slot (acquire): A?
 *
 * One of the two sees the other. A context that the scan does not find in its list was added after
 * the scan held the list's lock, so all loads of its reader see the unlinking. A context that
 * leaves takes its snapshots with it: what they named is free for this pass already.
 *
 * Lists and queues belong to possible CPUs, and a pass visits all of them. So nothing has to be
 * moved when a CPU goes offline.
 */
#include <linux/completion.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "hazptr.h"
#include "hazptr_internal.h"

#define AT_ONCE 64	/* contexts, or objects, that are looked at under one lock */
#define INTERVAL DIV_ROUND_UP(HZ, 100) /* jiffies until what was named is looked at again */

struct hazptr_context_list {
	raw_spinlock_t lock;	/* of @contexts, and of who is in them */
	struct list_head contexts;
	struct list_head cursor; /* where the scan is, while it does not hold the lock */
};

static DEFINE_PER_CPU_ALIGNED(struct hazptr_context_list, context_lists);

/* The snapshots. Other passes than @number have none in the tree. */
static struct {
	raw_spinlock_t lock;
	struct rb_root tree;
	unsigned long number;
} pass = {
	.lock = __RAW_SPIN_LOCK_UNLOCKED(pass.lock),
	.tree = RB_ROOT,
	.number = 1,
};

/* What call_hazptr() was given and no pass has taken. */
static DEFINE_PER_CPU(struct callback_head *, queues);

struct barrier {
	struct list_head entry;
	struct completion done;
};

/* What passes have taken and found named; for the work item only. A barrier waits for @old. */
static struct callback_head *old, *young;
static LIST_HEAD(barriers);
/* Barriers that no pass has seen. */
static DEFINE_SPINLOCK(new_barriers_lock);
static LIST_HEAD(new_barriers);

static struct workqueue_struct *workqueue;
static void work(struct work_struct *unused);
static DECLARE_DELAYED_WORK(delayed_work, work);

/**
 * init_hazptr_context() - make @ctx a context with eight free slots
 * @ctx: memory that stays in place until cleanup_hazptr_context()
 */
void init_hazptr_context(struct hazptr_context *ctx)
{
	struct hazptr_context_list *list = raw_cpu_ptr(&context_lists);
	unsigned long flags;
	int n;

	ctx->list = list;
	ctx->pass = 0;
	ctx->used = 0;
	for (n = 0; n < HAZPTR_SLOTS_PER_CONTEXT; n++)
		ctx->slot[n] = NULL;
	raw_spin_lock_irqsave(&list->lock, flags);
	list_add(&ctx->entry, &list->contexts);
	raw_spin_unlock_irqrestore(&list->lock, flags);
}
EXPORT_SYMBOL_GPL(init_hazptr_context);

static void leave_tree(struct hazptr_context *ctx)
{
	unsigned long flags;
	int n;

	raw_spin_lock_irqsave(&pass.lock, flags);
	if (ctx->pass == pass.number)
		for_each_set_bit(n, &ctx->in_tree, HAZPTR_SLOTS_PER_CONTEXT)
			rb_erase(&ctx->snapshot[n].node, &pass.tree);
	raw_spin_unlock_irqrestore(&pass.lock, flags);
}

/**
 * cleanup_hazptr_context() - end @ctx; its slots stop protecting
 * @ctx: a context; nobody else uses it
 */
void cleanup_hazptr_context(struct hazptr_context *ctx)
{
	struct hazptr_context_list *list = ctx->list;
	unsigned long flags;

	raw_spin_lock_irqsave(&list->lock, flags);
	list_del(&ctx->entry);
	raw_spin_unlock_irqrestore(&list->lock, flags);
	/*
	 * Out of the list, no pass adds anything. Acquire: if the pass that did is over, it is
	 * through with the nodes in @ctx.
	 */
	if (ctx->pass == smp_load_acquire(&pass.number))
		leave_tree(ctx);
}
EXPORT_SYMBOL_GPL(cleanup_hazptr_context);

/* ---- the tree ---- */

static void add_to_tree(struct hazptr_snapshot *snapshot)
{
	struct rb_node **link = &pass.tree.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		if (snapshot->addr < rb_entry(parent, struct hazptr_snapshot, node)->addr)
			link = &parent->rb_left;
		else
			link = &parent->rb_right; /* several slots may name one object */
	}
	rb_link_node(&snapshot->node, parent, link);
	rb_insert_color(&snapshot->node, &pass.tree);
}

static bool is_named(const void *addr)
{
	struct rb_node *node = pass.tree.rb_node;

	while (node) {
		const void *here = rb_entry(node, struct hazptr_snapshot, node)->addr;

		if (here == addr)
			return true;
		node = addr < here ? node->rb_left : node->rb_right;
	}
	return false;
}

/* The list's lock is held. */
static void see_context(struct hazptr_context *ctx)
{
	int slots = hazptr_fault(ONE_SLOT) ? 1 : HAZPTR_SLOTS_PER_CONTEXT, n;

	raw_spin_lock(&pass.lock);
	ctx->pass = pass.number;
	ctx->in_tree = 0;
	for (n = 0; n < slots; n++) {
		/* Acquire: what the reader did with the object that is not named comes before. */
		void *addr = smp_load_acquire(&ctx->slot[n]);

		if (!addr)
			continue;
		ctx->snapshot[n].addr = addr;
		ctx->in_tree |= BIT(n);
		add_to_tree(&ctx->snapshot[n]);
	}
	raw_spin_unlock(&pass.lock);
}

/*
 * A context that is added while the lock is not held comes before the cursor and is not seen. It
 * need not be: it was added after the lock was held.
 */
static void see_list(struct hazptr_context_list *list)
{
	struct hazptr_context *ctx;
	unsigned long flags;
	int seen = 0;

	raw_spin_lock_irqsave(&list->lock, flags);
	list_add(&list->cursor, &list->contexts);
	while (!list_is_last(&list->cursor, &list->contexts)) {
		ctx = list_entry(list->cursor.next, struct hazptr_context, entry);
		list_move(&list->cursor, &ctx->entry);
		see_context(ctx);
		if (++seen % AT_ONCE)
			continue;
		raw_spin_unlock_irqrestore(&list->lock, flags);
		cond_resched();
		raw_spin_lock_irqsave(&list->lock, flags);
	}
	list_del(&list->cursor);
	raw_spin_unlock_irqrestore(&list->lock, flags);
}

static void see_all_slots(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		see_list(per_cpu_ptr(&context_lists, cpu));
	hazptr_step(SEEN);
}

static void forget_snapshots(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&pass.lock, flags);
	pass.tree = RB_ROOT;
	/* Release: whoever sees that the pass is over may reuse its nodes. */
	smp_store_release(&pass.number, pass.number + 1 ? pass.number + 1 : 1);
	raw_spin_unlock_irqrestore(&pass.lock, flags);
}

/* ---- what waits ---- */

static void push(struct callback_head **list, struct callback_head *head)
{
	head->next = *list;
	*list = head;
}

/* Call back for what no snapshot names. Returns the rest. */
static struct callback_head *reclaim(struct callback_head *list)
{
	struct callback_head *named = NULL, *free, *head;
	unsigned long flags;
	int seen;

	while (list) {
		free = NULL;
		raw_spin_lock_irqsave(&pass.lock, flags);
		for (seen = 0; list && seen < AT_ONCE; seen++) {
			head = list;
			list = head->next;
			push(is_named(head) ? &named : &free, head);
		}
		raw_spin_unlock_irqrestore(&pass.lock, flags);
		while (free) {
			head = free;
			free = head->next;
			head->func(head);
		}
		cond_resched();
	}
	return named;
}

static void take_queues(struct callback_head **list)
{
	struct callback_head *taken, *head;
	int cpu;

	for_each_possible_cpu(cpu) {
		/* A full barrier: what was unlinked before it was queued is so before the scan. */
		taken = xchg(per_cpu_ptr(&queues, cpu), NULL);
		while (taken) {
			head = taken;
			taken = head->next;
			push(list, head);
		}
	}
	hazptr_step(TAKEN);
}

/*
 * What barriers wait for is what is queued or waits when they are seen. Returns whether there are
 * new ones.
 */
static bool see_barriers(void)
{
	if (!list_empty(&barriers))
		return false;
	spin_lock_irq(&new_barriers_lock);
	list_splice_init(&new_barriers, &barriers);
	spin_unlock_irq(&new_barriers_lock);
	return !list_empty(&barriers);
}

static void end_barriers(void)
{
	struct barrier *barrier, *next;

	list_for_each_entry_safe(barrier, next, &barriers, entry) {
		list_del(&barrier->entry);
		complete(&barrier->done); /* its stack is gone from here on */
	}
}

static void work(struct work_struct *unused)
{
	bool new = see_barriers();

	if (hazptr_fault(SCAN_FIRST))
		see_all_slots();
	take_queues(&young);
	if (new)
		swap(old, young); /* nothing is old without a barrier */
	if (!hazptr_fault(SCAN_FIRST))
		see_all_slots();
	old = reclaim(old);
	young = reclaim(young);
	forget_snapshots();
	if (!old)
		end_barriers();
	if (old || young || !list_empty(&new_barriers)) /* a call after this look starts a pass */
		queue_delayed_work(workqueue, &delayed_work, INTERVAL);
}

/**
 * call_hazptr() - call @func(@head) when no slot names @head
 * @head: in an object that readers cannot find any more
 * @func: runs in a work item, holds nothing, and must not call hazptr_barrier()
 *
 * For tasks and interrupt handlers, but not under a lock of the scheduler.
 */
void call_hazptr(struct callback_head *head, void (*func)(struct callback_head *head))
{
	struct callback_head **queue = raw_cpu_ptr(&queues), *first = READ_ONCE(*queue);

	head->func = func;
	do {
		head->next = first;
	} while (!try_cmpxchg(queue, &first, head)); /* a full barrier, see take_queues() */
	/* Whoever finds the queue empty starts a pass, which takes all that comes until then. */
	if (!first)
		queue_delayed_work(workqueue, &delayed_work, 1);
}
EXPORT_SYMBOL_GPL(call_hazptr);

/**
 * hazptr_barrier() - wait until all that was given to call_hazptr() before has been called back
 *
 * Sleeps as long as slots name one of these objects.
 */
void hazptr_barrier(void)
{
	struct barrier barrier;

	init_completion(&barrier.done);
	spin_lock_irq(&new_barriers_lock);
	list_add_tail(&barrier.entry, &new_barriers);
	spin_unlock_irq(&new_barriers_lock);
	mod_delayed_work(workqueue, &delayed_work, 0);
	wait_for_completion(&barrier.done);
}
EXPORT_SYMBOL_GPL(hazptr_barrier);

#ifdef HAZPTR_FAULTS
void hazptr_pass_once(void)
{
	mod_delayed_work(workqueue, &delayed_work, 0);
	flush_delayed_work(&delayed_work);
}
EXPORT_SYMBOL_GPL(hazptr_pass_once);
#endif

int hazptr_context_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct hazptr_context_list *list = per_cpu_ptr(&context_lists, cpu);

		raw_spin_lock_init(&list->lock);
		INIT_LIST_HEAD(&list->contexts);
	}
	workqueue = alloc_workqueue("hazptr", WQ_UNBOUND | WQ_MEM_RECLAIM, 1);
	return workqueue ? 0 : -ENOMEM;
}

void hazptr_context_exit(void)
{
	hazptr_barrier();
	cancel_delayed_work_sync(&delayed_work);
	destroy_workqueue(workqueue);
}
