/* SPDX-License-Identifier: MIT */
/*
 * model.h - threads that do at random what a thread may do with slots, holds and contexts, and a plain model of it: a list of
 * the objects that they name.
 */
#ifndef LULL_TEST_HAZPTR_MODEL_H
#define LULL_TEST_HAZPTR_MODEL_H

#include "hazptr/actor.h"
#include "hazptr/fixture.h"
#include "random.h"

#include <lull/hazptr_fenced.h>
#include <lull/hazptr_key.h>

enum { ACTORS = 3, WAITERS = 3, CONTEXTS = 4, NAMES = 50, OBJECTS = 40, CALLS = 6, SAID_BYTES = 100000, ANY_THREAD = -1, NO_THREAD = -2 };

/* The head is not the first member, so an object has two names. */
struct object {
	long value; /* 42 while it is alive */
	struct lull_head head;
	struct lull_hazptr_key keyed;
	int *gone;
};

static struct actor actor[ACTORS];
static bool is_out[ACTORS]; /* it has unregistered */

static struct context {
	struct lull_hazptr_context ctx;
	int owner;
} contexts[CONTEXTS];

/* A slot that was taken, or a hold; and what it names. */
static struct name {
	struct lull_hazptr_context *ctx; /* NULL: a hold */
	struct lull_hazptr *h;		 /* NULL: neither */
	struct lull_hazptr_hold hold;
	const char *addr; /* NULL: none */
	int owner;
} names[NAMES];

static struct {
	struct object *object;
	int gone; /* by its callback */
	bool is_fenced, is_retired, is_called, by_head;
	size_t bytes; /* said to wait with it */
} objects[OBJECTS];

static struct waiting {
	struct actor actor;
	const char *addr; /* NULL: it does not wait */
	size_t len;
	int call;
	uint64_t for_these; /* names that were there before, and have not changed */
} waiters[WAITERS];

static int self; /* the actor that acts */
static uint64_t seed;

static int die(int sides)
{
	return (int)dice(&seed, (unsigned)sides);
}

/* ---- the model ------------------------------------------------------------------------------------------- */

static const char *name_of(const struct object *object, bool by_head)
{
	return object ? (const char *)object + (by_head ? offsetof(struct object, head) : 0) : NULL;
}

static bool is_named(const char *addr, size_t len)
{
	for (int i = 0; i < NAMES; i++)
		if (names[i].h && names[i].addr >= addr && names[i].addr < addr + len)
			return true;
	return false;
}

/* Let @name be @addr from here on: no thread waits for it that waits already. */
static void set_name(struct name *name, const char *addr)
{
	name->addr = addr;
	for (int i = 0; i < WAITERS; i++)
		waiters[i].for_these &= ~((uint64_t)1 << (name - names));
}

/* Does object @n stay where it is, if it is retired? */
static bool is_kept(int n)
{
	return is_named(name_of(objects[n].object, objects[n].by_head), 1);
}

/* Those of a thread's own context may also be used by its holds. */
static int used_of(const struct lull_hazptr_context *ctx)
{
	int used = 0;

	for (int i = 0; i < NAMES; i++)
		used += names[i].h >= ctx->slot && names[i].h < ctx->slot + LULL_HAZPTR_SLOTS;
	return used;
}

static void check_alone(const struct name *mine)
{
	for (int i = 0; i < NAMES; i++)
		must(&names[i] == mine || names[i].h != mine->h);
}

/* Forget those of @owner, or in @ctx; returns how many protected something. */
static unsigned forget(int owner, const struct lull_hazptr_context *ctx)
{
	unsigned protecting = 0;

	for (int i = 0; i < NAMES; i++) {
		if (!names[i].h || (ctx ? names[i].ctx != ctx : names[i].owner != owner))
			continue;
		protecting += names[i].addr != NULL;
		set_name(&names[i], NULL);
		memset(&names[i], 0, sizeof(names[i]));
	}
	return protecting;
}

