/* SPDX-License-Identifier: MIT */
/* runs: c++, oracles */
/*
 * cond.c - cond.h: no wake-up is lost, between threads and between processes, beside timeouts and forks; and what may be
 * destroyed when. (Who gets up for what, one step at a time: hostile/steps.c.)
 */
#include "mutex/sleepers.h"
#include "random.h"

enum { SLEEPERS = 5 };

static struct lull_mutex lock;
static struct lull_cond cond;
static const struct lull_cond with_macro = LULL_COND_INIT;

FIRST_TEST(nobody_waits)
{
	assert_int_equal(memcmp(&cond, &with_macro, sizeof(cond)), 0);
	lull_cond_signal(&cond);
	lull_cond_broadcast(&cond);
	assert_int_equal(cond.seq, 0);
	assert_int_equal(cond.waiters, 0);
	lull_cond_destroy(&cond);
	memset(&cond, 0xa5, sizeof(cond));
	lull_cond_init(&cond, 0);
	assert_int_equal(memcmp(&cond, &with_macro, sizeof(cond)), 0);
}

/* ---- nothing is lost ---------------------------------------------------------------------------------------- */

enum { PAIRS = 4, ROOM = 3, TOTAL = 12000 };

static struct lull_cond may_go[2]; /* consumers: the queue is not empty; producers: not full */
static int queued, gone_through[2];

/* With the lock or without, one or all. The end is for all. */
static void tell_others(struct lull_cond *c, unsigned random, bool all)
{
	bool outside = random & 1;

	if (outside)
		lull_mutex_unlock(&lock);
	if (all || (random & 2))
		lull_cond_broadcast(c);
	else
		lull_cond_signal(c);
	if (!outside)
		lull_mutex_unlock(&lock);
}

static void *produces_or_consumes(void *number)
{
	uint64_t random = (uint64_t)(uintptr_t)number;
	int produces = random % 2, full = produces ? ROOM : 0;

	for (;;) {
		lull_mutex_lock(&lock);
		while (queued == full && gone_through[produces] < TOTAL) {
			if (produces || dice(&random, 2))
				lull_cond_wait(&may_go[produces], &lock);
			else
				lull_cond_timedwait(&may_go[produces], &lock, now_ns() + dice(&random, 16000));
		}
		if (gone_through[produces] == TOTAL) {
			tell_others(&may_go[produces], dice(&random, 4), true);
			return NULL;
		}
		gone_through[produces]++;
		queued += produces ? 1 : -1;
		tell_others(&may_go[!produces], dice(&random, 4), !produces && gone_through[produces] == TOTAL);
	}
}

