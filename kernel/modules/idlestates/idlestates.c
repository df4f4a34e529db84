// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Two idle states for a machine that has none, such as an emulated one.
 *
 * A kernel without a cpuidle driver has one way to be idle. It keeps the tick
 * when a CPU gets idle, and stops it when the next tick still finds the CPU
 * idle. With more states a governor chooses, and one that expects some ticks
 * without work has the tick stopped at once, as on machines whose processors
 * sleep deeply. Both states halt, so nothing else changes. The state that
 * polls is there as on such machines: without it, menu takes the first state
 * and stops the tick when a timer is due before the second is worth it.
 *
 * A machine that has a driver keeps it: this one does not load there.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpuidle.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/module.h>

#ifdef CONFIG_X86
#define CAN_HALT true

/* arch_cpu_idle() of older kernels is not for modules. */
static __cpuidle void halt_cpu(void)
{
	raw_safe_halt();
	raw_local_irq_disable();
}
#else
#define CAN_HALT false

static void halt_cpu(void)
{
}
#endif

static __cpuidle int enter_state(struct cpuidle_device *dev,
				 struct cpuidle_driver *drv, int index)
{
	halt_cpu();
	return index;
}

/* No owner: each registered CPU would keep the module loaded. */
static struct cpuidle_driver idlestates_driver = {
	.name = "idlestates",
	.states = {
		{ /* polls: cpuidle_poll_state_init() */ },
		{
			.enter = enter_state,
			.exit_latency = 1,
			.target_residency = 1,
			.name = "shallow",
			.desc = "halt",
		},
		{
			.enter = enter_state,
			.exit_latency = 50,
			.target_residency = 500,
			.name = "deep",
			.desc = "halt, said to be deep",
		},
	},
	.state_count = 3,
	.safe_state_index = 0,
};

static int __init idlestates_init(void)
{
	if (!CAN_HALT)
		return -EOPNOTSUPP;
	cpuidle_poll_state_init(&idlestates_driver);
	/* The kernel's own choice are CPUs that are possible; some may lack. */
	idlestates_driver.cpumask = (struct cpumask *)cpu_present_mask;
	return cpuidle_register(&idlestates_driver, NULL);
}

static void __exit idlestates_exit(void)
{
	cpuidle_unregister(&idlestates_driver);
}

module_init(idlestates_init);
module_exit(idlestates_exit);
MODULE_DESCRIPTION("Two idle states, so that a governor stops the tick");
MODULE_LICENSE("Dual MIT/GPL");
