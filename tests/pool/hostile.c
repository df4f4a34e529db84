/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * hostile.c - hazptr_pool.h: a child that is forked at any moment at which the list of blocks changes (fork_steps.h). It
 * looks whether a slot is lost, or there twice.
 */
#include <lull/hazptr_pool.h>

#include "fork_steps.h"
#include "hazptr/support.h"

#if CAN_STEP
#define BLOCK LULL_HAZPTR_SLOTS

static struct thing first, second;

static int blocks_made; /* how often the library has asked for a block */
void *aligned_alloc(size_t alignment, size_t size) LULL_NOEXCEPT
{
	void *memory = NULL;

	if (posix_memalign(&memory, alignment, size) != 0)
		return NULL;
	lull_add_relaxed(&blocks_made, 1);
	return memory;
}

static struct lull_hazptr *get(void)
{
	struct lull_hazptr *h = lull_hazptr_pool_get();

	must(h && !h->addr);
	return h;
}

static void put_all(struct lull_hazptr **h, int n)
{
	for (int i = 0; i < n; i++)
		lull_hazptr_pool_put(h[i]);
}

static bool is_among(struct lull_hazptr *const *h, int n, const struct lull_hazptr *what)
{
	for (int i = 0; i < n; i++)
		if (h[i] == what)
			return true;
	return false;
}

enum { MAINS = BLOCK + 1, MORE = 12 * BLOCK };
enum { SPARE = 4 }; /* blocks that stay */

static bool is_kept(const void *addr)
{
	return lull_hazptr_synchronize_timeout(addr, 0) == -ETIMEDOUT;
}

static struct lull_hazptr *of_main[MAINS]; /* protect `first` */
static struct lull_hazptr *of_stepper[2 * BLOCK]; /* protect `second`; the last of them fill the block at hand */
static int stepper_has;
static struct lull_hazptr *foreign, *beside; /* in a block no thread has at hand; the first for the stepper to put */
static struct lull_hazptr *given_back; /* of the block that the stepper has at hand, by another thread */
static struct lull_hazptr *got;

static void gets(void)
{
	got = lull_hazptr_pool_get();
}

static void puts_foreign(void)
{
	lull_hazptr_pool_put(foreign);
}

static bool is_in_use(const struct lull_hazptr *h)
{
	return is_among(of_main, MAINS, h) || is_among(of_stepper, stepper_has, h) || h == got || h == beside ||
	       (h == foreign && foreign->addr);
}

static void protects_each_once(void)
{
	struct lull_hazptr *more[MORE];
	int made, n = 0;

	must(is_kept(&first) && is_kept(&second));
	/* Until no slot is free, also not in the block at hand. */
	for (made = blocks_made; blocks_made == made;) {
		must(n < MORE);
		more[n++] = get();
	}
	while (lull__hazptr_block->free) {
		must(n < MORE);
		more[n++] = get();
	}
	for (int i = 0; i < n; i++) {
		must(!is_in_use(more[i]));
		must(!is_among(more, i, more[i]));
	}
	/* Contexts that were put come back before memory is taken. */
	put_all(of_main, MAINS);
	must(!is_kept(&first) && is_kept(&second));
	put_all(of_stepper, stepper_has);
	must(!is_kept(&second));
	made = blocks_made;
	for (int i = 0; i < MAINS; i++)
		of_main[i] = get();
	for (int i = 0; i < stepper_has; i++)
		of_stepper[i] = get();
	must(blocks_made == made);
	while (given_back && blocks_made == made) {
		must(n < MORE);
		more[n++] = get();
	}
	must(!given_back || is_among(more, n, given_back));
	put_all(of_main, MAINS);
	put_all(of_stepper, stepper_has);
	put_all(more, n);
}

/* Contexts that this thread has at hand go to no other one. */
static struct lull_hazptr *of_other[5 * BLOCK];

static void *gets_many(void *unused)
{
	for (int i = 0; i < 5 * BLOCK; i++)
		of_other[i] = get();
	return unused;
}

static void shares_with_threads(void)
{
	struct lull_hazptr *more[2 * BLOCK];
	pthread_t other;

	more[0] = get();
	lull_hazptr_pool_put(more[0]);
	must(pthread_create(&other, NULL, gets_many, NULL) == 0 && pthread_join(other, NULL) == 0);
	must(lull__hazptr_block->owned);
	for (int i = 0; i < 2 * BLOCK; i++) {
		more[i] = get();
		must(!is_among(of_other, 5 * BLOCK, more[i]));
	}
	put_all(more, 2 * BLOCK);
	put_all(of_other, 5 * BLOCK);
}

static void keeps_few_blocks(void)
{
	struct lull_hazptr *more[MORE];
	int made;

	for (int round = 0; round < 2; round++) {
		made = blocks_made;
		for (int i = 0; i < MORE; i++)
			more[i] = get();
		put_all(more, MORE);
	}
	must(blocks_made - made >= MORE / BLOCK / 2 && blocks_made - made <= MORE / BLOCK - SPARE);
}

static void look(void)
{
	shares_with_threads();
	protects_each_once();
	keeps_few_blocks();
	EXPECT_FINE {
		alarm(60);
		keeps_few_blocks();
	}
}

static void *puts_one(void *h)
{
	lull_hazptr_pool_put((struct lull_hazptr *)h);
	return NULL;
}

static void *gets_two(void *unused)
{
	foreign = get();
	beside = get();
	foreign->addr = (uintptr_t)&foreign; /* until it is put */
	return unused;
}

static void gets_some(void)
{
	struct thing *thing = &second;

	join_thread(start_thread(gets_two, NULL));
	given_back = NULL;
	stepper_has = 0;
	got = NULL;
	do {
		of_stepper[stepper_has] = get();
		lull_hazptr_protect(of_stepper[stepper_has++], thing, rcu);
	} while (lull__hazptr_block->free);
}

static void gets_some_and_one_is_put(void)
{
	gets_some();
	given_back = of_stepper[--stepper_has];
	join_thread(start_thread(puts_one, given_back));
}

/* In a child, look at the pool; in the parent, put all. */
static void looks_or_puts(void)
{
	if (in_child || is_forked_child) {
		look();
		return;
	}
	if (got)
		lull_hazptr_pool_put(got);
	if (stepped->call != puts_foreign)
		puts_foreign();
	lull_hazptr_pool_put(beside);
	put_all(of_stepper, stepper_has);
}

TEST(fork_at_steps)
{
	static const struct call calls[] = {
		{ gets_some, gets, looks_or_puts, look, NULL },
		{ gets_some_and_one_is_put, puts_foreign, looks_or_puts, look, NULL },
	};
	struct thing *thing = &first;

	if (under_valgrind())
		SKIP("valgrind steps in its own way");
	for (int i = 0; i < MAINS; i++) {
		of_main[i] = get();
		lull_hazptr_protect(of_main[i], thing, rcu);
	}
	fork_at_steps(&calls[0]);
	fork_at_steps(&calls[1]);
	put_all(of_main, MAINS);
}
#else
TEST(fork_at_steps)
{
	SKIP("no single steps here");
}
#endif

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
