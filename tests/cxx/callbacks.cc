/* SPDX-License-Identifier: MIT */
/*
 * callbacks.cc - no exception may leave a callback: lull is C, and would go on with its locks held.
 */
#include <cstdlib>

#include <lull/lull.h>

// from c++17

struct item {
	lull_hash_node node;
	lull_rcu_head rcu;
	lull_percpu_ref ref;
	int key;
};

lull_mutex lock;
lull_hash table;

static inline bool match(const lull_hash_node *node, const void *key) noexcept(true
	WRONG("invalid (user-defined )?conversion|no matching function|cannot initialize", && false))
{
	return lull_hash_entry(node, item, node)->key == *static_cast<const int *>(key);
}

static void gone(lull_hash_node *node, void *) noexcept(true
	WRONG("invalid (user-defined )?conversion|no matching function|cannot initialize", && false))
{
	std::free(lull_hash_entry(node, item, node));
}

static void reclaim(lull_rcu_head *head) noexcept(true
	WRONG("invalid (user-defined )?conversion|no matching function|cannot initialize", && false))
{
	std::free(lull_container_of(head, item, rcu));
}

static void retire(lull_head *head) noexcept(true
	WRONG("invalid (user-defined )?conversion|no matching function|cannot initialize", && false))
{
	std::free(lull_container_of(head, item, rcu));
}

static void release(lull_percpu_ref *ref) noexcept(true
	WRONG("invalid (user-defined )?conversion|no matching function|cannot initialize", && false))
{
	lull_rcu_free(static_cast<void *>(lull_container_of(ref, item, ref)));
}

static void stalled(const lull_stall *, void *) noexcept(true
	WRONG("invalid (user-defined )?conversion|no matching function|cannot initialize", && false)) {}
static void notify(void *) noexcept(true
	WRONG("invalid (user-defined )?conversion|incompatible|assigning to|cannot convert", && false)) {}
static void message(const char *) noexcept(true
	WRONG("invalid (user-defined )?conversion|no matching function|cannot initialize", && false)) {}

static bool is_mine(const void *) noexcept(true
	WRONG("invalid (user-defined )?conversion|no matching function|cannot initialize", && false))
{
	return true;
}

int main()
{
	int key = 1;
	auto *a = static_cast<item *>(std::calloc(1, sizeof(item)));
	auto any = [](const lull_hash_node *, const void *) noexcept(true
		WRONG("invalid (user-defined )?conversion|no matching function|cannot initialize", && false)) { return true; };
	lull_reclaim_config config;

	lull_hash_init(&table, nullptr);
	(void)lull_hash_insert(&table, &a->node, lull_hash_mix64(1), match, &key);
	lull_rcu_read_lock();
	(void)lull_hash_lookup(&table, lull_hash_mix64(1), match, &key);
	lull_rcu_read_unlock();
	(void)lull_hash_remove(&table, lull_hash_mix64(1), any, &key);
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
