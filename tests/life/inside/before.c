/* SPDX-License-Identifier: MIT */
/* runs: full-fences, no-rseq */
/*
 * before.c - the calling thread is as it was before: each part of its state (as_before.h) is compared after each call
 * that runs out of time, fails, or is interrupted by signals and then ends. A thread that stays offline after a timeout
 * reads without protection from then on, and nothing says so.
 */
#include "child.h"
#include "life/as_before.h"
#include "life/holder.h"

#include "../src/rcu/grace_period.h"

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static uint64_t in_ms(uint64_t ms)
{
	return now_ns() + ms * 1000000u;
}

#define CALL(name, ...)                                                                            \
	static int name(uint64_t ms)                                                                \
	{                                                                                          \
		(void)ms;                                                                          \
		__VA_ARGS__                                                                        \
	}

CALL(hazptr, return lull_hazptr_synchronize_timeout(&retired, ms);)
CALL(hazptr_range, return lull_hazptr_synchronize_range_timeout(&retired, sizeof(retired), ms);)
CALL(hazptr_fenced, return lull_hazptr_fenced_synchronize_range_timeout(&fenced_thing, 4, ms);)
CALL(shazptr, return lull_shazptr_synchronize_timeout(&simple_thing, ms);)
CALL(hazptr_barrier, return lull_hazptr_barrier_timeout(ms);)
CALL(drain, return lull_reclaim_drain(ms);)
CALL(cohort_wait, return lull_cohort_wait_timeout(&cohort, ms);)
CALL(rcu_wait_until, return lull__rcu_wait_until(cookie, in_ms(ms), NULL) ? 0 : -ETIMEDOUT;)

static int unlock_after(int err)
{
	if (!err)
		lull_mutex_unlock(&taken);
	return err;
}

static int unlock_robust_after(int err)
{
	if (!err)
		lull_mutex_robust_unlock(&robust_taken);
	return err;
}

CALL(mutex, return unlock_after(lull_mutex_timedlock(&taken, in_ms(ms)));)
CALL(robust, return unlock_robust_after(lull_mutex_robust_timedlock(&robust_taken, in_ms(ms)));)

CALL(cond_wait_until, {
	uint64_t deadline_ns = in_ms(ms);
	int err = 0;

	lull_mutex_lock(&own_mutex);
	while (!lull_load_relaxed(&woken) && !err)
		err = lull_cond_timedwait(&cond, &own_mutex, deadline_ns);
	lull_mutex_unlock(&own_mutex);
	return err;
})

CALL(cond_robust_until, {
	uint64_t deadline_ns = in_ms(ms);
	int err = lull_mutex_robust_lock(&own_robust);

	while (!lull_load_relaxed(&woken) && !err)
		err = lull_cond_timedwait_robust(&shared_cond, &own_robust, deadline_ns);
	lull_mutex_robust_unlock(&own_robust);
	return err;
})

/* Without a deadline. */
CALL(synchronize, lull_rcu_synchronize(); return 0;)
CALL(gp_wait, lull_rcu_gp_wait(cookie); return 0;)
CALL(rcu_barrier, lull_rcu_barrier(); return 0;)
CALL(hazptr_for_ever, lull_hazptr_synchronize(&retired); return 0;)
CALL(range_for_ever, lull_hazptr_synchronize_range(&retired, sizeof(retired)); return 0;)
CALL(fenced_for_ever, lull_hazptr_fenced_synchronize(&fenced_thing); return 0;)
CALL(shazptr_for_ever, lull_shazptr_synchronize(&simple_thing); return 0;)
CALL(barrier_for_ever, lull_hazptr_barrier(); return 0;)
CALL(cohort_for_ever, lull_cohort_wait(&cohort); return 0;)
CALL(domain_synchronize, lull_rcu_domain_synchronize(&domain); return 0;)
CALL(domain_wait, lull_rcu_domain_gp_wait(&domain, domain_cookie); return 0;)
CALL(domain_barrier, lull_rcu_domain_barrier(&domain); return 0;)
CALL(mutex_lock, lull_mutex_lock(&taken); return unlock_after(0);)
CALL(robust_lock, return unlock_robust_after(lull_mutex_robust_lock(&robust_taken));)
CALL(rwsem_read, lull_percpu_rwsem_read_lock(&written_sem); lull_percpu_rwsem_read_unlock(&written_sem); return 0;)

static int lock_to_write(struct lull_percpu_rwsem *sem)
{
	lull_percpu_rwsem_write_lock(sem);
	lull_percpu_rwsem_write_unlock(sem);
	return 0;
}

