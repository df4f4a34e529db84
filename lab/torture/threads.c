/* SPDX-License-Identifier: MIT */
/* lull torture: threads that come and go, and forked children. See torture.h. */
#include "torture/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lull/reclaim.h>

#include "common/options.h"

/* ---- threads that come and go ---------------------------------------------------------------- */

#define CHURN_AT_ONCE 4u
#define CHURN_SIGNAL_US 200u /* they do not live long */
#ifdef LULL__TSAN
#define LATE_ROUNDS 3u /* in the fourth ThreadSanitizer has taken leave of the thread */
#else
#define LATE_ROUNDS 4u /* glibc runs destructors four times at most */
#endif

static pthread_key_t late_key;

/*
 * Use the library from the second round of destructors on, when its own has run: what the thread still held has ended,
 * it is no longer registered, and the signals go on.
 */
static void late_destructor(void *arg)
{
	struct torturer *t = arg;
	uint64_t n;

	/*
	 * A thread that was running its destructors when another one forked leaves the child its
	 * keys' values, with the stack that glibc keeps for the next thread.
	 */
	if (torture.in_child)
		return;
	if (t->work++ == 0) {
		pthread_setspecific(late_key, t);
		return;
	}
	torture_doing("a late TLS destructor");
	for (n = torture_random(&t->rng, 40); n; n--)
		torture.flavor->use_shortly(t, "late TLS destructor");
	if (torture_once_in(&t->rng, 4))
		torture_leave_debris(&t->rng);
	if (torture_once_in(&t->rng, 4))
		torture.flavor->wait_once();
	if (t->work < LATE_ROUNDS && torture_once_in(&t->rng, 2))
		pthread_setspecific(late_key, t);
}

static void churn_use(struct torturer *t)
{
	uint64_t n;

	for (n = torture_random(&t->rng, 10); n; n--)
		torture.flavor->use(t);
	torture_leave_debris(&t->rng);
}

/* From here on each section registers for itself, or the thread does once more. */
static void churn_unregister(struct torturer *t)
{
	lull_thread_unregister();
	if (torture_once_in(&t->rng, 2))
		churn_use(t);
	if (torture_once_in(&t->rng, 2)) {
		lull_thread_register();
		churn_use(t);
	}
}

static void *churn_main(void *arg)
{
	struct torturer *t = arg;

	torture_me = t;
	if (torture_once_in(&t->rng, 2)) {
		/* Handlers need a thread that is registered. */
		lull_thread_register();
		torture_timer_start(t, CHURN_SIGNAL_US);
	}
	if (torture_once_in(&t->rng, 2))
		pthread_setspecific(late_key, t);
	churn_use(t);
	if (torture.flavor->live)
		torture.flavor->live(t);
	if (torture_once_in(&t->rng, 4))
		churn_unregister(t);
	if (torture.flavor->die)
		torture.flavor->die(t);
	return NULL;
}

/* A few at a time, so that they meet each other's exits. */
static void churn(struct torturer *self)
{
	static struct torturer made[CHURN_AT_ONCE];
	unsigned n = 1 + (unsigned)torture_random(&self->rng, CHURN_AT_ONCE), i;

	for (i = 0; i < n; i++) {
		torture_thread_init(&made[i], "short-lived thread", i,
				    torture_random(&self->rng, UINT64_MAX));
		if (pthread_create(&made[i].thread, NULL, churn_main, &made[i]) != 0)
			break;
	}
	n = i;
	for (i = 0; i < n; i++) {
		pthread_join(made[i].thread, NULL);
		torture_timer_stop(&made[i]);
		torture_add_tally(&self->tally, &made[i].tally);
		torture_add_tally(&self->handler_tally, &made[i].handler_tally);
	}
	torture.churned += n;
}

void *torture_churner(void *arg)
{
	struct torturer *t = arg;

	torture_me = t;
	while (!torture_stopped()) {
		torture_pause_point();
		torture_doing("joining short-lived threads");
		churn(t);
		torture_sleep_us(torture_random(&t->rng, 3000));
		lull_store_relaxed(&t->work, t->work + 1);
	}
	return NULL;
}

void torture_life_init(void)
{
	if (pthread_key_create(&late_key, late_destructor) != 0)
		options_fail("no pthread key left");
}

/* ---- forked children ------------------------------------------------------------------------- */

#define CHILD_CALLBACKS 100u
#define CHILD_UPDATES 30u
#define CHILD_PATIENCE_MS 30000
#define IDLE_US 5000
#define IDLE_PASSES 8u /* passes under way may still end */

/* State of a forked child, which has an updater and a reader of its own. */
static struct {
	struct element *current;
	uint32_t stop;
	uint32_t called;
} child;

static void *child_reader(void *arg)
{
	struct torturer *t = arg;

	torture_me = t;
	while (!lull_load_acquire(&child.stop)) {
		struct torture_use use;
		const struct element *e = torture.flavor->begin(&use, &child.current);

		torture_spin_ns(torture_random(&t->rng, 20000));
		if (e && lull_load_relaxed(&e->age))
			torture_fail("an element is retired while it is read");
		torture.flavor->end(&use);
	}
	return NULL;
}

