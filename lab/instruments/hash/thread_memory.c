/* SPDX-License-Identifier: MIT */
/* Memory that a scheme takes for each thread, measured by looking at the heap. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "instruments/hash/hashscale.h"

/*
 * The heap's growth when a second thread begins to update, beside the first: what is made once and
 * for all has been made by then. In a child process, before there are threads: nothing is left
 * there to be used again.
 */
#define PROBE_REST_US 20000

struct probe {
	const struct bench_hash_scheme *scheme;
	void *table;
	pthread_barrier_t step;
	size_t grown;
};

size_t hashscale_heap(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void *probe_first(void *arg)
{
	struct probe *p = arg;

	p->scheme->thread_enter();
	p->scheme->update(p->table, 0);
	/* A library may have started a thread for that: let it come to rest. */
	usleep(PROBE_REST_US);
	pthread_barrier_wait(&p->step);
	pthread_barrier_wait(&p->step);
	return NULL;
}

static void *probe_second(void *arg)
{
	struct probe *p = arg;
	/* Create the thread's own cache in malloc first, which is not the scheme's. */
	struct bench_hash_element *element = malloc(sizeof(*element));
	size_t before, chunk = malloc_usable_size(element) + sizeof(size_t);

	pthread_barrier_wait(&p->step);
	before = hashscale_heap();
	p->scheme->thread_enter();
	p->scheme->update(p->table, 0);
	p->grown = hashscale_heap() - before;
	/* The new element, or the old one that waits or is in malloc's cache. */
	p->grown -= p->grown < chunk ? p->grown : chunk;
	pthread_barrier_wait(&p->step);
	free(element);
	return NULL;
}

static _Noreturn void probe_child(const struct bench_hash_scheme *scheme, int fd)
{
	static const struct bench_hash_shape shape = { .mode = BENCH_HASH_INTEGERS,
						       .elements = 1,
						       .buckets = 2 };
	struct probe p = { .scheme = scheme, .table = scheme->create(&shape) };
	pthread_t first, second;

	pthread_barrier_init(&p.step, NULL, 2);
	if (pthread_create(&first, NULL, probe_first, &p) != 0 ||
	    pthread_create(&second, NULL, probe_second, &p) != 0)
		_exit(1);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	if (write(fd, &p.grown, sizeof(p.grown)) != (ssize_t)sizeof(p.grown))
		_exit(1);
	_exit(0);
}

/* Return where a new child will write its result. */
static int begin_child(const struct bench_hash_scheme *scheme)
{
	int fd[2];
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) != 0)
		options_fail("cannot make a pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		options_fail("cannot make a process: %s", strerror(errno));
	if (pid == 0)
		probe_child(scheme, fd[1]);
	close(fd[1]);
	return fd[0];
}

/* All at a time: each rests most of its time. */
void hashscale_probe(struct hashscale_entry *entries, size_t count)
{
	int fd[HASHSCALE_SCHEMES_MAX];
	size_t grown, i;

	for (i = 0; i < count; i++)
		fd[i] = begin_child(entries[i].scheme);
	for (i = 0; i < count; i++) {
		if (read(fd[i], &grown, sizeof(grown)) != (ssize_t)sizeof(grown))
			options_bad("cannot make the two threads that were asked for");
		close(fd[i]);
		entries[i].thread_bytes = entries[i].scheme->thread_bytes + grown;
	}
	while (wait(NULL) > 0 || errno == EINTR)
		;
}
