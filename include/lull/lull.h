/* SPDX-License-Identifier: MIT */
/*
 * lull.h - all public headers at once, and a table: which one to use, and when not.
 *
 * Each header explains its mechanism at the top and can be included alone. Read rcu.h first. Nothing
 * needs to be set up, and threads need not register:
 *
 *	reader					updater
 *	lull_rcu_read_lock();			old = lull_rcu_replace(config, new);
 *	c = lull_rcu_dereference(config);	lull_rcu_free(old);
 *	... use *c ...
 *	lull_rcu_read_unlock();
 *
 * Protect what readers find, and free it when no reader has it any more:
 *
 *	header		use it when					not when
 *	rcu.h		readers pass many objects and stay for		readers sleep in their sections: all
 *			a short time; the cheapest reads		that RCU defers waits for them
 *	rcu_domain.h	readers of one part of a program sleep in	sections are short: rcu.h is twice as
 *			their sections, and hold up no other part	cheap
 *	hazptr.h	a reader keeps one object, for any time,	readers walk long lists: each object
 *			across blocking calls too			costs a store and a second load
 *	bridge.h	readers find by RCU and then keep by		one of the two is enough
 *			hazard pointer
 *	hazptr_fenced.h	as hazptr.h, and updates are frequent and	reads must be cheapest: a protection
 *			must not interrupt other threads		costs a locked instruction
 *	hazptr_pool.h	a hazard pointer is stored in an object, or	a hold of one thread will do: it needs
 *			goes from thread to thread			no memory, and cannot fail
 *	hazptr_key.h	readers name an address that is no head's:	an object has room for a head, and
 *			of pages, of another library's structure	readers can name that
 *	shazptr.h	updaters wait often and briefly, for the	reads are hot, or a reader stays for
 *			readers of one place				long: each thread has only one slot
 *	reclaim.h	you want to limit what may wait, or to run	the defaults suit you: one background
 *			callbacks in a loop of your own			thread, and limits
 *	cohort.h	a plugin, or an object, waits until all that	a barrier for the whole process will
 *			it has retired is gone				do
 *
 * Count references:
 *
 *	refcount.h	an object has several owners, and the		all threads use one object all the
 *			last one frees it				time: its cache line is the limit
 *	percpu_ref.h	all threads use the same few objects, each	there are many objects, or short
 *			of which has one owner who ends it		lives: 16 bytes per CPU for each
 *	ref_handoff.h	a reader that found an object needs a		the read section or hazard pointer
 *			reference that outlives its protection		lasts long enough
 *
 * Let one thread in at a time:
 *
 *	mutex.h, cond.h	sections are short and threads compete		you need priority inheritance,
 *			for them					recursion or error codes: pthread's
 *	percpu_rwsem.h	many readers hold it, for long or asleep,	writers are frequent: each interrupts
 *			beside few writers				all CPUs, or waits for a grace period
 *	rcu_sync.h	many readers look whether one of few		writers come one by one and far apart:
 *			writers is there, in a lock of your own		a flag and lull_rcu_synchronize() will do
 *	mutex_robust.h	processes share memory, and one of them		all users are threads of one process
 *			may be killed while it holds the lock		that lives and dies as a whole
 *
 * Structures that are read while they change:
 *
 *	hash.h		elements are found by key; it grows		readers must see one consistent state
 *			while it is read				of all buckets
 *	hash_integer.h	a table of hash.h has integers for keys		hashes are mixed already
 *	hash_cursor.h	a walk over hash.h's table is long, or others	a section is long enough: hash.h's own
 *			insert meanwhile				walk is faster
 *	list.h, hlist.h	elements are walked through; hlist.h has	readers need to walk an hlist.h list
 *			heads of one word, for tables of your own	backwards
 *	hlist_nulls.h	memory of one type is reused at once,		a grace period before reuse is cheap
 *			without a grace period (a cache)		enough: hlist.h has simpler readers
 *
 * compat/kernel.h has the Linux kernel's names for all this and compat/urcu.h those of liburcu, for code from there; they
 * are not included here.
 *
 * Look inside: debug.h (stalls, misuse, dump), stats.h (counts for other processes), check.h (which lock
 * guards which data). All of these are built on fence.h (asymmetric fences), thread.h (registration) and
 * atomic.h (accesses with their order in the name). docs/GUIDE.md has chapters on most of this;
 * docs/CHOOSING.md has figures.
 */
#ifndef LULL_LULL_H
#define LULL_LULL_H

#include <lull/bridge.h>
#include <lull/cohort.h>
#include <lull/hazptr.h>
#include <lull/hazptr_fenced.h>
#include <lull/hazptr_key.h>
#include <lull/hazptr_pool.h>
#include <lull/rcu.h>
#include <lull/rcu_domain.h>
#include <lull/reclaim.h>
#include <lull/shazptr.h>

#include <lull/percpu_ref.h>
#include <lull/ref_handoff.h>
#include <lull/refcount.h>

#include <lull/cond.h>
#include <lull/mutex.h>
#include <lull/mutex_robust.h>
#include <lull/percpu_rwsem.h>
#include <lull/rcu_sync.h>

#include <lull/hash.h>
#include <lull/hash_cursor.h>
#include <lull/hash_integer.h>
#include <lull/hlist.h>
#include <lull/hlist_nulls.h>
#include <lull/list.h>

#include <lull/check.h>
#include <lull/debug.h>
#include <lull/stats.h>

#include <lull/atomic.h>
#include <lull/fence.h>
#include <lull/thread.h>

#endif /* LULL_LULL_H */
