/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, core */
/*
 * slots.c - hazptr.h, hazptr_fenced.h: contexts, their slots, and holds of three threads, which come, go and fork, against
 * a plain model: a list of what they name. What is retired stays as long as its name is on the list, and who waits for a
 * name waits for those who had it then.
 */
#include "hazptr/actor.h"
#include "hazptr/fixture.h"
#include "random.h"

#include <lull/hazptr_fenced.h>

enum { ACTORS = 3, WAITERS = 3, CONTEXTS = 4, NAMES = 50, OBJECTS = 40, CALLS = 6, SAID_BYTES = 100000, ANY_THREAD = -1, NO_THREAD = -2 };

/* The head is not the first member, so an object has two names. */
struct object {
	long value; /* 42 while it is alive */
	struct lull_head head;
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
	bool is_fenced, is_retired, by_head;
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

/* What a pointer points to, at a first look and from then on. */
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
			 : lull_hazptr_fenced_tryprotect_ptr(h, *source());
}

static void protect(struct name *name)
{
	int form = choose_seen(true) ? 4 + die(4) : die(8);
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
	else
		lull_hazptr_fenced_retire(object);
}

/* Also what the thread itself protects, and in a read section. */
static void retire(void)
{
	int n = die(OBJECTS), form = die(objects[n].is_fenced ? 4 : 3) + 4 * die(2);
	bool in_section = die(2);

	if (objects[n].is_retired)
		return;
	objects[n].is_retired = true;
	objects[n].by_head = form < 4;
	objects[n].bytes = form % 4 == 1 ? SAID_BYTES : 0;
	if (in_section)
		lull_rcu_read_lock();
	retire_by(form, objects[n].object);
	if (in_section)
		lull_rcu_read_unlock();
}

/* What a step is given: a free place in the list, or a slot or a hold that this thread may use. */
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

/* ---- what else happens ------------------------------------------------------------------------------------------ */

static void comes(void *who)
{
	lull_thread_register();
	is_out[(struct actor *)who - actor] = false;
}

/* A thread exits and another comes. All that it has not handed over ends: a line says so, and its memory is free. */
static void exit_thread(int who)
{
	char wanted[64];
	unsigned left;

	on(&actor[who], comes, &actor[who]);
	heard_lines = 0;
	actor_end(&actor[who]);
	left = forget(who, NULL);
	for (int i = 0; i < CONTEXTS; i++)
		if (contexts[i].owner == who) {
			memset(&contexts[i].ctx, 0x5a, sizeof(contexts[i].ctx));
			contexts[i].owner = NO_THREAD;
		}
	snprintf(wanted, sizeof(wanted), "protects %u object%s by", left, left == 1 ? "" : "s");
	assert_int_equal(heard_lines, left != 0);
	assert_true(!left || strstr(heard, wanted));
	actor_start(&actor[who]);
}

/* Wait or look by each of the calls. */
static int wait_by(int call, const void *addr, size_t len, uint64_t timeout_ms)
{
	switch (call) {
	case 0:
		return lull_hazptr_synchronize_timeout(addr, timeout_ms);
	case 1:
		return lull_hazptr_synchronize_range_timeout(addr, len, timeout_ms);
	case 2:
		return lull_hazptr_fenced_synchronize_range_timeout(addr, len, timeout_ms);
	case 3:
		lull_hazptr_synchronize_range(addr, len);
		return 0;
	case 4:
		lull_hazptr_synchronize(addr);
		return 0;
	default:
		lull_hazptr_fenced_synchronize(addr);
		return 0;
	}
}

static void waits(void *arg)
{
	struct waiting *waiter = (struct waiting *)arg;

	must(wait_by(waiter->call, waiter->addr, waiter->len, UINT64_MAX) == 0);
}

/* Have this thread, which protects nothing, look, and another wait. */
static void look_and_wait(struct waiting *waiter)
{
	const char *object = (const char *)objects[die(OBJECTS)].object;
	int call = die(CALLS);
	size_t len = call > 0 && call < 4 && die(2) ? sizeof(struct object) : 1;
	const char *addr = object + (len == 1 && die(2) ? offsetof(struct object, head) : 0);
	bool named = is_named(addr, len);

	if (call < 3 || !named)
		assert_int_equal(wait_by(call, addr, len, 0), named ? -ETIMEDOUT : 0);
	if (waiter->addr)
		return;
	waiter->addr = addr;
	waiter->len = len;
	waiter->call = call;
	for (int i = 0; i < NAMES; i++)
		if (names[i].h && names[i].addr >= addr && names[i].addr < addr + len)
			waiter->for_these |= (uint64_t)1 << i;
	actor_begin(&waiter->actor, waits, waiter);
}

/* A thread waits as long as one of those it waits for is there, and goes on when none is any more. */
static void check_waiters(void)
{
	for (int i = 0; i < WAITERS; i++) {
		bool done = waiters[i].addr && actor_is_done(&waiters[i].actor);

		assert_false(done && waiters[i].for_these);
		if (!waiters[i].addr || (!done && is_named(waiters[i].addr, waiters[i].len)))
			continue;
		actor_await(&waiters[i].actor);
		waiters[i].addr = NULL;
	}
}

