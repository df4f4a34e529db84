/* SPDX-License-Identifier: MIT */
/*
 * dump.c - write the state of the library in lines, from any context: lull_debug_dump().
 *
 * It is called when the process may be broken: from a handler of SIGSEGV, or by a debugger while the
 * other threads are stopped, with any lock held by any thread. So it takes a lock only if that is free
 * soon, says so if it is not, and writes nothing while it holds one, for the reader of a pipe may sleep.
 * It formats with its own few functions, since snprintf(3) is not on the list of functions that a
 * handler may call.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "../base/events.h"
#include "../base/registry.h"
#include "../reclaim/backlog.h"

#define LOCK_TRIES		200 /* to get a lock, with a yield in between */
#define THREADS_AT_ONCE 8   /* read each time that the registry is locked */

/* ---- lines ------------------------------------------------------------------------------------- */

struct out {
	int fd, err;
	size_t len;
	char line[512];
};

static void put_text(struct out *out, const char *text)
{
	while (*text && out->len < sizeof(out->line) - 1)
		out->line[out->len++] = *text++;
}

static void put_number(struct out *out, uint64_t n, unsigned base)
{
	char digits[24], *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do
		*--at = "0123456789abcdef"[n % base];
	while (n /= base);
	put_text(out, at);
}

/* Arguments of formats with %s, %u (uint64_t), %x (uint64_t, with 0x), %m (a time in ns, as ms ago). */
union lull__arg {
	const char *text;
	uint64_t number;
};

static void put_age(struct out *out, uint64_t since_ns)
{
	uint64_t now_ns = lull__now_ns();

	put_number(out, now_ns > since_ns ? (now_ns - since_ns) / 1000000u : 0, 10);
	put_text(out, " ms");
}

static void flush(struct out *out)
{
	out->line[out->len++] = '\n';
	if (!out->err)
		out->err = lull__write(out->fd, out->line, out->len, true);
	out->len = 0;
}

static void put_args(struct out *out, const char *format, const union lull__arg *arg)
{
	for (; *format && out->len < sizeof(out->line) - 1; format++) {
		if (*format != '%') {
			out->line[out->len++] = *format;
			continue;
		}
		switch (*++format) {
		case 's':
			put_text(out, arg++->text);
			break;
		case 'u':
			put_number(out, arg++->number, 10);
			break;
		case 'x':
			put_text(out, "0x");
			put_number(out, arg++->number, 16);
			break;
		case 'm':
			put_age(out, arg++->number);
			break;
		}
	}
}

#define N(n) { .number = (uint64_t)(n) }
#define LOAD(n) N(lull_load_relaxed(&(n))) /* others write to it */
#define S(s) { .text = (s) }
#define PUT(out, format, ...) put_args(out, format, (const union lull__arg[]){ __VA_ARGS__ })
#define LINE(out, format, ...) (PUT(out, format, __VA_ARGS__), flush(out))

/* ---- locks -------------------------------------------------------------------------------------- */

/*
 * Try to take @lock for a while. Its holder runs on meanwhile, unless that is this thread itself, or a
 * debugger has stopped it.
 */
static bool lock_soon(struct lull__lock *lock)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (lull__trylock(lock))
			return true;
		sched_yield();
	}
	return false;
}

/* ---- parts --------------------------------------------------------------------------------------- */

static void dump_process(struct out *out)
{
	const struct lull_stats_page *page = lull__page();
	uint64_t peak = lull_load_relaxed(&page->peak_items);
	size_t items, bytes;

	lull__backlog(&items, &bytes); /* takes no lock, and is exact; the page is not, by 64 per thread */
	LINE(out, "lull %s: process %u, fence %s, %s build, %u threads registered, for %m",
	     S(lull_version()), N(getpid()), S(lull__fence_full_mode ? "full" : "membarrier"),
	     S(page->debug ? "debug" : "release"), N(lull_load_relaxed(&lull__registry_count)), N(page->began_ns));
	LINE(out, "grace periods: %u begun, %u over, %u heavy fences", LOAD(page->gp_started), LOAD(page->gp_ended),
	     LOAD(page->heavy_fences));
	LINE(out, "deferred: %u objects (%u bytes) wait, at most %u did; hard limit %u; %u passes, %u stalls reported",
	     N(items), N(bytes), N(peak > items ? peak : items), LOAD(page->hard_items),
	     LOAD(page->passes), LOAD(page->stalls));
}

static void dump_waits(struct out *out)
{
	for (unsigned i = 0; i < LULL_STATS_WAITS; i++) {
		const struct lull_stats_wait *wait = &lull__page()->waits[i];
		uint32_t kind = lull_load_relaxed(&wait->kind);
		uint32_t waiter_tid = lull_load_relaxed(&wait->waiter_tid), tid = lull_load_relaxed(&wait->tid);
		uint64_t site = lull_load_relaxed(&wait->site);

		if (kind == LULL_WAIT_NONE)
			continue;
		PUT(out, "wait: %s", S(lull_wait_kind_name(kind)));
		if (waiter_tid)
			PUT(out, ", by tid %u", N(waiter_tid));
		PUT(out, ", for %m", LOAD(wait->since_ns));
		if (tid)
			PUT(out, kind == LULL_WAIT_CALLBACK ? ", on tid %u" : ", for tid %u and %u in all",
			    N(tid), LOAD(wait->holders));
		if (site)
			PUT(out, kind == LULL_WAIT_CALLBACK ? ", function %x" : ", entered at %x", N(site));
		flush(out);
	}
}

