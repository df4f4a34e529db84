/* SPDX-License-Identifier: MIT */
/*
 * callbacks.cc - no exception may leave a callback: lull is C, and would go on with its locks held. What is right here says
 * noexcept, and what is wrong does not.
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

int main()
{
	int key = 1;
	auto *a = static_cast<item *>(std::calloc(1, sizeof(item)));
	auto match = [](const lull_hash_node *node, const void *wanted) noexcept {
		return lull_hash_entry(node, item, node)->key == *static_cast<const int *>(wanted);
	};
	auto finds = [](const lull_hash_node *, const void *) { return true; };
	auto gone = [](lull_hash_node *node, void *) noexcept { std::free(lull_hash_entry(node, item, node)); };
	lull_reclaim_config config;

	(void)finds;
	lull_hash_init(&table, nullptr);
	(void)lull_hash_insert(&table, &a->node, lull_hash_mix64(1), match, &key);
	WRONG("invalid (user-defined )?conversion|no matching function", (void)lull_hash_insert(&table, &a->node, 1, finds, &key);)
	lull_rcu_read_lock();
	(void)lull_hash_lookup(&table, lull_hash_mix64(1), match, &key);
	WRONG("invalid (user-defined )?conversion|no matching function", (void)lull_hash_lookup(&table, 1, finds, &key);)
	lull_rcu_read_unlock();
	(void)lull_hash_remove(&table, lull_hash_mix64(1), match, &key);
	WRONG("invalid (user-defined )?conversion|no matching function", (void)lull_hash_remove(&table, 1, finds, &key);)
	lull_hash_destroy(&table, gone, nullptr);
	WRONG("invalid (user-defined )?conversion|no matching function", lull_hash_destroy(&table, [](lull_hash_node *, void *) {}, nullptr);)
	lull_rcu_call(&a->rcu, [](lull_rcu_head *head) noexcept { std::free(lull_container_of(head, item, rcu)); });
	WRONG("invalid (user-defined )?conversion|no matching function", lull_rcu_call(&a->rcu, [](lull_rcu_head *) {});)
	lull_hazptr_call(&a->rcu, [](lull_head *) noexcept {});
	WRONG("invalid (user-defined )?conversion|no matching function", lull_hazptr_call(&a->rcu, [](lull_head *) {});)
	(void)lull_percpu_ref_init(&a->ref, [](lull_percpu_ref *) noexcept {}, 0);
	WRONG("invalid (user-defined )?conversion|no matching function", (void)lull_percpu_ref_init(&a->ref, [](lull_percpu_ref *) {}, 0);)
	lull_debug_set_stall_hook([](const lull_stall *, void *) noexcept {}, nullptr);
	WRONG("invalid (user-defined )?conversion|no matching function", lull_debug_set_stall_hook([](const lull_stall *, void *) {}, nullptr);)
	lull_debug_set_message_hook([](const char *) noexcept {});
	WRONG("invalid (user-defined )?conversion|no matching function", lull_debug_set_message_hook([](const char *) {});)
	lull_reclaim_default_config(&config);
	config.notify = [](void *) noexcept {};
	WRONG("invalid (user-defined )?conversion|cannot convert|incompatible|assigning to", config.notify = [](void *) {};)
	lull_check_guarded_by(&table, sizeof(table), [](const void *) noexcept { return true; }, &lock);
	WRONG("invalid (user-defined )?conversion|no matching function", lull_check_guarded_by(&table, 1, [](const void *) { return true; }, &lock);)
	lull_check_guarded_by(&table, sizeof(table), lull_check_mutex_held, &lock);
	lull_check_guarded_by(&table, sizeof(table), lull_check_pthread_mutex_held, &lock);
	return 0;
}
