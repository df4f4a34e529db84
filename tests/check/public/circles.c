/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * circles.c - builds with LULL_DEBUG find circles of threads that wait for each other, over mutexes, read sections, hazard
 * pointers, barriers and cohorts: they end with one line that names each edge. And find none where a thread may go on.
 */
#include <errno.h>

#include "check/support.h"

#include <lull/cohort.h>
#include <lull/hazptr.h>
#include <lull/mutex.h>

#ifdef LULL_DEBUG

enum { MOST = 3 };

/* What one thread of a circle holds, and the one before it waits for. */
enum holds { MUTEX, SECTION, SLOT, RETIRED, CALLBACK, MEMBER_CALLED, MEMBER_KEPT };

/* All have this much of a circle. */
static struct lull_mutex mutexes[MOST];
static struct lull_cohort cohorts[MOST];
static struct object {
	struct lull_cohort_head member;
	int which;
} objects[MOST], *places[MOST] = { &objects[0], &objects[1], &objects[2] };

static const enum holds *circle;
static int members, holding, kept;

/* In memory that children share: what each thread's part of the line will be. */
static struct said {
	char edge[MOST][200];
} *said;

static void say_edge(int me)
{
	static const char *const words[] = {
		[MUTEX] = "waits for mutex %p, held by ",
		[SECTION] = "waits for a grace period, which waits for the section of ",
		[SLOT] = "waits until no hazard pointer protects %p, as does one of ",
		[RETIRED] = "waits in a barrier for what a hazard pointer protects of ",
		[CALLBACK] = "waits in a barrier for callbacks on ",
		[MEMBER_CALLED] = "waits for cohort %p, held up by ",
		[MEMBER_KEPT] = "waits for cohort %p, held up by ",
	};
	int next = (me + 1) % members;
	const void *of[] = {
		[MUTEX] = &mutexes[next],	   [SECTION] = NULL,		      [SLOT] = places[next],
		[RETIRED] = NULL,		   [CALLBACK] = NULL,		      [MEMBER_CALLED] = &cohorts[next],
		[MEMBER_KEPT] = &cohorts[next],
	};
	char *edge = said->edge[me], *what;
	char rest[100], name[16];

	must(pthread_getname_np(pthread_self(), name, sizeof(name)) == 0);
	snprintf(rest, sizeof(rest), "%s", words[circle[next]]);
	what = strstr(rest, "%p");
	if (what)
		*what = '\0';
	snprintf(edge, sizeof(said->edge[me]), "thread \"%s\" (tid %u) %s", name, own_tid(), rest);
	if (what)
		snprintf(edge + strlen(edge), sizeof(said->edge[me]) - strlen(edge), "%p%s", of[circle[next]], what + 2);
}

static void wait_for_next(int me)
{
	int next = (me + 1) % members;

	say_edge(me);
	lull_add_release(&holding, 1);
	await_flag(&holding, members);
	switch (circle[next]) {
	case MUTEX:
		lull_mutex_lock(&mutexes[next]);
		break;
	case SECTION:
		lull_rcu_synchronize();
		break;
	case SLOT:
		lull_hazptr_synchronize(places[next]);
		break;
	case RETIRED:
		lull_hazptr_barrier();
		break;
	case CALLBACK:
		lull_rcu_barrier(); /* waits for callbacks of either kind */
		break;
	case MEMBER_CALLED:
	case MEMBER_KEPT:
		lull_cohort_wait(&cohorts[next]);
		break;
	}
}

static void called(struct lull_head *head)
{
	wait_for_next(lull_container_of(head, struct object, member.head)->which);
}

static void member_called(struct lull_cohort_head *member)
{
	wait_for_next(lull_container_of(member, struct object, member)->which);
}

static void nothing(struct lull_head *head)
{
	(void)head;
}

static void member_nothing(struct lull_cohort_head *member)
{
	(void)member;
}

