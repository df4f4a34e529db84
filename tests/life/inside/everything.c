/* SPDX-License-Identifier: MIT */
/* runs: full-fences, no-rseq */
/*
 * everything.c - life.c: one fork of a process in which each mechanism has something under way. The child computes each count
 * anew from what was put in, then brings all of it to its end; and so does the parent, after it.
 */
#include "life/full_threads.h"

/* ---- counts -------------------------------------------------------------------------------------------------- */

static size_t parked_in_queues(void)
{
	struct lull__bag *bag;
	size_t parked = 0;

	lull__for_each_bag(bag)
		for (int kind = 0; kind < LULL__KINDS; kind++)
			parked += bag->queue[kind].parked;
	return parked;
}

static void check_waiting(size_t items, size_t bytes)
{
	struct lull_reclaim_counts stats;

	lull_reclaim_stats(&stats);
	if (stats.items != items || stats.bytes != bytes)
		fprintf(stderr, "%zu in %zu wait, and not %zu in %zu\n", stats.items, stats.bytes, items, bytes);
	must(stats.items == items && stats.bytes == bytes);
}

/* What limits and sweeps go by, of all bags: none but the own one has an owner. */
static void check_bags(size_t items, size_t bytes)
{
	const struct lull__reclaimer *r = &lull__reclaimer;
	size_t retired = 0, bags = 0, listed = 0, noted = 0, noted_bytes = 0;
	struct lull__listing *at;
	struct lull__queue *q;
	struct lull__bag *bag;

	for (const struct object *o = objects; o < objects + many; o++)
		retired += o->kind->defer == by_retire;
	lull__for_each_bag(bag) {
		bags++;
		must((bag->state == BAG_ORPHAN) == (bag != lull__self.bag));
		for (int kind = 0; kind < LULL__KINDS; kind++) {
			noted += bag->queue[kind].in_backlog - bag->queue[kind].done;
			noted_bytes += bag->queue[kind].in_backlog_bytes - bag->queue[kind].done_bytes;
		}
	}
	lull__for_each_queue(at, q)
		listed += q != NULL;
	must(r->items == items && r->bytes == bytes && r->retired == retired);
	must(noted == items && noted_bytes == bytes);
	must(r->noted_items == items && r->noted_bytes == bytes);
	must(r->orphans == bags - 1 && r->listed == listed);
	must(r->kept_items == 0 && parked_in_queues() == 0);
	must(r->mark_awaited == 0 && r->drains == 0 && r->flushing == 0 && r->held_back == 0 && r->flush_done == r->flush_wanted);
	must(lull__registry_count == 1 && lull__registry_awake == 1);
	must(lull__self.tid == (uint32_t)getpid() && lull__self.hazptr.owner == lull__self.tid);
}

/* Each callback has run once, but for those of objects that are kept. */
static bool all_ran(bool (*kept)(const struct object *o))
{
	for (const struct object *o = objects; o < objects + many; o++)
		if (!o->kind->frees && lull_load_acquire(&o->ran) != (kept && kept(o) ? 0 : 1))
			return false;
	return true;
}

static size_t members_now(void)
{
	return (size_t)(lull_load_relaxed(&cohort.state) % (UINT64_C(1) << 40) / 2);
}

static struct lull__hazptr_block *block_of(const struct lull_hazptr *h)
{
	return (struct lull__hazptr_block *)((uintptr_t)h & ~(uintptr_t)(LULL__HAZPTR_BLOCK - 1));
}

/* The pool has all slots of a block but those that are in use, and no thread that is gone has a block. */
static void check_block(const struct lull__hazptr_block *block)
{
	unsigned used = 0;

	for (const struct object *o = objects; o < objects + many; o++)
		if (block_of(o->slot) == block)
			used |= 1u << (o->slot - block->ctx.slot);
	for (size_t i = 1; i < sizeof(spare) / sizeof(spare[0]); i += 2)
		if (block_of(spare[i]) == block)
			used |= 1u << (spare[i] - block->ctx.slot);
	must(((block->free | block->back) ^ used) == (1u << LULL_HAZPTR_SLOTS) - 1);
	must((block == lull__hazptr_block) == (block->owned != 0));
}

static void check_pool(void)
{
	for (size_t i = 1; i < sizeof(spare) / sizeof(spare[0]); i += 2)
		check_block(block_of(spare[i]));
	for (const struct object *o = objects; o < objects + many; o++)
		if (o->keeper == OWN_POOL || o->keeper == THEIR_POOL || o->keeper == ENDED_POOL)
			check_block(block_of(o->slot));
}

