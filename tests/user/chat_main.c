/* SPDX-License-Identifier: MIT */
/*
 * chat_main.c - clients of the chat server, its signals, and the sum of all; see chat.h. A client logs in, says a few
 * lines and leaves. The configuration is replaced at SIGHUP, everything ends at SIGTERM.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "chat.h"

#define CLIENTS_AT_ONCE 4
#define LINES		12 /* that each client says */
#define USERS		9

/* ---- signals: one thread waits for them ---- */

static void *signals(void *set)
{
	int sig;

	while (sigwait(set, &sig) == 0 && sig != SIGTERM)
		config_load();
	server_close();
	return NULL;
}

/* ---- clients ---- */

static void *client(void *arg)
{
	int number = *(int *)arg, ends[2], version, again;
	char answer[96];
	FILE *stream;
	long n;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		die("socketpair");
	server_accept(ends[1]);
	stream = fdopen(ends[0], "r+");
	if (!stream)
		die("fdopen");
	for (int i = 0; i < LINES; i++) {
		fprintf(stream, "user%d line %d of %d\n", (number + i / 4) % USERS, i, number);
		fflush(stream);
		if (!fgets(answer, sizeof(answer), stream) ||
		    sscanf(answer, "%ld welcome %d %d", &n, &version, &again) != 3 || n < 1 || version != again)
			count(&stats.wrong, 1);
		else
			count(&stats.said, 1);
		if (i == LINES / 2)
			kill(getpid(), SIGHUP);
	}
	fclose(stream);
	return NULL;
}

static void run_clients(void)
{
	pthread_t threads[CLIENTS_AT_ONCE];
	int numbers[CLIENTS_AT_ONCE];

	for (int number = 0; number < CLIENTS; number += CLIENTS_AT_ONCE) {
		for (int i = 0; i < CLIENTS_AT_ONCE; i++) {
			numbers[i] = number + i;
			start(&threads[i], client, &numbers[i]);
		}
		for (int i = 0; i < CLIENTS_AT_ONCE; i++)
			pthread_join(threads[i], NULL);
	}
}

int main(void)
{
	pthread_t signal_thread;
	sigset_t set;
	bool good;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	state_init();
	start(&signal_thread, signals, &set);
	server_start();
	run_clients();
	kill(getpid(), SIGTERM);
	pthread_join(signal_thread, NULL);
	server_end();
	state_end();

	printf("%ld lines in %ld sessions over %ld connections, %ld configurations\n", stats.said, stats.sessions,
	       stats.conns, stats.configs);
	good = !stats.wrong && stats.said == CLIENTS * LINES && stats.said == stats.said_in_sessions &&
	       stats.sessions == stats.sessions_freed && stats.conns == CLIENTS && stats.conns == stats.conns_freed &&
	       stats.configs == stats.configs_freed;
	if (!good)
		fprintf(stderr, "that does not add up: %ld wrong, %ld lines counted by sessions; %ld sessions, %ld connections, "
				"%ld configurations freed\n",
			stats.wrong, stats.said_in_sessions, stats.sessions_freed, stats.conns_freed, stats.configs_freed);
	return !good;
}
