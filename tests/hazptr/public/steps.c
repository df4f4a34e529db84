/* SPDX-License-Identifier: MIT */
/* runs: c++ */
/*
 * steps.c - hazptr.h, hazptr_fenced.h, shazptr.h: how many locked instructions and fences a reader makes, by
 * single steps. Nothing is promised about light fences that are real ones (LULL_FENCE=full).
 */
#include <signal.h>

#include "hazptr/fixture.h"
#include "steps.h"

#include <lull/hazptr_fenced.h>
#include <lull/shazptr.h>

#if CAN_STEP

static int steps, locked;

/* Is the instruction at @at locked, by a prefix or because it exchanges memory, or a full fence? */
static bool is_locked(const unsigned char *at)
{
	static const unsigned char prefixes[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3 };

	while (memchr(prefixes, *at, sizeof(prefixes)))
		at++;
	if (*at == 0xf0)
		return true;
	if ((*at & 0xf0) == 0x40) /* REX */
		at++;
	if (*at == 0x86 || *at == 0x87)
		return at[1] >> 6 != 3;
	return at[0] == 0x0f && at[1] == 0xae && at[2] == 0xf0;
}

static void trapped(int sig, siginfo_t *info, void *arg)
{
	(void)sig;
	(void)info;
	steps++;
	locked += is_locked((const unsigned char *)((ucontext_t *)arg)->uc_mcontext.gregs[REG_RIP]);
}

/* The first trap comes behind the instruction that follows the setting of the flag: the call. */
static int locked_in(void (*run)(void))
{
	void (*volatile call)(void) = run;

	steps = locked = 0;
	set_trap_flag(true);
	call();
	set_trap_flag(false);
	assert_in_range(steps, 2, 1000);
	return locked;
}

static struct lull_hazptr *slot;
static struct lull_hazptr_hold hold;
static struct lull_shazptr_guard guard;
static uint32_t word;

static void allocates_and_frees(void)
{
	lull_hazptr_free(lull_hazptr_thread_context(), lull_hazptr_alloc(lull_hazptr_thread_context()));
}

static void protects_and_clears(void)
{
	lull_hazptr_protect(slot, variable, rcu);
	lull_hazptr_clear(slot);
	lull_hazptr_tryprotect_ptr(slot, variable);
	lull_hazptr_clear(slot);
}

static void acquires_and_releases(void)
{
	lull_hazptr_release(&hold, lull_hazptr_acquire(&hold, &variable));
}

static void protects_with_fence(void)
{
	lull_hazptr_fenced_protect(slot, variable, rcu);
}

static void tries_with_fence(void)
{
	lull_hazptr_fenced_tryprotect_ptr(slot, variable);
}

static void clears_without_fence(void)
{
	lull_hazptr_fenced_clear(slot);
}

static void acquires_name(void)
{
	guard = lull_shazptr_acquire(&first);
}

static void clears_name(void)
{
	lull_shazptr_clear(guard);
}

static void adds(void)
{
	lull_add_relaxed(&word, 1u);
}

static void exchanges(void)
{
	(void)lull_xchg_relaxed(&word, 1u);
}

static void fences(void)
{
	lull_fence_full();
}

TEST(locked_instructions)
{
	struct sigaction action;

	if (under_valgrind() || lull_fence_strategy() == LULL_FENCE_FULL)
		SKIP("valgrind steps in its own way; full fences are locked instructions");
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = trapped;
	action.sa_flags = SA_SIGINFO;
	assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
	slot = lull_hazptr_alloc(own());
	lull_hazptr_publish(variable, &first);
	acquires_name(); /* what it calls in a debug build is found now */
	clears_name();
	protects_and_clears();
	assert_int_equal(locked_in(adds), 1); /* it can count */
	assert_int_equal(locked_in(exchanges), 1);
	assert_int_equal(locked_in(fences), 1);

	assert_int_equal(locked_in(allocates_and_frees), 0);
	assert_int_equal(locked_in(protects_and_clears), 0);
	assert_int_equal(locked_in(acquires_and_releases), 0);
	assert_int_equal(locked_in(protects_with_fence), 1);
	assert_int_equal(locked_in(clears_without_fence), 0);
	assert_int_equal(locked_in(tries_with_fence), 1);
	assert_int_equal(locked_in(clears_without_fence), 0);
	assert_int_equal(locked_in(acquires_name), 1);
	assert_int_equal(locked_in(clears_name), 0);
	signal(SIGTRAP, SIG_DFL);
	lull_hazptr_free(own(), slot);
}
#else
TEST(locked_instructions)
{
	SKIP("no single steps here");
}
#endif
