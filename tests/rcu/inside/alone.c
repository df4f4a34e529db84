/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * alone.c - threads that only update are in no list, and where nobody reads they wait for nobody: any number of them,
 * without a heavy fence, a sleep, or a grace period. Whoever reads, or protects something, is seen.
 */
#include <errno.h>

#include <lull/hazptr.h>
#include <lull/reclaim.h>
#include <lull/shazptr.h>
#include <lull/stats.h>

#include "child.h"
#include "own_syscall.h"
#include "steps.h"
#include "threads.h"

#include "../src/base/registry.h"
#include "../src/rcu/grace_period.h"

static int futexes;
static __thread bool counts;

static bool instead_of_syscall(long number, const long *arg, long *result)
{
	(void)arg;
	(void)result;
	if (counts && number == SYS_futex)
		lull_add_relaxed(&futexes, 1);
	return false;
}

/* Records of threads that do not rest, by a look at all of them. */
static unsigned awake(void)
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;
	unsigned count = 0;

	lull__registry_enter(&hold);
	lull__for_each_thread(thread)
		count += !(lull_load_relaxed(&thread->state) & LULL__STATE_RESTS);
	lull__registry_leave(&hold);
	return count;
}

/* lull-reclaim may just get up, or lie down. */
static void check_count(unsigned wanted)
{
	AWAIT_SOON(lull_load_relaxed(&lull__registry_awake) == wanted && awake() == wanted);
}

/* ---- what updaters do ------------------------------------------------------------------------ */

static int variable;

static void nothing(struct lull_head *head)
{
	(void)head;
}

static void frees(void)
{
	lull_rcu_free(malloc(8));
	lull_hazptr_retire(malloc(8));
}

static void calls(void)
{
	static __thread struct lull_head head[2];

	lull_rcu_call(&head[0], nothing);
	lull_hazptr_call(&head[1], nothing);
	lull_rcu_barrier();
	lull_hazptr_barrier();
}

static void polls(void)
{
	lull_reclaim_poll(SIZE_MAX, 0);
	lull_rcu_gp_wait(0);
}

static void waits(void)
{
	lull_rcu_synchronize();
	lull_hazptr_synchronize(&variable);
	lull_shazptr_synchronize(&variable);
}

static void (*const updates[])(void) = { frees, calls, polls, waits };

static void *updates_then_reads(void *unused)
{
	for (size_t i = 0; i < sizeof(updates) / sizeof(updates[0]); i++) {
		updates[i]();
		assert_null(lull__self.next);
	}
	check_count(0);
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	assert_non_null(lull__self.next);
	check_count(1);
	for (size_t i = 0; i < sizeof(updates) / sizeof(updates[0]); i++)
		updates[i]();
	lull_thread_unregister();
	check_count(0);
	lull_thread_register();
	check_count(1);
	return unused;
}

TEST(updaters_are_in_no_list)
{
	join_thread(start_thread(updates_then_reads, NULL));
	check_count(0);
}

static void *unregisters_first(void *unused)
{
	lull_thread_unregister();
	must(lull__self.tid);
	lull_rcu_read_lock();
	check_count(1);
	lull_rcu_read_unlock();
	check_count(0);
	must(lull__self.tid);
	return unused;
}

/* Not a no-op: what the thread owns from then on is not nobody's. */
TEST(unregister_comes_first)
{
	join_thread(start_thread(unregisters_first, NULL));
	check_count(0);
}

/* ---- nobody to wait for ------------------------------------------------------------------------ */

enum { WAITS = 1000, WAITERS_MOST = 3 };

static int ready, may_start;

static void *waits_often(void *unused)
{
	lull_add_relaxed(&ready, 1);
	await_flag(&may_start, 1);
	counts = true;
	for (int i = 0; i < WAITS; i++) {
		lull_rcu_synchronize();
		lull_hazptr_synchronize(&variable);
	}
	counts = false;
	return unused;
}

/* With one waiter, two and three: as many as ever come at a time. */
TEST(no_fence_and_no_sleep)
{
	for (int n = 1; n <= WAITERS_MOST; n++) {
		uint64_t fences = lull_fence_heavy_count();
		lull_rcu_cookie cookie = lull__rcu_cookie();
		pthread_t thread[WAITERS_MOST];

		ready = may_start = futexes = 0;
		start_threads(thread, n, waits_often, NULL);
		AWAIT(lull_load_relaxed(&ready) == n);
		lull_store_release(&may_start, 1);
		join_threads(thread, n);
		assert_int_equal(lull_fence_heavy_count() - fences, 0);
		assert_int_equal(futexes, 0);
		assert_int_equal(lull__rcu_cookie(), cookie); /* none was begun, so nobody led */
	}
}

