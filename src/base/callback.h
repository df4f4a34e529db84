/* SPDX-License-Identifier: MIT */
/*
 * callback.h - calls of functions of users, which have to return. Debug builds say so when one does not.
 *
 * C++ may throw, if its compiler does not know better (C++14), and a thread may end in a callback. Both go
 * through the library's frames without a trace: a bucket stays locked, a barrier waits for ever. Debug builds
 * are compiled so that such an end runs the cleanups of the frames that it leaves (-fexceptions).
 */
#ifndef LULL_CALLBACK_H
#define LULL_CALLBACK_H

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
