/* SPDX-License-Identifier: MIT */
/*
 * time_slice.h - ask the kernel to let a thread finish a short section before it is preempted.
 *
 * Linux 7.0 has that as an extension of restartable sequences, if it was built with it: the thread asks in
 * its rseq area not to be preempted now; if its time slice ends all the same, the kernel grants it a few
 * microseconds more, once, and says so in the area; the thread says when it does not need them any more. It
 * costs two stores if nothing happens.
 */
#ifndef LULL_TIME_SLICE_H
#define LULL_TIME_SLICE_H

#include <stdbool.h>

/* Does it work for the calling thread, and so for all others that the C library starts? */
bool lull__slice_offered(void);

/*
 * Turn it on for the calling thread, for as long as that lives. Returns false if it is not offered. Before
 * that, or if it failed, the other functions do nothing. After fork the child must call this again.
 */
bool lull__slice_enable(void);

/*
 * Begin and end a section to be finished; sections may nest. Granted time is lost at any system call, so
 * wake other threads after the end. Signal handlers may call these too, in pairs.
 */
void lull__slice_begin(void);
void lull__slice_end(void); /* leaves the CPU when more time was granted; errno stays as it was */

/* Is the time slice over, and does this thread run on granted time? Then to spin any longer is of no use. */
bool lull__slice_granted(void);

#endif /* LULL_TIME_SLICE_H */
