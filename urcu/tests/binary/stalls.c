/* SPDX-License-Identifier: MIT */
/*
 * stalls.c - the line about a reader that holds up a grace period counts the callbacks that wait, and no barrier. The lines
 * are in the file of LULL_MESSAGES; on standard error there is nothing.
 */
#include "urcu_flavor.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <urcu/call-rcu.h>

static _Atomic int reads, may_go, called;

static void *stays_in(void *unused)
{
	(void)unused;
	rcu_register_thread();
	rcu_read_lock();
	atomic_store(&reads, 1);
	AWAIT(atomic_load(&may_go));
	rcu_read_unlock();
	rcu_unregister_thread();
	return NULL;
}

static void *barriers(void *unused)
{
	(void)unused;
	rcu_barrier();
	return NULL;
}

static void count(struct rcu_head *head)
{
	(void)head;
	atomic_fetch_add(&called, 1);
}

static const char *lines(void)
{
	static char text[16384];
	FILE *file = fopen(getenv("LULL_MESSAGES"), "r");

	memset(text, 0, sizeof(text));
	if (file) {
		MUST(fread(text, 1, sizeof(text) - 1, file) < sizeof(text) - 1);
		fclose(file);
	}
	return text;
}

static pthread_t reader;

static void begin_reader(void)
{
	unlink(getenv("LULL_MESSAGES"));
	atomic_store(&may_go, 0);
	atomic_store(&reads, 0);
	MUST(pthread_create(&reader, NULL, stays_in, NULL) == 0);
	AWAIT(atomic_load(&reads));
}

static void end_reader(void)
{
	atomic_store(&may_go, 1);
	pthread_join(reader, NULL);
}

static struct rcu_head heads[5];

static void defer_to(struct call_rcu_data *worker, int from, int to)
{
	set_thread_call_rcu_data(worker);
	for (int i = from; i < to; i++)
		call_rcu(&heads[i], count);
	set_thread_call_rcu_data(NULL);
}

static void all_workers_count(void)
{
	struct call_rcu_data *other = create_call_rcu_data(0, -1);
	pthread_t waiter;

	defer_to(other, 0, 1); /* has run, and counts no more */
	rcu_barrier();
	begin_reader();
	defer_to(other, 0, 3);
	defer_to(NULL, 3, 5);
	MUST(pthread_create(&waiter, NULL, barriers, NULL) == 0);
	AWAIT(strstr(lines(), "in a read section (depth 1)"));
	AWAIT(strstr(lines(), "; 5 objects (80 bytes) wait behind it\n"));
	end_reader();
	pthread_join(waiter, NULL);
	MUST(atomic_load(&called) == 6);
	call_rcu_data_free(other);
}

static _Atomic int calls_back, may_return;

static void waits(struct rcu_head *head)
{
	(void)head;
	atomic_store(&calls_back, 1);
	AWAIT(atomic_load(&may_return));
}

static void *frees(void *worker)
{
	call_rcu_data_free(worker);
	return NULL;
}

/* What a worker leaves to the default one is counted there. */
static void heir_counts(void)
{
	struct call_rcu_data *other = create_call_rcu_data(0, -1);
	struct rcu_head first;
	pthread_t freer;

	set_thread_call_rcu_data(other);
	call_rcu(&first, waits);
	AWAIT(atomic_load(&calls_back));
	begin_reader();
	defer_to(other, 0, 2);
	MUST(pthread_create(&freer, NULL, frees, other) == 0);
	poll(NULL, 0, 100); /* for it to begin; else the worker goes on, and counts them itself */
	atomic_store(&may_return, 1);
	AWAIT(strstr(lines(), "; 2 objects (32 bytes) wait behind it\n"));
	end_reader();
	pthread_join(freer, NULL);
	rcu_barrier();
}

int main(void)
{
	alarm(100);
	all_workers_count();
	heir_counts();
	printf("done\n");
	return 0;
}
