/* SPDX-License-Identifier: MIT */
/*
 * One read in the flavor that was included before, whichever kind it is of (flavor.h):
 *
 *	READ_STATE;		declares what a reader needs, for any number of reads
 *	object = READ_BEGIN(p);	the object that the pointer lvalue p points to; it stays
 *	READ_END();		until here
 *
 * A file that reads in a way of its own defines all three beforehand.
 */
#ifndef READ_STATE

#if defined(FLAVOR_KEEPS)
#define READ_STATE __typeof__(flavor_slot) read_slot = flavor_slot
#define READ_BEGIN(p) flavor_keep(read_slot, p)
#define READ_END() flavor_drop(read_slot)
#elif defined(FLAVOR_MARKS)
#define READ_STATE struct flavor_guard read_guard
#define READ_BEGIN(p) (read_guard = flavor_mark(&(p)), flavor_dereference(p))
#define READ_END() flavor_unmark(read_guard)
#else
#define READ_STATE __attribute__((unused)) int read_nothing
#define READ_BEGIN(p) (flavor_read_lock(), flavor_dereference(p))
#define READ_END() flavor_read_unlock()
#endif

#endif