/* One that @who may use: taken or not, a hold or a slot. NULL if chance finds none. */
static struct name *choose(int who, bool taken, bool hold)
{
	struct name *name = &names[die(NAMES)];

	if (!name->h)
		return taken ? NULL : name;
	return taken && !name->ctx == hold && (name->owner == who || name->owner == ANY_THREAD) ? name : NULL;
}

static struct context *choose_context(int who, bool begun)
{
	struct context *at = &contexts[die(CONTEXTS)];

	if (at->owner == NO_THREAD)
		return begun ? NULL : at;
	return begun && (at->owner == who || at->owner == ANY_THREAD) ? at : NULL;
}

/* The object that a pointer leads to: at the first look, and at all later ones. */
static struct object *seen[2];
static int looked;

static struct object **source(void)
{
	return &seen[looked++ > 0];
}

/* Returns whether a reader has to make its own fence. */
static bool choose_seen(bool may_be_fenced)
{
	bool fenced = false;

	looked = 0;
	for (int i = 0; i < 2; i++) {
		int n = die(OBJECTS);
		bool fits = !objects[n].is_retired && (may_be_fenced || !objects[n].is_fenced);

		seen[i] = fits ? objects[n].object : NULL;
		fenced |= fits && objects[n].is_fenced;
	}
	if (die(4))
		seen[1] = seen[0];
	return fenced;
}

/* ---- what a thread does with slots and holds --------------------------------------------------------------- */

static void take_slot(struct name *name)
{
	struct context *at = die(2) ? choose_context(self, true) : NULL;
	struct lull_hazptr_context *ctx = at ? &at->ctx : lull_hazptr_thread_context();
	bool can = used_of(ctx) < LULL_HAZPTR_SLOTS && (at || !is_out[self]);

	name->h = lull_hazptr_alloc(ctx);
	must((name->h != NULL) == can);
	if (!can)
		return;
	check_alone(name);
	name->ctx = ctx;
	name->owner = at ? at->owner : self;
	set_name(name, NULL);
}

static void free_slot(struct name *name)
{
	struct lull_hazptr *h = name->h;

	name->h = NULL; /* before a signal handler takes the slot */
	set_name(name, NULL);
	lull_hazptr_free(name->ctx, h);
}

static void clear(struct name *name)
{
	if (die(2))
		lull_hazptr_clear(name->h);
	else
		lull_hazptr_fenced_clear(name->h);
	set_name(name, NULL);
}

static struct object *protect_by_set(struct lull_hazptr *h)
{
	struct object *object;

	do {
		object = lull_load_relaxed(source());
		lull_hazptr_set(h, name_of(object, true));
	} while (lull_load_acquire(source()) != object);
	return object;
}

/* By @form: 1 tries once; 2 is by the object's own name; 4 makes a fence. */
static struct object *protect_by(int form, struct lull_hazptr *h)
{
	return form == 0 ? lull_hazptr_protect(h, *source(), head)
	     : form == 1 ? lull_hazptr_tryprotect(h, *source(), head)
	     : form == 2 ? lull_hazptr_protect_ptr(h, *source())
	     : form == 3 ? lull_hazptr_tryprotect_ptr(h, *source())
	     : form == 4 ? lull_hazptr_fenced_protect(h, *source(), head)
	     : form == 5 ? lull_hazptr_fenced_tryprotect(h, *source(), head)
	     : form == 6 ? lull_hazptr_fenced_protect_ptr(h, *source())
	     : form == 7 ? lull_hazptr_fenced_tryprotect_ptr(h, *source())
			 : protect_by_set(h);
}

static void protect(struct name *name)
{
	int form = choose_seen(true) ? 4 + die(4) : die(9);
	struct object *object = form & 1 && seen[0] != seen[1] ? NULL : seen[1];

	must(protect_by(form, name->h) == object);
	set_name(name, name_of(object, !(form & 2)));
	if (form & 1)
		must(looked == 2); /* and no third look */
}

