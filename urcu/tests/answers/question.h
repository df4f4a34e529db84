/* SPDX-License-Identifier: MIT */
/*
 * question.h - small questions about liburcu's interface, each answered in one line, by whatever runs the program: liburcu,
 * what stands in for it, or lull from source. The script `answers` compares.
 *
 * A question has a process of its own, in which nothing was used before.
 */
#ifndef TESTS_QUESTION_H
#define TESTS_QUESTION_H

#ifdef QUESTION_OF_ALL
#include "../binary/urcu_must.h"

#include <pthread.h>
#else
#include "../binary/urcu_flavor.h"
#endif

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

struct question {
	const char *name;
	void (*ask)(void);
	struct question *next;
};

void add_question(struct question *q);

/* Define a question by what gives its answer. */
#define QUESTION(name)                                                                                                 \
	static void name(void);                                                                                        \
	__attribute__((constructor)) static void add_##name(void)                                                      \
	{                                                                                                              \
		static struct question q = { #name, name };                                                            \
		add_question(&q);                                                                                      \
	}                                                                                                              \
	static void name(void)

/* The answer, or a part of it: the parts have commas between them. */
__attribute__((format(printf, 1, 2))) void answer(const char *format, ...);

static inline const char *yes_no(bool is)
{
	return is ? "yes" : "no";
}

struct rcu_head *new_head(void);
void in_thread(void *(*function)(void *), void *arg); /* and wait for it */
unsigned threads_now(void);

/* For call_rcu(): free the head, and count. */
extern _Atomic int called;
void count_call(struct rcu_head *head);

#endif /* TESTS_QUESTION_H */
