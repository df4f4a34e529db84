/* SPDX-License-Identifier: MIT */
/*
 * callback.h - calls of functions of users, which have to return. Debug builds say so when one does not.
 *
 * C++ may throw, if its compiler does not know better (C++14), and a thread may end in a callback. Both go
 * through the library's frames without a trace: a bucket stays locked, a barrier waits for ever. Debug builds
 * are compiled so that such an end runs the cleanups of the frames that it leaves (-fexceptions).
 *
 * While one runs, callback_depth in the thread's record is not 0: it must not wait for its own thread.
 */
#ifndef LULL_CALLBACK_H
#define LULL_CALLBACK_H

#include <lull/thread.h>

#define LULL__IN_THREAD_START 0x80u /* in callback_depth: in thread_start, of a thread of the library's */

/* Say in words where the calling thread is, whose callback_depth is not 0. */
static inline const char *lull__where_called_back(void)
{
	return lull__self.callback_depth & LULL__IN_THREAD_START ? "thread_start" : "a callback";
}

#ifdef LULL_DEBUG
#include "message.h"

/* *@what: NULL, it has returned. */
static inline void lull__callback_end(const char **what)
{
	if (*what)
		lull__misuse("%s was left by an exception, or by the end of its thread", *what);
}

#define LULL__CALLBACK(name, call)                                                                 \
	do {                                                                                       \
		const char *lull__now __attribute__((cleanup(lull__callback_end))) = (name);       \
		call;                                                                              \
		lull__now = NULL;                                                                  \
	} while (0)
#else
#define LULL__CALLBACK(name, call) call
#endif

#endif /* LULL_CALLBACK_H */
