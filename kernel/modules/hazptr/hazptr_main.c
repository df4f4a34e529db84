// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/module.h>
#include <linux/string.h>

#include "hazptr.h"
#include "hazptr_internal.h"

#ifdef HAZPTR_FAULTS
#define NAME(name, text) [HAZPTR_FAULT_##name] = text,
static const char *const names[] = { [HAZPTR_FAULT_NONE] = "none", HAZPTR_FAULT_LIST(NAME) };
#undef NAME

int hazptr_broken;
EXPORT_SYMBOL_GPL(hazptr_broken);
bool (*hazptr_on_step)(enum hazptr_step step);
EXPORT_SYMBOL_GPL(hazptr_on_step);

static char *broken = "none";
module_param(broken, charp, 0444);
MODULE_PARM_DESC(broken, "the fault that tests must notice");

static int pick_fault(void)
{
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
