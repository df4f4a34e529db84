/* SPDX-License-Identifier: MIT */
/* lull torture --flavor wild: threads that do a bit of everything, and how a process ends. See surroundings.h. */
#include "torture/surroundings/surroundings.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <lull/hazptr.h>

#define WORKERS 3u
#define USES 50u
#define LAST_US 20000u
#define STACK_BYTES 4096u

/* ---- workers --------------------------------------------------------------------------------- */

static struct {
	pthread_t thread;
	uint64_t rng;
	bool is_there;
} worker[WORKERS];
static uint32_t over;

static void *work(void *arg)
{
	uint64_t *rng = arg;

	while (!lull_load_acquire(&over) && !torture_failed()) {
		wild_mix(rng, USES);
		if (torture_once_in(rng, 16))
			torture_sleep_us(torture_random(rng, 2000));
	}
	return NULL;
}

/* Where threads cannot be had, there are fewer. */
void wild_workers_start(uint64_t *rng)
{
	unsigned i;

	lull_store_relaxed(&over, 0u);
	for (i = 0; i < WORKERS; i++) {
		worker[i].rng = torture_random(rng, UINT64_MAX) | 1;
		worker[i].is_there = pthread_create(&worker[i].thread, NULL, work, &worker[i].rng) == 0;
	}
}

void wild_workers_stop(void)
{
	unsigned i;

	lull_store_release(&over, 1u);
	for (i = 0; i < WORKERS; i++)
		if (worker[i].is_there)
			pthread_join(worker[i].thread, NULL);
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* Everything that the supervisor has to know before the end. */
static void say_over(void)
{
	printf("\nwork is over\n");
	if (wild_has(WILD_END_SIGTERM))
		printf("send SIGTERM\n");
	fflush(stdout);
}

/* The last of the program's threads, after main. */
static void *last(void *arg)
{
	uint64_t *rng = arg;

	torture_sleep_us(LAST_US);
	wild_mix(rng, USES);
	return NULL;
}

static void *last_for_ever(void *arg)
{
	for (;;) {
		wild_mix(arg, USES);
		torture_sleep_us(LAST_US);
	}
	return NULL;
}

static void *call_exit(void *unused)
{
	(void)unused;
	torture_sleep_us(LAST_US);
	exit(EXIT_SUCCESS);
}

/* Return where no thread can be had. */
static void leave_main(void *(*run)(void *), uint64_t *rng)
{
	static uint64_t heir;
	pthread_attr_t attr;
	pthread_t thread;

	heir = torture_random(rng, UINT64_MAX) | 1;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, run, &heir) == 0)
		pthread_exit(NULL);
}

static _Noreturn void await_sigterm(uint64_t *rng)
{
	if (torture.use_fault == FAULT_STAYS)
		signal(SIGTERM, SIG_IGN);
	if (torture_once_in(rng, 2))
		leave_main(last_for_ever, rng);
	for (;;)
		pause();
}

static __attribute__((noinline)) void leave_context(void)
{
	static char thing, *place = &thing;
	struct lull_hazptr_context ctx;

	lull_hazptr_context_init(&ctx);
	lull_hazptr_protect_ptr(lull_hazptr_alloc(&ctx), place);
}

/* Overwrite the stack where the context was. */
static __attribute__((noinline)) void use_stack(void)
{
	volatile char frame[STACK_BYTES];
	size_t i;

	for (i = 0; i < sizeof(frame); i++)
		frame[i] = 0x5a;
}

void wild_end_round(uint64_t *rng)
{
	say_over();
	if (wild_has(WILD_END_SIGTERM))
		await_sigterm(rng);
	if (wild_has(WILD_END_CONTEXT)) {
		leave_context();
		use_stack();
	}
	if (wild_has(WILD_END_MAIN_EXITS))
		leave_main(last, rng);
	if (wild_has(WILD_END_EXIT))
		leave_main(call_exit, rng);
	if (wild_has(WILD_END_AT_ONCE))
		_exit(EXIT_SUCCESS);
	exit(EXIT_SUCCESS);
}