static void *holds_one(void *which)
{
	int me = (int)(uintptr_t)which;
	struct object *mine = &objects[me];
	struct lull_hazptr_hold hold;
	char name[16];

	snprintf(name, sizeof(name), "member %d", me);
	pthread_setname_np(pthread_self(), name);
	switch (circle[me]) {
	case MUTEX:
		lull_mutex_lock(&mutexes[me]);
		break;
	case SECTION:
		lull_rcu_read_lock();
		break;
	case SLOT:
		(void)lull_hazptr_acquire(&hold, &places[me]);
		break;
	case RETIRED:
		(void)lull_hazptr_acquire_member(&hold, &places[me], member.head);
		lull_hazptr_call(&mine->member.head, nothing);
		break;
	case CALLBACK: /* while the reclaimer is in it, nobody finds out that a member is kept */
		for (int i = 0; i < members; i++)
			if (circle[i] == MEMBER_KEPT)
				await_flag(&kept, 1);
		lull_hazptr_call(&mine->member.head, called);
		return NULL;
	case MEMBER_CALLED:
		lull_cohort_call_hazptr(&cohorts[me], &mine->member, member_called);
		return NULL;
	case MEMBER_KEPT:
		(void)lull_hazptr_acquire_member(&hold, &places[me], member.head);
		lull_cohort_call_hazptr(&cohorts[me], &mine->member, member_nothing);
		AWAIT(lull_load_relaxed(&hold.slot->state) & LULL__HAZPTR_PARKED);
		lull_store_release(&kept, 1);
		break;
	}
	wait_for_next(me);
	return NULL;
}

