/* SPDX-License-Identifier: MIT */
/*
 * macros.cc - each macro of the C headers, where it expands in a program of C++ that asks for many warnings.
 *
 * tests/cxx/all-macros says which ones are missing here. LULL_HASH_INTEGER is for C alone.
 */
#include <lull/lull.h>

#include <lull/stats.h>

struct object {
	int number;
	lull_list_head links;
	lull_hlist_node bucket;
	lull_hlist_nulls_node slab;
	lull_hash_node node;
	lull_rcu_head head;
	lull_refcount count;
	lull_percpu_ref many;
};

object *shared, *volatile moving;
const object *constant;
lull_mutex lock = LULL_MUTEX_INIT;
lull_mutex_robust robust = LULL_MUTEX_ROBUST_INIT;
lull_cond changed = LULL_COND_INIT;
lull_cohort cohort = LULL_COHORT_INIT;
lull_refcount one = LULL_REFCOUNT_INIT(1);
LULL_LIST_HEAD(list);
lull_list_head other = LULL_LIST_HEAD_INIT(other);
lull_hlist_head chain = LULL_HLIST_HEAD_INIT;
lull_hlist_nulls_head nulls;

extern "C" {
LULL_API int exported(void) LULL_NOEXCEPT;
LULL_INLINE int in_line(void)
{
	return 1;
}
}
LULL_BEGIN_DECLS
int declared(void);
LULL_END_DECLS

unsigned long constants(void);
int atomics(unsigned *word, object **place);
int lists(object *pos, object *next);
int hlists(object *pos);
int many_readers(lull_percpu_rwsem *sem);
int hashes(lull_hash *table, object *pos);
int readers(lull_hazptr_context *context, object *now);
int handed_over(void);

static bool match(const lull_hash_node *node, const void *key) LULL_NOEXCEPT
{
	return lull_hash_entry(node, const object, node)->number == *static_cast<const int *>(key);
}

unsigned long constants(void)
{
	const char *names[] = { LULL_STATS_NAME, LULL_MUTEX_TABLE, LULL_MUTEX_TABLE_DIR };
	lull_hash_config config = lull_hash_config();

	config.flags = LULL_HASH_FIXED | LULL_HASH_SHRINK;
	return LULL_STATS_MAGIC + LULL_STATS_VERSION + LULL_STATS_BUCKETS + LULL_STATS_WAITS + LULL_MUTEX_SHARED +
	       LULL_MUTEX_PATIENCE_MS + LULL_MUTEX_BYPASS + LULL_HAZPTR_SLOTS + LULL_VERSION_MAJOR + LULL_VERSION_MINOR + LULL_VERSION_PATCH +
	       (LULL_REFCOUNT_SATURATED < 0) + (LULL_LIST_POISON != nullptr) + (LULL_HLIST_POISON_NEXT != nullptr) +
	       (LULL_HLIST_POISON_PPREV != nullptr) + (LULL_HLIST_NULLS_POISON != nullptr) + sizeof(names) + config.flags;
}

int atomics(unsigned *word, object **place)
{
	unsigned was = 0;
	object *null = nullptr;

	lull_store_relaxed(word, 1u);
	lull_store_release(place, null);
	was += lull_load_relaxed(word) + lull_load_acquire(word);
	was += lull_xchg_relaxed(word, 1u) + lull_xchg_acquire(word, 1u) + lull_xchg_release(word, 1u);
	was += lull_add_relaxed(word, 1u) + lull_add_acquire(word, 1u) + lull_add_release(word, 1u) + lull_add_acq_rel(word, 1u);
	was += lull_sub_relaxed(word, 1u) + lull_sub_release(word, 1u) + lull_or_relaxed(word, 1u) + lull_or_release(word, 1u);
	was += lull_and_relaxed(word, 1u);
	lull_compiler_barrier();
	if (lull_unlikely(lull_cas_relaxed(word, &was, 1u) || lull_cas_acquire(word, &was, 1u)))
		return 1;
	if (lull_likely(lull_cas_release(word, &was, 1u) || lull_cas_acq_rel(word, &was, 1u)))
		return 2;
	return lull_xchg_acq_rel(place, null) == nullptr;
}

int lists(object *pos, object *next)
{
	lull_list_head *node;
	const object *only_read;
	int sum = 0;

	LULL_MUTEX_GUARD(&lock);
	sum += lull_list_entry(&pos->links, object, links)->number + lull_list_entry_is_head(pos, &list, links);
	sum += lull_list_first_entry(&list, object, links)->number + lull_list_last_entry(&list, object, links)->number;
	sum += lull_list_next_entry(pos, links)->number + lull_list_prev_entry(pos, links)->number;
	sum += lull_list_next_entry_rcu(pos, links)->number + lull_list_prev_entry_rcu(pos, links)->number;
	sum += lull_list_first_or_null_rcu(&list, object, links) == nullptr;
	sum += lull_list_next_or_null_rcu(&list, &pos->links, const object, links) == nullptr;
	sum += lull_container_of(&pos->head, object, head)->number;
	lull_list_for_each_entry(pos, &list, links)
		sum++;
	lull_list_for_each_entry_reverse(pos, &list, links)
		sum++;
	lull_list_for_each_entry_safe(pos, next, &list, links)
		lull_list_del(&pos->links);
	lull_list_for_each_rcu(node, &list)
		sum++;
	lull_list_for_each_entry_rcu(only_read, &list, links)
		sum += only_read->number;
	lull_list_for_each_entry_continue_rcu(pos, &list, links)
		sum++;
	lull_list_for_each_entry_from_rcu(pos, &list, links)
		sum++;
	lull_list_for_each_entry_reverse_rcu(pos, &list, links)
		sum++;
	WRONG("different|no match|incompatible|cannot convert|no viable", sum += lull_list_entry(&pos->links, object, bucket)->number;)
	return sum;
}

