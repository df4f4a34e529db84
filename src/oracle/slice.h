/* SPDX-License-Identifier: MIT */
/*
 * slice.h - ask the kernel to let a thread finish a short section before it is preempted.
 *
 * Linux 7.0 has that as an extension of restartable sequences, where it was built with it: the thread says
 * in its rseq area that it would rather not be preempted now; when its time slice ends all the same, the
 * kernel grants it a few microseconds more, once, and tells so in the area; the thread says when it is done
 * with them. It costs two stores where nothing happens.
 */
#ifndef LULL_OS_SLICE_H
#define LULL_OS_SLICE_H

#include <stdbool.h>

/* Does it work for the calling thread, and so for those that the C library starts as it did this one? */
bool lull__slice_offered(void);

/*
 * Turn it on for the calling thread, for as long as that lives; false: not offered. Without, or before
 * that, the rest does nothing. After fork once more, in the child.
 */
bool lull__slice_enable(void);

/*
 * Around what is to be finished; sections may be in each other. What is granted is lost at any
 * system call, so those that wake others come after the end. Signal handlers may too, in pairs.
 */
void lull__slice_begin(void);
void lull__slice_end(void); /* leaves the CPU when more time was granted; errno stays as it was */

/* The time slice is over, and this thread runs on granted time: to spin any longer is of no use. */
bool lull__slice_granted(void);

#endif /* LULL_OS_SLICE_H */