CALL(rwsem_write, return lock_to_write(&read_sem);)
CALL(rwsem_write_again, return lock_to_write(&written_sem);)

/* Past a soft limit a deferral waits for readers, for a moment. */
CALL(defer_past_limit, lull_rcu_free(malloc(8)); return -ETIMEDOUT;)

/* At once. */
static struct lull_percpu_ref dead;
static struct lull_refcount zero, one = LULL_REFCOUNT_INIT(1);
static struct lull_hash hash;
static struct lull_hash_node node, other_node;
static int broken_pipe;

static bool same_node(const struct lull_hash_node *found, const void *key)
{
	return found == key;
}

static void releases(struct lull_percpu_ref *unused)
{
	(void)unused;
}

CALL(mutex_try, return lull_mutex_trylock(&taken);)
CALL(robust_try, return lull_mutex_robust_trylock(&robust_taken);)
CALL(rwsem_read_try, return lull_percpu_rwsem_read_trylock(&written_sem);)
CALL(rwsem_write_try, return lull_percpu_rwsem_write_trylock(&read_sem);)
CALL(rwsem_write_try_again, return lull_percpu_rwsem_write_trylock(&written_sem);)
CALL(gp_poll, return lull_rcu_gp_poll(cookie);)
CALL(domain_poll, return lull_rcu_domain_gp_poll(&domain, domain_cookie);)
CALL(reclaim_poll, return lull_reclaim_poll(SIZE_MAX, 0) != 0;)
CALL(tryget, return lull_percpu_ref_tryget(&dead);)
CALL(tryget_live, return lull_percpu_ref_tryget_live(&dead);)
CALL(inc_not_zero, return lull_refcount_inc_not_zero(&zero);)
CALL(dec_not_one, return lull_refcount_dec_not_one(&one);)
CALL(ref_init, struct lull_percpu_ref ref; return lull_percpu_ref_init(&ref, releases, ~0u);)
CALL(hash_flags, struct lull_hash h; struct lull_hash_config c = { 0, 0, ~0u }; return lull_hash_init(&h, &c);)
CALL(hash_huge, struct lull_hash h; struct lull_hash_config c = { SIZE_MAX / 2, 0, 0 }; return lull_hash_init(&h, &c);)
CALL(hash_resize, return lull_hash_resize(&hash, SIZE_MAX / 2);)
CALL(hash_resize_none, return lull_hash_resize(&hash, 0);)
CALL(hash_insert, return lull_hash_insert(&hash, &other_node, 1, same_node, &node);)
CALL(hash_remove, return lull_hash_remove_node(&hash, &other_node);)
CALL(hash_replace, struct lull_hash_node new_node; return lull_hash_replace_node(&hash, &other_node, &new_node);)
CALL(oracle, return lull_mutex_choose_oracle("none of them");)
CALL(dump_nowhere, return lull_debug_dump(-1);)
CALL(dump_to_nobody, return lull_debug_dump(broken_pipe);)
CALL(configure, struct lull_reclaim_config config; lull_reclaim_default_config(&config); config.linger_ms = 0;
     return lull_reclaim_configure(&config);)
CALL(no_slot, {
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *slot[LULL_HAZPTR_SLOTS + 1] = { NULL };
	int n = 0;

	while (n <= LULL_HAZPTR_SLOTS && (slot[n] = lull_hazptr_alloc(ctx)) != NULL)
		n++;
	for (int i = n; i-- > 0;)
		lull_hazptr_free(ctx, slot[i]);
	return n <= LULL_HAZPTR_SLOTS ? -ENOSPC : 0;
})

/* How a call ends, and where it may be called. */
#define TIMES_OUT   (1u << 8)
#define ENDS	    (1u << 9) /* when all that it waits for is let go */
#define FAILS	    (1u << 10)
#define NO_SECTION  (1u << 11)
#define EACH_MODE   (1u << 12) /* it may reclaim */
#define NOT_NEW	    (1u << 13) /* may register the thread */
#define ROBUST	    (1u << 14) /* needs robust mutexes */
#define PER_CPU	    (1u << 15) /* else it waits for read sections */

