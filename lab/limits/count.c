/* SPDX-License-Identifier: MIT */
/*
 * Program for lab/limits/run, which counts and does not time: "count WHAT N" does one thing N times and prints what it
 * counted itself, as a row of the kind that the instruments write. Instructions are counted from outside, by callgrind.
 *
 *	nothing, free, free_sized, hazptr_retire_sized, call, ck_epoch	replace a 64-byte object N times; what was there
 *							before is freed at once, or deferred
 *	fences						heavy fences meanwhile, with free_sized
 *	signals						futex calls of N signals, while the one waiter that they are for
 *							is kept off its CPU
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef COUNT_CK
#include <ck_epoch.h>
#endif

#include <lull/atomic.h>
#include <lull/cond.h>
#include <lull/hazptr.h>
#include <lull/mutex.h>
#include <lull/rcu.h>
#include <lull/reclaim.h>
#include <lull/stats.h>

#define OBJECT_BYTES 64

/* ---- replacements ------------------------------------------------------------------------------ */

union object {
	char bytes[OBJECT_BYTES];
	struct lull_rcu_head head;
#ifdef COUNT_CK
	ck_epoch_entry_t entry;
#endif
};

static union object *slot;

static void free_object(struct lull_rcu_head *head) { free(lull_container_of(head, union object, head)); }
static void now(union object *old) { free(old); }
static void free_sized(union object *old) { lull_rcu_free_sized(old, sizeof(*old)); }
static void hazptr_retire_sized(union object *old) { lull_hazptr_retire_sized(old, sizeof(*old)); }
static void call(union object *old) { lull_rcu_call(&old->head, free_object); }

#ifdef COUNT_CK
static ck_epoch_t ck_domain;
static ck_epoch_record_t *ck_record;

static void ck_free(ck_epoch_entry_t *entry) { free(lull_container_of(entry, union object, entry)); }

static void ck_begin(void)
{
	ck_record = aligned_alloc(CK_MD_CACHELINE, (sizeof(*ck_record) + CK_MD_CACHELINE - 1) / CK_MD_CACHELINE *
							   CK_MD_CACHELINE);
	if (!ck_record)
		abort();
	ck_epoch_init(&ck_domain);
	ck_epoch_register(&ck_domain, ck_record, NULL);
}

/* A poll every 64th time, as in lab/peers/ck/flavor_ck_epoch.h. */
static void ck_epoch(union object *old)
{
	static unsigned updates;

	ck_epoch_call(ck_record, &old->entry, ck_free);
	if (++updates % 64 == 0)
		ck_epoch_poll(ck_record);
}
#endif

/*
 * For a minute nothing counts as abandoned: the background thread takes over only what a thread leaves, and on a busy
 * machine, under callgrind, this one would seem to.
 */
static void undisturbed(void)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.linger_ms = 60000;
	if (lull_reclaim_configure(&config) != 0)
		abort();
}

static inline __attribute__((always_inline)) void replace(unsigned long n, void (*retire)(union object *))
{
	slot = malloc(sizeof(*slot)); /* there is always something to replace */
	for (; n; n--) {
		union object *fresh = malloc(sizeof(*fresh)), *old = lull_load_relaxed(&slot);

		if (!fresh)
			abort();
		fresh->bytes[0] = (char)n;
		lull_store_release(&slot, fresh);
		retire(old);
	}
}

/* ---- signals ----------------------------------------------------------------------------------- */

static uint64_t futex_calls;

/* The C library's, counted: the library calls it for all of its futexes. */
__attribute__((visibility("default"))) long syscall(long number, ...)
{
	static long (*next)(long, ...);
	long arg[6];
	va_list ap;
	int i;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "syscall");
	va_start(ap, number);
	for (i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_futex)
		lull_add_relaxed(&futex_calls, (uint64_t)1);
	return next(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

static struct lull_mutex mutex;
static struct lull_cond cond;
static unsigned waits; /* how often it began to; under the mutex */
static bool over;      /* under the mutex */

static void *waiter(void *unused)
{
	struct sched_param none = { 0 };

	(void)unused;
	/* The waker goes on; this thread runs when no other wants this CPU. */
	sched_setscheduler(0, SCHED_IDLE, &none);
	lull_mutex_lock(&mutex);
	while (!over) {
		waits++;
		lull_cond_wait(&cond, &mutex);
	}
	lull_mutex_unlock(&mutex);
	return NULL;
}

static void await_waiter(void)
{
	unsigned seen = 0;

	while (!seen) {
		lull_mutex_lock(&mutex);
		seen = waits;
		lull_mutex_unlock(&mutex);
		usleep(1000);
	}
	usleep(20000); /* it has let go of the mutex; now it goes to sleep */
}

static uint64_t signals(unsigned long n)
{
	pthread_t thread;
	uint64_t before;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (pthread_create(&thread, NULL, waiter, NULL) != 0)
		abort();
	await_waiter();
	before = lull_load_relaxed(&futex_calls);
	for (; n; n--) {
		lull_mutex_lock(&mutex);
		lull_cond_signal(&cond);
		lull_mutex_unlock(&mutex);
	}
	before = lull_load_relaxed(&futex_calls) - before;
	lull_mutex_lock(&mutex);
	over = true;
	lull_cond_broadcast(&cond);
	lull_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	return before;
}

/* ---- the command ------------------------------------------------------------------------------- */

static uint64_t fences(unsigned long n)
{
	const struct lull_stats_page *page = lull_stats_page();
	uint64_t before;

	replace(1, free_sized); /* first use */
	lull_rcu_barrier();
	before = lull_load_relaxed(&page->heavy_fences);
	replace(n, free_sized);
	return lull_load_relaxed(&page->heavy_fences) - before;
}

static int count(const char *what, unsigned long n)
{
	uint64_t counted = 0;
	const char *unit = "";

	if (strcmp(what, "fences") != 0)
		undisturbed();
	if (!strcmp(what, "nothing"))
		;
	else if (!strcmp(what, "free"))
		replace(n, now);
	else if (!strcmp(what, "free_sized"))
		replace(n, free_sized);
	else if (!strcmp(what, "hazptr_retire_sized"))
		replace(n, hazptr_retire_sized);
	else if (!strcmp(what, "call"))
		replace(n, call);
#ifdef COUNT_CK
	else if (!strcmp(what, "ck_epoch")) {
		ck_begin();
		replace(n, ck_epoch);
	}
#endif
	else if (!strcmp(what, "fences"))
		counted = fences(n), unit = "fences";
	else if (!strcmp(what, "signals"))
		counted = signals(n), unit = "futex calls";
	else {
		fprintf(stderr, "count: there is no '%s'\n", what);
		return 2;
	}
	if (unit[0])
		printf("{\"results\": [{\"scheme\": \"lull\", \"threads\": 1, \"metric\": \"%s\", \"unit\": \"%s\", "
		       "\"times\": %lu, \"median\": %llu}]}\n",
		       what, unit, n, (unsigned long long)counted);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: count WHAT N\n");
		return 2;
	}
	return count(argv[1], strtoul(argv[2], NULL, 10));
}
