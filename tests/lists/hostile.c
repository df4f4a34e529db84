/* SPDX-License-Identifier: MIT */
/* runs: full-fences, stress */
/*
 * hostile.c - readers walk lists, hlists and nulls lists while one thread changes them.
 *
 * Each element carries a checksum, which is spoilt before its memory is given back, so that a
 * reader that comes too early (before the contents) or too late (after the grace period) notices.
 * Some elements are never removed: every walk must meet them, once. The busted variants break one
 * rule each, and the same checks must find them.
 */
#include <fcntl.h>

#include "random.h"
#include "threads.h"

#include <lull/hlist.h>
#include <lull/list.h>
#include <lull/rcu.h>

#define READERS	  2
#define PERMANENT 8 /* elements per list that are never removed */
#define VOLATILE  24
#define ALL	  0xffu /* a bit for each permanent one */
#define ENDLESS	  1000000u

enum busted {
	BUSTED_NOTHING,
	BUSTED_NO_WAIT,	   /* reclaims at once, without a grace period */
	BUSTED_LINK_FIRST, /* links an element before it is filled in */
	BUSTED_SPLICE,	   /* splices without waiting for readers */
	BUSTED_NO_RESTART, /* takes any end of a nulls list for its own */
};

struct element {
	uint64_t serial, sum;
	int permanent; /* its bit, or -1 */
	struct lull_list_head link;
	struct lull_hlist_node hlink;
	struct lull_hlist_nulls_node nlink;
	uint32_t key, count; /* on nulls lists */
	struct lull_rcu_head rcu;
	struct element *grave;
};

struct slot {
	struct element *element; /* or NULL */
	int where;
};

/* The parts under stress. The updater is one thread; a read is one section. */
struct part {
	void (*setup)(void);
	void (*update)(uint64_t *rng);
	void (*read)(uint64_t *rng);
};

static uint64_t seed;
static enum busted busted;
static uint32_t stop;
static const char *failure; /* the first one */
static struct element *graves;
static struct element permanents[2 * PERMANENT];
static struct slot slots[VOLATILE];

static void report(const char *what)
{
	const char *none = NULL;

	(void)lull_cas_relaxed(&failure, &none, what);
}

/* Now and then let the others get ahead while we stand where we stand. */
static void linger(uint64_t *rng)
{
	unsigned i, n = dice(rng, 256);

	if (n < 4)
		sched_yield();
	else if (n < 16)
		for (i = 0; i < 8 * n; i++)
			lull_cpu_relax();
}

static uint64_t checksum(uint64_t serial)
{
	return (serial ^ 0x5bd1e995u) * 0x9e3779b97f4a7c15ull;
}

static void element_fill(struct element *el, uint64_t serial, int permanent)
{
	el->serial = serial;
	el->permanent = permanent;
	el->sum = checksum(serial);
}

static struct element *element_new(uint64_t *rng)
{
	struct element *el = (struct element *)calloc(1, sizeof(*el));

	if (!el)
		abort();
	if (busted != BUSTED_LINK_FIRST)
		element_fill(el, dice(rng, UINT32_MAX), -1);
	return el;
}

static void element_linked(struct element *el, uint64_t *rng)
{
	if (busted == BUSTED_LINK_FIRST) {
		sched_yield();
		element_fill(el, dice(rng, UINT32_MAX), -1);
	}
}

static void element_reclaim(struct lull_rcu_head *head)
{
	struct element *el = lull_container_of(head, struct element, rcu);

	el->sum = ~checksum(el->serial);
	if (busted == BUSTED_NO_WAIT) {
		/* Keep the memory, so that it is the checksum that tells and not a crash. */
		el->grave = graves;
		graves = el;
	} else {
		free(el);
	}
}

static void element_retire(struct element *el)
{
	static unsigned retired;

	if (busted == BUSTED_NO_WAIT)
		element_reclaim(&el->rcu);
	else
		lull_rcu_call(&el->rcu, element_reclaim);
	/* Bound the backlog: this thread makes garbage faster than it can be taken away. */
	if (++retired % 4096 == 0)
		lull_rcu_barrier();
}