static const struct call {
	const char *name;
	int (*make)(uint64_t ms);
	unsigned how;
	int result; /* of one that fails */
} table[] = {
#define BOTH (TIMES_OUT | ENDS)
	{ "hazptr_synchronize_timeout", hazptr, BOTH, 0 },
	{ "hazptr_synchronize_range_timeout", hazptr_range, BOTH, 0 },
	{ "hazptr_fenced_synchronize_range_timeout", hazptr_fenced, BOTH, 0 },
	{ "shazptr_synchronize_timeout", shazptr, BOTH, 0 },
	{ "hazptr_barrier_timeout", hazptr_barrier, BOTH | NO_SECTION | EACH_MODE, 0 },
	{ "reclaim_drain", drain, BOTH | NO_SECTION | EACH_MODE, 0 },
	{ "cohort_wait_timeout", cohort_wait, BOTH | NO_SECTION | EACH_MODE, 0 },
	{ "lull__rcu_wait_until", rcu_wait_until, BOTH | NO_SECTION, 0 },
	{ "mutex_timedlock", mutex, BOTH, 0 },
	{ "mutex_robust_timedlock", robust, BOTH | ROBUST, 0 },
	{ "cond_timedwait", cond_wait_until, BOTH, 0 },
	{ "cond_timedwait_robust", cond_robust_until, BOTH | ROBUST, 0 },
	{ "rcu_synchronize", synchronize, ENDS | NO_SECTION, 0 },
	{ "rcu_gp_wait", gp_wait, ENDS | NO_SECTION, 0 },
	{ "rcu_barrier", rcu_barrier, ENDS | NO_SECTION | EACH_MODE, 0 },
	{ "hazptr_synchronize", hazptr_for_ever, ENDS, 0 },
	{ "hazptr_synchronize_range", range_for_ever, ENDS, 0 },
	{ "hazptr_fenced_synchronize", fenced_for_ever, ENDS, 0 },
	{ "shazptr_synchronize", shazptr_for_ever, ENDS, 0 },
	{ "hazptr_barrier", barrier_for_ever, ENDS | NO_SECTION | EACH_MODE, 0 },
	{ "cohort_wait", cohort_for_ever, ENDS | NO_SECTION | EACH_MODE, 0 },
	{ "rcu_domain_synchronize", domain_synchronize, ENDS, 0 },
	{ "rcu_domain_gp_wait", domain_wait, ENDS, 0 },
	{ "rcu_domain_barrier", domain_barrier, ENDS, 0 },
	{ "mutex_lock", mutex_lock, ENDS, 0 },
	{ "mutex_robust_lock", robust_lock, ENDS | ROBUST, 0 },
	{ "percpu_rwsem_read_lock", rwsem_read, ENDS | NOT_NEW, 0 },
	{ "percpu_rwsem_write_lock, readers", rwsem_write, ENDS | NO_SECTION, 0 },
	{ "percpu_rwsem_write_lock, a writer", rwsem_write_again, ENDS | NO_SECTION, 0 },
	{ "mutex_trylock", mutex_try, FAILS, false },
	{ "mutex_robust_trylock", robust_try, FAILS | ROBUST, -EBUSY },
	{ "percpu_rwsem_read_trylock", rwsem_read_try, FAILS, false },
	{ "percpu_rwsem_write_trylock, readers", rwsem_write_try, FAILS | NO_SECTION | PER_CPU, false },
	{ "percpu_rwsem_write_trylock, a writer", rwsem_write_try_again, FAILS | NO_SECTION, false },
	{ "rcu_gp_poll", gp_poll, FAILS, false },
	{ "rcu_domain_gp_poll", domain_poll, FAILS, false },
	{ "reclaim_poll", reclaim_poll, FAILS, false },
	{ "percpu_ref_tryget", tryget, FAILS, false },
	{ "percpu_ref_tryget_live", tryget_live, FAILS, false },
	{ "refcount_inc_not_zero", inc_not_zero, FAILS, false },
	{ "refcount_dec_not_one", dec_not_one, FAILS, false },
	{ "percpu_ref_init", ref_init, FAILS, -EINVAL },
	{ "hash_init, flags", hash_flags, FAILS, -EINVAL },
	{ "hash_init, huge", hash_huge, FAILS, -ENOMEM },
	{ "hash_resize, huge", hash_resize, FAILS | NOT_NEW, -ENOMEM },
	{ "hash_resize, none", hash_resize_none, FAILS | NOT_NEW, -EINVAL },
	{ "hash_insert", hash_insert, FAILS | NOT_NEW, -EEXIST },
	{ "hash_remove_node", hash_remove, FAILS | NOT_NEW, -ENOENT },
	{ "hash_replace_node", hash_replace, FAILS | NOT_NEW, -ENOENT },
	{ "mutex_choose_oracle", oracle, FAILS, -EINVAL },
	{ "debug_dump, no file", dump_nowhere, FAILS, -EBADF },
	{ "debug_dump, broken pipe", dump_to_nobody, FAILS, -EPIPE },
	{ "reclaim_configure", configure, FAILS, -EINVAL },
	{ "hazptr_alloc", no_slot, FAILS | NOT_NEW, -ENOSPC },
};
#define CALLS (sizeof(table) / sizeof(*table))

