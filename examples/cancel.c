/* SPDX-License-Identifier: MIT */
/*
 * A wait for a condition that pthread_cancel() ends. lull's own waits are no cancellation points, but any wait may end
 * for no reason. So the thread that cancels another also wakes it, with the lock held, and the waiter looks whether it
 * is cancelled before each wait and after it. Its cleanup handlers run with the lock held.
 */
#include <lull/cond.h>

#include <pthread.h>
#include <stdio.h>

static struct lull_mutex lock;
static struct lull_cond more_jobs, all_done;
static int jobs, done, ended; /* under the lock */

/* With the lock held. */
static void wait_or_be_cancelled(struct lull_cond *c, struct lull_mutex *m)
{
	pthread_testcancel();
	lull_cond_wait(c, m);
	pthread_testcancel();
}

/* The waiter is about to wait, and tests that first; or it waits by now, and the broadcast is for it, too. */
static void cancel_waiter(pthread_t thread, struct lull_cond *c, struct lull_mutex *m)
{
	pthread_cancel(thread);
	lull_mutex_lock(m);
	lull_cond_broadcast(c);
	lull_mutex_unlock(m);
}

/* Runs when a worker is cancelled. The signal that has woken it may have been for a job, so it passes that on. */
static void leave(void *unused)
{
	(void)unused;
	ended++;
	lull_cond_signal(&more_jobs);
	lull_mutex_unlock(&lock);
}

static void *works(void *unused)
{
	lull_mutex_lock(&lock);
	pthread_cleanup_push(leave, NULL);
	for (;;) {
		while (jobs == 0)
			wait_or_be_cancelled(&more_jobs, &lock);
		if (--jobs == 0)
			lull_cond_signal(&all_done);
		done++;
	}
	pthread_cleanup_pop(1);
	return unused;
}

static void do_jobs(int number)
{
	for (int i = 0; i < number; i++) {
		lull_mutex_lock(&lock);
		jobs++;
		lull_cond_signal(&more_jobs);
		lull_mutex_unlock(&lock);
	}
	lull_mutex_lock(&lock);
	while (jobs > 0)
		lull_cond_wait(&all_done, &lock);
	lull_mutex_unlock(&lock);
}

enum { WORKERS = 4, JOBS = 2000 };

int main(void)
{
	pthread_t workers[WORKERS];
	int cancelled = 0;

	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i], NULL, works, NULL))
			return 1;
	for (int i = 0; i < WORKERS; i++) {
		void *result;

		do_jobs(JOBS);
		cancel_waiter(workers[i], &more_jobs, &lock);
		pthread_join(workers[i], &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	printf("%d jobs done, %d workers cancelled, %d have left\n", done, cancelled, ended);
	if (lull_mutex_is_locked(&lock))
		return 1;
	lull_cond_destroy(&more_jobs);
	lull_cond_destroy(&all_done);
	lull_mutex_destroy(&lock);
	return done != WORKERS * JOBS || cancelled != WORKERS || ended != WORKERS;
}
