/* SPDX-License-Identifier: MIT */
/*
 * kernel_torture.c - a test of RCU as kernels test theirs, with the kernel's names: compat/kernel.h and a few lines.
 *
 * The idea is that of the kernel's rcutorture, in words of our own. A writer puts elements of a pool in the place of
 * each other. An element that was removed grows older with each grace period that has passed, and comes back to the
 * pool when it is ten grace periods old. A reader looks at the age of the element that it has found when its section
 * ends: in a right RCU it is 0 or 1. The writer waits in a way that it picks by chance. At the end all elements must
 * have come back, or some callback was lost.
 *
 * With an argument the writer does not wait at all, until a reader has noticed: the test of the test.
 */
#include <lull/compat/kernel.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- what else the kernel has: threads, delays, a spinlock, chance -------------------------------------- */

#define DEFINE_SPINLOCK(name) pthread_mutex_t name = PTHREAD_MUTEX_INITIALIZER
#define spin_lock	      pthread_mutex_lock
#define spin_unlock	      pthread_mutex_unlock

static void udelay(long us)
{
	struct timespec time = { 0, us * 1000 };

	nanosleep(&time, NULL);
}

static unsigned torture_random(unsigned long *state)
{
	*state = *state * 6364136223846793005ul + 1442695040888963407ul;
	return (unsigned)(*state >> 33);
}

static bool busted;

/* ---- elements and their ages ------------------------------------------------------------------------------ */

enum { PIPE_LEN = 10, POOL = 100, READERS = 2, UPDATES = 3000 };

struct rtort {
	struct rcu_head rtort_rcu;
	int rtort_pipe_count;
	struct list_head rtort_free; /* on the free list, or among the removed */
	int rtort_mbtest;
};

static struct rtort pool[POOL];
static LIST_HEAD(rtort_freelist);
static LIST_HEAD(rtort_removed);
static DEFINE_SPINLOCK(rtort_lock);
static struct rtort __rcu *rtort_current;
static int callbacks_left;

static struct rtort *rtort_alloc(void)
{
	struct rtort *rp;

	spin_lock(&rtort_lock);
	rp = list_first_entry_or_null(&rtort_freelist, struct rtort, rtort_free);
	if (rp)
		list_del_init(&rp->rtort_free);
	spin_unlock(&rtort_lock);
	return rp;
}

static void rtort_free(struct rtort *rp)
{
	spin_lock(&rtort_lock);
	list_add_tail(&rp->rtort_free, &rtort_freelist);
	spin_unlock(&rtort_lock);
}

/* A grace period older. Returns whether that is old enough. */
static bool rtort_pipe_update_one(struct rtort *rp)
{
	int age = READ_ONCE(rp->rtort_pipe_count);

	WRITE_ONCE(rp->rtort_pipe_count, age + 1);
	if (age + 1 < PIPE_LEN)
		return false;
	rp->rtort_mbtest = 0;
	return true;
}

/* A grace period has passed: all that was removed before it grows older. */
static void rtort_pipe_update(struct rtort *old)
{
	struct rtort *rp, *next;

	if (old)
		list_add(&old->rtort_free, &rtort_removed);
	list_for_each_entry_safe(rp, next, &rtort_removed, rtort_free)
		if (rtort_pipe_update_one(rp)) {
			list_del(&rp->rtort_free);
			rtort_free(rp);
		}
}

static void rtort_cb(struct rcu_head *head)
{
	struct rtort *rp = container_of(head, struct rtort, rtort_rcu);

	if (rtort_pipe_update_one(rp)) {
		rtort_free(rp);
		spin_lock(&rtort_lock);
		callbacks_left--;
		spin_unlock(&rtort_lock);
	} else {
		call_rcu(&rp->rtort_rcu, rtort_cb);
	}
}

static int stop, n_mberror, n_too_short;

/* ---- the writer --------------------------------------------------------------------------------------------- */

static void wait_polled(void)
{
	unsigned long cookie = start_poll_synchronize_rcu();

	while (!poll_state_synchronize_rcu(cookie))
		udelay(10);
}