static void acquire(struct name *name)
{
	bool by_head = die(2), own = used_of(lull_hazptr_thread_context()) < LULL_HAZPTR_SLOTS && !is_out[self];

	choose_seen(false);
	memset(&name->hold, 0x5a, sizeof(name->hold));
	if (by_head)
		must(lull_hazptr_acquire_member(&name->hold, &seen[0], head) == seen[0]);
	else
		must(lull_hazptr_acquire(&name->hold, &seen[0]) == seen[0]);
	if (!seen[0]) { /* nothing to release */
		lull_hazptr_release(&name->hold, NULL);
		lull_hazptr_detach(&name->hold);
		lull_hazptr_detach(&name->hold);
		return;
	}
	name->h = name->hold.slot;
	set_name(name, name_of(seen[0], by_head));
	must((name->h != &name->hold.backup) == own);
	check_alone(name);
	name->ctx = NULL;
	name->owner = self;
}

static void detach(struct name *name)
{
	name->h = &name->hold.backup;
	lull_hazptr_detach(&name->hold);
	must(name->hold.slot == name->h);
	name->owner = ANY_THREAD;
}

static void release(struct name *name)
{
	name->h = NULL;
	lull_hazptr_release(&name->hold, name->addr);
	set_name(name, NULL);
}

/* ---- ... with contexts, and its registration ------------------------------------------------------------------ */

static void begin_context(void)
{
	struct context *at = choose_context(self, false);

	if (!at || is_out[self])
		return;
	memset(&at->ctx, 0x5a, sizeof(at->ctx));
	lull_hazptr_context_init(&at->ctx);
	at->owner = self;
}

static void end_context_of(struct context *at)
{
	lull_hazptr_context_cleanup(&at->ctx);
	forget(0, &at->ctx);
	at->owner = NO_THREAD;
}

static void end_context(void)
{
	struct context *at = choose_context(self, true);

	if (at)
		end_context_of(at);
}

static struct lull_hazptr_context *handed_over;

static void hands_over(int unused)
{
	(void)unused;
	lull_hazptr_context_detach(handed_over);
}

/* In any context: here in a read section, and perhaps in a signal handler. */
static void detach_context(void)
{
	struct context *at = choose_context(self, true);

	if (!at)
		return;
	handed_over = &at->ctx;
	lull_rcu_read_lock();
	if (die(2))
		raise(SIGUSR1);
	else
		hands_over(0);
	lull_rcu_read_unlock();
	at->owner = ANY_THREAD;
	for (int i = 0; i < NAMES; i++)
		if (names[i].ctx == &at->ctx)
			names[i].owner = ANY_THREAD;
}

static void leave_or_come(void)
{
	if (used_of(lull_hazptr_thread_context()))
		return;
	lull_thread_register();
	if (!is_out[self])
		lull_thread_unregister();
	is_out[self] = !is_out[self];
}

/* ---- ... as an updater ---------------------------------------------------------------------------------------- */

static void object_gone(struct lull_head *head)
{
	struct object *object = lull_container_of(head, struct object, head);
	int *count = object->gone;

	object->value = -1;
	free(object);
	lull_add_release(count, 1);
}

static void keyed_gone(struct lull_head *head)
{
	object_gone(&lull_container_of(head, struct object, keyed.head)->head);
}

static void retire_by(int form, struct object *object)
{
	if (form == 0)
		lull_hazptr_call(&object->head, object_gone);
	else if (form == 1)
		lull_hazptr_call_sized(&object->head, object_gone, SAID_BYTES);
	else if (form == 2)
		lull_rcu_call_hazptr(&object->head, object_gone);
	else if (form == 3)
		lull_hazptr_fenced_call(&object->head, object_gone);
	else if (form == 4)
		lull_hazptr_retire(object);
	else if (form == 5)
		lull_hazptr_retire_sized(object, SAID_BYTES);
	else if (form == 6)
		lull_rcu_free_hazptr(object);
	else if (form == 7)
		lull_hazptr_fenced_retire(object);
	else
		lull_hazptr_call_key(&object->keyed, object, keyed_gone);
}

