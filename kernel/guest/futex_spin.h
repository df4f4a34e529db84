/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the test of FUTEX2_SPIN. */
#ifndef FUTEX_SPIN_H
#define FUTEX_SPIN_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SYS_FUTEX_WAITV 449
#define SYS_FUTEX_WAKE 454
#define SYS_FUTEX_WAIT 455
#define SYS_FUTEX_REQUEUE 456

#define SIZE_U32 0x02
#define SPIN 0x10
#define PRIVATE 0x80

#define MS 1000000ll
#define PATIENCE_MS 20000

struct waitv {
	uint64_t val, uaddr;
	uint32_t flags, reserved;
};

extern int failed;

/* In memory that processes share. */
extern struct shared {
	_Atomic uint32_t word;
	_Atomic int step;
	struct robust_list_head head;
	struct {
		struct robust_list list;
		_Atomic uint32_t word;
	} robust;
} *shared;

/* The counts of /sys/kernel/debug/futex_spin; futex_spin_owner.c has their names. */
enum { WAITS, UNOWNED, REFUSED, IDLE_OWNER, SPINS, TURNS, WOKEN, CHANGED, STOPPED, RESCHED, SIGNAL, TIMEOUT, LIMIT, FAULT,
       N_COUNTS };

struct counts {
	unsigned long long n[N_COUNTS];
};

enum how { SLEEPS, RUNS, UNLOCKS, PAUSES, IS_QUIET /* unlocks, and wakes nobody */, EXITS /* and unlocks nothing */ };

struct owner {
	pthread_t thread;
	enum how how;
	_Atomic uint32_t *word;
	_Atomic uint32_t tid;
	_Atomic int step; /* 1: it owns; 2: it shall end */
	int us;
};

void fail(const char *name, const char *format, ...);
void ok(const char *name, const char *format, ...);
void expect(const char *name, const char *what, int got, int wanted);
long long now_ns(void);
uint32_t tid(void);
int futex_wait(_Atomic uint32_t *word, uint32_t val, unsigned int flags, long long ns);
int futex_wake(_Atomic uint32_t *word, int n, unsigned int flags);
void await(const char *name, _Atomic int *at, int step);

struct counts read_counts(void);
struct counts since(struct counts before);
const char *text(struct counts counts);

void pin(int cpu);
void begin_owner(void);
void begin_waiter(void);
void start(const char *name, struct owner *owner, enum how how, _Atomic uint32_t *word, int us);
void stop(struct owner *owner);

void test_dead_owners(void);
void test_mutex(void);
int bench(char **sizes);

#endif
