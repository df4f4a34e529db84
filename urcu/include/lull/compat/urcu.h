/* SPDX-License-Identifier: MIT */
/*
 * urcu.h - liburcu's documented interface over lull: its programs compile and run as they are.
 *
 *	cc -I<prefix>/include/lull/compat -I<prefix>/include ... -llull-urcu -llull
 *
 * With that folder first on the include path `#include <urcu.h>`, <urcu-qsbr.h>, <urcu-bp.h>, <urcu/urcu-memb.h> and the
 * others find headers of lull's: plain names, the prefixes of all flavors (urcu_memb_, urcu_mb_, urcu_bp_, urcu_qsbr_,
 * urcu_signal_), pointers, call_rcu() and threads for it, polling, defer_rcu(), atfork calls, rculist and rcuhlist. Only
 * what lull replaces is there. liburcu's other headers (<urcu/uatomic.h>, <urcu/wfcqueue.h>, <urcu/rculfhash.h>, ...) may
 * stay beside it; what needs its library liburcu-cds goes on needing that, and works with flavors of lull. Without
 * liburcu these headers are complete in themselves, with the few helpers of its <urcu/compiler.h> that programs expect
 * of <urcu.h>.
 *
 * Everything is inline, and MIT. _LGPL_SOURCE only brings along what liburcu's inline readers include: <unistd.h> and so on.
 *
 * Flavors. Sections of memb, mb, bp and signal are lull's sections, which need no registration: rcu_register_thread() only
 * makes the first section as fast as the second, rcu_unregister_thread(), rcu_init() and rcu_exit() do nothing, and bp's
 * atfork calls do nothing, because a forked child works in any case. A QSBR thread is an online thread of lull's:
 * registered means online, and its read lock is no instruction. All flavors are one domain: a grace period of any of them
 * waits for the sections of all. So where liburcu lets one flavor wait while the thread reads in another, lull ends the
 * program with a line: it must not let the objects go that are read there.
 *
 *	in a section of another flavor		liburcu			here
 *	synchronize_rcu()			returns			aborts with a line
 *	... in a QSBR thread, of another flavor	returns			aborts with a line
 *	rcu_quiescent_state()			counts			counts later, outside
 *	rcu_thread_offline(), _online()		fine			abort with a line
 *
 * As in liburcu: rcu_barrier() in a section says one line and returns; locks may be nested four billion deep; a QSBR
 * thread may go online and offline again and again. rcu_quiescent_state() of a thread that is not online aborts.
 *
 * Callbacks run on lull's reclaimer, at once and not after ten milliseconds. Those of QSBR run on a thread that is online,
 * because they read without a lock. A program that makes its own (create_call_rcu_data()) gets real threads: pinned if it
 * says so, with a pthread_t; call_rcu_data_free() ends and joins the thread, as it does since liburcu 0.14. The default
 * one of a flavor that nests becomes a thread when the program asks for it. rcu_barrier() waits for all of them, and for
 * 16 generations of what callbacks defer to the reclaimer.
 *
 * A forked child may use all of this, with or without the calls for fork; its threads for callbacks go on with what the
 * parent's had not run yet.
 *
 * call_rcu() and defer_rcu() may wait, as liburcu's call_rcu() does not: where more than 65,536 objects wait for the
 * reclaimer (or what soft_items says where the program has chosen it: reclaim.h), for 2 ms at most in every 64th call. In a
 * section they do not: the end of the outermost one waits for all of them, 64 ms at most.
 *
 * defer_rcu() allocates 32 bytes for each call. Without memory it waits for a grace period instead, so it must not be
 * called in a section, as liburcu says too.
 *
 * Threads, grace periods and queues are shared with code that uses lull's own names, in the same process or file. They are
 * not shared with modules that were compiled against liburcu itself. A file that was compiled with liburcu's own headers
 * is not linked into one module with a file that includes these: the linker says that a hidden symbol, such as
 * `urcu_memb_read_lock`, isn't defined. Where the two use different objects, define LULL_URCU_MIXED for the file that
 * includes these. The names of the Linux kernel (compat/kernel.h) are other functions: a file includes one of the two.
 * lull's own calls take a struct lull_head: a struct rcu_head has one inside, `lull__head`.
 */
#ifndef LULL_COMPAT_URCU_TOP_H
#define LULL_COMPAT_URCU_TOP_H

#ifndef URCU_API_MAP
#define URCU_API_MAP
#endif
#include "urcu/urcu.h"

#endif /* LULL_COMPAT_URCU_TOP_H */
