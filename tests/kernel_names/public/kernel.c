/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * kernel.c - the kernel's names for sections, pointers, grace periods, accesses and guards, as its code uses them.
 */
#include "reader.h"

#include <lull/compat/kernel.h>
#include <lull/mutex.h>

struct object {
	long value;
	struct rcu_head rcu;
	long more;
};

static struct object __rcu *published;
static int called;

static struct object *object_new(long value)
{
	struct object *p = malloc(sizeof(*p));

	assert_non_null(p);
	p->value = value;
	return p;
}

static void object_free(struct rcu_head *head)
{
	struct object *p = container_of(head, struct object, rcu);

	lull_add_relaxed(&called, 1);
	free(p);
}

TEST(sections)
{
	assert_false(rcu_read_lock_held());
	rcu_read_lock();
	rcu_read_lock();
	assert_true(rcu_read_lock_held());
	rcu_read_unlock();
	assert_true(rcu_read_lock_any_held());
	rcu_read_unlock();
	assert_false(rcu_read_lock_any_held());
}

/* Each way to fetch sees what each way to store has put there. */
TEST(pointers)
{
	struct object *first = object_new(1), *second = object_new(2);

	RCU_INIT_POINTER(published, NULL);
	assert_null(rcu_access_pointer(published));
	rcu_assign_pointer(published, first);
	rcu_read_lock();
	assert_ptr_equal(rcu_dereference(published), first);
	assert_ptr_equal(rcu_pointer_handoff(rcu_dereference(published)), first);
	assert_ptr_equal(rcu_dereference_check(published, 0), first);
	rcu_read_unlock();
	assert_ptr_equal(rcu_dereference_check(published, first != NULL), first);
	assert_ptr_equal(rcu_dereference_raw(published), first);
	assert_ptr_equal(rcu_dereference_protected(published, first != NULL), first);
	assert_ptr_equal(rcu_replace_pointer(published, second, first != NULL), first);
	assert_ptr_equal(unrcu_pointer(xchg(&published, NULL)), second);
	assert_null(rcu_access_pointer(published));
	free(first);
	free(second);
}

static void check_without(void)
{
	(void)rcu_dereference_check(published, false);
}

static void protected_without(void)
{
	(void)rcu_dereference_protected(published, false);
}

static void replace_without(void)
{
	(void)rcu_replace_pointer(published, NULL, false);
}

static void dereference_without(void)
{
	(void)rcu_dereference(published);
}

/* Conditions that lockdep checks in the kernel are checked by debug builds here; others do not evaluate them. */
TEST(conditions)
{
#ifdef LULL_DEBUG
	expect_misuse(check_without, "rcu_dereference_check: suspicious usage");
	expect_misuse(protected_without, "rcu_dereference_protected: suspicious usage");
	expect_misuse(replace_without, "rcu_replace_pointer: suspicious usage");
	expect_misuse(dereference_without, "lull_rcu_dereference: outside a read section");
#else
	expect_fine(check_without);
	expect_fine(protected_without);
	expect_fine(replace_without);
	expect_fine(dereference_without);
	{
		int evaluated = 0;

		(void)rcu_dereference_check(published, evaluated++);
		assert_int_equal(evaluated, 0);
	}
#endif
}

TEST(lockdep)
{
	static struct lull_mutex lull_lock;
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#ifdef LULL_DEBUG
	assert_false(lockdep_is_held(&lull_lock));
	assert_false(lockdep_is_held(&lock));
#endif
	lull_mutex_lock(&lull_lock);
	pthread_mutex_lock(&lock);
	assert_true(lockdep_is_held(&lull_lock));
	assert_true(lockdep_is_held(&lock));
	lull_mutex_unlock(&lull_lock);
	pthread_mutex_unlock(&lock);
}

static int returned;

static void cond_full(unsigned long cookie)
{
	struct rcu_gp_oldstate full = { cookie };

	cond_synchronize_rcu_full(&full);
}

static void synchronize_any(unsigned long cookie)
{
	(void)cookie;
	synchronize_rcu();
}

static void expedited_any(unsigned long cookie)
{
	(void)cookie;
	synchronize_rcu_expedited();
}

static unsigned long awaited;

static void *synchronizes(void *how)
{
	(*(void (**)(unsigned long))how)(awaited);
	lull_store_release(&returned, 1);
	return NULL;
}

