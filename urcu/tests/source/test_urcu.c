/* SPDX-License-Identifier: MIT */
/*
 * test_urcu.c - liburcu's plain names and its lists, as its programs use them; also compiled as C++.
 */
#include "reader.h"

#define _LGPL_SOURCE
#include <urcu.h>
#include <urcu/rcuhlist.h>
#include <urcu/rculist.h>

struct object {
	long value;
	struct rcu_head head;
	struct cds_list_head list;
	struct cds_hlist_node hash;
};

static struct object *published;
static int called;

static struct object *object_new(long value)
{
	struct object *p = (struct object *)calloc(1, sizeof(*p));

	assert_non_null(p);
	p->value = value;
	return p;
}

static void object_free(struct rcu_head *head)
{
	struct object *p = caa_container_of(head, struct object, head);

	lull_add_relaxed(&called, 1);
	free(p);
}

TEST(sections)
{
	rcu_init();
	rcu_register_thread();
	assert_false(rcu_read_ongoing());
	rcu_read_lock();
	rcu_read_lock();
	assert_true(rcu_read_ongoing());
	rcu_read_unlock();
	assert_true(rcu_read_ongoing());
	rcu_read_unlock();
	assert_false(rcu_read_ongoing());
	/* These do nothing in a flavor that nests. */
	rcu_quiescent_state();
	rcu_thread_offline();
	rcu_thread_offline();
	rcu_thread_online();
	rcu_unregister_thread();
	_rcu_read_lock();
	assert_true(_rcu_read_ongoing());
	_rcu_read_unlock();
	_rcu_quiescent_state();
	rcu_exit();
}

/* A section of 5001 locks protects at each depth, and ends with the last unlock. */
TEST(deep)
{
	uint64_t cookie = 0;

	for (int i = 0; i < 5001; i++)
		rcu_read_lock();
	cookie = lull_rcu_gp_start();
	for (int i = 0; i < 5000; i++) {
		if (i % 100 == 0)
			assert_false(lull_rcu_gp_poll(cookie));
		rcu_read_unlock();
	}
	assert_true(rcu_read_ongoing());
	assert_false(lull_rcu_gp_poll(cookie));
	rcu_read_unlock();
	assert_false(rcu_read_ongoing());
	lull_rcu_gp_wait(cookie);
}

TEST(pointers)
{
	struct object *first = object_new(1), *second = object_new(2);

	rcu_set_pointer(&published, (struct object *)NULL);
	assert_null(rcu_dereference(published));
	rcu_assign_pointer(published, first);
	assert_ptr_equal(rcu_dereference(published), first);
	assert_ptr_equal(rcu_xchg_pointer(&published, second), first);
	assert_ptr_equal(rcu_cmpxchg_pointer(&published, first, first), second);
	assert_ptr_equal(published, second);
	if (rcu_cmpxchg_pointer(&published, second, first) == second) /* an expression, in every form */
		assert_ptr_equal(published, first);
	assert_ptr_equal(_rcu_dereference(published), first);
	_rcu_assign_pointer(published, second);
	_rcu_set_pointer(&published, first);
	assert_ptr_equal(_rcu_xchg_pointer(&published, second), first);
	assert_ptr_equal(_rcu_cmpxchg_pointer(&published, second, first), second);
	assert_ptr_equal(urcu_bp_dereference(published), first);
	urcu_bp_set_pointer(&published, second);
	assert_ptr_equal(urcu_bp_xchg_pointer(&published, first), second);
	assert_ptr_equal(urcu_bp_cmpxchg_pointer(&published, first, second), first);
	assert_true(cmm_ptr_eq(first, first) && !cmm_ptr_eq(first, second));
	free(first);
	free(second);
}

static int returned;

static void *synchronizes(void *unused)
{
	synchronize_rcu();
	lull_store_release(&returned, 1);
	return unused;
}

TEST(synchronize)
{
	pthread_t reader = start_hold_up(), updater;

	returned = 0;
	updater = start_thread(synchronizes, NULL);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&returned), 0);
	end_hold_up(reader);
	join_thread(updater);
}

static void synchronize_inside(void)
{
	rcu_read_lock();
	synchronize_rcu();
}

/* liburcu's hangs for ever. */
TEST(synchronize_inside)
{
	expect_misuse(synchronize_inside, "synchronize_rcu in a read section would wait for itself for ever; *");
}

