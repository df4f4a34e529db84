/* SPDX-License-Identifier: MIT */
/*
 * thread.c - the registry of thread records: first use, exit, fork.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "../mutex/owner.h"
#include "../count/percpu_fork.h"
#include "stats_page.h"

/* Unregistered: outside, and the first lock has to come here. */
__thread struct lull__thread lull__self __attribute__((tls_model("initial-exec"))) = {
	.rcu = LULL__RCU_REST,
	.shazptr = LULL__SHAZPTR_REST,
};
_Static_assert(sizeof(struct lull__thread) <= 256, "must fit the static TLS reserve of dlopen");

struct lull__lock lull__registry_lock;
uint32_t lull__registry_count;
struct lull__thread lull__registry = { .next = &lull__registry, .prev = &lull__registry };

static uint32_t init_state; /* 0 not yet, 1 being done, 2 done */
static pthread_key_t exit_key;

/*
 * A signal handler that enters its thread's first read section needs the registry lock, so a thread
 * that is not registered blocks signals while it holds it. A registered one need not: its handlers
 * find the record linked in.
 */
void lull__registry_enter(struct lull__registry_hold *hold)
{
	hold->masked = !(lull__self.state & LULL__STATE_REGISTERED);
	if (hold->masked) {
		sigset_t all;

		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, &hold->saved);
	}
	lull__lock(&lull__registry_lock);
}

void lull__registry_leave(const struct lull__registry_hold *hold)
{
	lull__unlock(&lull__registry_lock);
	if (hold->masked)
		pthread_sigmask(SIG_SETMASK, &hold->saved, NULL);
}

/* The same for who is about to change its own record: signals are blocked in any case. */
static void record_enter(sigset_t *saved)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, saved);
	lull__lock(&lull__registry_lock);
}

static void record_leave(const sigset_t *saved)
{
	lull__unlock(&lull__registry_lock);
	pthread_sigmask(SIG_SETMASK, saved, NULL);
}

static void note_count(uint32_t count)
{
	lull_store_relaxed(&lull__registry_count, count);
	lull_store_relaxed(&lull__stats->threads, count);
}

/*
 * ORDER THR-1: a scan before a thread that was not there yet; pairs with THR-1 in gp_scan() (both
 * hold the registry lock); without it a thread appears behind the scan and reads what is freed;
 * model/base/thread-enter.litmus
 */
static void link_record(void)
{
	struct lull__thread *self = &lull__self;

	self->next = &lull__registry;
	self->prev = lull__registry.prev;
	self->prev->next = self;
	self->next->prev = self;
	note_count(lull__registry_count + 1);
}

/*
 * ORDER THR-2: a leaving thread's reads before a scan that no longer finds it; pairs with THR-2 in
 * gp_scan() (both hold the registry lock); without it what it read is freed too early;
 * model/base/thread-exit.litmus
 */
static void unlink_record(void)
{
	struct lull__thread *self = &lull__self;

	self->prev->next = self->next;
	self->next->prev = self->prev;
	self->next = self->prev = NULL;
	note_count(lull__registry_count - 1);
}

void lull__ensure_registered(void)
{
	struct lull__thread *self = &lull__self;
	sigset_t saved;

	if (lull_likely(self->state & (LULL__STATE_REGISTERED | LULL__STATE_EXITED)))
		return;
	lull__init();
	record_enter(&saved);
	/* A signal handler may have been faster. */
	if (!(self->state & LULL__STATE_REGISTERED)) {
		self->tid = lull__gettid();
		link_record();
		lull__hazptr_thread_enter();
		lull__shazptr_thread_enter();
		lull_store_relaxed(&self->rcu, lull__rest_word());
		lull_store_relaxed(&self->state, self->state | LULL__STATE_REGISTERED);
		lull__note_exit();
	}
	record_leave(&saved);
}

bool lull__note_exit(void)
{
	if (lull__self.state & LULL__STATE_EXITING)
		return false;
	/* Exit handling knows what is this thread's by that; 0 is what belongs to nobody. */
	if (!lull__self.tid)
		lull__self.tid = lull__gettid();
	if (pthread_setspecific(exit_key, &lull__self) != 0)
		lull__die("cannot note a new thread: out of memory");
	return true;
}

/* @state: what the thread is from here on, beside not registered. */
static void leave_registry(uint32_t state)
{
	struct lull__thread *self = &lull__self;
	sigset_t saved;

	record_enter(&saved);
	if (self->next) { /* registered, or exiting in the middle of a late section */
		lull__hazptr_thread_leave();
		lull__shazptr_thread_leave();
		unlink_record();
		lull_store_relaxed(&self->rcu, (uint64_t)LULL__RCU_REST);
	}
	lull_store_relaxed(&self->state, state);
	record_leave(&saved);
}

/*
 * After exit handling nobody will come to take the record out of the registry before the thread's
 * memory goes, so it is in there only for as long as a section lasts.
 */
void lull__enter_unregistered(void)
{
	sigset_t saved;

	record_enter(&saved);
	if (!lull__self.next)
		link_record();
	/*
	 * Within the lock: a handler that reads now nests, and does not take the record out on
	 * leaving. Relaxed, for the scan has the lock too: THR-2 in the place of RCU-4.
	 */
	lull_store_relaxed(&lull__self.rcu, lull_load_relaxed(&lull__rcu_gp) | LULL__RCU_SLOW);
	record_leave(&saved);
	lull_fence_light(); /* RCU-2 */
}

void lull__leave_unregistered(void)
{
	sigset_t saved;

	record_enter(&saved);
	if (lull__self.next && lull__self.rcu < LULL__RCU_STEP && !lull__shazptr_held())
		unlink_record();
	record_leave(&saved);
}

