/* SPDX-License-Identifier: MIT */
/*
 * chat.h - a chat server by an author who uses lull and never looks inside: mutexes, condition variables and
 * malloc() of the C library all around, and lull where many threads read what few change. All tools that look for
 * races, leaks and misuse must find nothing in it.
 *
 *	chat_state.c	the configuration, under RCU; the sessions, in a hash table, found in a read section and kept
 *			by a hazard pointer over blocking calls; what was counted
 *	chat_server.c	the connections, with a count of references each; workers that come and go; the janitor that
 *			throws out sessions under their users' hands
 *	chat_main.c	clients, threads of the same program, over socket pairs; signals; does it all add up?
 */
#ifndef CHAT_H
#define CHAT_H

#include <stdbool.h>
#include <stddef.h>

#include <pthread.h>

#include <lull/hazptr.h>

#define CLIENTS 120

/* Counts of what was made, freed and said. */
struct stats {
	pthread_mutex_t lock;
	long configs, configs_freed, sessions, sessions_freed, conns, conns_freed;
	long said, said_in_sessions, wrong;
};

extern struct stats stats;

void count(long *what, long n);
void die(const char *what);
void start(pthread_t *thread, void *(*func)(void *), void *arg);

/* The configuration: loads the next version. Writes "welcome VERSION VERSION" as of now. */
void config_load(void);
void config_greet(char *text, size_t size);

/* The sessions. */
struct session;

void state_init(void);
void state_end(void);
/* The user's session, a new one if need be. It stays until it is put. */
struct session *session_get(const char *user, struct lull_hazptr_hold *hold);
long session_say(struct session *s, const char *line);
void session_put(struct session *s, struct lull_hazptr_hold *hold);
/* Every second one, or all. */
void sessions_throw_out(bool all);

/* The server. Accepting waits while too many connections wait; ending waits for those that are open. */
void server_start(void);
void server_accept(int fd);
void server_close(void); /* no more connections */
void server_end(void);

#endif
