/* SPDX-License-Identifier: MIT */
/* runs: oracles */
/*
 * steps.c - mutex.h, mutex_robust.h, cond.h: threads lock, unlock, wait, signal, end and are interrupted by chance, one
 * step at a time. A plain model (model.h) says who has the lock, who sleeps for what, and what each call returns and asks
 * of the kernel. After each step each thread is through with it or asleep, as the model has it, and none has got up in vain.
 */
#include <linux/futex.h>

#include "mutex/model.h"
#include "own_syscall.h"
#include "random.h"

static uint64_t seed;

/* ---- threads that do what they are told ----------------------------------------------------------------------- */

static __thread struct actor *me;

/* Waiters at a shared condition look again every few seconds (cond_wait.c); not here, however slow the machine is. */
static long sleep_for_ever(const long *arg)
{
	struct actor *a = me;
	long result;

	me = NULL;
	result = syscall(SYS_futex, arg[0], arg[1], arg[2], NULL, NULL, arg[5]);
	me = a;
	return result;
}

static bool instead_of_syscall(long number, const long *arg, long *result)
{
	long op = arg[1] & FUTEX_CMD_MASK;

	if (number != SYS_futex || !me)
		return false;
	lull_add_relaxed(&me->sleeps, op == FUTEX_WAIT_BITSET);
	me->wakes += op == FUTEX_WAKE || op == FUTEX_WAKE_BITSET;
	me->moves += op == FUTEX_CMP_REQUEUE;
	if (op == FUTEX_WAIT_BITSET && arg[0] == (long)&cond.seq && me->step != WAIT_LATE) {
		*result = sleep_for_ever(arg);
		return true;
	}
	if (op != FUTEX_CMP_REQUEUE || !no_requeue)
		return false;
	errno = ENOSYS; /* a seccomp filter may know wait and wake only */
	*result = -1;
	return true;
}

static int perform(enum step step)
{
	struct lull_mutex *m = &lock.robust.mutex;

	switch (step) {
	case LOCK:
		return acquire(&lock);
	case TRYLOCK:
		return try_acquire(&lock);
	case LOCK_LATE:
		return acquire_until(&lock, now_ns() % 2 ? 0 : now_ns());
	case LOCK_EVER:
		return acquire_until(&lock, UINT64_MAX);
	case UNLOCK:
		release(&lock);
		me->owner_after = lull_mutex_owner(m);
		break;
	case WAIT:
		lull_cond_wait(&cond, m);
		break;
	case WAIT_LATE:
		return lull_cond_timedwait(&cond, m, now_ns() % 2 ? 0 : now_ns());
	case WAIT_EVER:
		return lull_cond_timedwait(&cond, m, UINT64_MAX);
	case SIGNAL:
		lull_cond_signal(&cond);
		break;
	case BROADCAST:
		lull_cond_broadcast(&cond);
		break;
	case REPAIR:
		lull_mutex_robust_consistent(&lock.robust);
		break;
	case END:
		break;
	}
	return 0;
}

static void *acts(void *arg)
{
	enum step step;

	me = (struct actor *)arg;
	lull_store_release(&me->tid, my_tid());
	do {
		sem_wait(&me->told);
		step = me->step;
		errno = 77;
		me->result = perform(step);
		assert_int_equal(errno, 77);
		lull_store_release(&me->done, 1);
	} while (step != END);
	return NULL;
}

static void start_actor(struct actor *a)
{
	memset(a, 0, sizeof(*a));
	sem_init(&a->told, 0, 0);
	a->done = 1;
	a->thread = start_thread(acts, a);
	AWAIT_SOON(lull_load_acquire(&a->tid));
}

/* ---- one step ------------------------------------------------------------------------------------------------- */

static bool is_done(const struct actor *a)
{
	return lull_load_acquire(&a->done);
}

/* If the lock is free, one that wants it has it, or each has been told that it is lost. */
static unsigned to_be_told(void)
{
	if (owner || !want_lock())
		return 0;
	return data == LOST ? want_lock() : 1;
}

static bool is_asleep(const struct actor *a)
{
	if (a->place == IDLE || a->place == OWNER)
		return false;
	return a->place == HELD || (lull_load_relaxed(&a->sleeps) >= a->due && sleeps(&a->tid));
}

static bool has_got_up(const struct actor *a)
{
	return lull_load_relaxed(&a->sleeps) > a->slept;
}

/* The one that it has woken, and that has found the lock taken again. */
static struct actor *woken_in_vain(void)
{
	for (int i = 0; loser && is_done(loser) && i < ACTORS; i++) {
		struct actor *a = &actors[i];

		if (a != loser && (a->place == QUEUED || a->place == MOVED) && has_got_up(a))
			return a;
	}
	return NULL;
}