/* Each way to wait waits. */
TEST(synchronize)
{
	void (*ways[])(unsigned long) = { synchronize_any, expedited_any, cond_synchronize_rcu, cond_full };

	for (int i = 0; i < 4; i++) {
		pthread_t reader = start_hold_up(), updater;

		returned = 0;
		awaited = get_state_synchronize_rcu();
		updater = start_thread(synchronizes, &ways[i]);
		nap_ms(20);
		assert_int_equal(lull_load_acquire(&returned), 0);
		end_hold_up(reader);
		join_thread(updater);
		assert_int_equal(returned, 1);
		assert_true(poll_state_synchronize_rcu(awaited));
	}
	EXPECT_MISUSE("*in a read section would wait for itself for ever*") {
		rcu_read_lock();
		synchronize_rcu();
	}
}

TEST(call)
{
	pthread_t reader = start_hold_up();

	called = 0;
	call_rcu(&object_new(1)->rcu, object_free);
	call_rcu_hurry(&object_new(2)->rcu, object_free);
	nap_ms(20);
	assert_int_equal(lull_load_acquire(&called), 0);
	end_hold_up(reader);
	rcu_barrier();
	assert_int_equal(called, 2);
}

/* All forms free, after a grace period: ASan and valgrind see to the rest. */
TEST(kfree)
{
	struct object *none = NULL;
	pthread_t reader = start_hold_up();
	size_t before = waiting();

	kfree_rcu(object_new(1), rcu);
	kfree_rcu(object_new(2));
	kvfree_rcu(object_new(3), rcu);
	kvfree_rcu(object_new(4));
	kfree_rcu_mightsleep(object_new(5));
	kvfree_rcu_mightsleep(object_new(6));
	kfree_rcu(none, rcu);
	assert_int_equal(waiting(), before + 6);
	end_hold_up(reader);
	rcu_barrier();
	assert_int_equal(waiting(), 0);
}

TEST(polled)
{
	unsigned long cookies[3];
	struct rcu_gp_oldstate full, done, again;
	pthread_t reader = start_hold_up();

	cookies[0] = get_state_synchronize_rcu();
	cookies[1] = start_poll_synchronize_rcu();
	cookies[2] = start_poll_synchronize_rcu_expedited();
	get_state_synchronize_rcu_full(&full);
	start_poll_synchronize_rcu_full(&again);
	start_poll_synchronize_rcu_expedited_full(&again);
	for (int i = 0; i < 3; i++)
		assert_false(poll_state_synchronize_rcu(cookies[i]));
	assert_false(poll_state_synchronize_rcu_full(&full));
	assert_true(poll_state_synchronize_rcu(get_completed_synchronize_rcu()));
	get_completed_synchronize_rcu_full(&done);
	assert_true(poll_state_synchronize_rcu_full(&done));
	assert_true(same_state_synchronize_rcu(cookies[0], cookies[0]));
	assert_false(same_state_synchronize_rcu(cookies[0], get_completed_synchronize_rcu()));
	assert_true(same_state_synchronize_rcu_full(&full, &full));
	assert_false(same_state_synchronize_rcu_full(&full, &done));
	end_hold_up(reader);
	cond_synchronize_rcu(cookies[0]);
	cond_synchronize_rcu_expedited(cookies[1]);
	for (int i = 0; i < 3; i++) {
		cond_synchronize_rcu(cookies[i]);
		assert_true(poll_state_synchronize_rcu(cookies[i]));
	}
	cond_synchronize_rcu_full(&full);
	cond_synchronize_rcu_expedited_full(&again);
	assert_true(poll_state_synchronize_rcu_full(&full));
	assert_true(poll_state_synchronize_rcu_full(&again));
}

/* A cookie of the own section is not over in that section, and waits for nothing when it is over. */
TEST(polled_inside)
{
	unsigned long cookie;

	rcu_read_lock();
	cookie = start_poll_synchronize_rcu();
	assert_false(poll_state_synchronize_rcu(cookie));
	cond_synchronize_rcu(get_completed_synchronize_rcu());
	rcu_read_unlock();
	cond_synchronize_rcu(cookie);
}

/* ---- accesses --------------------------------------------------------------------------------- */