/* Before the child uses anything. */
static void check_counts_of_child(void)
{
	size_t items = owed_items + BATCH - 2, bytes = owed_bytes + (BATCH - 2) * BATCH_BYTES;
	const struct lull_stats_page *page = lull_stats_page();
	struct lull_reclaim_counts stats;

	check_waiting(items, bytes);
	lull_reclaim_stats(&stats);
	must(stats.peak_items == items && stats.peak_bytes == bytes && stats.total_items == items);
	must(stats.passes == 0 && stats.wakeups == 0);
	check_bags(items, bytes);
	check_pool();
	must(page->pid == (uint32_t)getpid());
	lull__backlog_publish(); /* as a barrier, pass or poll would */
	must(page->waiting_items == items && page->waiting_bytes == bytes);
	must(page->queued_items == items && page->queued_bytes == bytes && page->done_items == 0 && page->done_bytes == 0);
	must(page->peak_items == items && page->peak_bytes == bytes);
	must(page->threads == 1 && lull_thread_count() == 1);
	for (unsigned i = 0; i < LULL_STATS_WAITS; i++)
		must(page->waits[i].kind == LULL_WAIT_NONE);
	must(members_now() == members && !lull_cohort_is_empty(&cohort));
	must(lull_hash_count(&table) == HASHED && lull_hash_buckets(&table) == 64);
	must(domain_gone == 0 && lull__domain_open_sections(domain.data) == 0);
	must(domain.data->called - domain.data->returned == CALLED);
	must(lull_list_empty(&lull__shazptr.waiters));
}

/* ---- in both: bring it to its end ----------------------------------------------------------------------------- */

static void *finds_kept(void *addr)
{
	return lull_hazptr_synchronize_timeout(addr, 0) == -ETIMEDOUT ? addr : NULL;
}

static void *finds_kept_simple(void *addr)
{
	return lull_shazptr_synchronize_timeout(addr, 0) == -ETIMEDOUT ? addr : NULL;
}

/* As another thread sees it: who protects an object itself must not wait for it. */
static bool is_found(void *(*how)(void *), const void *addr)
{
	void *found;

	must(pthread_join(start_thread(how, (void *)(uintptr_t)addr), &found) == 0);
	return found != NULL;
}

static void use_table(void)
{
	struct lull_hash_iter iter;
	struct item *item;
	int marked = 0, freed = 0;

	lull_rcu_read_lock();
	lull_hash_for_each_entry(item, &iter, &table, node)
		item->mark = 1; /* amid a resize a walk may meet one twice */
	lull_rcu_read_unlock();
	lull_hash_finish_resize(&table);
	must(lull_hash_buckets(&table) == 128 && lull_hash_resize(&table, 32) == 0);
	for (int i = 0; i < HASHED; i++) {
		item = find(&table, i);
		must(item);
		marked += item->mark;
	}
	must(marked == HASHED && lull_hash_count(&table) == HASHED);
	remove_range(&table, 0, HASHED / 2);
	must(lull_hash_count(&table) == HASHED - HASHED / 2);
	lull_hash_destroy(&table, free_item, &freed);
	must(freed == HASHED - HASHED / 2);
}

static void use_refs(void)
{
	lull_percpu_ref_kill(&refs[0]);
	lull_rcu_barrier();
	for (int i = 0; i < REFS; i++) {
		int held = i ? references[i] : references[0] - 1;

		must(lull_percpu_ref_is_dying(&refs[i]) && !lull_percpu_ref_tryget_live(&refs[i]));
		must(lull_load_relaxed(&refs[i].count) == held && released == i);
		lull_percpu_ref_put_many(&refs[i], (unsigned)held);
		must(lull_percpu_ref_is_zero(&refs[i]) && released == i + 1);
		lull_percpu_ref_exit(&refs[i]);
	}
}

static void *writes(void *sem)
{
	lull_percpu_rwsem_write_lock((struct lull_percpu_rwsem *)sem);
	lull_percpu_rwsem_write_unlock((struct lull_percpu_rwsem *)sem);
	return NULL;
}