/* Each thread is through or asleep. */
static bool all_settled(void)
{
	unsigned got = 0;

	for (int i = 0; i < ACTORS; i++) {
		struct actor *a = &actors[i];

		if (!is_done(a) && !is_asleep(a))
			return false;
		assert_false(is_done(a) && (a->place == WAITING || a->place == HELD));
		got += is_done(a) && (a->place == QUEUED || a->place == MOVED);
	}
	assert_true(got <= to_be_told());
	return got == to_be_told() && (!loser || !is_done(loser) || woken_in_vain());
}

/* The heir is given the lock, if it sleeps; else it is the one that went to sleep first, where that is known. */
static void expect_next(const struct actor *next, const struct actor *heir_asleep, const struct actor *first)
{
	if (heir_asleep && next != heir_asleep)
		assert_true(has_got_up(heir_asleep)); /* by itself, at that moment */
	else if (!heir_asleep && in_order)
		assert_ptr_equal(next, first);
}

static void settle(void)
{
	struct actor *first = first_of(true), *heir_asleep = heir && heir->place == QUEUED ? heir : NULL, *up;

	AWAIT_SOON(all_settled());
	up = woken_in_vain();
	if (up && up->place == MOVED)
		go_to(up, QUEUED);
	for (int i = 0; i < ACTORS; i++) {
		struct actor *a = &actors[i];

		if (!is_done(a) || (a->place != QUEUED && a->place != MOVED))
			continue;
		expect_next(a, heir_asleep, first);
		gets_lock(a);
	}
}

/* There is one at a time, until it has the lock; and none where it could be killed. */
static void check_heir(uint32_t word, uint32_t rest)
{
	struct actor *now = NULL;

	for (int i = 0; i < ACTORS; i++)
		if ((actors[i].place == QUEUED || actors[i].place == HELD) && actors[i].tid == (rest & HEIR_TID))
			now = &actors[i];
	assert_int_equal(rest & HEIR_TID, now ? now->tid : 0);
	if (heir)
		assert_ptr_equal(now, heir);
	heir = now;
	if (heir)
		assert_true(lock.kind == PRIVATE && (heir->place == HELD || (word & LULL__MUTEX_HEIR)));
}

static void check_all(void)
{
	uint32_t word = lull_load_relaxed(&lock.robust.mutex.word);

	assert_int_equal(lull_mutex_owner(&lock.robust.mutex), owner ? owner->tid : 0);
	if (want_lock()) /* the unlock to come knows of them */
		assert_true(word & LULL__MUTEX_WAITERS);
	check_heir(word, lull_load_relaxed(&lock.robust.mutex.rest));
	assert_int_equal(how_many_wait(&cond), how_many(WAITING) + how_many(MOVED));
	for (int i = 0; i < ACTORS; i++)
		if (lock.kind == PRIVATE && (actors[i].place == WAITING || actors[i].place == MOVED))
			assert_int_equal(lull_load_relaxed(&actors[i].sleeps), 1);
	if (spare > how_many(MOVED))
		spare = how_many(MOVED);
	if (!want_lock())
		in_order = true;
#ifdef LULL_DEBUG /* sleepers get up to look for deadlocks, and queue again */
	in_order = false;
#endif
	if (lock.kind != PRIVATE) /* ... or because the one that was woken may have been killed */
		in_order = false;
}

static void note_sleeps(void)
{
	for (int i = 0; i < ACTORS; i++)
		actors[i].slept = lull_load_relaxed(&actors[i].sleeps);
}

/* How often a call has asked the kernel, which is once at most, and never to sleep. */
static void check_calls(const struct actor *a, bool wanted, unsigned least, unsigned most)
{
	if (a->step != LOCK && a->step != LOCK_EVER && a->step < WAIT)
		assert_int_equal(a->sleeps, 0);
	if (a->step == UNLOCK && wanted) /* a sleeper that looks by itself some time has to be woken, too */
		assert_true(a->wakes > 0);
	if (a->step == SIGNAL || a->step == BROADCAST) {
		assert_in_range(a->moves, least, most);
		assert_int_equal(a->wakes, no_requeue ? a->moves : 0);
	}
}

static void do_step(struct actor *a, enum step step)
{
	bool wanted = want_lock();
	unsigned least = how_many(WAITING) ? 1 : 0, most = least || spare ? 1 : 0;
	const struct actor *next = heir && heir->place == QUEUED ? heir : NULL;

	a->step = step;
	a->sleeps = a->wakes = a->moves = 0;
	a->done = 0;
	note_sleeps();
	model_step(a, step);
	sem_post(&a->told);
	settle();
	if (step == UNLOCK && next && !has_got_up(next)) /* the lock was never free */
		assert_int_equal(a->owner_after, next->tid);
	if (step == END) {
		join_thread(a->thread);
		sem_destroy(&a->told);
		start_actor(a);
	} else if (a->place == IDLE || a->place == OWNER) {
		assert_int_equal(a->result, a->wanted);
		check_calls(a, wanted, least, most);
	}
	check_all();
}