/* A copy of a record: nothing is written while the registry is locked. */
struct seen_thread {
	uint64_t rcu;
	uint32_t deep;
	uintptr_t site, simple;
	uint32_t tid, state, flags, slots;
	bool is_self;
};

static unsigned slots_used(const struct lull__thread *t)
{
	unsigned count = 0;

	for (int i = 0; i < LULL_HAZPTR_SLOTS; i++)
		count += lull_load_relaxed(&t->hazptr.slot[i].addr) != 0;
	return count;
}

static void read_thread(const struct lull__thread *t, struct seen_thread *seen)
{
	seen->rcu = lull_load_relaxed(&t->rcu);
	seen->deep = lull_load_relaxed(&t->rcu_deep);
	seen->site = (uintptr_t)lull_load_relaxed(&t->rcu_site);
	seen->simple = lull_load_relaxed(&t->shazptr);
	seen->tid = t->tid;
	seen->state = lull_load_relaxed(&t->state);
	seen->flags = lull_load_relaxed(&t->flags);
	seen->slots = slots_used(t);
	seen->is_self = t == &lull__self;
}

/*
 * Copy the records from number @from on, as many as there is room for, and return how many; -1: the
 * registry is locked. With signals blocked: the handler of a thread that is not registered may need the
 * lock. A record that changes its place between two calls may be missed, or seen twice.
 */
static int read_some_threads(unsigned from, struct seen_thread seen[THREADS_AT_ONCE])
{
	struct lull__thread *thread;
	unsigned number = 0;
	sigset_t saved;
	int count = -1;

	lull__block_signals(&saved);
	if (lock_soon(&lull__registry_lock)) {
		count = 0;
		lull__for_each_thread(thread)
			if (number++ >= from && count < THREADS_AT_ONCE)
				read_thread(thread, &seen[count++]);
		lull__unlock(&lull__registry_lock);
	}
	lull__restore_signals(&saved);
	return count;
}

static void dump_thread(struct out *out, const struct seen_thread *t, uint64_t newest)
{
	bool online = t->state & LULL__STATE_ONLINE;
	uint64_t depth = (t->rcu & LULL__RCU_DEPTH) + t->deep + !online;
	char name[32];

	lull__thread_name(t->tid, name, sizeof(name));
	PUT(out, "thread %u \"%s\"%s:", N(t->tid), S(name), S(t->is_self ? " (this one)" : ""));
	if (t->rcu < LULL__RCU_STEP)
		put_text(out, " in no section");
	else
		PUT(out, "%s section depth %u, %u grace periods old", S(online ? " online," : ""), N(depth),
		    N((newest - (t->rcu & ~(uint64_t)LULL__RCU_LOW)) / LULL__RCU_STEP));
	if (t->site)
		PUT(out, ", entered at %x", N(t->site));
	PUT(out, ", %u hazard pointers", N(t->slots));
	if (t->simple == LULL__SHAZPTR_WILDCARD)
		put_text(out, ", a simple one for everything");
	else if (t->simple && t->simple != LULL__SHAZPTR_REST)
		PUT(out, ", a simple one for %x", N(t->simple));
	if (t->flags & LULL__FLAG_RCU_WAITED)
		put_text(out, ", a grace period sleeps for it");
	flush(out);
}

static void dump_threads(struct out *out)
{
	struct seen_thread seen[THREADS_AT_ONCE];
	unsigned from = 0;
	int count;

	while ((count = read_some_threads(from, seen)) > 0) {
		uint64_t newest = lull_load_relaxed(&lull__rcu_gp);

		for (int i = 0; i < count; i++)
			dump_thread(out, &seen[i], newest);
		from += (unsigned)count;
	}
	if (count < 0)
		LINE(out, "threads: %u, but the registry is locked", N(lull_load_relaxed(&lull__registry_count)));
}

static void dump_queue(struct out *out, const struct lull__queue *q, unsigned bag)
{
	static const char *const kinds[LULL__KINDS] = {
		"rcu free", "rcu call", "hazptr retire", "hazptr call", "bridge free", "bridge call", "rcu pure call",
		"hazptr pure call",
	};
	uint64_t put = lull_load_relaxed(&q->put), done = lull_load_relaxed(&q->done);

	if (put <= done)
		return;
	PUT(out, "queue %u, %s: %u wait (%u bytes), %u of them ready, %u kept for hazard pointers", N(bag),
	    S(kinds[q->kind]), N(put - done), N(lull_load_relaxed(&q->put_bytes) - lull_load_relaxed(&q->done_bytes)),
	    N(lull_load_relaxed(&q->ready) - lull_load_relaxed(&q->get)), N(lull_load_relaxed(&q->named)));
	if (lull_load_relaxed(&q->running))
		PUT(out, "; callback %x runs on tid %u", N((uintptr_t)lull_load_relaxed(&q->running)),
		    N(lull_load_relaxed(&q->runner_tid)));
	flush(out);
}

/* Write a line for each queue with entries. Takes no lock: bags are not freed while a thread walks their queues. */
static void dump_queues(struct out *out)
{
	struct lull__listing *at;
	struct lull__queue *q;
	unsigned number = 0;
	uint64_t process;

	process = lull__walk_enter();
	lull__for_each_queue(at, q)
		dump_queue(out, q, number++);
	lull__walk_leave(process);
}

int lull_debug_dump(int fd)
{
	struct out out = { .fd = fd };
	int saved = errno, cancel;

	lull__no_cancel(&cancel);
	dump_process(&out);
	dump_waits(&out);
	dump_threads(&out);
	dump_queues(&out);
	lull__may_cancel(cancel);
	errno = saved;
	return out.err;
}