static void wait_cond(void)
{
	struct rcu_gp_oldstate state;

	get_state_synchronize_rcu_full(&state);
	cond_synchronize_rcu_full(&state);
}

static void wait_not_at_all(void)
{
}

static void writer(void)
{
	static void (*const waits[])(void) = { synchronize_rcu, synchronize_rcu_expedited, wait_polled, wait_cond };
	unsigned long rand = 1;

	for (int i = 0; i < UPDATES || (busted && !READ_ONCE(n_too_short)); i++) {
		struct rtort *rp = rtort_alloc(), *old;

		if (!rp) { /* all are on their way */
			rcu_barrier();
			continue;
		}
		rp->rtort_pipe_count = 0;
		rp->rtort_mbtest = 1;
		old = rcu_replace_pointer(rtort_current, rp, true);
		if (old && torture_random(&rand) % 5 == 0 && !busted) {
			spin_lock(&rtort_lock);
			callbacks_left++;
			spin_unlock(&rtort_lock);
			call_rcu(&old->rtort_rcu, rtort_cb);
			continue;
		}
		(busted ? wait_not_at_all : waits[torture_random(&rand) % 4])();
		rtort_pipe_update(old);
	}
}

/* ---- readers -------------------------------------------------------------------------------------------------- */

struct reader {
	pthread_t thread;
	unsigned long rand;
	unsigned long ages[PIPE_LEN + 1];
};

/* A section, perhaps with a delay and another section in it, and what is seen at its end. */
static void one_read(struct reader *reader)
{
	struct rtort *rp;
	int age = 0;

	scoped_guard(rcu) {
		rp = rcu_dereference(rtort_current);
		if (!rp)
			return;
		if (!READ_ONCE(rp->rtort_mbtest))
			WRITE_ONCE(n_mberror, 1);
		if (torture_random(&reader->rand) % 64 == 0)
			udelay(50);
		if (torture_random(&reader->rand) % 8 == 0)
			scoped_guard(rcu)
				rp = rcu_dereference_check(rtort_current, false);
		age = READ_ONCE(rp->rtort_pipe_count);
	}
	reader->ages[age > PIPE_LEN ? PIPE_LEN : age]++;
	if (age > 1)
		WRITE_ONCE(n_too_short, 1);
}

static void *reader_run(void *arg)
{
	while (!READ_ONCE(stop))
		one_read(arg);
	return NULL;
}

int main(int argc, char **argv)
{
	struct reader reader[READERS] = { { .rand = 1 }, { .rand = 2 } };
	unsigned long ages[PIPE_LEN + 1] = { 0 };
	int back = 0, wrong;
	struct rtort *rp;

	(void)argv;
	busted = argc > 1;
	for (int i = 0; i < POOL; i++)
		rtort_free(&pool[i]);
	for (int i = 0; i < READERS; i++)
		if (pthread_create(&reader[i].thread, NULL, reader_run, &reader[i]))
			abort();
	writer();
	WRITE_ONCE(stop, 1);
	for (int i = 0; i < READERS; i++)
		pthread_join(reader[i].thread, NULL);

	/* All that is on its way arrives. */
	rtort_pipe_update(rcu_replace_pointer(rtort_current, NULL, true));
	for (int i = 0; i < PIPE_LEN; i++)
		rtort_pipe_update(NULL);
	rcu_barrier();
	list_for_each_entry(rp, &rtort_freelist, rtort_free)
		back++;
	printf("Reader Pipe:");
	for (int i = 0; i <= PIPE_LEN; i++) {
		for (int j = 0; j < READERS; j++)
			ages[i] += reader[j].ages[i];
		printf(" %lu", ages[i]);
	}
	printf("\n%d of %d elements came back\n", back, POOL);
	wrong = n_too_short || n_mberror || back != POOL || callbacks_left;
	printf("End of test: %s\n", wrong ? "FAILURE" : "SUCCESS");
	return wrong;
}
