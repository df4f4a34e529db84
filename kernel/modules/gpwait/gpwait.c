// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Time some grace periods, one after the other, in the task that loads the
 * module, while the machine does whatever else it does: nothing, in a guest.
 *
 * rcuscale keeps readers and writers busy. Here the CPUs are idle, and then a
 * grace period takes as long as RCU waits before it looks at them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/rcupdate.h>

static int n = 100;
module_param(n, int, 0444);
MODULE_PARM_DESC(n, "how many grace periods");

static bool expedited;
module_param(expedited, bool, 0444);
MODULE_PARM_DESC(expedited, "synchronize_rcu_expedited() instead of synchronize_rcu()");

static u64 one_wait(void)
{
	u64 since = ktime_get_ns();

	if (expedited)
		synchronize_rcu_expedited();
	else
		synchronize_rcu();
	return ktime_get_ns() - since;
}

static int __init gpwait_init(void)
{
	u64 least = U64_MAX, most = 0, sum = 0;
	int i;

	if (n <= 0)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		u64 ns = one_wait();

		least = min(least, ns);
		most = max(most, ns);
		sum += ns;
	}
	pr_info("n=%d mean=%llu min=%llu max=%llu ns\n", n, div_u64(sum, n),
		least, most);
	return 0;
}

static void __exit gpwait_exit(void)
{
}

module_init(gpwait_init);
module_exit(gpwait_exit);
MODULE_DESCRIPTION("Times grace periods of RCU on an idle machine");
MODULE_LICENSE("Dual MIT/GPL");