/* Until no more waits than @items, in one mode by what the caller does. Not one of them goes. */
static void await_items(enum lull_reclaim_mode mode, size_t items)
{
	size_t now;

	for (uint64_t since_ns = now_ns(); (now = waiting()) != items; sched_yield()) {
		assert_true(now > items);
		check_patience(since_ns, "what no thread protects to go", __FILE__, __LINE__);
		if (mode == LULL_RECLAIM_POLL)
			lull_reclaim_poll(SIZE_MAX, 0);
		else if (mode == LULL_RECLAIM_CALLER)
			lull_hazptr_barrier_timeout(1);
	}
}

/* What is retired and named waits, with its bytes; what is not named goes, and another takes its place. */
static void check_objects(enum lull_reclaim_mode mode)
{
	struct lull_reclaim_counts stats;
	size_t items = 0, bytes = 0;

	for (int n = 0; n < OBJECTS; n++) {
		items += objects[n].is_retired && is_kept(n);
		bytes += objects[n].is_retired && is_kept(n) ? objects[n].bytes : 0;
	}
	await_items(mode, items);
	lull_reclaim_stats(&stats);
	assert_true(stats.items == items && stats.bytes >= bytes && stats.bytes <= bytes + 4096 * items);
	for (int n = 0; n < OBJECTS; n++) {
		bool is_gone = !objects[n].object || (objects[n].is_retired && !is_kept(n));

		if (objects[n].by_head)
			AWAIT_SOON(lull_load_acquire(&objects[n].gone) == is_gone);
		if (is_gone) {
			memset(&objects[n], 0, sizeof(objects[n]));
			objects[n].object = (struct object *)malloc(sizeof(struct object));
			objects[n].object->value = 42;
			objects[n].object->gone = &objects[n].gone;
			objects[n].is_fenced = n % 3 == 0;
		}
		assert_int_equal(objects[n].object->value, 42);
	}
}

/* A child has what the forking thread has and what is any thread's; all else is not there. */
static void forks(void *arg)
{
	int who = (int)((struct actor *)arg - actor);

	EXPECT_FINE {
		memset(waiters, 0, sizeof(waiters));
		for (int i = 0; i < ACTORS; i++)
			if (i != who)
				forget(i, NULL);
		check_objects(LULL_RECLAIM_POLL);
		for (int i = 0; i < NAMES; i++) {
			if (!names[i].h)
				continue;
			if (names[i].ctx)
				lull_hazptr_free(names[i].ctx, names[i].h);
			else
				lull_hazptr_release(&names[i].hold, names[i].addr);
			names[i].h = NULL;
			check_objects(LULL_RECLAIM_POLL);
		}
		must(waiting() == 0);
		for (int i = 0; i < CONTEXTS; i++)
			if (contexts[i].owner == who || contexts[i].owner == ANY_THREAD)
				lull_hazptr_context_cleanup(&contexts[i].ctx);
		if (!is_out[who])
			check_all_free(own());
	}
}

static void release_all(enum lull_reclaim_mode mode)
{
	for (int i = 0; i < CONTEXTS; i++) {
		if (contexts[i].owner == ANY_THREAD)
			end_context_of(&contexts[i]);
		contexts[i].owner = NO_THREAD;
	}
	for (int i = 0; i < NAMES; i++)
		if (names[i].h && names[i].owner == ANY_THREAD)
			lull_hazptr_release(&names[i].hold, names[i].addr);
	forget(ANY_THREAD, NULL);
	check_waiters();
	for (int i = 0; i < WAITERS; i++)
		actor_end(&waiters[i].actor);
	check_objects(mode);
	for (int n = 0; n < OBJECTS; n++) {
		free(objects[n].object);
		objects[n].object = NULL;
	}
}

static void run(enum lull_reclaim_mode mode, int count)
{
	set_mode(mode);
	start_hearing();
	for (int i = 0; i < CONTEXTS; i++)
		contexts[i].owner = NO_THREAD;
	for (int who = 0; who < ACTORS; who++)
		actor_start(&actor[who]);
	for (int i = 0; i < WAITERS; i++)
		actor_start(&waiters[i].actor);
	check_objects(mode);
	for (int i = 0; i < count; i++) {
		int who = die(ACTORS);

		if (i % 2)
			act_under_signals(&actor[who]);
		else
			on(&actor[who], act, &actor[who]);
		if (die(40) == 0)
			exit_thread(who);
		if (die(4) == 0)
			look_and_wait(&waiters[die(WAITERS)]);
		if (mode == LULL_RECLAIM_POLL && die(50) == 0)
			on(&actor[who], forks, &actor[who]);
		check_waiters();
		check_objects(mode);
	}
	for (int who = 0; who < ACTORS; who++) {
		exit_thread(who);
		actor_end(&actor[who]);
	}
	stop_hearing();
	release_all(mode);
}

TEST(model)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = hands_over;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	action.sa_handler = handler;
	assert_int_equal(sigaction(SIGUSR2, &action, NULL), 0);
	published = &first;
	seed = test_seed();
	lull_hazptr_retire(NULL); /* as if it was not said */
	lull_hazptr_retire_sized(NULL, 100);
	lull_hazptr_fenced_retire(NULL);
	assert_int_equal(waiting(), 0);
	run(LULL_RECLAIM_POLL, 2000);
	run(LULL_RECLAIM_THREAD, 500);
	run(LULL_RECLAIM_CALLER, 300);
	assert_true(handled > 0);
}