TEST(call)
{
	pthread_t reader = start_hold_up();

	called = 0;
	call_rcu(&object_new(1)->head, object_free);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&called), 0);
	end_hold_up(reader);
	rcu_barrier();
	assert_int_equal(called, 1);
	/* No thread of liburcu's kind has been asked for. */
	assert_null(get_thread_call_rcu_data());
	assert_null(get_cpu_call_rcu_data(0));
}

/* A callback that defers once more, down to zero. */
static int generations;
static struct rcu_head again_head;

static void again(struct rcu_head *head)
{
	if (--generations > 0)
		call_rcu(head, again);
}

TEST(barrier_generations)
{
	generations = 16;
	call_rcu(&again_head, again);
	rcu_barrier();
	assert_int_equal(generations, 0);
}

static void barrier_inside(void)
{
	rcu_read_lock();
	rcu_barrier();
	rcu_barrier();
	rcu_read_unlock();
}

/* One line, and it returns, as in liburcu. */
TEST(barrier_inside)
{
	char text[4096];
	int status = run_child(barrier_inside, text, sizeof(text));

	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_true(strncmp(text, "lull: rcu_barrier in a read section ", 36) == 0);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

/* ---- defer ---------------------------------------------------------------------------------------- */

static void count_deferred(void *p)
{
	lull_add_relaxed((int *)p, 1);
}

TEST(defer)
{
	pthread_t reader;

	assert_int_equal(rcu_defer_register_thread(), 0);
	called = 0;
	reader = start_hold_up();
	defer_rcu(count_deferred, &called);
	defer_rcu(count_deferred, &called);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&called), 0);
	end_hold_up(reader);
	rcu_defer_barrier_thread();
	assert_int_equal(called, 2);
	defer_rcu(count_deferred, &called);
	rcu_defer_barrier();
	assert_int_equal(called, 3);
	defer_rcu(count_deferred, &called);
	rcu_defer_unregister_thread();
	assert_int_equal(called, 4);
	rcu_defer_exit();
}

/* ---- polling -------------------------------------------------------------------------------------- */

TEST(poll)
{
	pthread_t reader = start_hold_up();
	struct urcu_gp_poll_state gp = start_poll_synchronize_rcu();

	assert_false(poll_state_synchronize_rcu(gp));
	nap_ms(20);
	assert_false(poll_state_synchronize_rcu(gp));
	end_hold_up(reader);
	AWAIT(poll_state_synchronize_rcu(gp));
	assert_true(poll_state_synchronize_rcu(gp));
}

/* ---- lists ---------------------------------------------------------------------------------------- */

static struct object items[5];

static void check_list(struct cds_list_head *head, const char *want)
{
	char forth[8] = "", rcu[8] = "", back[8] = "", nodes[8] = "";
	struct cds_list_head *at;
	struct object *p;
	size_t n = 0, end = strlen(want);

	cds_list_for_each_entry(p, head, list)
		forth[n++] = (char)('0' + p->value);
	n = 0;
	cds_list_for_each_entry_rcu(p, head, list)
		rcu[n++] = (char)('0' + p->value);
	n = 0;
	cds_list_for_each_entry_reverse(p, head, list) {
		assert_true(n < end);
		back[end - ++n] = (char)('0' + p->value);
	}
	n = 0;
	cds_list_for_each_rcu(at, head)
		nodes[n++] = (char)('0' + cds_list_entry(at, struct object, list)->value);
	assert_string_equal(forth, want);
	assert_string_equal(rcu, want);
	assert_string_equal(back, want);
	assert_string_equal(nodes, want);
	assert_int_equal(cds_list_empty(head), want[0] == '\0');
}

static void set_items(void)
{
	for (int i = 0; i < 5; i++)
		items[i].value = i;
}

static CDS_LIST_HEAD(defined);

