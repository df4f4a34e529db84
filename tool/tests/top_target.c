/* SPDX-License-Identifier: MIT */
/*
 * A process in which thread "updater" waits for thread "reader-1", which holds a read section, for
 * tests of lull top. Ends with its standard input. Words:
 *
 *	closed		all descriptors that the program does not know are closed
 *	headless	the first thread has exited
 *	again		after a line on its input it runs a program without lull, then itself
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lull/rcu.h>
#include <lull/stats.h>

static sem_t inside, leave;
static char **words;

static void *reader(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "reader-1");
	lull_rcu_read_lock();
	sem_post(&inside);
	while (sem_wait(&leave) != 0)
		;
	lull_rcu_read_unlock();
	return NULL;
}

static void *updater(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "updater");
	lull_rcu_synchronize();
	return NULL;
}

static void *control(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "control");
	puts("ready");
	fflush(stdout);
	if (getchar() == EOF || strcmp(words[1] ? words[1] : "", "again") != 0)
		exit(0);
	execl("/bin/sh", "sh", "-c", "sleep 0.1; exec \"$0\"", words[0], (char *)NULL);
	exit(1);
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	const char *word = argc > 1 ? argv[1] : "";

	words = argv;
	sem_init(&inside, 0, 0);
	sem_init(&leave, 0, 0);
	if (pthread_create(&threads[0], NULL, reader, NULL))
		return 1;
	while (sem_wait(&inside) != 0)
		;
	lull_stats_page(); /* else it is made when the updater begins to wait, which may be after "ready" */
	if (pthread_create(&threads[1], NULL, updater, NULL))
		return 1;
	if (!strcmp(word, "closed") && close_range(3, ~0u, 0) != 0)
		return 1;
	if (pthread_create(&threads[2], NULL, control, NULL))
		return 1;
	if (!strcmp(word, "headless"))
		pthread_exit(NULL);
	pthread_join(threads[2], NULL);
	return 0;
}