/* ---- one thread makes one call ------------------------------------------------------------------------------- */

enum { ODD_ERRNO = 4711, PATIENT_MS = 60000 };

struct trial {
	const struct call *call;
	unsigned state, changes;
	uint64_t ms;
	int began, done, handled, result;
	bool good;
	intptr_t before[PARTS], after[PARTS];
};

static struct trial *trial;

static void counts_signal(int signal)
{
	(void)signal;
	lull_add_release(&trial->handled, 1);
}

/* Where something is wrong, the thread leaves all as it is: to go offline, for instance, might abort. */
static void *makes_call(void *arg)
{
	struct trial *t = arg;
	struct own own;

	enter_state(&own, t->state);
	look(t->before);
	lull_store_release(&t->began, 1);
	t->before[0] = errno = ODD_ERRNO;
	t->result = t->call->make(t->ms);
	look(t->after);
	lull_store_release(&t->done, 1);
	t->good = is_as_before(t->call->name, t->state, t->before, t->after, t->changes);
	if (t->good)
		leave_state(&own, t->state);
	return NULL;
}

static int wrong, lines; /* trials, all of which are made; of reports */

static void check(const struct trial *t, int result)
{
	if (t->result != result)
		print_error("%s, state %#x: returned %d, and not %d\n", t->call->name, t->state, t->result, result);
	wrong += !t->good || t->result != result;
}

static bool fits(const struct call *call, unsigned state)
{
	if ((call->how & ROBUST && !has_robust) || (call->how & PER_CPU && !lull_percpu_ref_per_cpu()))
		return false;
	return !(call->how & NO_SECTION && state & SECTION) && !(call->how & NOT_NEW && !(state & REGISTERED));
}

/* A call that gives up, or fails, among signals if the thread takes them. */
static void give_up(const struct call *call, unsigned state, unsigned changes)
{
	struct trial t = { .call = call, .state = state, .changes = changes, .ms = 2 };
	pthread_t thread;

	trial = &t;
	thread = start_thread(makes_call, &t);
	while (call->how & TIMES_OUT && !(state & BLOCKS_ALL) && !lull_load_acquire(&t.done)) {
		if (lull_load_acquire(&t.began))
			pthread_kill(thread, SIGUSR1);
		nap_ms(1);
	}
	join_thread(thread);
	check(&t, call->how & TIMES_OUT ? -ETIMEDOUT : call->result);
}

