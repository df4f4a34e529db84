// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Makes one mistake that a kernel that checks itself must report:
 *
 *	sleep	might sleep under a spinlock (DEBUG_ATOMIC_SLEEP)
 *	rcu	follows a pointer of RCU outside of a reader (PROVE_RCU)
 *	lock	takes two locks in both orders (PROVE_LOCKING, which is off from then on)
 *	uaf	reads memory that is freed (KASAN, and then lockdep is off)
 *	race	counts in two threads without a lock (KCSAN)
 *	order	publishes a value without a barrier (KCSAN, with a model of weak memory)
 *
 * No kernel survives all of them unharmed; it is for guests that are thrown away.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#define RACE_MS 3000

static char *kind = "";
module_param(kind, charp, 0444);
MODULE_PARM_DESC(kind, "sleep, rcu, lock, uaf, race, order");

static DEFINE_SPINLOCK(spinlock);
static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static int __rcu *pointer;
static long counted, published;
static int is_published;

static void provoke_sleep(void)
{
	spin_lock(&spinlock);
	might_sleep();
	spin_unlock(&spinlock);
}

static noinline void provoke_rcu(void)
{
	if (rcu_dereference(pointer))
		pr_info("provoke: somebody has set the pointer\n");
}

static void lock_both(struct mutex *one, struct mutex *other)
{
	mutex_lock(one);
	mutex_lock(other);
	mutex_unlock(other);
	mutex_unlock(one);
}

static noinline void provoke_lock(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	lock_both(&second, &first);
}

static noinline void provoke_uaf(void)
{
	long *word = kzalloc(sizeof(*word), GFP_KERNEL);

	if (!word)
		return;
	kfree(word);
	OPTIMIZER_HIDE_VAR(word); /* the compiler knows kfree() too */
	if (READ_ONCE(*word) == 1)
		pr_info("provoke: somebody has the memory already\n");
}

/* Two of them run at once. */
static int provoke_race(void *unused)
{
	unsigned long end = jiffies + msecs_to_jiffies(RACE_MS);

	while (time_before(jiffies, end)) {
		counted++;
		barrier();
		cond_resched();
	}
	return 0;
}

/* One counts and says so, the other looks at the count. The first one lacks a release. */
static int provoke_order(void *reads)
{
	unsigned long end = jiffies + msecs_to_jiffies(RACE_MS);

	while (time_before(jiffies, end)) {
		if (!reads && !READ_ONCE(is_published)) {
			published++;
			WRITE_ONCE(is_published, 1);
			continue;
		}
		/* Pairs with a release that is not there. */
		if (reads && smp_load_acquire(&is_published)) {
			if (published < 0)
				pr_info("provoke: that was long\n");
			/* The look comes before; the other one's load and branch pair with it. */
			smp_store_release(&is_published, 0);
		}
		cond_resched();
	}
	return 0;
}

/* They end by themselves, and kthread_stop() waits until they have. */
static int in_two_threads(int (*function)(void *arg))
{
	struct task_struct *task[2];
	long n, started;

	for (n = 0; n < 2; n++) {
		task[n] = kthread_create(function, (void *)n, "provoke/%ld", n);
		if (IS_ERR(task[n]))
			break;
		get_task_struct(task[n]);
		wake_up_process(task[n]);
	}
	started = n;
	msleep(RACE_MS); /* a thread that is stopped before it has run never runs */
	while (n--) {
		kthread_stop(task[n]);
		put_task_struct(task[n]);
	}
	return started == 2 ? 0 : -ENOMEM;
}

static int __init provoke_init(void)
{
	if (!strcmp(kind, "sleep"))
		provoke_sleep();
	else if (!strcmp(kind, "rcu"))
		provoke_rcu();
	else if (!strcmp(kind, "lock"))
		provoke_lock();
	else if (!strcmp(kind, "uaf"))
		provoke_uaf();
	else if (!strcmp(kind, "race"))
		return in_two_threads(provoke_race);
	else if (!strcmp(kind, "order"))
		return in_two_threads(provoke_order);
	else
		return -EINVAL;
	return 0;
}

static void __exit provoke_exit(void)
{
}

module_init(provoke_init);
module_exit(provoke_exit);
MODULE_DESCRIPTION("Makes a mistake that a kernel that checks itself must report");
MODULE_AUTHOR("The lull authors");
MODULE_LICENSE("Dual MIT/GPL");
