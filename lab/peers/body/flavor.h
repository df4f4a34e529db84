/* SPDX-License-Identifier: MIT */
/*
 * The vocabulary in which a read-side discipline is measured.
 *
 * There is one .c file for each discipline, ours or a peer's. It describes the discipline as inline
 * functions and macros with the fixed names below (in a header flavor_NAME.h where more than one
 * file needs them). A measured body is a template header (ref_body.h for the read section, gp_body.h
 * for waiting and retiring, hash_body.h for a hash table) that uses only these names. The file
 * includes those bodies that make sense for it, so that every discipline runs the very same code
 * around its own calls and the compiler inlines what its library lets it inline:
 *
 *	#include "flavor_lull_rcu.h"
 *	#define REF_BODY bench_ref_rcu
 *	#include "ref_body.h"
 *
 * Each translation unit has exactly one flavor. Where a body's row has a name or a description of its
 * own, the file defines FLAVOR_NAME or FLAVOR_WHAT anew before it includes the body.
 *
 *	FLAVOR_NAME			"liburcu-memb": the scheme's name on the command line
 *	FLAVOR_WHAT			one line for --list
 *	flavor_thread_enter/leave()	once per thread before and after use: registration, going online
 *	flavor_read_lock/unlock()	one read section
 *	flavor_dereference(p)		macro: protected load of the pointer lvalue p
 *	flavor_assign(p, v)		macro: publishing store to the pointer lvalue p
 *	flavor_quiescent()		between sections, every so often; most flavors need nothing
 *
 * Two kinds of disciplines have no read sections and say so. FLAVOR_KEEPS: a reader names the one
 * object that it uses, in the slot that its thread has:
 *
 *	flavor_slot			the calling thread's, from flavor_thread_enter() on
 *	flavor_keep(slot, p)		macro: protected load of the pointer lvalue p
 *	flavor_drop(slot)		the object is not used any more
 *
 * FLAVOR_MARKS: a reader names the place from which it goes on to walk:
 *
 *	struct flavor_guard
 *	flavor_mark(address)		gives a struct flavor_guard
 *	flavor_unmark(guard)
 *
 * What all have in common is in flavor_read.h.
 *
 * FLAVOR_HAS_GP is defined where old versions can be waited for (not for locks):
 *
 *	flavor_synchronize()		outside read sections; not where readers keep or mark, there
 *	flavor_synchronize_on(address)	waits for who keeps the object, or marks the place
 *	struct flavor_head		to be embedded in an object that is retired
 *	flavor_call(head, func)		func(struct flavor_head *) after a grace period
 *	flavor_barrier()		all callbacks of this thread (at least) have run
 *	flavor_poll()			where reclaiming is done only when asked; called after updates
 *
 * FLAVOR_HAS_FREE: flavor_free(object) and flavor_free_sized(object, bytes) free malloc memory after a
 * grace period without a callback.
 */
#ifndef BENCH_FLAVOR_H
#define BENCH_FLAVOR_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Online threads and epoch schemes get a flavor_quiescent() this often in a loop of sections. */
#define FLAVOR_QUIESCENT_EVERY 256

#endif