/* One step of a walk: false when something is wrong. Lingers, and looks again. */
static bool element_ok(const struct element *el, unsigned *met, unsigned *steps, uint64_t *rng)
{
	uint64_t serial = el->serial;

	if (el->sum != checksum(serial)) {
		report("an element without its contents");
		return false;
	}
	linger(rng);
	if (el->serial != serial || el->sum != checksum(serial)) {
		report("an element that was reclaimed under its reader");
		return false;
	}
	if (el->permanent >= 0) {
		if (*met & 1u << el->permanent)
			report("a permanent element twice in one walk");
		*met |= 1u << el->permanent;
	}
	if (++*steps > ENDLESS)
		report("a walk without an end");
	return *steps <= ENDLESS;
}

static void slots_teardown(void)
{
	struct element *el;
	int i;

	lull_rcu_barrier();
	for (i = 0; i < VOLATILE; i++) {
		free(slots[i].element);
		slots[i].element = NULL;
	}
	while ((el = graves)) {
		graves = el->grave;
		free(el);
	}
}

/*
 * LISTS lists. MAIN has permanent elements; SIDE is spliced into it; BOTH_WAYS has
 * permanent elements and is walked backwards too.
 */
enum { MAIN, SIDE, BOTH_WAYS, LISTS };

/*
 * Heads have the shape of elements without a checksum: a reader that is led to a head not its own
 * takes it for an element, reads memory that exists, and notices.
 */
static struct element heads[LISTS];

static void list_setup(void)
{
	int i;

	for (i = 0; i < LISTS; i++) {
		lull_list_init(&heads[i].link);
		heads[i].sum = ~checksum(heads[i].serial);
	}
	for (i = 0; i < 2 * PERMANENT; i++) {
		element_fill(&permanents[i], (uint64_t)i, i % PERMANENT);
		lull_list_add_tail(&permanents[i].link,
				   &heads[i < PERMANENT ? MAIN : BOTH_WAYS].link);
	}
}

static void list_insert(struct slot *slot, uint64_t *rng)
{
	struct lull_list_head *node = &slot->element->link, *at;

	slot->where = (int)dice(rng, LISTS);
	at = &heads[slot->where].link;
	if (slot->where != SIDE && dice(rng, 2))
		at = &permanents[(slot->where == MAIN ? 0 : PERMANENT) + dice(rng, PERMANENT)].link;
	if (dice(rng, 2))
		lull_list_add_rcu(node, at);
	else
		lull_list_add_tail_rcu(node, at);
}

static void list_remove(struct slot *slot, uint64_t *rng)
{
	(void)rng;
	if (slot->where == BOTH_WAYS)
		lull_list_bidir_del_rcu(&slot->element->link);
	else
		lull_list_del_rcu(&slot->element->link);
}

static void list_replace(struct slot *slot, struct element *old)
{
	if (slot->where == BOTH_WAYS)
		lull_list_bidir_replace_rcu(&old->link, &slot->element->link);
	else
		lull_list_replace_rcu(&old->link, &slot->element->link);
}

static void no_sync(void)
{
}

static void list_splice(uint64_t *rng)
{
	void (*sync)(void) = busted == BUSTED_SPLICE ? no_sync : lull_rcu_synchronize;
	int i;

	if (dice(rng, 2))
		lull_list_splice_init_rcu(&heads[SIDE].link, &heads[MAIN].link, sync);
	else
		lull_list_splice_tail_init_rcu(&heads[SIDE].link, &heads[MAIN].link, sync);
	for (i = 0; i < VOLATILE; i++)
		if (slots[i].where == SIDE)
			slots[i].where = MAIN;
}

/* The verbs of a list whose elements come, go, move and are replaced. */
struct verbs {
	void (*insert)(struct slot *slot, uint64_t *rng);
	void (*remove)(struct slot *slot, uint64_t *rng);
	void (*replace)(struct slot *slot, struct element *old); /* by the slot's */
	void (*all)(uint64_t *rng);				 /* something with all of it, now and then */
};

