/* SPDX-License-Identifier: MIT */
/*
 * Sessions that expire: one thread opens sessions all the time, and the table grows; another one walks over it now
 * and then and removes the old ones. It leaves its read section every 64 sessions, so what it frees, and what others
 * free, does not wait until the walk is over.
 */
#include <lull/hash_cursor.h>
#include <lull/hash_integer.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define OLD   20000
#define ROUND 5000 /* sessions that are opened between two walks, at least */

struct session {
	struct lull_hash_node node;
	unsigned long id;
	long opened; /* the time, in rounds */
};

/* Numbers of sessions are multiples of 4096, and would all share a bucket: session_insert() and the others mix them. */
LULL_HASH_INTEGER(session, struct session, node, id)

static struct lull_hash sessions;
static long now, opened;
static bool finished;

static void session_open(void)
{
	struct session *session = malloc(sizeof(*session));

	if (!session)
		abort();
	session->id = (unsigned long)opened * 4096;
	session->opened = lull_load_relaxed(&now);
	if (session_insert(&sessions, session) != 0)
		abort();
	lull_store_relaxed(&opened, opened + 1);
}

static void *opens(void *unused)
{
	while (!lull_load_relaxed(&finished))
		session_open();
	return unused;
}

/* Remove all sessions that were opened before @time. Returns how many. */
static long expire(long time)
{
	struct lull_hash_cursor cursor;
	struct session *session;
	long count = 0;

	lull_hash_cursor_begin(&cursor, &sessions);
	while (cursor.h) {
		lull_rcu_read_lock();
		for (int n = 0; n < 64; n++) {
			session = lull_hash_cursor_next_entry(&cursor, struct session, node);
			if (!session)
				break;
			if (session->opened < time && lull_hash_remove_node(&sessions, &session->node) == 0) {
				lull_rcu_free(session);
				count++;
			}
		}
		lull_rcu_read_unlock();
	}
	return count;
}

static void session_gone(struct lull_hash_node *node, void *oldest)
{
	struct session *session = lull_hash_entry(node, struct session, node);

	if (session->opened < *(long *)oldest)
		*(long *)oldest = session->opened;
	free(session);
}

int main(void)
{
	pthread_t thread;
	long expired, oldest;

	if (lull_hash_init(&sessions, NULL) != 0)
		abort();
	while (opened < OLD)
		session_open();
	lull_store_relaxed(&now, 1);
	if (pthread_create(&thread, NULL, opens, NULL) != 0)
		abort();
	expired = expire(1);
	if (expired != OLD) {
		fprintf(stderr, "%ld sessions expired of %d\n", expired, OLD);
		return 1;
	}
	while (lull_load_relaxed(&opened) < OLD + ROUND)
		lull_cpu_relax();
	lull_store_relaxed(&finished, true);
	pthread_join(thread, NULL);
	printf("%ld sessions expired, %s stay\n", expired, lull_hash_count(&sessions) >= ROUND ? "all others" : "too few");
	oldest = 1;
	lull_hash_destroy(&sessions, session_gone, &oldest);
	lull_rcu_barrier();
	return oldest != 1;
}
