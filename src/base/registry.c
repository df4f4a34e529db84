/* SPDX-License-Identifier: MIT */
/*
 * registry.c - the records of threads: first use, exit, and how a forked child begins.
 */
#include "registry.h"
#include "events.h"
#include "hooks.h"
#include "message.h"
#include "process.h"

/*
 * Begin unregistered: the thread is outside of everything, and its first read section has to go out of line.
 *
 * Defined in the file that links and unlinks it. Where the compiler sees no definition, UndefinedBehaviorSanitizer
 * compares the address with NULL by the flags of the instruction that adds the thread's base; in a static program the
 * linker may replace that instruction, as gcc 12 emits it, by one that sets no flags.
 */
__thread struct lull__thread lull__self __attribute__((tls_model("initial-exec"))) = {
	.rcu = LULL__RCU_REST, .shazptr = LULL__SHAZPTR_REST,
};
_Static_assert(sizeof(struct lull__thread) <= 256, "must fit the static TLS reserve of dlopen");

struct lull__lock lull__registry_lock;
uint32_t lull__registry_count, lull__registry_left, lull__registry_awake;
struct lull__thread lull__registry = { .next = &lull__registry, .prev = &lull__registry };

static pthread_key_t exit_key, last_key; /* the destructor of the first one runs first */

/*
 * Take the registry lock. A signal handler that enters its thread's first read section needs this
 * lock, so a thread that is not registered blocks signals while it holds it. A registered thread need
 * not: its handlers find the record linked in.
 */
void lull__registry_enter(struct lull__registry_hold *hold)
{
	hold->masked = !(lull__self.state & LULL__STATE_REGISTERED);
	if (hold->masked)
		lull__block_signals(&hold->saved);
	lull__lock(&lull__registry_lock);
}

void lull__registry_enter_to_move(struct lull__registry_hold *hold)
{
	hold->masked = true;
	lull__record_enter(&hold->saved);
}

void lull__registry_leave(const struct lull__registry_hold *hold)
{
	lull__unlock(&lull__registry_lock);
	if (hold->masked)
		lull__restore_signals(&hold->saved);
}

/* Block signals in any case: a handler must not find the record half changed. */
void lull__record_enter(sigset_t *saved)
{
	lull__block_signals(saved);
	lull__lock(&lull__registry_lock);
}

void lull__record_leave(const sigset_t *saved)
{
	lull__unlock(&lull__registry_lock);
	lull__restore_signals(saved);
}

static void set_thread_count(uint32_t count)
{
	lull_store_relaxed(&lull__registry_count, count);
	lull__event_threads(count);
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
	lull_store_relaxed(&self->prev->next, self);
	self->next->prev = self;
	set_thread_count(lull__registry_count + 1);
	lull_add_relaxed(&lull__registry_awake, 1u);
	/*
	 * ORDER THR-3: the count before the loads of what the thread finds; pairs with THR-3 in gp_is_needless();
	 * without it an updater that waits for nobody frees what this thread has just found; model/base/alone.litmus
	 */
	lull_fence_full();
}

/* ... unless a late section, or a simple hazard pointer, has linked it in. */
void lull__record_link_late(void)
{
	if (!lull__self.next)
		link_record();
}

/*
 * ORDER THR-2: a leaving thread's reads before a scan that no longer finds it; pairs with THR-2 in
 * gp_scan() (both hold the registry lock); without it what it read is freed too early;
 * model/base/thread-exit.litmus
 */
static void unlink_record(void)
{
	struct lull__thread *self = &lull__self;

	lull_store_relaxed(&self->prev->next, self->next);
	self->next->prev = self->prev;
	self->next = self->prev = NULL;
	lull_store_relaxed(&lull__registry_left, lull__registry_left + 1);
	set_thread_count(lull__registry_count - 1);
	lull__tsan_release(LULL__TSAN_READERS);
	/*
	 * ORDER THR-4: all loads of the thread before the count; pairs with THR-4 in lull__is_alone(); without it an
	 * object is freed that this thread still looks at; model/base/alone.litmus
	 */
	lull_sub_release(&lull__registry_awake, 1u);
}

/* ---- first use ------------------------------------------------------------------------------ */

void lull__ensure_known(void)
{
	sigset_t saved;

	lull__init();
	if (lull_likely(lull__self.tid))
		return;
	lull__block_signals(&saved); /* a handler that forked would leave the child with the parent's id */
	lull__arm_thread_exit();
	lull__restore_signals(&saved);
}

void lull__ensure_registered(void)
{
	struct lull__thread *self = &lull__self;
	sigset_t saved;

	lull__init();
	if (lull_likely(self->state & (LULL__STATE_REGISTERED | LULL__STATE_EXITED)))
		return;
	lull__record_enter(&saved);
	/* A signal handler may have been faster. */
	if (!(self->state & LULL__STATE_REGISTERED)) {
		self->tid = lull__gettid();
		lull__record_link_late();
		for (const struct lull__mechanism *m = lull__mechanisms; m->name; m++)
			if (m->enter)
				m->enter();
		if (self->rcu < LULL__RCU_STEP)
			lull_store_relaxed(&self->rcu, lull__rest_word());
		else if (!lull__fence_full_mode) /* a late section ends as others do from now on */
			lull_store_relaxed(&self->rcu, self->rcu & ~(uint64_t)LULL__RCU_SLOW);
		lull_store_relaxed(&self->state, self->state | LULL__STATE_REGISTERED);
		lull__arm_thread_exit();
	}
	lull__record_leave(&saved);
}