/* ---- who is seen all the same -------------------------------------------------------------------- */

static int step;

static void *own_section(void *unused)
{
	lull_rcu_cookie cookie;

	lull_rcu_read_lock();
	check_count(1);
	cookie = lull_rcu_gp_start();
	assert_false(lull_rcu_gp_poll(cookie));
	lull_rcu_read_unlock();
	assert_true(lull_rcu_gp_poll(cookie));
	lull_rcu_online();
	cookie = lull_rcu_gp_start();
	assert_false(lull_rcu_gp_poll(cookie));
	lull_rcu_synchronize();
	assert_true(lull_rcu_gp_poll(cookie));
	lull_rcu_offline();
	return unused;
}

/* The only thread's own section holds its grace period up. */
TEST(own_section_counts)
{
	join_thread(start_thread(own_section, NULL));
}

static void *reads(void *unused)
{
	lull_rcu_read_lock();
	lull_store_release(&step, 1);
	await_flag(&step, 2);
	lull_rcu_read_unlock();
	lull_store_release(&step, 3);
	await_flag(&step, 4);
	return unused;
}

/* By a thread of its own, which is registered once it has waited for another. */
static void *waits_for_reader(void *unused)
{
	lull_rcu_cookie cookie;
	pthread_t reader;

	step = 0;
	reader = start_thread(reads, NULL);
	await_flag(&step, 1);
	cookie = lull_rcu_gp_start();
	assert_false(lull_rcu_gp_poll(cookie));
	lull_store_release(&step, 2);
	await_flag(&step, 3);
	AWAIT_SOON(lull_rcu_gp_poll(cookie));
	/* The thread is there, and may read again. */
	if (lull_fence_strategy() == LULL_FENCE_MEMBARRIER) {
		uint64_t fences = lull_fence_heavy_count();

		lull_rcu_synchronize();
		assert_int_equal(lull_fence_heavy_count() - fences, 1);
	}
	lull_store_release(&step, 4);
	join_thread(reader);
	return unused;
}

TEST(reader_is_waited_for)
{
	join_thread(start_thread(waits_for_reader, NULL));
	check_count(0);
}

static struct lull_hazptr_hold hold;
static int object, *published = &object;

static void *protects(void *unused)
{
	lull_hazptr_acquire(&hold, &published);
	lull_hazptr_detach(&hold);
	return unused;
}

/* A protection that is no thread's own any more, and whose thread is gone. */
TEST(what_is_listed_counts)
{
	join_thread(start_thread(protects, NULL));
	check_count(0);
	assert_int_equal(lull_hazptr_synchronize_timeout(&object, 0), -ETIMEDOUT);
	lull_hazptr_release(&hold, &object);
	assert_int_equal(lull_hazptr_synchronize_timeout(&object, 0), 0);
}

static struct lull_hazptr *slot;

static void leaves_slot(struct lull_head *head)
{
	(void)head;
	if (slot) {
		lull_hazptr_free(lull_hazptr_thread_context(), slot);
	} else {
		slot = lull_hazptr_alloc(lull_hazptr_thread_context());
		lull_hazptr_protect_ptr(slot, published);
	}
}

/* lull's own thread rests, but not while a callback has left a slot of it set. */
TEST(slot_of_a_callback)
{
	static struct lull_head head;

	for (int left = 1; left >= 0; left--) {
		lull_rcu_call(&head, leaves_slot);
		lull_rcu_barrier();
		nap_ms(50); /* it lies down */
		assert_int_equal(lull_hazptr_synchronize_timeout(&object, 0), left ? -ETIMEDOUT : 0);
	}
	check_count(0);
}

/* ---- a handler that registers its thread amid a call ------------------------------------------------ */

#if CAN_STEP
static int steps, stop_at;

/* Is @at the start of a slow path? A slow path blocks signals, so it cannot be single-stepped. */
static bool is_out_of_line(greg_t at)
{
	return at == (greg_t)(uintptr_t)lull__rcu_read_lock_slow || at == (greg_t)(uintptr_t)lull__hazptr_alloc_slow ||
	       at == (greg_t)(uintptr_t)lull__hazptr_hold_slow;
}

