/* SPDX-License-Identifier: MIT */
/* Peers found, or not, when this was configured. */
#include "common/peers.h"

#include <stdio.h>
#include <string.h>

#ifdef BENCH_HAVE_URCU
#define HAVE_URCU BENCH_HAVE_URCU
#else
#define HAVE_URCU NULL
#endif
#ifdef BENCH_HAVE_CK
#define HAVE_CK BENCH_HAVE_CK
#else
#define HAVE_CK NULL
#endif
#ifdef BENCH_HAVE_LIBCDS
#define HAVE_LIBCDS BENCH_HAVE_LIBCDS
#else
#define HAVE_LIBCDS NULL
#endif
#ifdef BENCH_HAVE_XENIUM
#define HAVE_XENIUM BENCH_HAVE_XENIUM
#else
#define HAVE_XENIUM NULL
#endif
#ifdef BENCH_HAVE_SHARED_PTR
#define HAVE_SHARED_PTR BENCH_HAVE_SHARED_PTR
#else
#define HAVE_SHARED_PTR NULL
#endif
#ifdef BENCH_HAVE_ABSL
#define HAVE_ABSL BENCH_HAVE_ABSL
#else
#define HAVE_ABSL NULL
#endif

static const struct peer {
	const char *library;
	const char *prefix;  /* of its schemes' names */
	const char *version; /* NULL: not found; "": it does not say */
} peers[] = {
	{ "liburcu", "liburcu-", HAVE_URCU },
	{ "ck", "ck-", HAVE_CK },
	{ "libcds", "libcds-", HAVE_LIBCDS },
	{ "xenium", "xenium-", HAVE_XENIUM },
	{ "C++", "shared_ptr", HAVE_SHARED_PTR },
	{ "Abseil", "absl", HAVE_ABSL },
};

#define NR_PEERS (sizeof(peers) / sizeof(peers[0]))

/* The program with faults (tests/torture) measures nothing and has no peers. */
#ifndef BENCH_WITHOUT_PEERS
#define BENCH_WITHOUT_PEERS "not part of this program"
#endif

const char *peers_why_missing(void)
{
	return BENCH_WITHOUT_PEERS;
}

const char *peers_missing_scheme(const char *scheme)
{
	static char line[64];
	size_t i;

	for (i = 0; i < NR_PEERS; i++)
		if (!peers[i].version &&
		    !strncmp(scheme, peers[i].prefix, strlen(peers[i].prefix))) {
			snprintf(line, sizeof(line), "%s: %s", peers[i].library,
				 peers_why_missing());
			return line;
		}
	return NULL;
}

void peers_print_missing(void)
{
	size_t i;

	for (i = 0; i < NR_PEERS; i++)
		if (!peers[i].version)
			printf("%s: %s\n", peers[i].library, peers_why_missing());
}

const char *peers_versions(void)
{
	static char text[128];
	size_t i, len = 0;

	text[0] = '\0';
	for (i = 0; i < NR_PEERS; i++)
		if (peers[i].version)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%s%s",
						len ? ", " : "", peers[i].library,
						*peers[i].version ? " " : "", peers[i].version);
	return text;
}
