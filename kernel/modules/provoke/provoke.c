// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Makes one mistake that a kernel that checks itself must report:
 *
 *	sleep	might sleep under a spinlock (DEBUG_ATOMIC_SLEEP)
 *	rcu	follows a pointer of RCU outside of a reader (PROVE_RCU)
 *	lock	takes two locks in both orders (PROVE_LOCKING, which is off from then on)
 *	uaf	reads memory that is freed (KASAN, and then lockdep is off)
 *
 * No kernel survives all of them unharmed; it is for guests that are thrown away.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static char *kind = "";
module_param(kind, charp, 0444);
MODULE_PARM_DESC(kind, "sleep, rcu, lock, uaf");

static DEFINE_SPINLOCK(spinlock);
static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static int __rcu *pointer;

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