/* @held: so many readers are in. */
static void use_rwsem(int held)
{
	if (held > 0)
		must(!lull_percpu_rwsem_write_trylock(&read_by_two));
	for (; held > 0; held--)
		lull_percpu_rwsem_read_unlock(&read_by_two);
	must(!lull_percpu_rwsem_read_trylock(&own_written));
	lull_percpu_rwsem_write_unlock(&own_written);
	writes(&read_by_two);
	join_thread(start_thread(writes, &own_written));
	join_thread(start_thread(writes, &their_written));
	lull_percpu_rwsem_destroy(&read_by_two);
	lull_percpu_rwsem_destroy(&own_written);
	lull_percpu_rwsem_destroy(&their_written);
}

static void use_domain(void)
{
	int phase = lull_rcu_domain_read_lock(&domain);
	lull_rcu_cookie cookie = lull_rcu_domain_gp_start(&domain);

	for (int i = 0; i < 4; i++)
		must(!lull_rcu_domain_gp_poll(&domain, cookie));
	lull_rcu_domain_read_unlock(&domain, phase);
	lull_rcu_domain_synchronize(&domain);
	lull_rcu_domain_barrier(&domain);
	must(lull_load_acquire(&domain_gone) == CALLED);
	lull_rcu_domain_destroy(&domain);
}

static void use_pool(void)
{
	struct lull_hazptr *more[sizeof(spare) / sizeof(spare[0])];
	size_t count = sizeof(spare) / sizeof(spare[0]);

	for (size_t i = 0; i < count; i++) {
		must((more[i] = lull_hazptr_pool_get()) != NULL && !more[i]->addr);
		lull_hazptr_set(more[i], &table);
		for (size_t j = 1; j < count; j += 2)
			must(more[i] != spare[j]);
		for (const struct object *o = objects; o < objects + many; o++)
			must(more[i] != o->slot);
		for (size_t j = 0; j < i; j++)
			must(more[i] != more[j]);
	}
	for (size_t i = 0; i < count; i++)
		lull_hazptr_pool_put(more[i]);
	for (size_t i = 1; i < count; i += 2)
		lull_hazptr_pool_put(spare[i]);
}

/* What the forking thread keeps, and what no thread does. */
static void let_go_of_rest(void)
{
	for (int keeper = NOBODY + 1; keeper < THEIR_SLOT; keeper++)
		let_go((enum keeper)keeper);
	lull_hazptr_context_cleanup(context[HEAP_CONTEXT]);
	lull_hazptr_context_cleanup(context[STACK_CONTEXT]);
	free(context[HEAP_CONTEXT]);
}

static void drain_all(int of_batch)
{
	let_go_of_rest();
	must(lull_reclaim_drain(UINT64_MAX) == 0);
	must(all_ran(NULL));
	for (int i = 0; i < BATCH; i++)
		must(batch[i].ran == (i == 1 ? of_batch : 1));
	check_waiting(0, 0);
	must(members_now() == 0 && lull_cohort_is_empty(&cohort));
	lull_cohort_destroy(&cohort);
	must(lull_stats_page()->waiting_items == 0 && lull_stats_page()->waiting_bytes == 0);
}

/* ---- the child ------------------------------------------------------------------------------------------------ */

/* The section that it forked in is still open, and no other is. */
static void use_sections_in_child(void)
{
	lull_rcu_cookie cookie = lull_rcu_gp_start();

	must(!lull_rcu_gp_poll(cookie));
	lull_rcu_read_unlock();
	lull_rcu_gp_wait(cookie);
	lull_rcu_synchronize();
}

/* A call that comes alone starts the thread again, which the child does not have. */
static void call_in_child(void)
{
	static struct object more;

	lull_rcu_call(&more.c.head, ran);
	AWAIT(lull_load_acquire(&more.ran) == 1);
}

static void use_slots_in_child(void)
{
	for (const struct object *o = objects; o < objects + many; o++)
		if (o->keeper != NOBODY)
			must(is_found(finds_kept, name_of(o)) == child_keeps(o));
	must(is_found(finds_kept_simple, &own_simple) && !is_found(finds_kept_simple, &their_simple));
}

static void use_mutexes_in_child(void)
{
	lull_mutex_unlock(&own_lock);
	must(!lull_mutex_trylock(&their_lock));
	lull_mutex_init(&their_lock, 0);
	lull_mutex_lock(&their_lock);
	lull_mutex_unlock(&their_lock);
	lull_cond_init(&cond, 0);
	lull_mutex_lock(&cond_lock);
	must(lull_cond_timedwait(&cond, &cond_lock, now_ns() + 1000000) == -ETIMEDOUT);
	lull_mutex_unlock(&cond_lock);
	join_thread(start_thread(waits_for_lock, NULL));
}