TEST(list)
{
	struct cds_list_head two = CDS_LIST_HEAD_INIT(two), three, *at, *next;
	struct object *p, *q;
	int sum = 0;

	set_items();
	CDS_INIT_LIST_HEAD(&three);
	check_list(&defined, "");
	cds_list_add(&items[1].list, &defined);
	cds_list_add(&items[0].list, &defined);
	cds_list_add_tail(&items[2].list, &defined);
	check_list(&defined, "012");
	assert_ptr_equal(cds_list_first_entry(&defined, struct object, list), &items[0]);
	cds_list_del(&items[1].list);
	check_list(&defined, "02");
	cds_list_replace(&items[0].list, &items[3].list);
	check_list(&defined, "32");
	cds_list_move(&items[2].list, &defined);
	check_list(&defined, "23");
	cds_list_del_init(&items[2].list);
	assert_true(cds_list_empty(&items[2].list));
	cds_list_add(&items[4].list, &two);
	cds_list_add(&items[2].list, &two);
	cds_list_splice(&two, &defined);
	check_list(&defined, "243");
	cds_list_splice(&three, &defined);
	cds_list_replace_init(&defined, &three);
	check_list(&defined, "");
	check_list(&three, "243");
	cds_list_replace_init(&defined, &two);
	check_list(&two, "");
	cds_list_for_each_safe(at, next, &three)
		if (at == &items[4].list)
			cds_list_del(at);
	check_list(&three, "23");
	cds_list_for_each(at, &three)
		sum++;
	cds_list_for_each_prev(at, &three)
		sum++;
	cds_list_for_each_prev_safe(at, next, &three)
		sum++;
	assert_int_equal(sum, 6);
	p = &items[3];
	cds_list_for_each_entry_safe_from(p, q, &three, list)
		cds_list_del(&p->list);
	check_list(&three, "2");
	cds_list_for_each_entry_safe(p, q, &three, list)
		cds_list_del(&p->list);
	check_list(&three, "");
}

TEST(list_rcu)
{
	struct cds_list_head head = CDS_LIST_HEAD_INIT(head);

	set_items();
	cds_list_add_rcu(&items[1].list, &head);
	cds_list_add_rcu(&items[0].list, &head);
	cds_list_add_tail_rcu(&items[2].list, &head);
	check_list(&head, "012");
	cds_list_replace_rcu(&items[1].list, &items[3].list);
	check_list(&head, "032");
	assert_ptr_equal(items[1].list.next, &items[2].list);
	cds_list_del_rcu(&items[3].list);
	check_list(&head, "02");
	assert_ptr_equal(items[3].list.next, &items[2].list);
}

static void check_hlist(struct cds_hlist_head *head, const char *want)
{
	char text[8] = "";
	struct cds_hlist_node *at;
	struct object *p;
	size_t n = 0;

#define CHECK(loop)                                                                                \
	n = 0;                                                                                     \
	loop                                                                                       \
		text[n++] = (char)('0' + p->value);                                                \
	assert_int_equal(n, strlen(want));                                                         \
	assert_string_equal(text, want)
	memset(text, 0, sizeof(text));
	CHECK(cds_hlist_for_each_entry(p, at, head, hash));
	CHECK(cds_hlist_for_each_entry_2(p, head, hash));
	CHECK(cds_hlist_for_each_entry_rcu(p, at, head, hash));
	CHECK(cds_hlist_for_each_entry_rcu_2(p, head, hash));
	n = 0;
	cds_hlist_for_each_rcu(at, head)
		n++;
	cds_hlist_for_each(at, head)
		n++;
	assert_int_equal(n, 2 * strlen(want));
	assert_int_equal(cds_hlist_empty(head), want[0] == '\0');
}

TEST(hlist)
{
	struct cds_hlist_head head = CDS_HLIST_HEAD_INIT(head);
	struct cds_hlist_node *at, *next;
	struct object *p, *q;

	set_items();
	CDS_INIT_HLIST_HEAD(&head);
	check_hlist(&head, "");
	cds_hlist_add_head(&items[2].hash, &head);
	cds_hlist_add_head(&items[1].hash, &head);
	cds_hlist_add_head_rcu(&items[0].hash, &head);
	check_hlist(&head, "012");
	assert_ptr_equal(cds_hlist_entry_safe(head.next, struct object, hash), &items[0]);
	assert_null(cds_hlist_entry_safe(items[2].hash.next, struct object, hash));
	cds_hlist_del_rcu(&items[1].hash);
	check_hlist(&head, "02");
	assert_ptr_equal(items[1].hash.next, &items[2].hash);
	cds_hlist_del(&items[0].hash);
	check_hlist(&head, "2");
	cds_hlist_add_head(&items[3].hash, &head);
	cds_hlist_for_each_entry_safe(p, at, next, &head, hash)
		if (p == &items[3])
			cds_hlist_del(&p->hash);
	check_hlist(&head, "2");
	cds_hlist_add_head(&items[3].hash, &head);
	cds_hlist_for_each_entry_safe_2(p, q, &head, hash)
		cds_hlist_del(&p->hash);
	check_hlist(&head, "");
	cds_hlist_add_head_rcu(&items[4].hash, &head);
	cds_hlist_for_each_safe(at, next, &head)
		cds_hlist_del_rcu(at);
	check_hlist(&head, "");
}
