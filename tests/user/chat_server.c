/* SPDX-License-Identifier: MIT */
/* chat_server.c - the connections of the chat server, and its workers; see chat.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <lull/refcount.h>

#include "chat.h"

#define WORKERS	      3
#define WORKER_SERVES 5 /* connections, then another one takes its place */
#define QUEUE_MAX     8

/* ---- connections ---- */

struct conn {
	struct lull_refcount refs;
	int fd;
	struct conn *next_queued;
	struct conn *next_open, **link_open;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	struct conn *first, **last;
	int length;
	bool closed;
} queue = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.filled = PTHREAD_COND_INITIALIZER,
	.emptied = PTHREAD_COND_INITIALIZER,
	.last = &queue.first,
};

static struct {
	pthread_mutex_t lock;
	struct conn *first;
} open_conns = { PTHREAD_MUTEX_INITIALIZER, NULL };

static void conn_put(struct conn *c)
{
	if (!lull_refcount_dec_and_test(&c->refs))
		return;
	close(c->fd);
	free(c);
	count(&stats.conns_freed, 1);
}

/* One reference for the worker that takes it from the queue, one for the list of open connections. */
void server_accept(int fd)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		die("connection");
	c->fd = fd;
	lull_refcount_set(&c->refs, 2);
	count(&stats.conns, 1);

	pthread_mutex_lock(&open_conns.lock);
	c->next_open = open_conns.first;
	c->link_open = &open_conns.first;
	if (c->next_open)
		c->next_open->link_open = &c->next_open;
	open_conns.first = c;
	pthread_mutex_unlock(&open_conns.lock);

	pthread_mutex_lock(&queue.lock);
	while (queue.length == QUEUE_MAX)
		pthread_cond_wait(&queue.emptied, &queue.lock);
	*queue.last = c;
	queue.last = &c->next_queued;
	queue.length++;
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
}

/* NULL: there will be no more. */
static struct conn *next_conn(void)
{
	struct conn *c;

	pthread_mutex_lock(&queue.lock);
	while (!queue.first && !queue.closed)
		pthread_cond_wait(&queue.filled, &queue.lock);
	c = queue.first;
	if (c) {
		queue.first = c->next_queued;
		if (!queue.first)
			queue.last = &queue.first;
		queue.length--;
		pthread_cond_signal(&queue.emptied);
	}
	pthread_mutex_unlock(&queue.lock);
	return c;
}

static void close_conn(struct conn *c)
{
	pthread_mutex_lock(&open_conns.lock);
	*c->link_open = c->next_open;
	if (c->next_open)
		c->next_open->link_open = c->link_open;
	pthread_mutex_unlock(&open_conns.lock);
	shutdown(c->fd, SHUT_WR);
	conn_put(c);
}

/* How many are open; a look at each, as a status page would have it. */
static int look_at_conns(void)
{
	struct conn *c;
	int n = 0;

	pthread_mutex_lock(&open_conns.lock);
	for (c = open_conns.first; c; c = c->next_open) {
		lull_refcount_inc(&c->refs);
		n += c->fd >= 0;
		lull_refcount_dec(&c->refs);
	}
	pthread_mutex_unlock(&open_conns.lock);
	return n;
}

/* ---- workers ---- */

/* "user text" is answered by "NUMBER welcome VERSION VERSION". */
static void serve_line(struct conn *c, char *line)
{
	char answer[96], greeting[64], *text = strchr(line, ' ');
	struct lull_hazptr_hold hold;
	struct session *s;
	int len;

	if (!text) {
		count(&stats.wrong, 1);
		return;
	}
	*text++ = '\0';
	config_greet(greeting, sizeof(greeting));
	s = session_get(line, &hold);
	len = snprintf(answer, sizeof(answer), "%ld %s\n", session_say(s, text), greeting);
	if (write(c->fd, answer, len) != len) /* which may block */
		count(&stats.wrong, 1);
	session_put(s, &hold);
}

static void serve(struct conn *c)
{
	FILE *in = fdopen(dup(c->fd), "r");
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	if (!in)
		die("fdopen");
	while ((len = getline(&line, &room, in)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		serve_line(c, line);
	}
	free(line);
	fclose(in);
}

/* Workers that have served enough tell the supervisor, who joins them and starts others. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	pthread_t done[WORKERS];
	int nr_done;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER };

static void *worker(void *arg)
{
	struct conn *c;
	int served = 0;

	(void)arg;
	while (served++ < WORKER_SERVES && (c = next_conn())) {
		serve(c);
		close_conn(c);
		conn_put(c);
	}
	pthread_mutex_lock(&pool.lock);
	pool.done[pool.nr_done++] = pthread_self();
	pthread_cond_signal(&pool.ended);
	pthread_mutex_unlock(&pool.lock);
	return NULL;
}

static bool queue_is_closed(void)
{
	bool closed;

	pthread_mutex_lock(&queue.lock);
	closed = queue.closed && !queue.first;
	pthread_mutex_unlock(&queue.lock);
	return closed;
}

static void *supervisor(void *arg)
{
	int running = WORKERS;
	pthread_t thread;

	(void)arg;
	for (int i = 0; i < WORKERS; i++)
		start(&thread, worker, NULL);
	while (running) {
		pthread_mutex_lock(&pool.lock);
		while (!pool.nr_done)
			pthread_cond_wait(&pool.ended, &pool.lock);
		thread = pool.done[--pool.nr_done];
		pthread_mutex_unlock(&pool.lock);
		pthread_join(thread, NULL);
		if (queue_is_closed())
			running--;
		else
			start(&thread, worker, NULL);
	}
	return NULL;
}

/* ---- the janitor throws out sessions, and looks at the connections ---- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
} janitor = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false };

static void *janitor_run(void *arg)
{
	struct timespec until;

	(void)arg;
	pthread_mutex_lock(&janitor.lock);
	while (!janitor.stop) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 200000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&janitor.wake, &janitor.lock, &until);
		sessions_throw_out(false);
		if (look_at_conns() > CLIENTS)
			count(&stats.wrong, 1);
	}
	pthread_mutex_unlock(&janitor.lock);
	return NULL;
}

/* ---- all of it ---- */

static pthread_t supervisor_thread, janitor_thread;

void server_start(void)
{
	start(&supervisor_thread, supervisor, NULL);
	start(&janitor_thread, janitor_run, NULL);
}

void server_close(void)
{
	pthread_mutex_lock(&queue.lock);
	queue.closed = true;
	pthread_cond_broadcast(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
}

void server_end(void)
{
	pthread_join(supervisor_thread, NULL);
	pthread_mutex_lock(&janitor.lock);
	janitor.stop = true;
	pthread_cond_signal(&janitor.wake);
	pthread_mutex_unlock(&janitor.lock);
	pthread_join(janitor_thread, NULL);
}
