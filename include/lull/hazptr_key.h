/* SPDX-License-Identifier: MIT */
/*
 * hazptr_key.h - call back when no slot names a key: an address that is not that of the head.
 *
 * lull_hazptr_call() of hazptr.h waits until no slot names the head that it is given, so readers must name the head. Take
 * this one where readers name something else: memory that has no room for a head, such as pages that were mapped, or the
 * place where a structure of another library begins. Then the head lies elsewhere:
 *
 *	struct map { struct lull_hazptr_key key; void *pages; size_t size; };
 *
 *	reader					updater
 *	p = lull_hazptr_protect_ptr(h, pages);	unlink map->pages
 *	... use *p ...				lull_hazptr_call_key(&map->key, map->pages, unmap);
 *	lull_hazptr_clear(h);			unmap(): munmap(), free(map)
 *
 * Readers name the key as they name an object: by the _ptr forms, by holds, or by lull_hazptr_set() if they compute it
 * from a pointer that has a mark in it or leads into the object.
 *
 * If an object has room for a head that readers can name, hazptr.h needs half the memory.
 *
 * Sources: Concurrency Kit's ck_hp_retire(), where the address and what is freed are two arguments as well; T. Harris,
 * "A Pragmatic Implementation of Non-Blocking Linked-Lists" (2001), for marked pointers.
 */
#ifndef LULL_HAZPTR_KEY_H
#define LULL_HAZPTR_KEY_H

#include <lull/hazptr.h>

LULL_BEGIN_DECLS

/* One callback that waits. The library fills it in. */
struct lull_hazptr_key {
	struct lull_head head;
	lull_rcu_func func;
	const void *key;
};

/*
 * Call @func(&@k->head) as lull_hazptr_call() does, but when no slot names @key any more. @key is compared, and not
 * followed, so any address will do; NULL is named by no slot. Contexts as for lull_hazptr_call().
 */
LULL_API void lull_hazptr_call_key(struct lull_hazptr_key *k, const void *key, lull_rcu_func func);

LULL_END_DECLS

#include <lull/detail/tsan_hazptr_key.h>

#endif /* LULL_HAZPTR_KEY_H */
