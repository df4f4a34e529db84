/* SPDX-License-Identifier: MIT */
/*
 * A process that passes every probe, for tests of lull trace, without a clock to depend on: a thread that holds
 * something up goes on when that was reported. Prints the thread id of its first thread and the process id of a child
 * that it had. Arguments: the STATUS that it ends with; "ask": wait for a line before it begins, and before it ends.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lull/debug.h>
#include <lull/hazptr.h>
#include <lull/mutex.h>
#include <lull/rcu.h>

#define CALLS 100

struct object {
	struct lull_rcu_head head;
};

static sem_t inside, leave;
static struct lull_mutex mutex;
static struct object *shared;
static bool
	is_held; /* used by the waiting thread alone, which runs the hook, too */

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		;
}

static void on_stall(const struct lull_stall *stall, void *arg)
{
	(void)stall;
	(void)arg;
	if (is_held)
		sem_post(&leave);
	is_held = false;
}

static pthread_t start(void *(*body)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, NULL))
		abort();
	return thread;
}

static void *reader(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "reader-1");
	lull_rcu_read_lock();
	sem_post(&inside);
	wait_for(&leave);
	lull_rcu_read_unlock();
	return NULL;
}

static void *holder(void *arg)
{
	struct lull_hazptr_context *ctx = lull_hazptr_thread_context();
	struct lull_hazptr *h = lull_hazptr_alloc(ctx);

	(void)arg;
	pthread_setname_np(pthread_self(), "hol\"der\\\xff");
	if (!h || !lull_hazptr_protect_ptr(h, shared))
		abort();
	sem_post(&inside);
	wait_for(&leave);
	lull_hazptr_free(ctx, h);
	return NULL;
}

static void *contender(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "contender");
	lull_mutex_lock(&mutex);
	lull_mutex_unlock(&mutex);
	return NULL;
}

static void free_object(struct lull_rcu_head *head)
{
	free((char *)head - offsetof(struct object, head));
}

static struct object *new_object(void)
{
	struct object *object = malloc(sizeof(*object));

	if (!object)
		abort();
	return object;
}

static void hold_up(void *(*body)(void *))
{
	pthread_t thread = start(body);

	wait_for(&inside);
	is_held = true;
	if (body == reader)
		lull_rcu_synchronize();
	else
		lull_hazptr_synchronize(shared);
	pthread_join(thread, NULL);
}

static void want_a_lock(void)
{
	uint64_t sleeps = lull_load_relaxed(&lull_stats_page()->mutex_sleeps);
	pthread_t thread;

	lull_mutex_lock(&mutex);
	thread = start(contender);
	while (lull_load_relaxed(&lull_stats_page()->mutex_sleeps) == sleeps)
		usleep(1000);
	lull_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
}

/* Fork a child that waits: the trace must not have the child's events. */
static pid_t have_child(void)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		lull_rcu_synchronize();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return child;
}

static void everything(void)
{
	int i;

	hold_up(reader);
	for (i = 0; i < CALLS; i++)
		lull_rcu_call(&new_object()->head, free_object);
	lull_rcu_barrier();
	shared = new_object();
	hold_up(holder);
	lull_hazptr_call(&shared->head, free_object);
	lull_hazptr_barrier();
	want_a_lock();
	printf("%d %d\n", (int)gettid(), (int)have_child());
	fflush(stdout);
}

int main(int argc, char **argv)
{
	bool ask = argc > 2 && !strcmp(argv[2], "ask");

	sem_init(&inside, 0, 0);
	sem_init(&leave, 0, 0);
	lull_debug_set_stall_ms(20);
	lull_debug_set_stall_hook(on_stall, NULL);
	if (ask && (puts("ready"), fflush(stdout), getchar()) == EOF)
		return 99;
	everything();
	if (ask)
		getchar();
	return argc > 1 ? atoi(argv[1]) : 0;
}
