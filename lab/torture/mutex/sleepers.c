/* SPDX-License-Identifier: MIT */
/* lull torture: a thread that checks whether every sleeper for a lock will be woken. See torture_mutex.h. */
#include "torture/mutex/torture_mutex.h"
#include "torture/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/options.h"

#define OPS 4096u
#define LOOK_US 2000u
#define LOOKS 3u
#define HOW 48u

/* Turns and seconds of others after which a sleeper has been passed over. */
#define TURNS_MOST 1000000u
#define TURNS_S 20u

/* One call of a thread. In memory that forked processes share. */
struct mutex_op {
	uint64_t who;	/* process and thread, claimed in one; 0: free */
	uint32_t epoch; /* counts who it was */
	struct mutex_watch *watch;
} __attribute__((aligned(32)));

static struct mutex_op *ops;
static __thread uint64_t me;

/* No lock's memory goes while it is held. */
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;

static void fork_child(void)
{
	me = 0;
}

void torture_watch_init(void)
{
	ops = mmap(NULL, OPS * sizeof(*ops), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ops == MAP_FAILED || pthread_atfork(NULL, NULL, fork_child) != 0)
		options_fail("out of memory");
}

/* ---- to say what one does -------------------------------------------------------------------- */

struct mutex_op *torture_op_begin(struct mutex_watch *watch)
{
	uint64_t nobody = 0;
	struct mutex_op *op;
	uint32_t i;

	if (!me)
		me = (uint64_t)getpid() << 32 | (uint32_t)syscall(SYS_gettid);
	for (i = (uint32_t)me;; i++, nobody = 0) {
		op = &ops[i % OPS];
		if (lull_load_relaxed(&op->who) == 0 && lull_cas_acquire(&op->who, &nobody, me))
			break;
	}
	lull_store_relaxed(&op->epoch, lull_load_relaxed(&op->epoch) + 1);
	lull_store_release(&op->watch, watch);
	/* It is seen before what is done. */
	lull_fence_full();
	return op;
}

void torture_op_end(struct mutex_op *op)
{
	lull_store_release(&op->watch, (struct mutex_watch *)NULL);
	lull_store_release(&op->who, (uint64_t)0);
}

void torture_op_forget(pid_t pid)
{
	unsigned i;

	for (i = 0; i < OPS; i++)
		if (lull_load_acquire(&ops[i].who) >> 32 == (uint64_t)pid)
			torture_op_end(&ops[i]);
}

void torture_watch_set(struct mutex_watch *watch, const struct mutex_watch *to)
{
	pthread_mutex_lock(&looking);
	*watch = *to;
	pthread_mutex_unlock(&looking);
}

/* ---- to look --------------------------------------------------------------------------------- */

/* State of one lock, as seen at one time. */
struct look {
	uint32_t word, entries, ready;
	unsigned callers, sleepers; /* in a call; and asleep on the word itself, or on its count */
	uint64_t mix;		    /* hash of the callers, and of where they sleep */
	char how[HOW];		    /* the system call of one of them */
};

static uint64_t mixed(uint64_t mix, uint64_t value)
{
	return (mix ^ value) * 0x9e3779b97f4a7c15u + (mix >> 29);
}

/* Read what /proc says about @op's thread in @file. False: the thread is gone. */
static bool ask(const struct mutex_op *op, const char *file, char *line, size_t size)
{
	uint64_t who = lull_load_relaxed(&op->who);
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", (unsigned)(who >> 32), (unsigned)who, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, line, size - 1);
	close(fd);
	line[len > 0 ? len : 0] = '\0';
	return len > 0;
}

/*
 * A thread may be in a futex call and not sleep in it: it was woken, and waits for its own memory because another
 * thread forks. Such waits are uninterruptible.
 */
static bool sleeps(const struct mutex_op *op)
{
	char line[256], *name_end;

	if (!ask(op, "stat", line, sizeof(line)))
		return false;
	name_end = strrchr(line, ')');
	return name_end && strncmp(name_end, ") S", 3) == 0;
}

/* The futex that a thread sleeps on; *mix and how: where exactly. 0: it runs, or sleeps for another reason. */
static uintptr_t asleep_on(const struct mutex_op *op, uint64_t *mix, char how[HOW])
{
	char line[256], *at;
	uintptr_t futex;

	if (!ask(op, "syscall", line, sizeof(line)) || strtoul(line, &at, 10) != SYS_futex || at == line ||
	    !sleeps(op))
		return 0;
	futex = (uintptr_t)strtoull(at, &at, 16);
	snprintf(how, HOW, "%.40s", at);
	for (; *at; at++)
		*mix = mixed(*mix, (unsigned char)*at);
	return futex;
}

static bool concerns(const struct mutex_op *op, const struct mutex_watch *watch)
{
	return lull_load_acquire(&op->watch) == watch &&
	       (watch->is_shared || lull_load_relaxed(&op->who) >> 32 == (uint64_t)getpid());
}

static void look_at_word(struct look *look, const struct mutex_watch *watch)
{
	look->word = lull_load_acquire(watch->word);
	look->entries = lull_load_relaxed(&watch->entries);
	look->ready = watch->ready ? lull_load_relaxed(watch->ready) : 0;
}

