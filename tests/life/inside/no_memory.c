/* SPDX-License-Identifier: MIT */
/* runs: full-fences, alone */
/*
 * no_memory.c - each allocation of a call fails in turn: that one alone, or all from there on, while a reader is inside.
 * Nothing that the reader may use is gone before it leaves. Then each thing is reclaimed once, and a call that fails leaves
 * nothing behind.
 *
 * Takes the place of malloc() and its kind. Each trial is a child, in which nothing has been allocated yet.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <lull/lull.h>

#include "child.h"
#include "threads.h"

#if defined(__GLIBC__) && !SANITIZED && !defined(LULL_TEST_EMULATED)

/* ---- memory ------------------------------------------------------------------------------------------------------ */

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);
extern void __libc_free(void *ptr);

static int let_through; /* so many allocations of threads that count, before one fails; -1: none fails */
static bool all_fail;	/* from there on */
static int refused, live; /* allocations; those that have not been freed */
static __thread bool counts_here;

static bool is_refused(void)
{
	if (!counts_here || let_through < 0)
		return false;
	if (let_through > 0) {
		let_through--;
		return false;
	}
	if (!all_fail)
		let_through = -1;
	refused++;
	errno = ENOMEM;
	return true;
}

static void *counted(void *ptr)
{
	live += counts_here && ptr;
	return ptr;
}

void *malloc(size_t bytes)
{
	return is_refused() ? NULL : counted(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
	return is_refused() ? NULL : counted(__libc_calloc(count, bytes));
}

void *aligned_alloc(size_t align, size_t bytes)
{
	return is_refused() ? NULL : counted(__libc_memalign(align, bytes));
}

int posix_memalign(void **ptr, size_t align, size_t bytes)
{
	void *got = aligned_alloc(align, bytes);

	if (got)
		*ptr = got;
	return got ? 0 : ENOMEM;
}

void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	return is_refused() ? MAP_FAILED : (void *)syscall(SYS_mmap, at, bytes, prot, flags, fd, offset);
}

/* ---- what is deferred -------------------------------------------------------------------------------------------- */

/* More than a chunk of a queue has; the last one is named by the reader. */
#define THINGS 300
#define NAMED  (THINGS - 1)

static struct thing {
	struct lull_head head;
	struct lull_cohort_head member;
} things[THINGS], *named; /* NULL: all is in use, by a read section */
static int gone[THINGS], too_early, lines;
static int came, inside, leave; /* the reader has come, and is inside */
static struct lull_cohort cohort;

static void thing_is_gone(size_t i)
{
	must(i < THINGS);
	if (lull_load_acquire(&inside) && (i == NAMED || !lull_load_relaxed(&named)))
		lull_add_relaxed(&too_early, 1);
	lull_add_release(&gone[i], 1);
}

void free(void *ptr)
{
	size_t at = (uintptr_t)ptr - (uintptr_t)things;

	if (at < sizeof(things)) {
		thing_is_gone(at / sizeof(things[0]));
		return;
	}
	live -= counts_here && ptr;
	__libc_free(ptr);
}

static void called(struct lull_head *head)
{
	thing_is_gone((size_t)(lull_container_of(head, struct thing, head) - things));
}

