/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - the Linux kernel's own names for what lull has: kernel code compiles and runs as it is.
 *
 *	#include <lull/compat/kernel.h>
 *
 *	rcu_read_lock();			list_del_rcu(&old->list);
 *	list_for_each_entry_rcu(p, &heads, list)	kfree_rcu(old, rcu);
 *		...
 *	rcu_read_unlock();
 *
 * Include it for code that comes from the kernel or goes there, or that is tested here before it goes there. The
 * names are those of include/linux: rcupdate.h, srcu.h, rculist.h, rculist_nulls.h, list.h, refcount.h, kref.h,
 * percpu-refcount.h, percpu-rwsem.h, rcu_sync.h, cleanup.h; the hazard pointers of 2024 and of 2026, and the simple
 * ones of 2025, as their patches have them. Arguments have the kernel's order and types. Everything is a macro or an
 * inline function over lull's public headers, and costs what the name in lull costs. So all that these headers say
 * holds here, and debug builds make the same checks.
 *
 * The types are lull's, under a second name: `struct list_head` is struct lull_list_head, `struct rcu_head` and `struct
 * callback_head` are struct lull_head. A macro does that, so do not use these words for anything else in the file.
 * Code with kernel names and code with lull's names may share lists, heads and grace periods.
 *
 * Differences in user space:
 *
 *	kernel						here
 *	callbacks run in softirq context		on a thread of lull's; they may block
 *	kfree_rcu() ends in kfree()			in free(3): the memory is malloc's
 *	synchronize_rcu() in a reader hangs		aborts with one line
 *	rcu_dereference_check(), lockdep		debug builds only, and abort with one line
 *	get_state_synchronize_rcu() only looks		begins a grace period, too; so does that of srcu.h
 *	DEFINE_SRCU(), DEFINE_PERCPU_RWSEM()		do not compile: init_srcu_struct(), percpu_init_rwsem()
 *	hazptr_protect() is for a stable pointer	tries again until the pointer is stable
 *	hlist_nulls_add_tail_rcu()			is missing: hlist_nulls.h says why
 *
 * LULL_KERNEL_2003, defined before the include, gives the names of Linux 2.5.44 and of the article "Using RCU in the
 * Linux 2.5 Kernel" (Linux Journal, October 2003) in place of later ones: kernel_2003.h.
 *
 * In a tree that has a linux/list.h of its own, which this header follows, the lists are the tree's. Define
 * LULL_KERNEL_OWN_LISTS where this header comes first. Each part, kernel_rcu.h for one, may also be included alone,
 * before or after such headers, and brings no names but its own; only kernel_list.h is in place of linux/list.h, and
 * kernel_access.h comes behind a tree's own READ_ONCE(), barrier() and cpu_relax().
 *
 * Debug builds evaluate the conditions of rcu_dereference_check() and the like, and so need what these name.
 * LULL_KERNEL_UNCHECKED, defined before the include, makes them drop the conditions, as other builds do.
 *
 * For C only, with GNU extensions that -std=c11 also has in gcc and clang. liburcu has other functions by the same
 * names: a file includes this header or urcu.h.
 */
#ifndef LULL_KERNEL_H
#define LULL_KERNEL_H

#include <lull/compat/kernel_access.h>
#include <lull/compat/kernel_count.h>
#include <lull/compat/kernel_guard.h>
#include <lull/compat/kernel_hazptr.h>
#include <lull/compat/kernel_rcu.h>
#include <lull/compat/kernel_rwsem.h>
#include <lull/compat/kernel_srcu.h>
#if !defined(LIST_HEAD_INIT) && !defined(LULL_KERNEL_OWN_LISTS)
#include <lull/compat/kernel_list.h>
#endif
#ifdef LULL_KERNEL_2003
#include <lull/compat/kernel_2003.h>
#endif

#endif /* LULL_KERNEL_H */