/* Look at all callers of the lock. False: one of them is awake. */
static bool look_at(struct look *look, const struct mutex_watch *watch)
{
	unsigned i;

	*look = (struct look){ .mix = 1 };
	look_at_word(look, watch);
	for (i = 0; i < OPS; i++) {
		uintptr_t futex;

		if (!concerns(&ops[i], watch))
			continue;
		futex = asleep_on(&ops[i], &look->mix, look->how);
		if (!futex)
			return false;
		look->callers++;
		look->sleepers += futex == (uintptr_t)watch->word ||
				  futex == (uintptr_t)watch->word + offsetof(struct lull_mutex, turn);
		look->mix = mixed(look->mix, (uint64_t)i << 32 | lull_load_relaxed(&ops[i].epoch));
	}
	return look->callers > 0;
}

static bool same(const struct look *a, const struct look *b)
{
	return a->word == b->word && a->entries == b->entries && a->ready == b->ready && a->mix == b->mix &&
	       a->callers == b->callers && a->sleepers == b->sleepers;
}

static bool is_gone(uint32_t tid)
{
	return kill((pid_t)tid, 0) != 0 && errno == ESRCH;
}

/* Return what is wrong when all callers sleep; NULL: nothing. */
static const char *what_is_wrong(const struct look *look)
{
	uint32_t tid = look->word & LULL__MUTEX_TID;

	if (tid && is_gone(tid))
		return "its owner is not there";
	if (!tid && look->ready)
		return "what they wait for has come, and nobody will wake them";
	if (!look->sleepers)
		return NULL;
	if (!tid)
		return "it is free, and nobody will wake them";
	if (!(look->word & LULL__MUTEX_WAITERS))
		return "its owner does not know of them, and will wake nobody";
	return NULL;
}

static _Noreturn void tell(const struct look *look, const struct mutex_watch *watch, const char *wrong)
{
	torture_fail("%u threads sleep for mutex %p%s, %s (word 0x%x: owner %u%s%s; taken %u times; futex%s)",
		     look->callers, (const void *)watch->word, watch->ready ? " and its condition" : "", wrong,
		     look->word, look->word & LULL__MUTEX_TID, look->word & LULL__MUTEX_WAITERS ? ", waiters" : "",
		     look->word & LULL__MUTEX_HEIR ? ", heir" : "", look->entries, look->how);
	torture_give_up();
}

/* Examine a lock for which a thread has been in the same call for a while. */
static void examine(const struct mutex_watch *watch)
{
	struct look first, next;
	const char *wrong;
	unsigned n;

	/* Most locks are seen to be in order without asking the kernel. */
	look_at_word(&first, watch);
	first.sleepers = 1;
	if (!what_is_wrong(&first) || !look_at(&first, watch))
		return;
	wrong = what_is_wrong(&first);
	for (n = 1; wrong && n < LOOKS; n++) {
		torture_sleep_us(n == LOOKS - 1 ? LOOK_US + watch->heal_us : LOOK_US);
		if (!look_at(&next, watch) || !same(&first, &next) || what_is_wrong(&next) != wrong)
			return;
	}
	if (wrong)
		tell(&first, watch, wrong);
}

/* ---- to be passed over ----------------------------------------------------------------------- */

/* State of each call when it was last seen. */
static struct seen {
	uint32_t epoch, entries;
	uint64_t since_ns;
} seen[OPS];

static void check_turns(const struct mutex_op *op, const struct seen *s, const struct mutex_watch *watch)
{
	uint32_t turns = lull_load_relaxed(&watch->entries) - s->entries;
	uint64_t mix = 1;
	char how[HOW];

	if (turns < TURNS_MOST || bench_now_ns() - s->since_ns < TURNS_S * 1000000000ull || watch->ready ||
	    !asleep_on(op, &mix, how))
		return;
	torture_fail("thread %u sleeps for mutex %p (word 0x%x), which others have taken %u times since",
		     (unsigned)lull_load_relaxed(&op->who), (const void *)watch->word,
		     lull_load_relaxed(watch->word), turns);
	torture_give_up();
}

static void watch_op(struct mutex_op *op, struct seen *s, const struct mutex_watch *watch)
{
	uint32_t epoch = lull_load_relaxed(&op->epoch);

	if (!watch->word || !concerns(op, watch))
		return;
	if (s->epoch != epoch) {
		*s = (struct seen){ epoch, lull_load_relaxed(&watch->entries), bench_now_ns() };
		return;
	}
	examine(watch);
	check_turns(op, s, watch);
}

static void watch_slot(unsigned i)
{
	const struct mutex_watch *watch = lull_load_acquire(&ops[i].watch);

	if (!watch)
		return;
	pthread_mutex_lock(&looking);
	watch_op(&ops[i], &seen[i], watch);
	pthread_mutex_unlock(&looking);
}

void *torture_watcher(void *arg)
{
	struct torturer *t = arg;
	unsigned i;

	torture_me = t;
	while (!lull_load_acquire(&torture.over)) {
		for (i = 0; i < OPS; i++)
			watch_slot(i);
		torture_sleep_us(LOOK_US);
	}
	return NULL;
}
