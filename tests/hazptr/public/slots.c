/* SPDX-License-Identifier: MIT */
/* runs: c++, full-fences, core */
/*
 * slots.c - hazptr.h, hazptr_fenced.h: contexts, their slots, and holds of three threads, which come, go and fork, against
 * a plain model: a list of what they name. What is retired stays as long as its name is on the list, and who waits for a
 * name waits for those who had it then.
 */
#include "hazptr/model.h"

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

/* Retired objects that a slot names wait, with their bytes. The others are gone, and new ones take their places. */
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

		if (objects[n].is_called)
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

static void *first_slot(void *unused)
{
	struct lull_hazptr *h;

	lull_thread_register();
	h = lull__hazptr_alloc_slow(own());
	must(h != NULL);
	lull_hazptr_free(own(), h);
	return unused;
}

/* A thread has looked, and has no slots yet; then a signal handler takes one, and so registers the thread. */
TEST(first_slot_after_a_handler)
{
	join_thread(start_thread(first_slot, NULL));
}

/* ---- a pointer that changes all the time ------------------------------------------------------------------------ */

static int flip_stop;

/* One change in each turn: wherever in a turn this thread is preempted, another time something else is there. */
static void *flip_run(void *unused)
{
	static struct thing *const values[] = { &first, &second, NULL };

	for (unsigned turn = 0; !lull_load_relaxed(&flip_stop); turn++)
		lull_hazptr_publish(variable, values[turn % 3]);
	return unused;
}

/* Under a thread that changes the pointer all the time: what comes back is what is protected. */
TEST(protect_what_changes)
{
	struct lull_hazptr *h = lull_hazptr_alloc(own());
	int results[3] = { 0, 0, 0 };
	pthread_t thread;

	flip_stop = 0;
	thread = start_thread(flip_run, NULL);
	for (uint64_t end = now_ns() + 100000000u; now_ns() < end || !results[1] || !results[2];) {
		struct thing *got = random_below(2) ? lull_hazptr_tryprotect(h, variable, rcu)
						    : lull_hazptr_protect(h, variable, rcu);

		assert_true(!got || got == &first || got == &second);
		if (got)
			assert_true(h->addr == (uintptr_t)got);
		results[got == &first ? 1 : got == &second ? 2 : 0]++;
	}
	lull_store_relaxed(&flip_stop, 1);
	join_thread(thread);
	lull_hazptr_free(own(), h);
}
