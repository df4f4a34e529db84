/* SPDX-License-Identifier: MIT */
/*
 * message.h - the one way in which the library speaks, and the one way in which it aborts.
 *
 * Every line goes through the message hook of debug.h. Any context; formats with snprintf(3).
 */
#ifndef LULL_MESSAGE_H
#define LULL_MESSAGE_H

#include "../os/os.h"

/* Say one line. */
void lull__say(const char *format, ...) __attribute__((cold, format(printf, 1, 2)));

/* Say one line, then abort: for states that must not occur. */
void lull__die(const char *format, ...) __attribute__((noreturn, cold, format(printf, 1, 2)));

/* Abort because the calling thread misuses the library; the line ends with that thread's name and tid. */
void lull__misuse(const char *format, ...) __attribute__((noreturn, cold, format(printf, 1, 2)));

/* Put thread @tid into words: `thread "name" (tid 7)`. */
struct lull__thread_words {
	char text[64];
};
struct lull__thread_words lull__thread_words(uint32_t tid) __attribute__((cold));

#endif /* LULL_MESSAGE_H */