static void in_child(void)
{
	alarm(60);
	lull_store_release(&child_may, 1);
	check_counts_of_child();
	use_sections_in_child();
	call_in_child();
	use_slots_in_child();
	must(lull_reclaim_start() == 0);
	lull_rcu_barrier();
	must(lull_hazptr_barrier_timeout(20) == -ETIMEDOUT);
	AWAIT(waiting() == kept_items); /* lull's own are done as well */
	must(all_ran(child_keeps));
	use_mutexes_in_child();
	lull_shazptr_clear(own_guard);
	lull_shazptr_synchronize(&own_simple);
	use_pool();
	lull_rcu_barrier(); /* as percpu_rwsem.h says */
	lull_percpu_rwsem_init(&their_written);
	use_rwsem(2);
	use_refs();
	use_domain();
	use_table();
	drain_all(0);
	must(woken == 1);
}

/* ---- the parent ----------------------------------------------------------------------------------------------- */

static void in_parent(void)
{
	assert_int_equal(members_now(), members);
	assert_int_equal(lull_hash_count(&table), HASHED);
	assert_int_equal(domain_gone + woken, 0);
	check_waiting(owed_items + BATCH, owed_bytes + BATCH * BATCH_BYTES); /* a batch counts until it ends */
	lull_rcu_read_unlock();
	lull_mutex_unlock(&own_lock);
	lull_shazptr_clear(own_guard);
	lull_mutex_lock(&cond_lock);
	lull_cond_signal(&cond);
	lull_mutex_unlock(&cond_lock);
	lull_store_release(&stage, STAGE_END);
	lull_store_release(&domain_may_start, 1);
	lull_store_release(&may_return, 1);
	for (int i = 0; i < OTHERS; i++)
		if (i != ENDED)
			join_thread(other[i]);
	lull_percpu_rwsem_read_unlock(&read_by_two);
	use_rwsem(0);
	use_pool();
	use_refs();
	use_domain();
	use_table();
	drain_all(1);
	join_threads(waiter, WAITERS);
	assert_int_equal(woken, WAITERS);
}

/* ---- the fork ------------------------------------------------------------------------------------------------- */

static void fill_with_kept(struct lull_hazptr_context *on_stack)
{
	lull_thread_register();
	make_objects();
	context[STACK_CONTEXT] = on_stack;
	context[HEAP_CONTEXT] = (struct lull_hazptr_context *)malloc(sizeof(*on_stack));
	lull_hazptr_context_init(on_stack);
	lull_hazptr_context_init(context[HEAP_CONTEXT]);
	lull_hazptr_context_detach(context[HEAP_CONTEXT]);
	for (int keeper = OWN_SLOT; keeper <= OWN_POOL; keeper++)
		keep((enum keeper)keeper);
	for (size_t i = 0; i < sizeof(spare) / sizeof(spare[0]); i++)
		must((spare[i] = lull_hazptr_pool_get()) != NULL);
	for (size_t i = 0; i < sizeof(spare) / sizeof(spare[0]); i += 2)
		lull_hazptr_pool_put(spare[i]);
	start_others();
	defer(BY_MAIN, true);
	AWAIT(lull_hazptr_barrier_timeout(20) == -ETIMEDOUT && parked_in_queues() > 0);
}

/* From here on no grace period ends, and no callback runs. */
static void fill_rest(void)
{
	lull_percpu_rwsem_write_lock(&own_written);
	start_batch();
	lull_store_release(&stage, STAGE_DEFER);
	await_flag(&arrived, OTHERS + 1);
	join_thread(other[ENDED]);
	kill_beside_readers();
	defer(BY_MAIN, false);
	for (int i = 0; i < PLAIN; i++)
		lull_rcu_free_sized(malloc(PLAIN_BYTES), PLAIN_BYTES);
	lull_percpu_rwsem_read_lock(&read_by_two);
	lull_mutex_lock(&own_lock);
	for (int i = 0; i < CALLED; i++)
		lull_rcu_domain_call(&domain, &domain_heads[i], counts_domain);
	await_flag(&domain_starting, 1);
	start_waiters();
}

TEST(everything)
{
	struct lull_hazptr_context on_stack;

	NEEDS_THREADS_IN_CHILD();
	have_a_past();
	make_refs_and_table();
	fill_with_kept(&on_stack);
	fill_rest();
	sum_up();
	own_guard = lull_shazptr_acquire(&own_simple);
	lull_rcu_read_lock();
	EXPECT_FINE {
		expect_fine(in_child); /* a child's child */
		in_child();
	}
	in_parent();
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
