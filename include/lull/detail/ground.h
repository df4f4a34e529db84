/* SPDX-License-Identifier: MIT */
/*
 * ground.h - what other libraries of lull's stand on, beside the public names: liblull-urcu. Not for programs.
 *
 * One table, so that one name is exported, and scripts/abi sees what changes in it.
 */
#ifndef LULL_GROUND_H
#define LULL_GROUND_H

#include <lull/detail/abi.h>

LULL_BEGIN_DECLS

struct lull_head;

/* All zeros is free. */
struct lull__lock {
	uint32_t word; /* 0 free, 1 held, 2 held and a thread sleeps */
};

struct lull__ground {
	/* Set the library up; in a forked child that no handler has told, repair it. Call it before a thread or a fork. */
	void (*init)(void);
	/* Have @func called in a forked child before anything else is, behind all that lull does there itself. */
	void (*at_fork_child)(void (*func)(void));
	/* Say one line; say one line, with the calling thread's name and tid, and abort. */
	void (*say)(const char *format, ...) __attribute__((format(printf, 1, 2)));
	void (*misuse)(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
	void (*lock_take)(struct lull__lock *lock);
	void (*lock_leave)(struct lull__lock *lock);
	/* Sleep while *@word is @value, and return for any reason; wake @how_many that sleep on @word. */
	void (*sleep)(uint32_t *word, uint32_t value);
	void (*wake)(uint32_t *word, int how_many);
	unsigned (*cpus_possible)(void);
	/* Call @head's function; debug builds abort if it does not return, and name it as @what. */
	void (*call)(const char *what, struct lull_head *head);
	/* Have @items, less than the hard limit at the start, as the soft limit, unless the program has chosen another. */
	void (*soft_items)(size_t items);
};

extern LULL_API const struct lull__ground lull__ground;

LULL_END_DECLS

#endif /* LULL_GROUND_H */
