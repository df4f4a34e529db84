/* SPDX-License-Identifier: MIT */
/*
 * hash_cursor.h - a walk over the table of hash.h in as many read sections as you like; it ends, however many
 * elements come.
 *
 * Take it to write a large table out, or to expire elements: wherever what others retire should not wait for the
 * whole walk.
 *
 *	struct lull_hash_cursor cursor;
 *	struct user *user;
 *
 *	lull_hash_cursor_begin(&cursor, &users);
 *	while (cursor.h) {		until the walk is over
 *		int n = 0;
 *
 *		lull_rcu_read_lock();
 *		while (n++ < 64 && (user = lull_hash_cursor_next_entry(&cursor, struct user, node)))
 *			...		use it, here only; or remove it
 *		lull_rcu_read_unlock();
 *	}
 *
 * A cursor is a place, not an element: a plain value that points to nothing but the table. So the section may end
 * between any two elements, also between two of one hash, and the cursor need not be told. Copy it, give it to
 * another thread, or forget it. Meanwhile elements may be inserted, removed, replaced and freed, and the table
 * resized any number of times.
 *
 * How it works. The walk meets elements in the order of their hashes *with the bits reversed*, and where these are
 * equal, of their addresses. The low bits of a hash choose its bucket; reversed, they are the high ones. So a bucket
 * has one stretch of this order, in a table of any size; with twice as many buckets it is half as long. A step goes
 * to the bucket in whose stretch the place lies, and takes the least element behind the place. Elements do not change
 * their places, so what the walk has met stays in front of it, wherever a resize moves it.
 *
 * Why a step misses no element that stays in the table. During a resize the elements of a stretch are in two tables.
 * The step walks the bucket of the old table to its end. Then it walks those buckets of the future table that have
 * parts of the stretch, one by one from their heads, as far as the least element that it has seen; and so on to the
 * last future. So for each hash that may be the least it makes all loads of a lookup that finds nothing, in their
 * order, and it sees what that lookup would see: all elements of that hash that stay (hash.h says why). On its way a
 * resize may lead it into chains of other stretches, whose elements it leaves out: there it may not see all. If it
 * sees an element in both tables, that is still one element at one place.
 *
 * Why it does not meet an element and then its replacement. A step may see the old one in one table, and the new one
 * in the next. So if it sees two elements of one hash, it looks again. Two that it sees both times were in the table
 * together.
 *
 * The cost. A step walks one chain and reverses the hash of each element there. So for a chain of n elements the walk
 * makes n * n hops, and twice as many if they share a hash. It takes no lock, no memory and no fence. Its order leads
 * all over the table, and if that is larger than the caches, each step waits for memory. A call passes all buckets that
 * are empty up to the next element: a table that has grown to 2^24 buckets and is empty again takes it a second, in one
 * section. While a resize shrinks a table, the step of each old bucket walks the whole new chain. Where one short section is enough and others insert little, hash.h's
 * lull_hash_for_each() is several times as fast.
 *
 * Sources: P. Noordhuis's dictScan() of Redis (2012), whose cursor is the reversed number of a bucket; O. Shalev, N.
 * Shavit, "Split-Ordered Lists" (2006), for the order.
 */
#ifndef LULL_HASH_CURSOR_H
#define LULL_HASH_CURSOR_H

#include <lull/hash.h>

LULL_BEGIN_DECLS

/* The place of a walk. The library fills it in. One thread at a time uses it. */
struct lull_hash_cursor {
	const struct lull_hash *h; /* NULL: the walk is over */
	uint64_t at;		   /* the least reversed hash that is left, ... */
	uintptr_t address;	   /* ... of which elements at higher addresses are left, ... */
	uintptr_t highest;	   /* ... up to this one */
};

/* Set @cursor to the beginning of @h. Keep the table until the walk is over, or forgotten. Any context. */
LULL_API void lull_hash_cursor_begin(struct lull_hash_cursor *cursor, const struct lull_hash *h);

/*
 * Return the next element, or NULL for good: none is left. In a read section, each time perhaps in another one (debug
 * builds check that there is one); signal handlers too. The element is valid until that section ends. The caller may
 * remove or replace it. Never waits, cannot fail.
 *
 * The walk meets every element that is in the table during the whole walk, exactly once. It meets none twice, unless
 * it was removed and inserted again.
 *
 * It meets an element that comes meanwhile only if the place of that one still lies ahead. So it ends: it goes
 * through the order once. If k elements come for each one that it meets, it meets about n (e^k - 1) / k in place of
 * n, if hashes are well mixed: 1.7 n for one, 6.4 n for three. Elements of one hash that come meanwhile at higher
 * addresses than all others of that hash do not keep it there. So if others insert much faster than you work, copy
 * first and work when the walk is over.
 *
 * If an element is replaced (lull_hash_replace()), the walk meets the old or the new one, never both and never none,
 * unless a third one has that hash, or the table is resized 16 times within one call. Where several share a hash, it
 * may meet both or none if it stands between them.
 */
LULL_API struct lull_hash_node *lull_hash_cursor_next(struct lull_hash_cursor *cursor);

/* Return the next element of @type, whose node is @member, or NULL. */
#define lull_hash_cursor_next_entry(cursor, type, member)                                          \
	lull_hash_entry_or_null(lull_hash_cursor_next(cursor), type, member)

/* Likewise, but after more than @buckets empty ones return NULL for now: only if cursor->h is NULL, too, the walk is over. */
LULL_API struct lull_hash_node *lull__hash_cursor_within(struct lull_hash_cursor *cursor, size_t buckets);

LULL_END_DECLS

#include <lull/detail/tsan_hash_cursor.h>

#endif /* LULL_HASH_CURSOR_H */