/* Also what the thread itself protects, and in a read section. */
static void retire(void)
{
	int n = die(OBJECTS), form = die(objects[n].is_fenced ? 4 : 3) + 4 * die(2);
	bool in_section = die(2);

	if (objects[n].is_retired)
		return;
	if (die(6) == 0)
		form = 8;
	objects[n].is_called = form < 4 || form == 8;
	objects[n].is_retired = true;
	objects[n].by_head = form < 4;
	objects[n].bytes = form % 4 == 1 ? SAID_BYTES : 0;
	if (in_section)
		lull_rcu_read_lock();
	retire_by(form, objects[n].object);
	if (in_section)
		lull_rcu_read_unlock();
}

/* Each step needs one of these: a free place in the list, or a slot or a hold that this thread may use. */
enum need { FREE, SLOT, HOLD };

static const struct {
	void (*step)(struct name *name);
	enum need need;
} name_steps[] = { { take_slot, FREE }, { take_slot, FREE }, { take_slot, FREE }, { free_slot, SLOT }, { clear, SLOT },
		   { protect, SLOT },   { protect, SLOT },   { protect, SLOT },   { protect, SLOT },   { acquire, FREE },
		   { acquire, FREE },   { acquire, FREE },   { detach, HOLD },    { release, HOLD },   { release, HOLD } };

static void (*const steps[])(void) = { begin_context, end_context, detach_context, leave_or_come, retire, retire, retire };

static __thread bool acts;

/* A few steps, under signals perhaps. */
static void act(void *arg)
{
	self = (int)((struct actor *)arg - actor);
	acts = true;
	for (int n = die(6); n >= 0; n--) {
		int nth = die(ARRAY_SIZE(name_steps));
		struct name *name = choose(self, name_steps[nth].need != FREE, name_steps[nth].need == HOLD);

		if (name)
			name_steps[nth].step(name);
		if (n % 2)
			steps[die(ARRAY_SIZE(steps))]();
	}
	acts = false;
}

/* ---- ... and its signal handlers -------------------------------------------------------------------------------- */

static int handled;
static struct thing *published;

/* A few slots and holds, given back in an order that changes; none of them is the interrupted code's. */
static void handler(int unused)
{
	unsigned turn = (unsigned)lull_add_relaxed(&handled, 1), slots = 0;
	struct lull_hazptr_hold hold[2];
	struct name mine[3];

	(void)unused;
	if (!acts)
		return; /* it came late */
	memset(mine, 0, sizeof(mine));
	for (; slots < turn % 4 && (mine[slots].h = lull_hazptr_alloc(lull_hazptr_thread_context())); slots++) {
		check_alone(&mine[slots]);
		must(lull_hazptr_protect(mine[slots].h, published, rcu) == &first);
	}
	for (int i = 0; i < 2; i++)
		must(lull_hazptr_acquire(&hold[i], &published) == &first);
	for (unsigned i = 0; i < slots; i++)
		lull_hazptr_free(lull_hazptr_thread_context(), mine[(i + turn / 4) % slots].h);
	for (unsigned i = 0; i < 2; i++)
		lull_hazptr_release(&hold[(i + turn) % 2], &first);
}

static void act_under_signals(struct actor *who)
{
	actor_begin(who, act, who);
	while (!actor_is_done(who)) {
		pthread_kill(who->thread, SIGUSR2);
		for (uint64_t pause = now_ns() % 5000; pause; pause--)
			lull_cpu_relax();
	}
	actor_await(who);
}

#endif /* LULL_TEST_HAZPTR_MODEL_H */
