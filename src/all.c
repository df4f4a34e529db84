/* SPDX-License-Identifier: MIT */
/*
 * all.c - the library as one source, for programs that carry it with them:
 *
 *	cc -O2 -Iinclude -c src/all.c
 *
 * Contains the watch and the oracle of rseq, and nothing that needs a tool of lull's or a kernel option.
 * -DLULL_NO_WATCH leaves the watch out; -DLULL_DEBUG checks how the library is used (then compile the
 * program with it, too).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef LULL__INSIDE
#define LULL__INSIDE
#endif
#if !defined(LULL_NO_WATCH) && !defined(LULL_WATCH)
#define LULL_WATCH
#endif

#include "os/linux.c"
#ifndef LULL_URCU /* which has its own answer: urcu/binary/load.c */
#include "os/module.c"
#endif
#include "os/task.c"
#include "os/write.c"

#include "base/abi.c"
#include "base/events.c"
#include "base/fence.c"
#include "base/lock.c"
#include "base/message.c"
#include "base/own_thread.c"
#include "base/process.c"
#include "base/registry.c"
#include "base/rseq_use.c"
#include "base/wait.c"

#include "rcu/grace_period.c"
#include "rcu/probe.c"
#include "rcu/section.c"

#include "hazptr/hazptr_wait.c"
#include "hazptr/lists.c"
#include "hazptr/shazptr.c"
#include "hazptr/shazptr_scan.c"
#include "hazptr/slots.c"
#include "hazptr/table.c"
#include "hazptr/threads.c"

#include "reclaim/backlog.c"
#include "reclaim/bag.c"
#include "reclaim/barrier.c"
#include "reclaim/defer.c"
#include "reclaim/limits.c"
#include "reclaim/list.c"
#include "reclaim/overflow.c"
#include "reclaim/partition.c"
#include "reclaim/pass.c"
#include "reclaim/poll.c"
#include "reclaim/queue.c"
#include "reclaim/reclaim.c"
#include "reclaim/wake.c"
#include "reclaim/worker.c"

#include "cohort/cohort.c"
#include "cohort/inside.c"

#include "count/percpu_cells.c"
#include "count/percpu_ref.c"
#include "count/percpu_rwsem.c"
#include "count/percpu_switch.c"
#include "count/rcu_sync.c"
#include "count/refcount.c"
#include "domain/domain.c"
#include "domain/domain_call.c"
#include "domain/domain_life.c"

#include "owner_runs/owner.c"
#include "owner_runs/owner_runs.c"

#include "mutex/cond.c"
#include "mutex/mutex.c"
#include "mutex/mutex_robust.c"
#include "mutex/self.c"
#include "mutex/sleep.c"
#include "mutex/spin.c"

#include "hash/bucket_lock.c"
#include "hash/buckets.c"
#include "hash/bytes.c"
#include "hash/cursor.c"
#include "hash/hash.c"
#include "hash/resize.c"

#include "pool/hazptr_pool.c"
#include "tsan/seen.c"

#ifdef LULL_WATCH
#include "watch/awaits.c"
#include "watch/dump.c"
#include "watch/report.c"
#include "watch/shared_file.c"
#include "watch/stall.c"
#include "watch/stats_page.c"
#include "watch/symbol.c"
#include "watch/task.c"
#include "watch/watchdog.c"
#endif

#ifdef LULL_DEBUG
#include "check/deadlock.c"
#include "check/edges.c"
#include "check/guards.c"
#include "check/mixed.c"
#include "check/ranges.c"
#include "check/retired.c"
#include "check/waits.c"
#endif

#include "life.c"
