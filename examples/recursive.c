/* SPDX-License-Identifier: MIT */
/*
 * A recursive lock and an error-checking one, made of lull_mutex_owner(). The owner is in the word of the mutex, and
 * only a thread itself writes its own id there or takes it away. (An heir's is written while it sleeps.) So whatever
 * others do meanwhile, a thread that reads its own id has the lock, and one that reads another's has not.
 */
#include <lull/mutex.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_mine(const struct lull_mutex *m)
{
	return lull_mutex_owner(m) == (uint32_t)syscall(SYS_gettid);
}

/* ---- recursive ---------------------------------------------------------------------------------- */

struct recursive {
	struct lull_mutex m;
	unsigned again; /* so many locks beside the first; under the lock */
};

static void recursive_lock(struct recursive *r)
{
	if (is_mine(&r->m))
		r->again++;
	else
		lull_mutex_lock(&r->m);
}

static void recursive_unlock(struct recursive *r)
{
	if (r->again)
		r->again--;
	else
		lull_mutex_unlock(&r->m);
}

/* ---- error-checking: an error code, where lull ends the program --------------------------------- */

static int checked_lock(struct lull_mutex *m)
{
	if (is_mine(m))
		return -EDEADLK;
	lull_mutex_lock(m);
	return 0;
}

static int checked_unlock(struct lull_mutex *m)
{
	if (!is_mine(m))
		return -EPERM;
	lull_mutex_unlock(m);
	return 0;
}

/* ---- in use ------------------------------------------------------------------------------------- */

enum { THREADS = 4, SUMS = 20000, DEPTH = 3 };

static struct recursive tree;
static struct lull_mutex checked;
static long sum, sum_of_checked;
static int errors;

/* Locks what its caller has locked. */
static void add_below(int depth)
{
	recursive_lock(&tree);
	sum++;
	if (depth > 1)
		add_below(depth - 1);
	recursive_unlock(&tree);
}

static void *work(void *unused)
{
	for (int i = 0; i < SUMS; i++) {
		add_below(DEPTH);
		if (checked_unlock(&checked) != -EPERM || checked_lock(&checked) != 0 || checked_lock(&checked) != -EDEADLK)
			lull_add_relaxed(&errors, 1);
		sum_of_checked++;
		if (checked_unlock(&checked) != 0)
			lull_add_relaxed(&errors, 1);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld steps with the recursive lock, %ld with the checked one, %d errors\n", sum, sum_of_checked, errors);
	return sum != (long)THREADS * SUMS * DEPTH || sum_of_checked != (long)THREADS * SUMS || errors ||
	       lull_mutex_is_locked(&tree.m);
}
