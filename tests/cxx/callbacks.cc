/* SPDX-License-Identifier: MIT */
/*
 * callbacks.cc - no exception may leave a callback: lull is C, and would go on with its locks held.
 */
#include <cstdlib>

#include <lull/lull.h>

// wrong 1, from c++17: invalid (user-defined )?conversion|no matching function|cannot initialize
// wrong 2, from c++17: invalid (user-defined )?conversion|no matching function|cannot initialize
// wrong 3, from c++17: invalid (user-defined )?conversion|no matching function|cannot initialize
// wrong 4, from c++17: invalid (user-defined )?conversion|no matching function|cannot initialize
// wrong 5, from c++17: invalid (user-defined )?conversion|no matching function|cannot initialize
// wrong 6, from c++17: invalid (user-defined )?conversion|no matching function|cannot initialize
// wrong 7, from c++17: invalid (user-defined )?conversion|incompatible|assigning to|cannot convert
// wrong 8, from c++17: invalid (user-defined )?conversion|no matching function|cannot initialize
// wrong 9, from c++17: invalid (user-defined )?conversion|no matching function|cannot initialize
// wrong 10, from c++17: invalid (user-defined )?conversion|no matching function|cannot initialize

struct item {
	lull_hash_node node;
	lull_rcu_head rcu;
	lull_percpu_ref ref;
	int key;
};

lull_mutex lock;
lull_hash table;

#ifdef WRONG
#define NOEXCEPT(n) noexcept(WRONG != n)
#else
#define NOEXCEPT(n) noexcept
#endif

static inline bool match(const lull_hash_node *node, const void *key) NOEXCEPT(1)
{
	return lull_hash_entry(node, item, node)->key == *static_cast<const int *>(key);
}

static void gone(lull_hash_node *node, void *) NOEXCEPT(2)
{
	std::free(lull_hash_entry(node, item, node));
}

static void reclaim(lull_rcu_head *head) NOEXCEPT(3)
{
	std::free(lull_container_of(head, item, rcu));
}

static void retire(lull_head *head) NOEXCEPT(4)
{
	std::free(lull_container_of(head, item, rcu));
}

static void release(lull_percpu_ref *ref) NOEXCEPT(5)
{
	lull_rcu_free(static_cast<void *>(lull_container_of(ref, item, ref)));
}

static void stalled(const lull_stall *, void *) NOEXCEPT(6) {}
static void notify(void *) NOEXCEPT(7) {}
static void message(const char *) NOEXCEPT(8) {}

static bool is_mine(const void *) NOEXCEPT(9)
{
	return true;
}

int main()
{
	int key = 1;
	auto *a = static_cast<item *>(std::calloc(1, sizeof(item)));
	lull_reclaim_config config;

	lull_hash_init(&table, nullptr);
	(void)lull_hash_insert(&table, &a->node, lull_hash_mix64(1), match, &key);
	lull_rcu_read_lock();
	(void)lull_hash_lookup(&table, lull_hash_mix64(1), match, &key);
	lull_rcu_read_unlock();
	(void)lull_hash_remove(
		&table, lull_hash_mix64(1),
		[](const lull_hash_node *, const void *) NOEXCEPT(10) { return true; }, &key);
	lull_hash_destroy(&table, gone, nullptr);
	lull_rcu_call(&a->rcu, reclaim);
	lull_hazptr_call(&a->rcu, retire);
	(void)lull_percpu_ref_init(&a->ref, release, 0);
	lull_debug_set_stall_hook(stalled, nullptr);
	lull_debug_set_message_hook(message);
	lull_reclaim_default_config(&config);
	config.notify = notify;
	lull_check_guarded_by(&table, sizeof(table), is_mine, &lock);
	lull_check_guarded_by(&table, sizeof(table), lull_check_mutex_held, &lock);
	lull_check_guarded_by(&table, sizeof(table), lull_check_pthread_mutex_held, &lock);
	return 0;
}