static void update(const struct verbs *verbs, uint64_t *rng)
{
	struct slot *slot = &slots[dice(rng, VOLATILE)];
	struct element *old = slot->element;
	unsigned what = dice(rng, 64);

	if (what == 0) {
		verbs->all(rng);
	} else if (!old) {
		slot->element = element_new(rng);
		verbs->insert(slot, rng);
		element_linked(slot->element, rng);
	} else if (what == 1) {
		/* A move: no reader may stand on it when it comes to another place. */
		verbs->remove(slot, rng);
		lull_rcu_synchronize();
		verbs->insert(slot, rng);
	} else if (what < 32) {
		slot->element = element_new(rng);
		verbs->replace(slot, old);
		element_linked(slot->element, rng);
		element_retire(old);
	} else {
		verbs->remove(slot, rng);
		element_retire(old);
		slot->element = NULL;
	}
}

static void list_update(uint64_t *rng)
{
	static const struct verbs verbs = { list_insert, list_remove, list_replace, list_splice };

	update(&verbs, rng);
}

#define CHECK(el)                                                                                   \
	if (!element_ok(el, met, &steps, rng))                                                     \
	return false

/* One walk in one of four manners; what it met goes to @met. */
static bool list_walk(const struct lull_list_head *head, unsigned manner, unsigned *met, uint64_t *rng)
{
	const struct lull_list_head *node;
	const struct element *el;
	unsigned steps = 0;

	if (manner == 0) {
		lull_list_for_each_entry_reverse_rcu(el, head, link)
			CHECK(el);
	} else if (manner == 1) {
		for (el = lull_list_first_or_null_rcu(head, struct element, link); el;
		     el = lull_list_next_or_null_rcu(head, &el->link, struct element, link))
			CHECK(el);
	} else if (manner == 2) {
		lull_list_for_each_rcu(node, head)
			CHECK(lull_list_entry(node, const struct element, link));
	} else {
		lull_list_for_each_entry_rcu(el, head, link) {
			CHECK(el);
			if (steps == 3)
				break;
		}
		if (steps < 3)
			return true;
		lull_list_for_each_entry_continue_rcu(el, head, link)
			CHECK(el);
	}
	return true;
}

static void list_read(uint64_t *rng)
{
	unsigned met = 0, which = (unsigned)dice(rng, LISTS);
	unsigned manner = which == BOTH_WAYS ? (unsigned)dice(rng, 4) : 1 + (unsigned)dice(rng, 3);

	lull_rcu_read_lock();
	if (list_walk(&heads[which].link, manner, &met, rng) && which != SIDE && met != ALL)
		report("a permanent element was missed");
	lull_rcu_read_unlock();
}

static const struct part list_part = { list_setup, list_update, list_read };

/* Hlists: two, each with permanent elements, which trade places now and then. */
static struct lull_hlist_head chains[2];

static void hlist_setup(void)
{
	int i;

	for (i = 0; i < 2; i++)
		lull_hlist_init(&chains[i]);
	for (i = 0; i < 2 * PERMANENT; i++) {
		element_fill(&permanents[i], (uint64_t)i, i);
		lull_hlist_add_head(&permanents[i].hlink, &chains[i / PERMANENT]);
	}
}

static void hlist_insert(struct slot *slot, uint64_t *rng)
{
	struct lull_hlist_node *node = &slot->element->hlink;
	struct lull_hlist_node *at = &permanents[dice(rng, 2 * PERMANENT)].hlink;
	struct lull_hlist_head *chain = &chains[dice(rng, 2)];

	switch (dice(rng, 4)) {
	case 0:
		lull_hlist_add_head_rcu(node, chain);
		break;
	case 1:
		lull_hlist_add_tail_rcu(node, chain);
		break;
	case 2:
		lull_hlist_add_before_rcu(node, at);
		break;
	default:
		lull_hlist_add_behind_rcu(node, at);
	}
}

static void hlist_remove(struct slot *slot, uint64_t *rng)
{
	if (dice(rng, 2)) {
		lull_hlist_del_rcu(&slot->element->hlink);
		return;
	}
	lull_hlist_del_init_rcu(&slot->element->hlink);
	if (!lull_hlist_unhashed(&slot->element->hlink))
		report("a deleted node that does not know it");
}

static void hlist_replace(struct slot *slot, struct element *old)
{
	lull_hlist_replace_rcu(&old->hlink, &slot->element->hlink);
}

static void hlist_swap(uint64_t *rng)
{
	(void)rng;
	lull_hlist_swap_heads_rcu(&chains[0], &chains[1]);
}

static void hlist_update(uint64_t *rng)
{
	static const struct verbs verbs = { hlist_insert, hlist_remove, hlist_replace, hlist_swap };

	update(&verbs, rng);
}

