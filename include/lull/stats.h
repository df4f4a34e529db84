/* SPDX-License-Identifier: MIT */
/*
 * stats.h - counts of what the library does, on a page that other processes can read.
 *
 * The page is a memfd of the process. The library makes it at the first event that it counts; a read section
 * is no event. A process that may read /proc/PID/fd maps the page, and watches the other process without
 * stopping it: `lull top PID` does that. The library writes the page at rare events (a grace period, a pass
 * of the reclaimer, a wait), never on a read side, and decides nothing by it. The file is sealed: no other
 * process can write to it.
 *
 * Three things keep the page private: LULL_STATS=off in the environment, a kernel that refuses a memfd, or a
 * limit on the size of files (RLIMIT_FSIZE) below a page. The library then counts events all the same, and no
 * other process sees the page. A forked child has a page of its own, which begins with zeros. Some programs
 * put a filter on themselves that kills them at memfd_create(2). Such a program calls lull_stats_page()
 * before; if it forks afterwards, it needs "off".
 */
#ifndef LULL_STATS_H
#define LULL_STATS_H

#include <lull/detail/base.h>

LULL_BEGIN_DECLS

#define LULL_STATS_MAGIC   0x73746174736c6c75u /* "ullstats", as a little-endian number */
#define LULL_STATS_VERSION 1u
#define LULL_STATS_NAME	   "lull-stats" /* in /proc/PID/fd a link to "/memfd:lull-stats (deleted)" */
#define LULL_STATS_BUCKETS 40u		/* bucket n: [2^n, 2^(n+1)) ns; the last one all that is longer */
#define LULL_STATS_WAITS   24u

/* The kinds of waits; also the kinds of stalls (debug.h). */
enum lull_wait_kind {
	LULL_WAIT_NONE,
	LULL_WAIT_GP,		  /* a grace period, for read sections */
	LULL_WAIT_HAZPTR,	  /* lull_hazptr_synchronize() and its other forms */
	LULL_WAIT_HAZPTR_BARRIER, /* a barrier, or a wait for a cohort: for objects that hazard pointers protect */
	LULL_WAIT_SHAZPTR,	  /* lull_shazptr_synchronize() */
	LULL_WAIT_CALLBACK,	  /* a deferred callback that does not return */
	LULL_WAIT_LIMIT,	  /* the backlog is over its hard limit (no thread waits; not on the page) */
	LULL_WAIT_DOMAIN,	  /* a grace period of a domain (rcu_domain.h), for its sections */
	LULL_WAIT_KINDS
};

/*
 * A wait that is going on. Its fields change one by one while you read them: read them twice if that matters.
 */
struct lull_stats_wait {
	uint32_t kind;	     /* enum lull_wait_kind; LULL_WAIT_NONE: this place is free */
	uint32_t waiter_tid; /* the thread that waits; 0: of a callback, or none at the moment */
	uint32_t tid;	     /* a thread that it waits for; 0: none, or not known yet */
	uint32_t holders;    /* how many threads, or slots, it waits for */
	uint32_t depth;	     /* of what that thread holds, as in struct lull_stall */
	uint32_t pad;
	uint64_t since_ns; /* CLOCK_MONOTONIC */
	uint64_t site;	   /* where thread `tid` entered (debug builds); of a callback its function; or 0 */
};

struct lull_stats_page {
	uint64_t magic;
	uint32_t version;
	uint32_t size; /* of this structure */
	uint32_t pid;
	uint32_t fence; /* enum lull_fence_strategy */
	uint32_t debug; /* 1: a build with LULL_DEBUG */
	uint32_t threads; /* in the registry, when it last changed */
	uint64_t began_ns; /* CLOCK_MONOTONIC, when the page was made */

	/*
	 * Grace periods. To read a clock costs a good part of a short grace period. So of the grace periods
	 * for which no thread slept the library times one in eight, and counts it eight times in the
	 * histogram and the sum. It times all the others, but seven in eight of them only from when the
	 * thread went to sleep.
	 */
	uint64_t gp_started, gp_ended;
	uint64_t gp_ns_sum, gp_ns_max;
	uint64_t gp_ns[LULL_STATS_BUCKETS];
	uint64_t heavy_fences;

	/*
	 * Deferred objects, callbacks and pointers to free: to within 64 per thread and kind of deferral; exact
	 * after each barrier, pass and lull_reclaim_poll(), but for the peaks. In a child they begin with what
	 * waited at the fork.
	 */
	uint64_t queued_items, queued_bytes; /* since the start */
	uint64_t done_items, done_bytes;
	uint64_t waiting_items, waiting_bytes;
	uint64_t peak_items, peak_bytes; /* most that waited since the start, or the last reset */
	uint64_t hard_items, hard_bytes; /* the limits; 0: none */
	uint64_t passes, wakeups;	 /* of the background thread, and of threads in its place */

	/* Hazard pointers: scans for retired objects, and those of simple ones. */
	uint64_t scans, shazptr_scans;
	uint64_t slots_in_use; /* at the last scan */
	uint64_t kept;	       /* objects that slots protected at the last scan */

	uint64_t mutex_sleeps; /* locks for which a thread slept */
	uint64_t stalls;       /* reports of any kind */

	struct lull_stats_wait waits[LULL_STATS_WAITS];
};

/*
 * Return this process's page. Never NULL. Any context. A forked child has another one; what the parent got from
 * here can still be read there, but says nothing.
 */
#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
LULL_API const struct lull_stats_page *lull_stats_page(void);
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

/* Put @kind into words: "rcu grace period", "hazptr synchronize", ...; "?" if it is no kind. Any context. */
LULL_API const char *lull_wait_kind_name(uint32_t kind);

LULL_END_DECLS

#endif /* LULL_STATS_H */