static void trapped(int sig, siginfo_t *info, void *arg)
{
	greg_t *registers = ((ucontext_t *)arg)->uc_mcontext.gregs;
	struct lull_hazptr_hold in_handler;

	(void)sig;
	(void)info;
	if (is_out_of_line(registers[REG_RIP])) {
		registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
		return;
	}
	if (++steps != stop_at)
		return;
	lull_rcu_read_lock();
	lull_hazptr_release(&in_handler, lull_hazptr_acquire(&in_handler, &published));
	lull_rcu_read_unlock();
}

static void asks(void)
{
	if (lull__is_alone())
		abort(); /* there is a reader */
}

static void enters(void)
{
	lull_rcu_read_lock();
}

static void is_inside(void)
{
	must(lull__self.rcu >= LULL__RCU_STEP);
	lull_rcu_read_unlock();
}

static struct lull_hazptr *volatile taken;
static struct lull_hazptr_hold taken_hold;

static void takes(void)
{
	taken = lull_hazptr_alloc(lull_hazptr_thread_context());
}

static void is_own_slot(void)
{
	must(taken >= lull__self.hazptr.slot && taken < lull__self.hazptr.slot + LULL_HAZPTR_SLOTS);
	lull_hazptr_free(lull_hazptr_thread_context(), taken);
}

static void holds(void)
{
	lull_hazptr_acquire(&taken_hold, &published);
}

static void is_held(void)
{
	taken = taken_hold.slot;
	must(taken->addr == (uintptr_t)&object);
	lull_hazptr_release(&taken_hold, &object);
	must(taken >= lull__self.hazptr.slot && taken < lull__self.hazptr.slot + LULL_HAZPTR_SLOTS);
}

static struct amid {
	void (*call)(void), (*after)(void);
} amids[] = { { asks, NULL }, { enters, is_inside }, { takes, is_own_slot }, { holds, is_held } };

/* It has used lull, so that its handlers may read, and is not registered. */
static void *makes_steps(void *arg)
{
	const struct amid *amid = arg;
	void (*volatile run)(void) = amid->call;

	lull__ensure_known();
	must(lull__self.tid && !lull__self.next);
	check_count(1); /* the reader */
	steps = 0;
	set_trap_flag(true);
	run();
	set_trap_flag(false);
	if (amid->after)
		amid->after();
	return NULL;
}
#endif

/*
 * At any instruction a handler makes the thread one that may read: it is not to take another reader for itself, nor a word
 * or a stack that has come since for one from before.
 */
TEST(handler_registers_amid_a_call)
{
#if CAN_STEP
	struct sigaction action, saved;
	pthread_t reader;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = trapped;
	action.sa_flags = SA_SIGINFO;
	assert_int_equal(sigaction(SIGTRAP, &action, &saved), 0);
	step = 0;
	reader = start_thread(reads, NULL);
	await_flag(&step, 1);
	for (size_t i = 0; i < sizeof(amids) / sizeof(amids[0]); i++) {
		for (stop_at = 1; stop_at == 1 || steps >= stop_at - 1; stop_at++)
			join_thread(start_thread(makes_steps, &amids[i]));
		assert_in_range(stop_at, 5, 3000);
	}
	lull_store_release(&step, 2);
	await_flag(&step, 3);
	lull_store_release(&step, 4);
	join_thread(reader);
	sigaction(SIGTRAP, &saved, NULL);
	check_count(0);
#else
	SKIP("no single steps here");
#endif
}

/* ---- children ---------------------------------------------------------------------------------- */

static void *forks(void *arg)
{
	bool registered = arg != NULL;
	pthread_t other;

	if (registered)
		lull_thread_register();
	step = 0;
	other = start_thread(reads, NULL);
	await_flag(&step, 1);
	EXPECT_FINE {
		check_count(registered);
		waits();
		check_count(registered);
		lull_rcu_read_lock();
		lull_rcu_read_unlock();
		check_count(1);
		waits();
	}
	lull_store_release(&step, 2);
	await_flag(&step, 3);
	lull_store_release(&step, 4);
	join_thread(other);
	check_count(registered);
	return NULL;
}

TEST(children)
{
	static int some;

	join_thread(start_thread(forks, NULL));
	join_thread(start_thread(forks, &some));
	check_count(0);
}