static void child_update(struct element *two)
{
	unsigned i;

	for (i = 0; i < CHILD_UPDATES; i++) {
		struct element *fresh = &two[i & 1], *old;

		lull_store_relaxed(&fresh->age, 0u);
		old = lull_rcu_replace(child.current, fresh);
		torture.flavor->wait_for(old);
		lull_store_relaxed(&old->age, 1u);
	}
}

/* Waits work in the child, with a thread of its own. */
static void child_reads(struct torturer *t)
{
	struct element three[3] = { { .age = 0 } };
	struct torturer reader;
	int err;

	child.current = &three[2];
	torture_thread_init(&reader, "child's reader", 0, t->rng);
	err = pthread_create(&reader.thread, NULL, child_reader, &reader);
	if (err)
		torture_fail("cannot make a thread: %s", strerror(err));
	child_update(three);
	lull_store_release(&child.stop, 1u);
	pthread_join(reader.thread, NULL);
}

static void child_called(struct lull_rcu_head *head)
{
	lull_add_relaxed(&child.called, 1u);
	torture_drop_free(lull_container_of(head, struct torture_drop, head));
}

static void child_barrier(void)
{
	unsigned i;

	lull_store_relaxed(&child.called, 0u);

	for (i = 0; i < CHILD_CALLBACKS; i++) {
		torture_drop_defer(options_alloc(1, sizeof(struct torture_drop)), child_called);
		torture.flavor->free(malloc(100));
	}
	torture.flavor->barrier();
	if (lull_load_relaxed(&child.called) != CHILD_CALLBACKS)
		torture_fail("%u callbacks of %u have run after a barrier",
			     lull_load_relaxed(&child.called), CHILD_CALLBACKS);
}

/* Check that the reclaimer idles when nothing waits any more. */
static void child_idles(void)
{
	struct lull_reclaim_counts before, after;

	lull_reclaim_stats(&before);
	torture_sleep_us(IDLE_US);
	lull_reclaim_stats(&after);
	if (after.items)
		torture_fail("after a barrier lull_reclaim_stats() counts %zu deferred objects",
			     after.items);
	if (after.passes - before.passes > IDLE_PASSES)
		torture_fail("the reclaimer has made %llu passes while nothing was deferred",
			     (unsigned long long)(after.passes - before.passes));
}

static _Noreturn void child_main(struct torturer *t, int fd)
{
	torture.in_child = true;
	torture.child_fd = fd;
	/* The child has this thread, and the reclaimer as soon as it is needed. */
	if (lull_thread_count() > 2)
		torture_fail("%u threads are registered", lull_thread_count());
	if (torture.flavor->child)
		torture.flavor->child(t);
	if (torture.flavor->call)
		child_barrier();
	child_reads(t);
	if (torture.flavor->call) {
		child_barrier();
		child_idles();
	}
	_exit(EXIT_SUCCESS);
}

/* Reads what the child has to say until it is gone. False when it takes too long. */
static bool listen_to_child(int fd, char *text, size_t room)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	ssize_t got;
	int ready;

	for (;;) {
		do
			ready = poll(&poll_fd, 1, CHILD_PATIENCE_MS);
		while (ready < 0 && errno == EINTR);
		if (ready == 0)
			return false;
		got = read(fd, text + len, room - 1 - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		len += (size_t)got;
	}
	text[len] = '\0';
	return true;
}

static void reap_child(pid_t pid, int fd)
{
	bool in_time;
	char text[256] = "";
	int status = 0;

	in_time = listen_to_child(fd, text, sizeof(text));
	if (!in_time)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!in_time)
		torture_fail("a forked child did not come to its end");
	else if (*text)
		torture_fail("a forked child: %s", text);
	else if (WIFSIGNALED(status))
		torture_fail("a forked child died from signal %d (%s)", WTERMSIG(status),
			     strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		torture_fail("a forked child exited with status %d", WEXITSTATUS(status));
}

static void fork_once(struct torturer *t)
{
	pid_t parent = getpid(), pid;
	int fds[2];

	if (pipe(fds) != 0)
		options_fail("no pipe: %s", strerror(errno));
	torture.child_fd = fds[1];
	pid = torture.flavor->fork(t);
	if (pid == 0) {
		torture_die_with(parent);
		child_main(t, fds[1]);
	}
	close(fds[1]);
	torture_doing("waiting for a forked child");
	if (pid > 0)
		reap_child(pid, fds[0]);
	close(fds[0]);
	torture.forked += pid > 0;
}

void *torture_forker(void *arg)
{
	struct torturer *t = arg;

	torture_me = t;
	lull_thread_register();
	torture_timer_start(t, TORTURE_SIGNAL_US);
	while (!torture_stopped()) {
		torture_pause_point();
		fork_once(t);
		torture_sleep_us(torture_random(&t->rng, 50000));
		lull_store_relaxed(&t->work, t->work + 1);
	}
	return NULL;
}
