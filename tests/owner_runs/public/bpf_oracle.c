/* SPDX-License-Identifier: MIT */
/*
 * bpf_oracle.c - src/owner_runs/bpf.c over a table and CPUs that this test plays: whether the table may be relied on,
 * and what it says of the calling thread. (inside/owner.c: of other threads.)
 */
#include "test.h"

#include <sched.h>

static int yields;

static int fake_yield(void);
#define sched_yield		fake_yield
#define lull__futex_wait	fake_sleep
#define lull__gettid		fake_tid
#define lull__rseq_cpu		fake_rseq_cpu
#define lull__bpf_running	fake_bpf_running
#define lull__owner_my_cpu	fake_my_cpu
#define lull__owner_cpu		fake_owner_cpu
#define lull__owner_set_seen	fake_set_seen
#define lull__oracle_rseq_runs	fake_rseq_runs
#define lull__now_ns		fake_now
#define lull__oracle_bpf	own_oracle_bpf
#include "../src/owner_runs/bpf.c"

#define CPUS 2
#define ME   77

/* The last one is behind its end. */
static uint64_t table[CPUS + 1];
static uint32_t my_cpu;
static bool has_cpu, has_table, was_seen;
static int sleeps, moves_after, mapped, locked_on;

static void move(void)
{
	if (--moves_after == 0)
		my_cpu = 0;
}

static int fake_yield(void)
{
	yields++;
	move();
	return 0;
}

void fake_sleep(uint32_t *word, uint32_t value, uint64_t deadline_ns)
{
	assert_int_equal(*word, value);
	assert_int_equal(deadline_ns, 1000 + SWITCH_NS);
	sleeps++;
	move();
}

uint64_t fake_now(void)
{
	return 1000;
}

uint32_t fake_tid(void)
{
	return ME;
}

const uint32_t *fake_rseq_cpu(void)
{
	return has_cpu ? &my_cpu : NULL;
}

const uint64_t *fake_bpf_running(unsigned *cpus)
{
	mapped++;
	*cpus = CPUS;
	return has_table ? table : NULL;
}

int fake_my_cpu(void)
{
	return locked_on;
}

int fake_owner_cpu(uint32_t tid, bool *seen)
{
	(void)tid;
	*seen = was_seen;
	return locked_on;
}

void fake_set_seen(bool seen)
{
	was_seen = seen;
}

enum lull__runs fake_rseq_runs(struct lull__sighting *sighting, uint32_t tid)
{
	(void)sighting;
	(void)tid;
	return LULL__RUNS_BELIEVED;
}

static void setup(void)
{
	running = NULL;
	running_cpus = 0;
	memset(table, 0, sizeof(table));
	table[0] = ME;
	my_cpu = 0;
	has_cpu = has_table = true;
	yields = sleeps = mapped = moves_after = 0;
	lull__self.tid = ME;
}

USE_SETUP(setup)

TEST(usable)
{
	assert_true(own_oracle_bpf.usable());
	assert_int_equal(yields + sleeps, 0);
	assert_true(own_oracle_bpf.usable());
	assert_int_equal(mapped, 1); /* and no more */
	setup();
	has_table = false;
	assert_false(own_oracle_bpf.usable());
	setup();
	has_cpu = false; /* which it is on is unknown */
	assert_false(own_oracle_bpf.usable());
	assert_int_equal(yields + sleeps, 0);
}

/* The kernel may have missed that it runs: it lets itself be switched, a hundred times and no more. */
TEST(switched)
{
	my_cpu = 1;
	moves_after = 35;
	assert_true(own_oracle_bpf.usable());
	assert_int_equal(yields, 32);
	assert_int_equal(sleeps, 3);
	setup();
	my_cpu = 1; /* where the table has no thread */
	assert_false(own_oracle_bpf.usable());
	assert_int_equal(yields, 90);
	assert_int_equal(sleeps, 10);
	setup();
	my_cpu = CPUS; /* of which the table knows nothing */
	table[CPUS] = ME;
	assert_false(own_oracle_bpf.usable());
}

/* Whether the table has the thread that has just got a lock, where it is. */
TEST(acquired)
{
	locked_on = 0;
	was_seen = true;
	own_oracle_bpf.acquired(); /* before there is a table */
	assert_false(was_seen);
	assert_true(own_oracle_bpf.usable());
	own_oracle_bpf.acquired();
	assert_true(was_seen);
	table[1] = ME + 1;
	table[CPUS] = ME;
	for (locked_on = -1; locked_on <= CPUS; locked_on++) {
		was_seen = true;
		own_oracle_bpf.acquired();
		assert_true(was_seen == (locked_on == 0));
	}
}

/* Its answer about an owner that it has seen; the other oracle is asked about others. */
TEST(runs)
{
	locked_on = 0;
	was_seen = true;
	assert_int_equal(own_oracle_bpf.runs(NULL, ME), LULL__RUNS_BELIEVED);
	assert_true(own_oracle_bpf.usable());
	assert_int_equal(own_oracle_bpf.runs(NULL, ME), LULL__RUNS_YES);
	assert_int_equal(own_oracle_bpf.runs(NULL, ME + 1), LULL__RUNS_NO);
	table[CPUS] = ME;
	for (locked_on = -1; locked_on <= CPUS; locked_on += CPUS + 1)
		assert_int_equal(own_oracle_bpf.runs(NULL, ME), LULL__RUNS_BELIEVED);
	locked_on = 0;
	was_seen = false;
	assert_int_equal(own_oracle_bpf.runs(NULL, ME), LULL__RUNS_BELIEVED);
}