bool lull__arm_thread_exit(void)
{
	if (lull__self.state & LULL__STATE_EXITING)
		return false;
	/* Exit handling finds what belongs to this thread by its tid; 0 stands for no owner. */
	if (!lull__self.tid)
		lull__self.tid = lull__gettid();
	if (pthread_setspecific(exit_key, &lull__self) != 0 || pthread_setspecific(last_key, &lull__self) != 0)
		lull__die("cannot register a new thread: out of memory");
	return true;
}

/* ---- exit ----------------------------------------------------------------------------------- */

/* Take the calling thread's record out of the registry. Its state is @state from then on. */
static void leave_registry(uint32_t state)
{
	struct lull__thread *self = &lull__self;
	sigset_t saved;

	lull__record_enter(&saved);
	if (self->next) { /* registered, or exiting in the middle of a late section */
		for (const struct lull__mechanism *m = lull__mechanisms; m->name; m++)
			if (m->leave)
				m->leave();
		unlink_record();
		lull_store_relaxed(&self->rcu, (uint64_t)LULL__RCU_REST);
	}
	lull_store_relaxed(&self->state, state | (self->state & LULL__STATE_LISTED));
	lull__record_leave(&saved);
}

static void thread_exit(void *unused)
{
	(void)unused;
	if (lull__self.state & LULL__STATE_EXITING)
		return;
	lull__init(); /* this may be a child that has not noticed yet */
	for (const struct lull__mechanism *m = lull__mechanisms; m->name; m++)
		if (m->exit)
			m->exit();
	leave_registry(LULL__STATE_EXITED | LULL__STATE_EXITING);
	lull__retry();
}

/* ---- after exit ----------------------------------------------------------------------------- */

/* Does the calling thread use nothing that a scan has to find? */
static bool is_idle(void)
{
	return lull__self.rcu < LULL__RCU_STEP && !lull__record_holds_shazptr();
}

/* Take the record out, unless a signal handler that came just before has done it. */
void lull__record_unlink_late(void)
{
	if (lull__self.next && is_idle())
		unlink_record();
}

/* ---- thread.h ------------------------------------------------------------------------------- */

void lull_thread_register(void)
{
	uint32_t state = lull__self.state;

	/* Undo lull_thread_unregister(). */
	if ((state & (LULL__STATE_EXITED | LULL__STATE_EXITING)) == LULL__STATE_EXITED)
		lull_store_relaxed(&lull__self.state, state & ~LULL__STATE_EXITED);
	lull__ensure_registered();
	lull__retry();
}

void lull_thread_unregister(void)
{
	lull__ensure_known();
	for (const struct lull__mechanism *m = lull__mechanisms; m->name; m++)
		if (m->unregister)
			m->unregister("lull_thread_unregister");
	/* The key stays: the thread may yet exit in the middle of a late section. */
	if (!(lull__self.state & LULL__STATE_EXITED))
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

/* ---- the process ---------------------------------------------------------------------------- */

/*
 * Destructors run in rounds, in each in the order of their keys. lull has two, and what ends a thread is done by
 * whichever comes first. The second is late in each round: so a destructor may be the thread's first use of lull even
 * in the last round. But not beyond key 31, as glibc allocates memory for the values of those.
 */
#define HIGHEST_KEY 31

void lull__registry_init(void)
{
	pthread_key_t keys[HIGHEST_KEY + 1];
	unsigned count = 0, last;

	while (count <= HIGHEST_KEY && pthread_key_create(&keys[count], thread_exit) == 0)
		if (keys[count++] >= HIGHEST_KEY)
			break;
	if (!count)
		lull__die("no pthread key left to notice the exit of threads");
	last = count - (count > 1 && keys[count - 1] > HIGHEST_KEY ? 2 : 1);
	exit_key = keys[0];
	last_key = keys[last];
	while (--count)
		if (count != last)
			pthread_key_delete(keys[count]);
}

uint32_t lull__registry_tid(void)
{
	return lull__self.tid;
}

/*
 * Begin the list anew, with the forking thread's record or with none. Count nothing: the page of counts is
 * still the parent's.
 */
void lull__registry_fork_child(uint32_t old_tid)
{
	struct lull__thread *self = &lull__self, *head = &lull__registry;
	bool was_linked = self->next != NULL;

	(void)old_tid;
	lull__registry_lock.word = 0;
	head->next = head->prev = was_linked ? self : head;
	if (was_linked)
		self->next = self->prev = head;
	lull__registry_count = was_linked;
	lull__registry_left++; /* the parent's threads */
	lull__registry_awake = was_linked;
	if (self->tid)
		self->tid = lull__gettid();
}

void lull__thread_rest(void)
{
	/*
	 * ORDER RCU-12: the words of all earlier sections before the state; pairs with RCU-12 in
	 * gp_wants_heavy(); without it as there; model/rcu/rest.litmus
	 */
	lull_store_release(&lull__self.state, lull__self.state | LULL__STATE_RESTS);
	lull__tsan_release(LULL__TSAN_READERS);
	lull_sub_release(&lull__registry_awake, 1u); /* THR-4 */
}

void lull__thread_rise(void)
{
	lull_store_relaxed(&lull__self.state, lull__self.state & ~LULL__STATE_RESTS);
	lull_add_relaxed(&lull__registry_awake, 1u); /* THR-3 */
	/*
	 * ORDER RCU-11: the state before the loads of the sections that follow; pairs with RCU-11 in
	 * gp_begin(); without it as in end_online(); model/rcu/rest.litmus
	 */
	lull_fence_full();
}