static bool hlist_walk(const struct lull_hlist_head *head, unsigned *met, uint64_t *rng)
{
	const struct element *el;
	unsigned steps = 0;

	lull_hlist_for_each_entry_rcu(el, head, hlink) {
		CHECK(el);
		if (steps == 3)
			break;
	}
	if (!el)
		return true;
	lull_hlist_for_each_entry_continue_rcu(el, hlink)
		CHECK(el);
	return true;
}

static void hlist_read(uint64_t *rng)
{
	unsigned met = 0;

	lull_rcu_read_lock();
	/* The heads may be exchanged at any time, but a walk sees one whole list. */
	if (hlist_walk(&chains[dice(rng, 2)], &met, rng) && met != ALL && met != ALL << PERMANENT)
		report("a permanent element was missed");
	lull_rcu_read_unlock();
}

static const struct part hlist_part = { hlist_setup, hlist_update, hlist_read };

/*
 * Nulls lists: a table by key, whose elements go from one list to another at once; now and then
 * one is taken away and a fresh one comes. Keys below PERMANENT are always there. A thread that holds a count keeps the
 * element where it is, under its key.
 */
#define BUCKETS 2

static struct lull_hlist_nulls_head table[BUCKETS];

static void nulls_publish(struct element *el, uint32_t key)
{
	lull_store_relaxed(&el->key, key);
	/* A release: a thread that takes a count sees its key. */
	lull_store_release(&el->count, 1u);
	lull_hlist_nulls_add_head_rcu(&el->nlink, &table[key % BUCKETS]);
}

/* An acquire, for the look at the key that follows. */
static bool nulls_get(struct element *el)
{
	uint32_t count = lull_load_relaxed(&el->count);

	while (count != 0)
		if (lull_cas_acquire(&el->count, &count, count + 1))
			return true;
	return false;
}

/* A release: the reader's looks come before the next user's changes. */
static void nulls_put(struct element *el)
{
	lull_add_release(&el->count, UINT32_MAX);
}

static void nulls_setup(void)
{
	uint64_t rng = 1;
	uint32_t i;

	for (i = 0; i < BUCKETS; i++)
		lull_hlist_nulls_init(&table[i], i);
	for (i = 0; i < PERMANENT; i++) {
		element_fill(&permanents[i], i, (int)i);
		nulls_publish(&permanents[i], i);
	}
	for (i = 0; i < VOLATILE; i++) {
		slots[i].element = element_new(&rng);
		nulls_publish(slots[i].element, PERMANENT + i);
	}
}

/* Put a fresh element in the place of @old, or elsewhere. */
static struct element *nulls_renew(struct element *old, uint32_t key, uint64_t *rng)
{
	struct element *el = element_new(rng);

	if (dice(rng, 2)) {
		el->key = old->key;
		el->count = 1;
		lull_hlist_nulls_replace_rcu(&old->nlink, &el->nlink);
	} else {
		lull_hlist_nulls_del_init_rcu(&old->nlink);
		nulls_publish(el, key);
	}
	element_retire(old);
	return el;
}

static void nulls_update(uint64_t *rng)
{
	struct slot *slot = &slots[dice(rng, VOLATILE)];
	uint32_t one = 1, key = PERMANENT + (uint32_t)dice(rng, VOLATILE);

	/* Readers hold it: another time. */
	if (!lull_cas_acquire(&slot->element->count, &one, 0u))
		return;
	if (dice(rng, 8) == 0) {
		slot->element = nulls_renew(slot->element, key, rng);
	} else {
		lull_hlist_nulls_del_rcu(&slot->element->nlink);
		nulls_publish(slot->element, key);
	}
	linger(rng);
}

static struct element *nulls_find(uint32_t key, uint64_t *rng)
{
	const struct lull_hlist_nulls_node *node;
	unsigned bucket = key % BUCKETS;
	struct element *el;

restart:
	lull_hlist_nulls_for_each_entry_rcu(el, node, &table[bucket], nlink) {
		if (el->sum != checksum(el->serial))
			report("an element without its contents");
		linger(rng);
		if (lull_load_relaxed(&el->key) != key || !nulls_get(el))
			continue;
		if (lull_load_relaxed(&el->key) == key)
			return el;
		nulls_put(el);
		goto restart;
	}
	if (lull_get_nulls_value(node) != bucket && busted != BUSTED_NO_RESTART)
		goto restart;
	return NULL;
}