TEST(queue)
{
	pthread_t threads[2 * PAIRS];

	for (int i = 0; i < 2 * PAIRS; i++)
		threads[i] = start_thread(produces_or_consumes, (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < 2 * PAIRS; i++)
		join_thread(threads[i]);
	assert_int_equal(gone_through[0], TOTAL);
	assert_int_equal(gone_through[1], TOTAL);
	assert_int_equal(queued, 0);
	lull_cond_destroy(&may_go[0]);
	lull_cond_destroy(&may_go[1]);
	lull_mutex_destroy(&lock);
}

static int token, finished;

static void *waits_until(void *deadline_ns)
{
	lull_mutex_lock(&lock);
	while (lull_cond_timedwait(&cond, &lock, *(uint64_t *)deadline_ns) == 0) {
		if (token) {
			token = 0;
			break;
		}
	}
	lull_mutex_unlock(&lock);
	return NULL;
}

static void *waits_for_token(void *unused)
{
	(void)unused;
	lull_mutex_lock(&lock);
	while (!token && !finished)
		lull_cond_wait(&cond, &lock);
	token = 0;
	lull_mutex_unlock(&lock);
	return NULL;
}

static void await_waiters(uint32_t number, uint64_t give_up_ns)
{
	while (how_many_wait(&cond) < number && now_ns() < give_up_ns)
		sched_yield();
}

static bool token_is_there(void)
{
	LULL_MUTEX_GUARD(&lock);
	return token;
}

/* One signal, about when the first waiter's time is up: if it goes by that, it has not used it up. */
TEST(timeout_or_signal)
{
	uint64_t deadline_ns;
	pthread_t first, second;

	for (int i = 0; i < 200; i++) {
		token = finished = 0;
		deadline_ns = now_ns() + MS;
		first = start_thread(waits_until, &deadline_ns);
		await_waiters(1, deadline_ns);
		second = start_thread(waits_for_token, NULL);
		await_waiters(2, deadline_ns);
		sleep_until(deadline_ns - 60000 + (uint64_t)(i % 100) * 1000);
		lull_mutex_lock(&lock);
		token = 1;
		lull_mutex_unlock(&lock);
		lull_cond_signal(&cond);
		join_thread(first);
		AWAIT(!token_is_there());
		lull_mutex_lock(&lock);
		finished = 1;
		lull_cond_broadcast(&cond);
		lull_mutex_unlock(&lock);
		join_thread(second);
	}
	lull_cond_destroy(&cond);
}

/* All who wait at a time use the same mutex; at another time another, and the first one may be gone. */
static void *waits_once(void *arg)
{
	struct lull_mutex *m = (struct lull_mutex *)arg;

	lull_mutex_lock(m);
	lull_cond_wait(&cond, m);
	lull_mutex_unlock(m);
	return NULL;
}

TEST(mutex_after_mutex)
{
	for (int i = 0; i < 50; i++) {
		struct lull_mutex *m = (struct lull_mutex *)shared_memory(sizeof(*m));
		pthread_t threads[2];

		for (int j = 0; j < 2; j++)
			threads[j] = start_thread(waits_once, m);
		await_waiters(2, now_ns() + PATIENCE_NS);
		lull_mutex_lock(m); /* the second has unlocked it by now */
		lull_cond_broadcast(&cond);
		lull_mutex_unlock(m);
		for (int j = 0; j < 2; j++)
			join_thread(threads[j]);
		lull_cond_broadcast(&cond);
		lull_mutex_destroy(m);
		munmap(m, sizeof(*m));
	}
	lull_cond_destroy(&cond);
}

/* ---- by turns, in threads and processes ----------------------------------------------------------------------- */

enum { PLAYERS = 4 };

struct table {
	struct lull_mutex lock;
	struct lull_cond turns[PLAYERS];
	int turn; /* under the lock */
};

/* How a player tells that it has had its turn: with the lock, without, or now so and now so. */
enum told { INSIDE, OUTSIDE, BOTH };

/* Threads may see the table at two addresses, as processes do: the mutex is where the condition says, from there. */
enum where { THREADS, TWO_ADDRESSES, PROCESSES };

static struct game {
	enum where where;
	int players, conds, interferers, turns;
	enum told told;
} game;

struct seat {
	struct table *table;
	int number;
};

/* The next player's turn: one signal, if it is the only one that may wait there. */
static void tell_next(struct table *t, int me)
{
	struct lull_cond *next = &t->turns[(me + 1) % game.players % game.conds];

	if (game.conds == game.players || game.players == 2)
		lull_cond_signal(next);
	else
		lull_cond_broadcast(next);
}

static void *plays(void *arg)
{
	struct seat *seat = (struct seat *)arg;
	struct table *t = seat->table;
	int me = seat->number;

	for (bool over = false; !over;) {
		bool outside;

		lull_mutex_lock(&t->lock);
		while (t->turn < game.turns && t->turn % game.players != me)
			lull_cond_wait(&t->turns[me % game.conds], &t->lock);
		over = t->turn >= game.turns;
		t->turn += !over;
		outside = game.told == OUTSIDE || (game.told == BOTH && t->turn % 3 == 0);
		if (outside)
			lull_mutex_unlock(&t->lock);
		tell_next(t, me);
		if (!outside)
			lull_mutex_unlock(&t->lock);
	}
	return NULL;
}

/* Waits where a player waits, for a short time. A signal that it gets is another's, so it passes it on. */
static void *interferes(void *arg)
{
	struct seat *seat = (struct seat *)arg;
	struct table *t = seat->table;
	struct lull_cond *c = &t->turns[(seat->number - game.players) % game.conds];

	lull_mutex_lock(&t->lock);
	for (uint64_t i = 0; t->turn < game.turns; i++)
		if (lull_cond_timedwait(c, &t->lock, now_ns() + i % 5 * 20000) == 0)
			lull_cond_signal(c);
	lull_cond_signal(c);
	lull_mutex_unlock(&t->lock);
	return NULL;
}

static void play(struct table *const *tables)
{
	struct seat seats[2 * PLAYERS];
	pthread_t threads[2 * PLAYERS];
	pid_t children[2 * PLAYERS];
	int all = game.players + game.interferers;

	for (int i = 0; i < all; i++) {
		void *(*func)(void *) = i < game.players ? plays : interferes;

		seats[i].table = tables[game.where == THREADS ? 0 : i % 2];
		seats[i].number = i;
		if (game.where != PROCESSES) {
			threads[i] = start_thread(func, &seats[i]);
			continue;
		}
		children[i] = fork();
		if (children[i] == 0) {
			func(&seats[i]);
			_exit(0);
		}
	}
	for (int i = 0; i < all; i++) {
		if (game.where == PROCESSES)
			assert_int_equal(join_process(children[i]), 0);
		else
			join_thread(threads[i]);
	}
}

static void play_at_table(void)
{
	int fd = (int)syscall(SYS_memfd_create, "table", 0);
	uint32_t flags = game.where == THREADS ? 0 : LULL_MUTEX_SHARED;
	struct table *tables[2];

	assert_int_equal(ftruncate(fd, (off_t)sizeof(struct table)), 0);
	for (int i = 0; i < 2; i++) {
		tables[i] = (struct table *)mmap(NULL, sizeof(struct table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		assert_true(tables[i] != MAP_FAILED);
	}
	close(fd);
	lull_mutex_init(&tables[0]->lock, flags);
	for (int i = 0; i < PLAYERS; i++)
		lull_cond_init(&tables[0]->turns[i], flags);
	play(tables);
	assert_int_equal(lull_load_relaxed(&tables[0]->turn), game.turns);
	for (int i = 0; i < PLAYERS; i++) {
		assert_int_equal(lull_load_relaxed(&tables[1]->turns[i].waiters), flags);
		lull_cond_destroy(&tables[0]->turns[i]);
	}
	lull_mutex_destroy(&tables[0]->lock);
	for (int i = 0; i < 2; i++)
		munmap(tables[i], sizeof(struct table));
}

/* Two at one condition, or each at its own: no broadcast, and mostly no timeout, helps a wake-up that is lost. */
TEST(turns)
{
	static const struct game games[] = {
		{ THREADS, 2, 1, 0, 6000, INSIDE },
		{ THREADS, 2, 1, 0, 6000, OUTSIDE },
		{ THREADS, 2, 1, 0, 6000, BOTH },
		{ THREADS, 2, 2, 0, 6000, BOTH },
		{ THREADS, 4, 4, 0, 6000, BOTH },
		{ THREADS, 2, 2, 1, 6000, BOTH },
		{ THREADS, 2, 2, 2, 6000, BOTH },
		{ THREADS, 4, 4, 4, 6000, BOTH },
		{ TWO_ADDRESSES, 2, 1, 0, 400, BOTH },
		{ TWO_ADDRESSES, 4, 1, 0, 200, BOTH },
		{ PROCESSES, 4, 1, 0, 800, INSIDE },
		{ PROCESSES, 4, 4, 0, 800, BOTH },
	};

	for (size_t i = 0; i < sizeof(games) / sizeof(games[0]); i++) {
		game = games[i];
		play_at_table();
	}
}

TEST(fork)
{
	static struct place own;

	place = &own; /* of which the child has a copy */
	make_place(0);
	start_sleepers(SLEEPERS);
	/* A child may use what the parent's threads wait for when it has made it anew. */
	EXPECT_FINE {
		lull_cond_init(&own.cond, 0);
		lull_mutex_lock(&own.lock);
		must(lull_cond_timedwait(&own.cond, &own.lock, now_ns() + MS) == -ETIMEDOUT);
		lull_cond_broadcast(&own.cond);
		lull_mutex_unlock(&own.lock);
		lull_cond_destroy(&own.cond);
		lull_mutex_destroy(&own.lock);
	}
	tell(SLEEPERS);
	lull_cond_broadcast(&place->cond);
	join_sleepers(SLEEPERS);
	leave_place();
}

/* ---- destroyed and freed after a wake-up ------------------------------------------------------------------------ */

struct element {
	struct lull_mutex lock;
	struct lull_cond cond;
	int waits, gone, returned;
};

static void *waits_for_element(void *arg)
{
	struct element *e = (struct element *)arg;
	struct lull_mutex *m = &e->lock;

	lull_mutex_lock(m);
	e->waits++;
	while (!e->gone)
		lull_cond_wait(&e->cond, m);
	e->returned++;
	lull_mutex_unlock(m);
	return NULL;
}

enum { DESTROY_LOCKED = 1, BROADCAST_UNLOCKED = 2, SIGNALS = 4, WAYS = 8 };

static void wake_all(struct element *e, int way)
{
	if (!(way & SIGNALS))
		lull_cond_broadcast(&e->cond);
	for (int i = 0; i < SLEEPERS && (way & SIGNALS); i++)
		lull_cond_signal(&e->cond);
}

/* POSIX: safe "immediately after all the threads that are blocked on it are awakened". Then it is something else. */
static void destroy_and_scribble(struct lull_cond *c)
{
	lull_cond_destroy(c);
	memset(c, 0x5a, sizeof(*c));
}

TEST(destroy_after_wake)
{
	for (int round = 0; round < 20 * WAYS; round++) {
		struct element *e = (struct element *)calloc(1, sizeof(*e));
		int way = round % WAYS, waits = 0;
		pthread_t threads[SLEEPERS];
		uint32_t scribbled;

		for (int i = 0; i < SLEEPERS; i++)
			threads[i] = start_thread(waits_for_element, e);
		while (waits < SLEEPERS) {
			lull_mutex_lock(&e->lock);
			waits = e->waits;
			if (waits < SLEEPERS)
				lull_mutex_unlock(&e->lock);
		}
		e->gone = 1;
		if (way & BROADCAST_UNLOCKED)
			lull_mutex_unlock(&e->lock);
		wake_all(e, way);
		if ((way & DESTROY_LOCKED) && (way & BROADCAST_UNLOCKED))
			lull_mutex_lock(&e->lock);
		else if (!(way & DESTROY_LOCKED) && !(way & BROADCAST_UNLOCKED))
			lull_mutex_unlock(&e->lock);
		destroy_and_scribble(&e->cond);
		if (way & DESTROY_LOCKED)
			lull_mutex_unlock(&e->lock);
		for (int i = 0; i < SLEEPERS; i++)
			join_thread(threads[i]);
		assert_int_equal(e->returned, SLEEPERS);
		memcpy(&scribbled, &e->cond.waiters, sizeof(scribbled));
		assert_int_equal(scribbled, 0x5a5a5a5a);
		lull_mutex_destroy(&e->lock);
		free(e);
	}
}

static void waits_in_place(void)
{
	lull_mutex_lock(&place->lock);
	for (;;)
		lull_cond_wait(&place->cond, &place->lock);
}

/* A process that waited was killed. */
TEST(destroy_after_kill)
{
	uint32_t tid;

	place = NULL;
	make_place(LULL_MUTEX_SHARED);
	tid = (uint32_t)start_process(waits_in_place);
	AWAIT(how_many_wait(&place->cond) && sleeps(&tid));
	kill_process((pid_t)tid);
	lull_cond_destroy(&place->cond);
}

/* Where another process may be killed that would have woken a waiter, waiters look again; but not often. */
TEST(shared_idle)
{
	static struct lull_mutex idle_lock;
	static struct lull_cond idle;
	uint64_t deadline_ns = now_ns() + 1500 * MS;
	int returns = 0;

	lull_mutex_init(&idle_lock, LULL_MUTEX_SHARED);
	lull_cond_init(&idle, LULL_MUTEX_SHARED);
	lull_mutex_lock(&idle_lock);
	while (lull_cond_timedwait(&idle, &idle_lock, deadline_ns) == 0)
		returns++;
	lull_mutex_unlock(&idle_lock);
	assert_true(returns <= 2);
	lull_cond_destroy(&idle);
}

/* A lost wake-up ends the test: by a line, where it is awaited, or by this. */
SETUP
{
	alarm(110);
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