/* ---- interruptions -------------------------------------------------------------------------------------------- */

static struct actor *held;

/* A handler is over: the thread wants the lock, whatever it slept for. If it has waited for long, it or another is the heir. */
static void let_go_on(struct actor *a)
{
	bool impatient = a->place == HELD && lock.kind == PRIVATE;

	held = NULL;
	spare += a->place == WAITING;
	note_sleeps();
	loser = NULL;
	get_up(a);
	end_handler();
	settle();
	check_all();
	if (impatient && a->place == QUEUED)
		assert_non_null(heir);
}

/* One that waits for the lock may be in the handler for long. It is not given the lock then, and others have it. */
static void interrupt(struct actor *a)
{
	nap_ms(LULL_MUTEX_PATIENCE_MS + 1);
	keep_in_handler(a->thread);
	if (a->place == QUEUED) {
		a->place = HELD;
		held = a;
	}
	if (a->place != HELD || dice(&seed, 2))
		let_go_on(a);
}

/* ---- steps by chance ------------------------------------------------------------------------------------------ */

static bool may_do(const struct actor *a, enum step step)
{
	bool robust = lock.kind == ROBUST;

	switch (step) {
	case TRYLOCK:
		return true;
	case LOCK:
	case LOCK_LATE:
	case LOCK_EVER:
		return a != owner;
	case WAIT:
	case WAIT_LATE:
	case WAIT_EVER: /* another thread must be there to go on */
		return !robust && a == owner && (want_lock() || how_many(IDLE));
	case SIGNAL:
	case BROADCAST:
		return !robust;
	case REPAIR:
		return a == owner && data == UNREPAIRED;
	default: /* UNLOCK, END */
		return a == owner && (step == UNLOCK || robust);
	}
}

static void step_by_chance(void)
{
	struct actor *a = &actors[dice(&seed, ACTORS)];
	enum step step;

	if (held && dice(&seed, 4) == 0)
		let_go_on(held);
	if (!held && dice(&seed, 4) == 0 && a->place != IDLE && a->place != OWNER)
		interrupt(a);
	if (data == LOST && how_many(IDLE) == ACTORS && dice(&seed, 8) == 0) {
		make_lock(&lock, ROBUST);
		data = SOUND;
	}
	do {
		a = owner && dice(&seed, 3) == 0 ? owner : &actors[dice(&seed, ACTORS)];
		step = (enum step)dice(&seed, END + 1);
	} while ((a->place != IDLE && a->place != OWNER) || !may_do(a, step));
	do_step(a, step);
}

/* Until no thread has the lock, or sleeps. */
static void let_all_go(void)
{
	if (held)
		let_go_on(held);
	while (how_many(IDLE) < ACTORS) {
		if (data == UNREPAIRED && owner)
			do_step(owner, REPAIR);
		for (int i = 0; !owner && i < ACTORS; i++)
			if (actors[i].place == IDLE) {
				do_step(&actors[i], BROADCAST);
				break;
			}
		if (owner)
			do_step(owner, UNLOCK);
	}
}

static void take_steps(enum kind kind)
{
	alarm(110);
	seed = test_seed();
	make_lock(&lock, kind);
	data = SOUND;
	lull_cond_init(&cond, kind == SHARED ? LULL_MUTEX_SHARED : 0);
	for (int i = 0; i < ACTORS; i++)
		start_actor(&actors[i]);
	check_all();
	for (int i = 0; i < STEPS; i++)
		step_by_chance();
	let_all_go();
	for (int i = 0; i < ACTORS; i++) {
		do_step(&actors[i], SIGNAL); /* for no thread */
		actors[i].step = END;
		sem_post(&actors[i].told);
		join_thread(actors[i].thread);
	}
	assert_int_equal(cond.waiters, kind == SHARED ? LULL_MUTEX_SHARED : 0);
	lull_cond_destroy(&cond);
	lull_mutex_destroy(&lock.robust.mutex);
}

TEST(private_mutex)
{
	take_steps(PRIVATE);
}

TEST(shared_mutex)
{
	take_steps(SHARED);
}

TEST(robust_mutex)
{
	if (kinds_here() != KINDS)
		SKIP("no robust mutexes here");
	take_steps(ROBUST);
}

TEST(no_requeue)
{
	no_requeue = true;
	take_steps(PRIVATE);
}