static void nulls_read(uint64_t *rng)
{
	uint32_t key = (uint32_t)dice(rng, PERMANENT + VOLATILE);
	struct element *el;

	lull_rcu_read_lock();
	el = nulls_find(key, rng);
	if (el) {
		linger(rng);
		if (lull_load_relaxed(&el->key) != key)
			report("an element was reused while it was held");
		nulls_put(el);
	} else if (key < PERMANENT) {
		report("a permanent element was missed");
	}
	lull_rcu_read_unlock();
}

static const struct part nulls_part = { nulls_setup, nulls_update, nulls_read };

/* Running a part */

struct reader {
	pthread_t thread;
	const struct part *part;
	uint64_t rng, passes;
};

static void *reader_main(void *arg)
{
	struct reader *reader = (struct reader *)arg;

	while (!lull_load_relaxed(&stop)) {
		reader->part->read(&reader->rng);
		reader->passes++;
	}
	return NULL;
}

/* For so long, or until something is found; gives what. */
static const char *run_part(const struct part *part, unsigned duration_ms)
{
	struct reader readers[READERS];
	uint64_t rng = 2 * seed + 1, updates = 0, end_ns = now_ns() + duration_ms * UINT64_C(1000000);
	int i;

	failure = NULL;
	stop = 0;
	part->setup();
	for (i = 0; i < READERS; i++) {
		readers[i].part = part;
		readers[i].rng = rng + 2 * (uint64_t)i + 2;
		readers[i].passes = 0;
		readers[i].thread = start_thread(reader_main, &readers[i]);
	}
	while (!lull_load_relaxed(&failure) && now_ns() < end_ns) {
		part->update(&rng);
		updates++;
	}
	lull_store_relaxed(&stop, 1u);
	for (i = 0; i < READERS; i++)
		pthread_join(readers[i].thread, NULL);
	slots_teardown();
	print_message("%" PRIu64 " updates, %" PRIu64 " + %" PRIu64 " walks\n", updates, readers[0].passes, readers[1].passes);
	return failure;
}

static void check_part(const struct part *part)
{
	const char *found = run_part(part, 350);

	if (found)
		fail_msg("%s", found);
}

static const struct variant {
	const char *name;
	const struct part *part;
	enum busted busted;
} variants[] = {
	{ "list-no-wait", &list_part, BUSTED_NO_WAIT },
	{ "list-link-first", &list_part, BUSTED_LINK_FIRST },
	{ "list-splice-at-once", &list_part, BUSTED_SPLICE },
	{ "hlist-no-wait", &hlist_part, BUSTED_NO_WAIT },
	{ "hlist-link-first", &hlist_part, BUSTED_LINK_FIRST },
	{ "nulls-no-restart", &nulls_part, BUSTED_NO_RESTART },
};

#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

/* 1 when it was caught, 0 when it was not in ten seconds (it takes milliseconds). */
static int run_variant(const struct variant *variant)
{
	const char *found;

	busted = variant->busted;
	found = run_part(variant->part, 10000);
	print_message("%s: %s\n", variant->name, found ? found : "not caught");
	return found ? 1 : 0;
}

/*
 * In a child each, which a race detector may end in its own way (66). First, while there is no thread of the reclaimer:
 * children start alone.
 */
FIRST_TEST(busted)
{
	const struct variant *variant;
	int status, null;
	pid_t child;

	for (variant = variants; variant < variants + VARIANTS; variant++) {
		fflush(NULL);
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			null = open("/dev/null", O_WRONLY);
			dup2(null, STDERR_FILENO);
			_exit(run_variant(variant));
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		if (!WIFEXITED(status) || (WEXITSTATUS(status) != 1 && WEXITSTATUS(status) != 66))
			fail_msg("%s: status %#x", variant->name, (unsigned)status);
	}
}

TEST(list)
{
	check_part(&list_part);
}

TEST(hlist)
{
	check_part(&hlist_part);
}

TEST(nulls)
{
	check_part(&nulls_part);
}

BEFORE_ALL
{
	seed = test_seed();
}
