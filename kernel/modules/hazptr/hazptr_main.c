// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/module.h>
#include <linux/string.h>

#include "hazptr.h"
#include "hazptr_internal.h"

#ifdef HAZPTR_FAULTS
/* In the order of enum hazptr_fault. */
static const char *const names[] = {
	"none", "no_reload", "one_slot", "scan_first", "forget", "two_phase", "lists_first",
	"skip_wildcard", "skip_parked", "online_only",
};

int hazptr_broken;
EXPORT_SYMBOL_GPL(hazptr_broken);
bool (*hazptr_on_step)(enum hazptr_step step);
EXPORT_SYMBOL_GPL(hazptr_on_step);

static char *broken = "none";
module_param(broken, charp, 0444);
MODULE_PARM_DESC(broken, "the fault that tests must notice");

static int pick_fault(void)
{
	BUILD_BUG_ON(ARRAY_SIZE(names) != HAZPTR_FAULT_ONLINE_ONLY + 1);
	hazptr_broken = match_string(names, ARRAY_SIZE(names), broken);
	if (hazptr_broken < 0) {
		pr_err("hazptr: there is no fault \"%s\"\n", broken);
		return -EINVAL;
	}
	if (hazptr_broken)
		pr_warn("hazptr: broken=%s: this is no hazard pointer\n", broken);
	return 0;
}
#else
static int pick_fault(void)
{
	return 0;
}
#endif

static int __init hazptr_init(void)
{
	int error = pick_fault();

	if (!error)
		error = hazptr_context_init();
	if (!error)
		error = hazptr_acquire_init();
	return error;
}

static void __exit hazptr_exit(void)
{
	hazptr_acquire_exit();
	hazptr_context_exit();
}

module_init(hazptr_init);
module_exit(hazptr_exit);
MODULE_DESCRIPTION("Hazard pointers: contexts with call_hazptr(), and acquire with synchronize");
MODULE_AUTHOR("The lull authors");
MODULE_LICENSE("Dual MIT/GPL");