static void member_called(struct lull_cohort_head *head)
{
	thing_is_gone((size_t)(lull_container_of(head, struct thing, member) - things));
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* A call without memory waits for the reader for a second at most: then lull gives up, and says so. */
#define DEFERS(name, ...)                                                                          \
	static int name(void)                                                                       \
	{                                                                                          \
		for (int i = 0; i < THINGS; i++) {                                                 \
			struct thing *thing = &things[i];                                          \
                                                                                                   \
			__VA_ARGS__;                                                               \
		}                                                                                  \
		return 0;                                                                          \
	}

DEFERS(rcu_call, lull_rcu_call(&thing->head, called))
DEFERS(rcu_call_pure, lull_rcu_call_pure(&thing->head, called))
DEFERS(rcu_free, lull_rcu_free_sized(thing, sizeof(*thing)))
DEFERS(hazptr_call, lull_hazptr_call(&thing->head, called))
DEFERS(hazptr_call_pure, lull_hazptr_call_pure_sized(&thing->head, called, sizeof(*thing)))
DEFERS(hazptr_retire, lull_hazptr_retire_sized(thing, sizeof(*thing)))
DEFERS(bridge_call, lull_rcu_call_hazptr(&thing->head, called))
DEFERS(cohort_rcu, lull_cohort_call_rcu(&cohort, &thing->member, member_called))
DEFERS(cohort_hazptr, lull_cohort_call_hazptr(&cohort, &thing->member, member_called))

static void released(struct lull_percpu_ref *unused)
{
	(void)unused;
}

/* One thing that is made, used, and is no more; or not made, which is 0, too. */
static int percpu_ref(void)
{
	struct lull_percpu_ref ref;
	int err = lull_percpu_ref_init(&ref, released, 0);

	if (err)
		return err;
	lull_percpu_ref_get(&ref);
	lull_percpu_ref_put(&ref);
	lull_percpu_ref_kill(&ref);
	lull_store_release(&leave, 1); /* the kill waits for readers */
	lull_rcu_barrier();
	lull_percpu_ref_exit(&ref);
	return 0;
}

static int domain(void)
{
	struct lull_rcu_domain d;
	int err = lull_rcu_domain_init(&d, "no memory");

	if (err)
		return err;
	lull_rcu_domain_read_unlock(&d, lull_rcu_domain_read_lock(&d));
	lull_rcu_domain_synchronize(&d);
	lull_rcu_domain_destroy(&d);
	return 0;
}

static bool same_node(const struct lull_hash_node *node, const void *key)
{
	return node == key;
}

/* A table that cannot grow is slower, and has all that was inserted. */
static int hash(void)
{
	enum { NODES = 500 };
	static struct lull_hash_node node[NODES];
	struct lull_hash h;
	int err = lull_hash_init(&h, NULL), found = 0;

	if (err)
		return err;
	for (int i = 0; i < NODES; i++)
		must(lull_hash_insert(&h, &node[i], lull_hash_mix64((uint64_t)i), same_node, &node[i]) == 0);
	err = lull_hash_resize(&h, 4096);
	must(err == 0 || err == -ENOMEM);
	lull_thread_register();
	lull_rcu_read_lock();
	for (int i = 0; i < NODES; i++)
		found += lull_hash_lookup(&h, lull_hash_mix64((uint64_t)i), same_node, &node[i]) == &node[i];
	lull_rcu_read_unlock();
	must(found == NODES && lull_hash_count(&h) == NODES);
	lull_store_release(&leave, 1); /* a table that has been left is freed when readers are gone */
	lull_rcu_barrier();
	lull_hash_destroy(&h, NULL, NULL);
	return 0;
}

static int pool(void)
{
	struct lull_hazptr *h[20];
	int n = 0;

	for (; n < 20 && (h[n] = lull_hazptr_pool_get()) != NULL; n++)
		must(!h[n]->addr);
	for (int i = 0; i < n; i++)
		lull_hazptr_pool_put(h[i]);
	return n == 20 ? 0 : -ENOMEM;
}

#define KEEPS	  1u /* a call that fails has freed all that it has allocated */
#define MAY_FAIL  2u
#define READS_RCU 4u /* nothing is gone before the reader leaves; else not what it names */
#define MEMBERS	  8u /* defers members of the cohort, not the things themselves */
#define WAITS	  16u /* where there is no memory; so the reader leaves by itself */

static const struct call {
	const char *name;
	int (*make)(void);
	unsigned how;
} calls[] = {
	{ "rcu_call", rcu_call, READS_RCU },
	{ "rcu_call_pure", rcu_call_pure, READS_RCU },
	{ "rcu_free", rcu_free, READS_RCU | WAITS },
	{ "hazptr_call", hazptr_call, 0 },
	{ "hazptr_call_pure", hazptr_call_pure, 0 },
	{ "hazptr_retire", hazptr_retire, WAITS },
	{ "rcu_call_hazptr", bridge_call, READS_RCU },
	{ "cohort_call_rcu", cohort_rcu, READS_RCU | MEMBERS },
	{ "cohort_call_hazptr", cohort_hazptr, MEMBERS },
	{ "percpu_ref", percpu_ref, KEEPS | MAY_FAIL | WAITS },
	{ "rcu_domain", domain, KEEPS | MAY_FAIL },
	{ "hash", hash, KEEPS | MAY_FAIL | WAITS },
	{ "hazptr_pool", pool, MAY_FAIL },
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

/* ---- trials ------------------------------------------------------------------------------------------------------ */

static bool leaves_by_itself;

static void *reads(void *names)
{
	struct lull_hazptr_context *own = lull_hazptr_thread_context();
	struct lull_hazptr *slot = lull_hazptr_alloc(own);

	must(slot);
	if (!lull_load_relaxed(&named))
		lull_rcu_read_lock();
	must(lull_hazptr_protect_ptr(slot, names) == names);
	lull_store_release(&inside, 1);
	lull_store_release(&came, 1);
	if (leaves_by_itself)
		nap_ms(3);
	else
		await_flag(&leave, 1);
	lull_store_release(&inside, 0);
	lull_hazptr_free(own, slot);
	if (!lull_load_relaxed(&named))
		lull_rcu_read_unlock();
	return NULL;
}

static void hears(const char *line)
{
	if (strstr(line, "leaked"))
		lull_add_relaxed(&lines, 1);
}

static bool is_deferral(const struct call *call)
{
	return !(call->how & MAY_FAIL);
}

/* In a child. Exit status 0: nothing was refused, so there is no more to try; 2: all is as it should be; else it dies. */
static void try(const struct call *call, enum lull_reclaim_mode mode, int at, bool all)
{
	pthread_t reader;
	int result, was_live, left = 0;

	alarm(60);
	lull_debug_set_message_hook(hears);
	set_stall_ms(0);
	set_mode(mode);
	lull_store_relaxed(&named, call->how & READS_RCU ? NULL : &things[NAMED]);
	leaves_by_itself = call->how & WAITS;
	reader = start_thread(reads, call->how & MEMBERS ? (void *)&things[NAMED].member : &things[NAMED]);
	await_flag(&came, 1);
	all_fail = all;
	was_live = live;
	let_through = at;
	counts_here = true;
	result = call->make();
	counts_here = false;
	let_through = -1;
	must(result == 0 || (call->how & MAY_FAIL && result == -ENOMEM && refused));
	must(!(call->how & KEEPS) || result == 0 || live == was_live);
	must(!lull_rcu_read_lock_held());
	if (!leaves_by_itself && is_deferral(call)) {
		for (int i = 0; i < 3; i++)
			lull_reclaim_poll(SIZE_MAX, 0);
		must(lull_load_relaxed(&gone[NAMED]) == 0 && (!(call->how & READS_RCU) || lull_load_relaxed(&gone[0]) == 0));
	}
	lull_store_release(&leave, 1);
	join_thread(reader);
	must(lull_reclaim_drain(UINT64_MAX) == 0);
	for (int i = 0; i < THINGS; i++) {
		must(lull_load_acquire(&gone[i]) <= 1);
		left += !gone[i];
	}
	must(left == (is_deferral(call) ? lull_load_relaxed(&lines) : THINGS));
	must(lull_load_relaxed(&too_early) == 0);
	_exit(refused ? 2 : 0);
}

static int trials, refusals;

/* Returns whether an allocation was refused. */
static bool try_in_child(const struct call *call, enum lull_reclaim_mode mode, int at, bool all)
{
	struct child child;

	if (child_begin(&child))
		try(call, mode, at, all);
	child_await(&child);
	trials++;
	if (!WIFEXITED(child.status) || (WEXITSTATUS(child.status) != 0 && WEXITSTATUS(child.status) != 2))
		print_error("%s, mode %d, allocation %d%s: status %x, %s\n", call->name, (int)mode, at, all ? " and all after it" : "",
			    (unsigned)child.status, child.text);
	assert_true(WIFEXITED(child.status) && (WEXITSTATUS(child.status) == 0 || WEXITSTATUS(child.status) == 2));
	refusals += WEXITSTATUS(child.status) == 2;
	return WEXITSTATUS(child.status) == 2;
}

TEST(each_allocation_fails)
{
	static const enum lull_reclaim_mode modes[] = { LULL_RECLAIM_THREAD, LULL_RECLAIM_POLL, LULL_RECLAIM_CALLER };

	if (under_valgrind())
		SKIP(OWN_MEMORY);
	for (size_t i = 0; i < CALLS; i++)
		for (int mode = 0; mode < (is_deferral(&calls[i]) ? 3 : 1); mode++)
			for (int all = 0; all < 2; all++) {
				int at = 0;

				while (try_in_child(&calls[i], modes[mode], at, all))
					at++;
				assert_true(at > 0); /* else nothing was tried */
				assert_true(at < 100);
			}
	print_message("%d trials, %d with a refusal\n", trials, refusals);
}

#else

TEST(each_allocation_fails)
{
	SKIP(OWN_MEMORY);
}

#endif