/* A call that is interrupted, and ends when the holder goes. */
static void be_interrupted(const struct call *call, unsigned state)
{
	struct trial t = { .call = call, .state = state, .ms = PATIENT_MS };
	pthread_t holder = start_holder(), thread;

	trial = &t;
	thread = start_thread(makes_call, &t);
	await_flag(&t.began, 1);
	if (state & BLOCKS_ALL)
		nap_ms(1);
	for (int i = 1; i <= 3 && !(state & BLOCKS_ALL); i++)
		interrupt_until(thread, SIGUSR1, &t.handled, i);
	wrong += lull_load_acquire(&t.done); /* before the holder lets go */
	lull_store_release(&leave, 1);
	join_thread(thread);
	check(&t, 0);
	end_holder(holder);
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

static const enum lull_reclaim_mode modes[] = { LULL_RECLAIM_THREAD, LULL_RECLAIM_POLL, LULL_RECLAIM_CALLER };

/* Run @each for each mode, call that ends like @how, and state that fits. */
static void for_all(unsigned how, void (*each)(const struct call *call, unsigned state))
{
	for (int mode = 0; mode < 3; mode++) {
		set_mode(modes[mode]);
		for (size_t at = 0; at < CALLS * STATES; at++) {
			const struct call *call = &table[at / STATES];
			unsigned state = states[at % STATES];

			if (call->how & how && (!mode || call->how & EACH_MODE) && fits(call, state))
				each(call, state);
		}
	}
}

static void give_up_plainly(const struct call *call, unsigned state)
{
	give_up(call, state, 0);
}

/* All is held meanwhile. */
static void give_up_all(unsigned how)
{
	pthread_t holder = start_holder();

	for_all(how, give_up_plainly);
	set_mode(LULL_RECLAIM_THREAD);
	end_holder(holder);
}

TEST(out_of_time)
{
	give_up_all(TIMES_OUT);
}

static void counts_line(const char *unused)
{
	(void)unused;
	lull_add_relaxed(&lines, 1);
}

/* Each wait is reported meanwhile. */
TEST(stalled)
{
	set_stall_ms(1);
	give_up_all(TIMES_OUT);
	set_stall_ms(0);
	assert_true(lull_load_relaxed(&lines) > 0);
}

TEST(failed)
{
	give_up_all(FAILS);
}

TEST(interrupted)
{
	for_all(ENDS, be_interrupted);
}

/* A deferral waits for readers, for a moment; what it owes, and that it helps, is its business. */
TEST(past_soft_limit)
{
	static const struct call defers = { "rcu_free", defer_past_limit, TIMES_OUT | NOT_NEW, 0 };
	struct lull_reclaim_config config;
	pthread_t holder = start_holder();

	lull_reclaim_default_config(&config);
	config.soft_items = 1;
	config.soft_wait_us = 2000;
	for (int mode = 0; mode < 3; mode++) {
		config.mode = modes[mode];
		assert_int_equal(lull_reclaim_configure(&config), 0);
		for (size_t k = 0; k < STATES; k++)
			if (fits(&defers, states[k]))
				give_up(&defers, states[k], DEBTS);
	}
	set_mode(LULL_RECLAIM_THREAD);
	end_holder(holder);
}

/* ---- no memory, no threads -------------------------------------------------------------------------------------- */

static struct lull_percpu_ref many_refs[100000];
static struct lull_rcu_domain many_domains[100000];
static int made;

CALL(make_ref, return lull_percpu_ref_init(&many_refs[made], releases, 0);)
CALL(make_domain, return lull_rcu_domain_init(&many_domains[made], "many");)
CALL(make_table, struct lull_hash h; struct lull_hash_config c = { 1 << 20, 0, 0 }; return lull_hash_init(&h, &c);)
CALL(start_own_threads, return lull_reclaim_start();)

/* In the only thread of a child: some of them succeed before there is no memory. */
static void fail_in_child(const struct call *call, unsigned state)
{
	struct trial t;

	for (made = 0; made < 100000; made++) {
		t = (struct trial){ .call = call, .state = state, .changes = call->result == -ENOMEM ? MALLOC : 0 };
		makes_call(&t);
		must(t.good);
		if (t.result)
			break;
	}
	must(t.result == call->result);
}

TEST(no_memory)
{
	static const struct call fails[] = {
		{ "percpu_ref_init", make_ref, FAILS, -ENOMEM },
		{ "rcu_domain_init", make_domain, FAILS, -ENOMEM },
		{ "hash_init", make_table, FAILS, -ENOMEM },
		{ "reclaim_start", start_own_threads, FAILS, -EAGAIN },
	};
	struct rlimit none = { 0, 0 };
	static void *volatile taken_memory;

#ifdef LULL_TEST_EMULATED
	SKIP("qemu-user knows no limits");
#endif
	if (SANITIZED || under_valgrind())
		SKIP(OWN_MEMORY);
	EXPECT_FINE
	{
		lull_debug_set_message_hook(counts_line);
		must(setrlimit(RLIMIT_AS, &none) == 0);
		for (size_t size = 100000; size > 4; size /= 2)
			do
				taken_memory = malloc(size);
			while (taken_memory);
		for (size_t i = 0; i < sizeof(fails) / sizeof(*fails); i++)
			for (size_t k = 0; k < STATES; k++)
				if (states[k] & REGISTERED && !(states[k] & (DEFERRED | BLOCKS | BLOCKS_ALL)))
					fail_in_child(&fails[i], states[k]);
	}
}

TEARDOWN
{
	int count = wrong;

	wrong = 0;
	assert_int_equal(count, 0);
}

BEFORE_ALL
{
	struct sigaction action = { .sa_handler = counts_signal };
	int ends[2];

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	set_stall_ms(0);
	lull_debug_set_message_hook(counts_line); /* debug builds say that a thread sleeps online */
	init_holder();
	assert_int_equal(lull_percpu_ref_init(&dead, releases, LULL_PERCPU_REF_INIT_DEAD), 0);
	lull_percpu_ref_exit(&dead);
	assert_int_equal(lull_hash_init(&hash, NULL), 0);
	assert_int_equal(lull_hash_insert(&hash, &node, 1, same_node, &node), 0);
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	broken_pipe = ends[1];
}

AFTER_ALL
{
	lull_hash_destroy(&hash, NULL, NULL);
	lull_percpu_rwsem_destroy(&read_sem);
	lull_percpu_rwsem_destroy(&written_sem);
	lull_rcu_domain_destroy(&domain);
}
