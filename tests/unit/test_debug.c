/* SPDX-License-Identifier: MIT */
/*
 * test_debug.c - debug.h: who holds up a grace period is named, again and again, at growing intervals.
 */
#include "support.h"

static int inside, leave;
static pid_t reader_tid;

static void *sleeps_inside(void *arg)
{
	reader_tid = gettid();
	pthread_setname_np(pthread_self(), "sleepy");
	if (arg)
		lull_rcu_online();
	else
		lull_rcu_read_lock();
	lull_rcu_read_lock();
	lull_store_release(&inside, 1);
	await_flag(&leave, 1);
	lull_rcu_read_unlock();
	if (arg)
		lull_rcu_offline();
	else
		lull_rcu_read_unlock();
	return NULL;
}

static int stalls;
static struct lull_stall last;
static char last_name[64];
static uint64_t ages[16];

static void note_stall(const struct lull_stall *stall, void *arg)
{
	assert_ptr_equal(arg, &stalls);
	last = *stall;
	snprintf(last_name, sizeof(last_name), "%s", stall->thread_name);
	if (stalls < 16)
		ages[stalls] = stall->age_ms;
	lull_add_release(&stalls, 1);
}

static void *waits(void *unused)
{
	lull_rcu_synchronize();
	return unused;
}

static void stall_with(void *online)
{
	pthread_t reader, waiter;

	inside = leave = stalls = 0;
	lull_debug_set_stall_hook(note_stall, &stalls);
	lull_debug_set_stall_ms(20);
	reader = start_thread(sleeps_inside, online);
	await_flag(&inside, 1);
	lull_rcu_free(malloc(1000));
	/* The waiter needs a newer grace period, which waits for the same reader: the same stall goes on. */
	while (lull_load_acquire(&stalls) < 1)
		nap_ms(1);
	waiter = start_thread(waits, NULL);
	while (lull_load_acquire(&stalls) < 3)
		nap_ms(1);
	lull_store_release(&leave, 1);
	join_thread(waiter);
	join_thread(reader);
	lull_debug_set_stall_hook(NULL, NULL);
	lull_debug_set_stall_ms(1000);
	assert_string_equal(last.kind, "rcu grace period");
	assert_string_equal(last_name, "sleepy");
	assert_int_equal(last.tid, reader_tid);
	assert_true(last.waiting_items >= 1);
	assert_true(last.waiting_bytes >= 1000);
	/* 20, 40, 80: each at least that old. */
	assert_true(ages[0] >= 20 && ages[1] >= 40 && ages[2] >= 80);
}

static void test_stall(void **state)
{
	(void)state;
	stall_with(NULL);
	assert_int_equal(last.depth, 2);
#ifdef LULL_DEBUG
	assert_non_null(last.site);
#endif
}

static void test_stall_online(void **state)
{
	(void)state;
	stall_with(&inside);
	assert_int_equal(last.depth, 1);
}

static char heard[512];

static void hear(const char *line)
{
	snprintf(heard, sizeof(heard), "%s", line);
	lull_add_release(&stalls, 1);
}

static void test_default_line(void **state)
{
	pthread_t reader, waiter;
	char tid[32];

	(void)state;
	inside = leave = stalls = 0;
	lull_debug_set_message_hook(hear);
	lull_debug_set_stall_ms(10);
	reader = start_thread(sleeps_inside, NULL);
	await_flag(&inside, 1);
	waiter = start_thread(waits, NULL);
	while (lull_load_acquire(&stalls) < 1)
		nap_ms(1);
	lull_store_release(&leave, 1);
	join_thread(waiter);
	join_thread(reader);
	lull_debug_set_message_hook(NULL);
	lull_debug_set_stall_ms(1000);
	snprintf(tid, sizeof(tid), "(tid %d)", (int)reader_tid);
	assert_non_null(strstr(heard, "rcu grace period has waited"));
	assert_non_null(strstr(heard, "thread \"sleepy\""));
	assert_non_null(strstr(heard, tid));
	assert_non_null(strstr(heard, "in a read section (depth 2)"));
}

static void test_version(void **state)
{
	char text[32];

	(void)state;
	snprintf(text, sizeof(text), "%d.%d.%d", LULL_VERSION_MAJOR, LULL_VERSION_MINOR, LULL_VERSION_PATCH);
	assert_string_equal(lull_version(), text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stall),
		cmocka_unit_test(test_stall_online),
		cmocka_unit_test(test_default_line),
		cmocka_unit_test(test_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