/*
 * A handler that acquires now nests, as above. SHAZ-1 as in lull__shazptr_acquire(): to the scan this
 * is a thread that was not there yet (THR-1), or one whose slot it sees.
 */
void lull__shazptr_enter_unregistered(uintptr_t addr)
{
	sigset_t saved;

	record_enter(&saved);
	if (!lull__self.next)
		link_record();
	lull__shazptr_late_enter(addr);
	record_leave(&saved);
	lull_fence_full();
}

/* A handler that acquired and cleared just before has been here already. */
void lull__shazptr_leave_unregistered(void)
{
	sigset_t saved;

	record_enter(&saved);
	lull__shazptr_late_leave();
	if (lull__self.next && lull__self.rcu < LULL__RCU_STEP)
		unlink_record();
	record_leave(&saved);
}

static void thread_exit(void *unused)
{
	(void)unused;
	lull__rcu_thread_exit();
	lull__hazptr_thread_exit();
	lull__shazptr_thread_exit();
	lull__reclaim_thread_exit();
	lull__owner_thread_exit();
	leave_registry(LULL__STATE_EXITED | LULL__STATE_EXITING);
}

void lull_thread_register(void)
{
	uint32_t state = lull__self.state;

	/*
	 * Back from lull_thread_unregister(), but not in a section, for which it is linked in
	 * already.
	 */
	if ((state & (LULL__STATE_EXITED | LULL__STATE_EXITING)) == LULL__STATE_EXITED &&
	    lull__self.rcu < LULL__RCU_STEP && !lull__shazptr_held())
		lull_store_relaxed(&lull__self.state, state & ~LULL__STATE_EXITED);
	lull__ensure_registered();
}

void lull_thread_unregister(void)
{
	lull__rcu_no_section("lull_thread_unregister");
	lull__hazptr_no_protection("lull_thread_unregister");
	lull__shazptr_not_held("lull_thread_unregister");
	if (!(lull__self.state & LULL__STATE_REGISTERED))
		return;
	if (lull__self.state & LULL__STATE_ONLINE)
		lull_rcu_offline();
	lull__reclaim_thread_exit();
	/* The key stays: the thread may yet exit in the middle of a late section. */
	leave_registry(LULL__STATE_EXITED);
}

unsigned lull_thread_count(void)
{
	struct lull__registry_hold hold;
	struct lull__thread *thread;
	unsigned count = 0;

	lull__registry_enter(&hold);
	lull__for_each_thread(thread)
		count++;
	lull__registry_leave(&hold);
	return count;
}

/*
 * fork. The registry lock is not taken: the child makes its own registry anyway, and the lock would
 * be held while fork waits for malloc's locks, which a thread may hold whose signal handler waits
 * for the registry lock:
 *
 *	forking thread			another thread
 *	registry lock			malloc's lock
 *	waits for malloc's lock		signal handler: its first section waits for the registry lock
 *
 * Nothing else is waited for either: a grace period may itself wait for the thread that forks.
 * Signals are blocked until the child is in order.
 */
static __thread sigset_t fork_saved __attribute__((tls_model("initial-exec")));

static void fork_prepare(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &fork_saved);
	lull__check_fork_prepare();
}

static void fork_parent(void)
{
	lull__check_fork_parent();
	pthread_sigmask(SIG_SETMASK, &fork_saved, NULL);
}

static void fork_child(void)
{
	struct lull__thread *self = &lull__self;
	bool linked = self->next != NULL;
	uint32_t old_tid = self->tid;

	lull__registry_lock.word = 0;
	lull__registry.next = lull__registry.prev = &lull__registry;
	lull__registry_count = 0;
	lull__stats_fork_child();
	self->tid = lull__gettid();
	if (linked)
		link_record();
	lull__watchdog_fork_child(old_tid);
	lull__fence_fork_child();
	lull__rcu_fork_child();
	lull__hazptr_fork_child(old_tid);
	lull__shazptr_fork_child();
	lull__percpu_fork_child();
	lull__percpu_ref_fork_child();
	lull__owner_fork_child();
	lull__reclaim_fork_child();
	lull__check_fork_child();
	pthread_sigmask(SIG_SETMASK, &fork_saved, NULL);
}

static void init_slow(void)
{
	uint32_t not_yet = 0;

	if (!lull_cas_relaxed(&init_state, &not_yet, 1u)) {
		while (lull_load_acquire(&init_state) != 2)
			lull_cpu_relax();
		return;
	}
	lull__fence_init();
	lull__stats_init();
	lull__owner_init();
	if (pthread_key_create(&exit_key, thread_exit) != 0)
		lull__die("no pthread key left to notice the exit of threads");
	if (pthread_atfork(fork_prepare, fork_parent, fork_child) != 0)
		lull__die("cannot register fork handlers: out of memory");
	/*
	 * ORDER INIT-1: the strategy and the key before `done`; pairs with INIT-1 in lull__init();
	 * without it a thread uses a key that is not there; model/base/init.litmus
	 */
	lull_store_release(&init_state, 2u);
}

void lull__init(void)
{
	/*
	 * ORDER INIT-1: `done` before the use of what was set up; pairs with INIT-1 in init_slow();
	 * without it as there; model/base/init.litmus
	 */
	if (lull_unlikely(lull_load_acquire(&init_state) != 2))
		init_slow();
}

/*
 * Early, so that the key is a low one (glibc keeps those without allocating) and no other thread is
 * there.
 */
__attribute__((constructor)) static void init_at_load(void)
{
	lull__init();
}
