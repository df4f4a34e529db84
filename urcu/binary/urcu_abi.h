/* SPDX-License-Identifier: MIT */
/*
 * urcu_abi.h - the binary interface of liburcu 0.13 to 0.15 (soname 8), as compiled programs use it.
 *
 * Programs that inline their readers read and write the words that are declared here. So the layout, the sizes
 * and the meaning of each bit are liburcu's. Only the first members of a reader are touched from outside; what
 * follows is spare room, which keeps the size.
 */
#ifndef LULL_URCU_ABI_H
#define LULL_URCU_ABI_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <lull/rcu.h>

#if defined(__x86_64__)
#define URCU_LINE 128
#else
#define URCU_LINE 64
#endif

/* Exported to programs. */
#define URCU_API __attribute__((visibility("default")))

/*
 * In the readers and in `ctr`: the lower half counts nested sections, the upper half is a grace period's. In the
 * flavor qsbr the word is 0 offline, else what `ctr` was at the last quiescent state.
 */
#define URCU_NEST_MASK 0xffffffffUL
#define URCU_FIRST     (1ul << 32 | 1) /* the word of a section before the first grace period */
#define URCU_OUTSIDE   (URCU_NEST_MASK + 1) /* of called readers: the next lock goes out of line */
_Static_assert(sizeof(unsigned long) == 8, "liburcu's word has 32 bits for each half");

struct urcu_gp {
	unsigned long ctr; /* an outermost section stores this in its word */
	int32_t futex;	   /* -1: a grace period sleeps here; a thread that leaves a section stores 0 and wakes it */
} __attribute__((aligned(URCU_LINE)));

struct urcu_reader {
	unsigned long ctr;
	uint32_t unused;
	uint32_t slow; /* URCU_SLOW_*: for called readers; inlined ones do not know it */
	unsigned long outside; /* called readers store this in `ctr` at the end: 0, or URCU_OUTSIDE in slow mode */
	char line1[URCU_LINE - 2 * sizeof(unsigned long) - 2 * sizeof(uint32_t)];
	void *node[2];
	pthread_t tid;
	unsigned int registered : 1;
} __attribute__((aligned(URCU_LINE)));

struct urcu_qsbr_reader {
	unsigned long ctr;
	char line1[URCU_LINE - sizeof(unsigned long)];
	void *node[2];
	int waiting; /* 1: a grace period waits for this thread, which then looks at `futex` */
	pthread_t tid;
	unsigned int registered : 1;
} __attribute__((aligned(URCU_LINE)));

struct urcu_bp_reader {
	unsigned long ctr;
};

_Static_assert(sizeof(struct urcu_gp) == URCU_LINE && sizeof(struct urcu_reader) == 2 * URCU_LINE &&
		       sizeof(struct urcu_qsbr_reader) == 2 * URCU_LINE,
	       "as in the library that is replaced");

struct rcu_head {
	struct lull_head head; /* two words as well, of the same meaning */
};

struct urcu_atfork;

struct urcu_gp_poll_state {
	unsigned long grace_period_id;
};

/* The last two members are there from 0.14 on. LULL_URCU_VERSION says for which this library is built. */
struct rcu_flavor_struct {
	void (*read_lock)(void);
	void (*read_unlock)(void);
	int (*read_ongoing)(void);
	void (*read_quiescent_state)(void);
	void (*update_call_rcu)(struct rcu_head *head, void (*func)(struct rcu_head *head));
	void (*update_synchronize_rcu)(void);
	void (*update_defer_rcu)(void (*fct)(void *p), void *p);
	void (*thread_offline)(void);
	void (*thread_online)(void);
	void (*register_thread)(void);
	void (*unregister_thread)(void);
	void (*barrier)(void);
	void (*register_rculfhash_atfork)(struct urcu_atfork *atfork);
	void (*unregister_rculfhash_atfork)(struct urcu_atfork *atfork);
#if LULL_URCU_VERSION >= 14
	struct urcu_gp_poll_state (*update_start_poll_synchronize_rcu)(void);
	bool (*update_poll_state_synchronize_rcu)(struct urcu_gp_poll_state state);
#endif
};

#define URCU_CALL_RCU_RT (1U << 0)

#endif /* LULL_URCU_ABI_H */