TEST(access)
{
	int word = 1, barrier = 1; /* only the call has a meaning */
	long *at = NULL, where;

	WRITE_ONCE(word, 2);
	assert_int_equal(READ_ONCE(word), 2);
	smp_store_release(&at, &where);
	assert_ptr_equal(smp_load_acquire(&at), &where);
	smp_mb();
	smp_rmb();
	smp_wmb();
	smp_mb__before_atomic();
	smp_mb__after_atomic();
	barrier();
	assert_int_equal(barrier, 1);
	cpu_relax();
	assert_int_equal(xchg(&word, 3), 2);
	assert_int_equal(cmpxchg(&word, 2, 4), 3);
	assert_int_equal(word, 3);
	assert_int_equal(cmpxchg(&word, 3, 4), 3);
	assert_int_equal(word, 4);
	assert_true(likely(word == 4) && !unlikely(word == 5));
}

/*
 * Two threads store to a word of their own and then look at the other's: with full fences one of them sees the other. Many
 * words for each time that they meet, because to meet takes long on a busy machine.
 */
enum { ROUNDS = 20, WORDS = 20000 };
static struct {
	int word, saw; /* of one thread */
} dekker[2][WORDS];
static int round_ready, other_is_in, dekker_form;

static void dekker_side(int me)
{
	for (int i = 0; i < WORDS; i++) {
		switch (dekker_form) {
		case 0:
			WRITE_ONCE(dekker[me][i].word, 1);
			smp_mb();
			break;
		case 1:
			(void)xchg(&dekker[me][i].word, 1);
			break;
		default:
			(void)cmpxchg(&dekker[me][i].word, 0, 1);
		}
		dekker[me][i].saw = READ_ONCE(dekker[!me][i].word);
	}
}

static void *other_side(void *unused)
{
	for (int i = 1; i <= ROUNDS; i++) {
		AWAIT_SOON(lull_load_acquire(&round_ready) == 2 * i - 1);
		lull_store_release(&other_is_in, i); /* the two begin at one time */
		dekker_side(1);
		lull_add_release(&round_ready, 1);
	}
	return unused;
}

TEST(fences)
{
	for (dekker_form = 0; dekker_form < 3; dekker_form++) {
		pthread_t thread;

		round_ready = other_is_in = 0;
		thread = start_thread(other_side, NULL);
		for (int i = 1; i <= ROUNDS; i++) {
			memset(dekker, 0, sizeof(dekker));
			lull_add_release(&round_ready, 1);
			AWAIT_SOON(lull_load_acquire(&other_is_in) == i);
			dekker_side(0);
			AWAIT_SOON(lull_load_acquire(&round_ready) == 2 * i);
			for (int j = 0; j < WORDS; j++)
				assert_true(dekker[0][j].saw || dekker[1][j].saw);
		}
		join_thread(thread);
	}
}

/* ---- guards ------------------------------------------------------------------------------------ */

static int locked;

DEFINE_GUARD(counter, int *, (*_T)++, (*_T)--);
DEFINE_LOCK_GUARD_0(locked, locked++, locked--);

static long guarded_read(void)
{
	guard(rcu)();
	assert_true(rcu_read_lock_held());
	return rcu_dereference(published)->value;
}

TEST(guard)
{
	int count = 0, *none = NULL;

	rcu_assign_pointer(published, object_new(7));
	assert_int_equal(guarded_read(), 7);
	assert_false(rcu_read_lock_held());
	{
		guard(rcu)();
		guard(counter)(&count);
		guard(counter)(none);
		guard(locked)();
		assert_int_equal(count, 1);
		assert_int_equal(locked, 1);
	}
	assert_int_equal(count, 0);
	assert_int_equal(locked, 0);
	kfree_rcu(published, rcu);
	RCU_INIT_POINTER(published, NULL);
}

TEST(scoped_guard)
{
	int count = 0, times = 0;

	scoped_guard(rcu) {
		assert_true(rcu_read_lock_held());
		times++;
	}
	assert_false(rcu_read_lock_held());
	assert_int_equal(times, 1);
	scoped_guard(counter, &count)
		assert_int_equal(count, 1);
	assert_int_equal(count, 0);
	scoped_guard(rcu)
		break;
	assert_false(rcu_read_lock_held());
}

/* Both names are of one type, and of one list. */
TEST(types)
{
	struct rcu_head *head = NULL;
	struct lull_head *same = head;
	struct callback_head *too = same;
	rcu_callback_t func = object_free;
	lull_rcu_func also = func;

	assert_null(too);
	assert_non_null(also);
}