int hlists(object *pos)
{
	lull_hlist_node *next;
	lull_hlist_nulls_node *node;
	int sum = 0;

	LULL_SHAZPTR_GUARD(&chain);
	sum += lull_hlist_entry(&pos->bucket, object, bucket)->number;
	sum += lull_hlist_entry_or_null(chain.first, object, bucket) == nullptr;
	sum += lull_hlist_next_entry_rcu(pos, bucket) == nullptr;
	sum += lull_hlist_nulls_entry(&pos->slab, object, slab)->number;
	lull_hlist_for_each_entry(pos, &chain, bucket)
		sum++;
	lull_hlist_for_each_entry_safe(pos, next, &chain, bucket)
		lull_hlist_del(&pos->bucket);
	lull_hlist_for_each_entry_rcu(pos, &chain, bucket)
		sum++;
	lull_hlist_for_each_entry_continue_rcu(pos, bucket)
		sum++;
	lull_hlist_for_each_entry_from_rcu(pos, bucket)
		sum++;
	lull_hlist_nulls_for_each_entry_rcu(pos, node, &nulls, slab)
		sum++;
	WRONG("different|no match|incompatible|cannot convert|no viable", sum += lull_hlist_entry(&pos->bucket, object, links)->number;)
	WRONG("different|no match|incompatible|cannot convert|no viable", sum += lull_hlist_nulls_entry(&pos->slab, object, links)->number;)
	return sum;
}

int many_readers(lull_percpu_rwsem *sem)
{
	{
		LULL_PERCPU_WRITE_GUARD(sem);
		shared = nullptr;
	}
	LULL_PERCPU_READ_GUARD(sem);
	return shared == nullptr;
}

int hashes(lull_hash *table, object *pos)
{
	lull_hash_iter iter;
	lull_hash_cursor cursor;
	lull_hash_node *node;
	const int key = 7;
	int sum = 0;

	LULL_RCU_GUARD();
	sum += lull_hash_entry(&pos->node, object, node)->number;
	sum += lull_hash_entry_or_null(&pos->node, object, node) == nullptr;
	sum += lull_hash_lookup_entry(table, 7, match, &key, object, node) == nullptr;
	lull_hash_for_each_match(node, &iter, table, 7, match, &key)
		sum++;
	lull_hash_for_each(node, &iter, table)
		sum++;
	lull_hash_for_each_entry(pos, &iter, table, node)
		sum++;
	lull_hash_cursor_begin(&cursor, table);
	sum += lull_hash_cursor_next_entry(&cursor, object, node) == nullptr;
	WRONG("different|no match|incompatible|cannot convert|no viable", sum += lull_hash_entry(&pos->node, object, links)->number;)
	return sum;
}

int readers(lull_hazptr_context *context, object *now)
{
	lull_hazptr *h = lull_hazptr_alloc(context);
	lull_hazptr_hold hold;
	int sum = 0;

	LULL_RCU_GUARD();
	sum += lull_rcu_dereference(shared)->number + lull_rcu_dereference_protected(shared)->number;
	sum += lull_rcu_dereference(constant)->number + (lull_rcu_access(shared) == nullptr);
	lull_rcu_assign(shared, now);
	sum += lull_rcu_replace(shared, now) == nullptr;
	lull_hazptr_publish(shared, now);
	sum += lull_hazptr_tryprotect(h, shared, head) == nullptr;
	sum += lull_hazptr_tryprotect_ptr(h, moving) == nullptr;
	sum += lull_hazptr_protect(h, shared, head) == nullptr;
	sum += lull_hazptr_protect_ptr(h, constant) == nullptr;
	sum += lull_hazptr_protect_ptr(h, moving) == nullptr;
	sum += lull_hazptr_fenced_tryprotect(h, shared, head) == nullptr;
	sum += lull_hazptr_fenced_tryprotect_ptr(h, shared) == nullptr;
	sum += lull_hazptr_fenced_protect(h, shared, head) == nullptr;
	sum += lull_hazptr_fenced_protect_ptr(h, shared) == nullptr;
	sum += lull_hazptr_acquire(&hold, &shared) == nullptr;
	sum += lull_hazptr_acquire_member(&hold, &shared, head) == nullptr;
	sum += lull_hazptr_protect_rcu(h, now, head) == nullptr;
	sum += lull_hazptr_protect_rcu_ptr(h, now) == nullptr;
	sum += lull_hazptr_acquire_rcu(&hold, now) == nullptr;
	sum += lull_hazptr_acquire_rcu_member(&hold, now, head) == nullptr;
	return sum;
}

int handed_over(void)
{
	int sum = 0;

	sum += lull_ref_handoff_rcu(&shared, count) == nullptr;
	sum += lull_ref_handoff_rcu_percpu(&shared, many) == nullptr;
	sum += lull_ref_handoff_hazptr(&shared, head, count) == nullptr;
	sum += lull_ref_handoff_hazptr_percpu(&shared, head, many) == nullptr;
	return sum;
}