static const struct row {
	int members;
	enum holds holds[MOST];
} rows[] = {
	{ 2, { MUTEX, MUTEX } },
	{ 2, { SECTION, MUTEX } },
	{ 2, { SLOT, MUTEX } },
	{ 2, { SLOT, SECTION } },
	{ 2, { SLOT, SLOT } },
	{ 2, { RETIRED, MUTEX } },
	{ 2, { CALLBACK, MUTEX } },
	{ 2, { CALLBACK, SLOT } },
	{ 2, { MEMBER_CALLED, MUTEX } },
	{ 2, { MEMBER_KEPT, MUTEX } },
	{ 3, { SECTION, MUTEX, MUTEX } },
	{ 3, { SECTION, SLOT, MUTEX } },
	{ 3, { SLOT, SLOT, SLOT } },
	{ 3, { RETIRED, SECTION, MUTEX } },
	{ 3, { CALLBACK, SECTION, MUTEX } },
	{ 3, { MEMBER_CALLED, SLOT, MUTEX } },
	{ 3, { MEMBER_KEPT, SECTION, MUTEX } },
	{ 3, { MEMBER_KEPT, CALLBACK, MUTEX } },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void wait_in_circle(const struct row *row)
{
	members = row->members;
	circle = row->holds;
	alarm(CHILD_SECONDS);
	lull_debug_set_stall_ms(0);
	for (int i = 0; i < members; i++) {
		objects[i].which = i;
		start_thread(holds_one, (void *)(uintptr_t)i);
	}
	while (pause())
		;
}

/* The thread that finds it first begins the line; the others come in their order. Two may find it at a time. */
static bool is_circle(const struct child *child, const struct said *of, int n)
{
	char line[MOST * 200 + 50];

	for (int first = 0; first < n; first++) {
		int at = snprintf(line, sizeof(line), "lull: deadlock: ");

		for (int i = 0; i < n; i++)
			at += snprintf(line + at, sizeof(line) - (size_t)at, "%s", of->edge[(first + i) % n]);
		snprintf(line + at, sizeof(line) - (size_t)at, "the first\n");
		if (strncmp(child->text, line, strlen(line)) == 0)
			return true;
	}
	return false;
}

TEST(found)
{
	static struct child children[ROWS];
	struct said *all;

	NEEDS_THREADS_IN_CHILD();
	all = (struct said *)mmap(NULL, sizeof(*all) * ROWS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(all != MAP_FAILED);
	for (int i = 0; i < ROWS; i++) { /* all at a time, as each of them takes seconds */
		said = &all[i];
		if (child_begin(&children[i]))
			wait_in_circle(&rows[i]);
	}
	for (int i = 0; i < ROWS; i++) {
		child_await(&children[i]);
		if (!child_aborted(&children[i]) || !is_circle(&children[i], &all[i], rows[i].members))
			print_error("row %d, status %x, wrote: %s\nand not: %s%s%sthe first\n", i, (unsigned)children[i].status,
				    children[i].text, all[i].edge[0], all[i].edge[1], all[i].edge[2]);
	}
	for (int i = 0; i < ROWS; i++)
		assert_true(child_aborted(&children[i]) && is_circle(&children[i], &all[i], rows[i].members));
}

/* ---- where a thread may go on --------------------------------------------------------------------- */

enum { LASTS_MS = 5000 }; /* longer than a circle has to last */

static int may_go_on, is_waiting, protected_other;

static void *has_mutex_and(void *waits)
{
	lull_mutex_lock(&mutexes[0]);
	lull_store_release(&is_waiting, 1);
	(*(void (**)(void))waits)();
	lull_mutex_unlock(&mutexes[0]);
	return NULL;
}

/* Protects @place for a while. */
static void *protects_a_while(void *place)
{
	struct lull_hazptr_hold hold;

	(void)lull_hazptr_acquire_member(&hold, (struct object **)place, member.head);
	lull_add_release(&holding, 1);
	nap_ms(LASTS_MS);
	lull_hazptr_release(&hold, *(struct object **)place);
	return NULL;
}

/* Protects @place, and wants the mutex of a thread that does not wait for that. */
static void *protects_and_wants(void *place)
{
	struct lull_hazptr_hold hold;

	(void)lull_hazptr_acquire_member(&hold, (struct object **)place, member.head);
	lull_store_release(&protected_other, 1);
	await_flag(&may_go_on, 1);
	lull_mutex_lock(&mutexes[0]);
	lull_mutex_unlock(&mutexes[0]);
	lull_hazptr_release(&hold, *(struct object **)place);
	return NULL;
}

static void wait_for_cohort(void)
{
	lull_cohort_wait(&cohorts[0]);
}

/* Object 0 is kept; of object 1, of the same cohort, nothing waits any more. */
static void member_that_is_done(void)
{
	static void (*wait)(void) = wait_for_cohort;
	pthread_t keeps, wants, waits;

	lull_cohort_call_hazptr(&cohorts[0], &objects[1].member, member_nothing);
	lull_cohort_wait(&cohorts[0]);
	keeps = start_thread(protects_a_while, &places[0]);
	await_flag(&holding, 1);
	lull_cohort_call_hazptr(&cohorts[0], &objects[0].member, member_nothing);
	wants = start_thread(protects_and_wants, &places[1]);
	await_flag(&protected_other, 1);
	waits = start_thread(has_mutex_and, &wait);
	await_flag(&is_waiting, 1);
	lull_store_release(&may_go_on, 1);
	join_thread(keeps);
	join_thread(wants);
	join_thread(waits);
}

/* A barrier waits for object 0; what protects object 1 keeps that only, which was retired later. */
static void retired_later(void)
{
	static void (*wait)(void) = lull_hazptr_barrier;
	pthread_t keeps, wants, waits;

	keeps = start_thread(protects_a_while, &places[0]);
	await_flag(&holding, 1);
	lull_hazptr_call(&objects[0].member.head, nothing);
	wants = start_thread(protects_and_wants, &places[1]);
	await_flag(&protected_other, 1);
	waits = start_thread(has_mutex_and, &wait);
	await_flag(&is_waiting, 1);
	nap_ms(300);
	lull_hazptr_call(&objects[1].member.head, nothing);
	lull_store_release(&may_go_on, 1);
	join_thread(keeps);
	join_thread(wants);
	join_thread(waits);
}

static void *wants_until(void *unused)
{
	lull_rcu_read_lock();
	lull_add_release(&holding, 1);
	await_flag(&is_waiting, 1);
	must(lull_mutex_timedlock(&mutexes[0], now_ns() + LASTS_MS * UINT64_C(1000000)) == -ETIMEDOUT);
	lull_rcu_read_unlock();
	return unused;
}

static void wait_for_next_mutex(void)
{
	lull_mutex_lock(&mutexes[1]);
	lull_mutex_unlock(&mutexes[1]);
}

static void *has_next_mutex(void *unused)
{
	lull_mutex_lock(&mutexes[1]);
	lull_add_release(&holding, 1);
	lull_rcu_synchronize();
	lull_mutex_unlock(&mutexes[1]);
	return unused;
}

/* A circle of three, of which the one in the section waits with a deadline. */
static void one_has_a_deadline(void)
{
	static void (*wait)(void) = wait_for_next_mutex;
	pthread_t wants, waits, next;

	wants = start_thread(wants_until, NULL);
	await_flag(&holding, 1); /* else the grace period need not wait for its section */
	next = start_thread(has_next_mutex, NULL);
	await_flag(&holding, 2);
	waits = start_thread(has_mutex_and, &wait);
	join_thread(wants);
	join_thread(next);
	join_thread(waits);
}

static void wait_once_called(struct lull_cohort_head *member)
{
	lull_store_release(&is_waiting, 1);
	await_flag(&may_go_on, 1);
	lull_cohort_wait(&cohorts[0]);
	(void)member;
}

static void lasts(struct lull_cohort_head *member)
{
	lull_store_release(&may_go_on, 1);
	nap_ms(LASTS_MS);
	(void)member;
}

static void *has_one_called(void *unused)
{
	lull_cohort_call_hazptr(&cohorts[1], &objects[1].member, wait_once_called);
	lull_cohort_wait(&cohorts[1]);
	return unused;
}

static void *waits_for_that(void *unused)
{
	lull_add_release(&holding, 1);
	lull_cohort_wait(&cohorts[1]);
	return unused;
}

/* A thread waits for a cohort, and meanwhile runs a long callback of another one, which that cohort's callback waits for. */
static void waits_and_helps(void)
{
	struct lull_reclaim_config config;
	pthread_t called, helps;

	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	must(lull_reclaim_configure(&config) == 0);
	called = start_thread(has_one_called, NULL);
	await_flag(&is_waiting, 1);
	helps = start_thread(waits_for_that, NULL);
	await_flag(&holding, 1);
	nap_ms(300);
	lull_cohort_call_hazptr(&cohorts[0], &objects[0].member, lasts);
	join_thread(called);
	join_thread(helps);
}

static void *reads_and_wants(void *unused)
{
	lull_rcu_read_lock();
	lull_add_release(&holding, 1);
	await_flag(&is_waiting, 1);
	lull_mutex_lock(&mutexes[0]);
	lull_mutex_unlock(&mutexes[0]);
	lull_rcu_read_unlock();
	return unused;
}

/* As a log that is slow, and has a mutex. */
static void slow_hook(const struct lull_stall *stall, void *unused)
{
	(void)stall;
	(void)unused;
	lull_mutex_lock(&mutexes[0]);
	lull_store_release(&is_waiting, 1);
	nap_ms(LASTS_MS);
	lull_mutex_unlock(&mutexes[0]);
}

/* The stall hook of a thread that waits for a reader has what the reader wants, for a while. */
static void hook_is_slow(void)
{
	pthread_t reads = start_thread(reads_and_wants, NULL);

	await_flag(&holding, 1);
	lull_debug_set_stall_ms(1);
	lull_debug_set_stall_hook(slow_hook, NULL);
	lull_rcu_synchronize();
	must(lull_load_acquire(&is_waiting));
	join_thread(reads);
}

TEST(none)
{
	static void (*const rows_of_none[])(void) = { member_that_is_done, retired_later, one_has_a_deadline, waits_and_helps,
						      hook_is_slow };
	enum { NONE = sizeof(rows_of_none) / sizeof(rows_of_none[0]) };
	static struct child children[NONE];

	NEEDS_THREADS_IN_CHILD();
	for (int i = 0; i < NONE; i++)
		if (child_begin(&children[i])) {
			alarm(CHILD_SECONDS);
			lull_debug_set_stall_ms(0);
			rows_of_none[i]();
			_exit(0);
		}
	for (int i = 0; i < NONE; i++) {
		child_await(&children[i]);
		if (children[i].status || children[i].text[0])
			print_error("row %d, status %x, wrote: %s\n", i, (unsigned)children[i].status, children[i].text);
	}
	for (int i = 0; i < NONE; i++)
		assert_true(!children[i].status && !children[i].text[0]);
}

#else
TEST(found)
{
	SKIP("only debug builds have this check");
}
#endif
