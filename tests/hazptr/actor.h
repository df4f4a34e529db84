/* SPDX-License-Identifier: MIT */
/*
 * actor.h - threads that do what they are told, one thing after the other: on() has one of them do something, and waits.
 * A call that may block is begun so, and its end is looked at later.
 */
#ifndef LULL_TEST_ACTOR_H
#define LULL_TEST_ACTOR_H

#include <errno.h>
#include <semaphore.h>

#include "threads.h"

struct actor {
	pthread_t thread;
	sem_t begin, end;
	void (*func)(void *arg); /* NULL: end */
	void *arg;
	int is_done;
};

static inline void actor_sleep(sem_t *sem)
{
	while (sem_wait(sem) != 0) /* signals interrupt it */
		;
}

static inline void *actor_run(void *arg)
{
	struct actor *actor = (struct actor *)arg;

	for (;;) {
		actor_sleep(&actor->begin);
		if (!actor->func)
			return NULL;
		actor->func(actor->arg);
		lull_store_release(&actor->is_done, 1);
		sem_post(&actor->end);
	}
}

static inline void actor_start(struct actor *actor)
{
	memset(actor, 0, sizeof(*actor));
	sem_init(&actor->begin, 0, 0);
	sem_init(&actor->end, 0, 0);
	actor->thread = start_thread(actor_run, actor);
}

static inline void actor_begin(struct actor *actor, void (*func)(void *arg), void *arg)
{
	actor->func = func;
	actor->arg = arg;
	lull_store_relaxed(&actor->is_done, 0);
	sem_post(&actor->begin);
}

static inline bool actor_is_done(struct actor *actor)
{
	return lull_load_acquire(&actor->is_done);
}

static inline void actor_await(struct actor *actor)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)(PATIENCE_NS / 1000000000u);
	while (sem_timedwait(&actor->end, &until) != 0)
		if (errno == ETIMEDOUT) {
			fprintf(stderr, "an actor comes to no end\n");
			abort();
		}
}

static inline void on(struct actor *actor, void (*func)(void *arg), void *arg)
{
	actor_begin(actor, func, arg);
	actor_await(actor);
}

/* The thread is gone on return. */
static inline void actor_end(struct actor *actor)
{
	actor_begin(actor, NULL, NULL);
	join_thread(actor->thread);
	sem_destroy(&actor->begin);
	sem_destroy(&actor->end);
}

/* ---- destructors that run late -------------------------------------------------------------------- */

/* Each asks for another round as long as glibc gives one, so the last ones come after lull's own destructor. */
#ifdef LULL__TSAN
#define LATE_ROUNDS 2
#else
#define LATE_ROUNDS 100
#endif
static pthread_key_t late_key;
static void (*late_call)(void);
static __thread int late_round;
static int late_runs;

static inline void late_destructor(void *value)
{
	late_call();
	lull_add_relaxed(&late_runs, 1);
	if (++late_round < LATE_ROUNDS)
		pthread_setspecific(late_key, value);
}

static inline void *ends_late(void *before)
{
	pthread_setspecific(late_key, &late_key);
	lull_thread_register();
	if (before)
		(*(void (**)(void))before)();
	return NULL;
}

/* End 50 threads that do @call in all rounds of their destructors. Every eighth does @before, if any, before it ends. */
static inline void end_threads_late(void (*call)(void), void (*before)(void), void (*between)(void))
{
	late_call = call;
	late_runs = 0;
	assert_int_equal(pthread_key_create(&late_key, late_destructor), 0);
	for (int i = 0; i < 50; i++) {
		join_thread(start_thread(ends_late, before && i % 8 == 7 ? (void *)&before : NULL));
		between();
	}
	assert_true(late_runs >= 100);
	pthread_key_delete(late_key);
}

/* ---- sections that last --------------------------------------------------------------------------- */

static inline void actor_enters(void *unused)
{
	(void)unused;
	lull_rcu_read_lock();
}

static inline void actor_leaves(void *unused)
{
	(void)unused;
	lull_rcu_read_unlock();
}

static inline void actor_comes_online(void *unused)
{
	(void)unused;
	lull_rcu_online();
}

static inline void actor_goes_offline(void *unused)
{
	(void)unused;
	lull_rcu_offline();
}

/*
 * Have a thread wait in a section, and in one that lasts as long as it is online, for what another has acquired: the section
 * lasts as long as the wait.
 */
static inline void check_wait_in_section(void (*acquire)(void *), void (*let_go)(void *), void (*wait)(void *))
{
	struct actor holder, waiter;

	start_hearing(); /* a debug build warns of the online thread */
	actor_start(&holder);
	actor_start(&waiter);
	for (int online = 0; online < 2; online++) {
		lull_rcu_cookie cookie;

		on(&holder, acquire, NULL);
		on(&waiter, online ? actor_comes_online : actor_enters, NULL);
		cookie = lull_rcu_gp_start();
		actor_begin(&waiter, wait, NULL);
		nap_ms(30);
		assert_false(actor_is_done(&waiter));
		on(&holder, let_go, NULL);
		actor_await(&waiter);
		nap_ms(5);
		assert_false(lull_rcu_gp_poll(cookie));
		on(&waiter, online ? actor_goes_offline : actor_leaves, NULL);
		lull_rcu_gp_wait(cookie);
	}
	actor_end(&waiter);
	actor_end(&holder);
	stop_hearing();
}

#endif /* LULL_TEST_ACTOR_H */
