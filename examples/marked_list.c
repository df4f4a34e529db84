/* SPDX-License-Identifier: MIT */
/*
 * A sorted list without a lock, after T. Harris (2001) and M. Michael (2004), under hazard pointers. Bit 0 of a node's
 * `next` is a mark: the node is removed. First a thread marks it, so that nothing can be linked behind the node any more;
 * then any thread that passes by unlinks it, and the one whose unlinking succeeds retires it.
 *
 * A marked pointer is not the address of a node, so lull_hazptr_set() gets the address without the mark. Then the walk
 * looks again: if the link still leads to the node, and has no mark, the node was not retired before.
 */
#include <lull/hazptr.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 3
#define KEYS	16
#define ROUNDS	20000
#define MARK	((uintptr_t)1)

struct node {
	struct lull_head head;
	uintptr_t next; /* the next node, and MARK */
	int key;	/* -1: it is gone */
};

static uintptr_t first;
static int made, gone;

static struct node *node_at(uintptr_t link)
{
	return (struct node *)(link & ~MARK);
}

static void node_gone(struct lull_head *head)
{
	struct node *node = lull_container_of(head, struct node, head);

	lull_store_relaxed(&node->key, -1);
	free(node);
	lull_add_relaxed(&gone, 1);
}

/* A walk: `node` is the first one whose key is not below the key, or NULL; *link leads to it. */
struct walk {
	struct lull_hazptr *here, *before; /* protect that node, and the one that has *link */
	uintptr_t *link;
	struct node *node;
	uintptr_t next; /* of `node` */
};

/* Protect the node that w->link leads to. Returns false if the node that has the link is removed, or the link changes. */
static bool protect(struct walk *w)
{
	uintptr_t link = lull_load_relaxed(w->link);

	lull_hazptr_set(w->here, node_at(link));
	w->node = node_at(link);
	return !(link & MARK) && lull_load_acquire(w->link) == link;
}

/* Unlink w->node, which is marked. */
static bool unlink_node(struct walk *w)
{
	uintptr_t link = (uintptr_t)w->node;

	if (!lull_cas_release(w->link, &link, w->next & ~MARK))
		return false;
	lull_hazptr_call(&w->node->head, node_gone);
	return true;
}

/* One walk to @key. Returns false if it has to begin anew. */
static bool try_seek(struct walk *w, int key)
{
	w->link = &first;
	while (protect(w)) {
		if (!w->node)
			return true;
		w->next = lull_load_acquire(&w->node->next);
		if (w->next & MARK) {
			if (!unlink_node(w))
				return false;
			continue;
		}
		if (lull_load_relaxed(&w->node->key) >= key)
			return true;
		if (lull_load_relaxed(&w->node->key) < 0)
			abort(); /* freed while it is protected */
		w->link = &w->node->next;
		struct lull_hazptr *spare = w->before;
		w->before = w->here;
		w->here = spare;
	}
	return false;
}

/* Walk to @key. Returns whether it is there. */
static bool seek(struct walk *w, int key)
{
	while (!try_seek(w, key))
		;
	return w->node && w->node->key == key;
}

static bool insert(struct walk *w, int key)
{
	struct node *node = malloc(sizeof(*node));
	uintptr_t link;

	if (!node)
		abort();
	node->key = key;
	do {
		if (seek(w, key)) {
			free(node);
			return false;
		}
		link = node->next = (uintptr_t)w->node;
	} while (!lull_cas_release(w->link, &link, (uintptr_t)node));
	lull_add_relaxed(&made, 1);
	return true;
}

static bool remove_key(struct walk *w, int key)
{
	do {
		if (!seek(w, key))
			return false;
	} while (!lull_cas_relaxed(&w->node->next, &w->next, w->next | MARK));
	unlink_node(w); /* or whoever passes by next does it */
	return true;
}

struct user {
	pthread_t thread;
	unsigned random;
	int balance[KEYS]; /* inserted less removed */
};

static void walk_begin(struct walk *w)
{
	w->here = lull_hazptr_alloc(lull_hazptr_thread_context());
	w->before = lull_hazptr_alloc(lull_hazptr_thread_context());
}

static void walk_end(struct walk *w)
{
	lull_hazptr_free(lull_hazptr_thread_context(), w->here);
	lull_hazptr_free(lull_hazptr_thread_context(), w->before);
}

static void *user_run(void *arg)
{
	struct user *user = arg;
	struct walk w;

	walk_begin(&w);
	for (int i = 0; i < ROUNDS; i++) {
		int key;

		user->random = user->random * 1103515245u + 12345u;
		key = (int)(user->random >> 16) % KEYS;
		if (user->random >> 30 == 0)
			user->balance[key] += insert(&w, key);
		else if (user->random >> 30 == 1)
			user->balance[key] -= remove_key(&w, key);
		else
			seek(&w, key);
	}
	walk_end(&w);
	return NULL;
}

int main(void)
{
	struct user user[THREADS] = { { 0 } };
	bool wrong = false;
	struct walk w;

	for (unsigned i = 0; i < THREADS; i++) {
		user[i].random = i;
		if (pthread_create(&user[i].thread, NULL, user_run, &user[i]) != 0)
			abort();
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(user[i].thread, NULL);
	walk_begin(&w);
	for (int key = 0; key < KEYS; key++) {
		int balance = 0;

		for (int i = 0; i < THREADS; i++)
			balance += user[i].balance[key];
		wrong |= balance != (int)seek(&w, key); /* a key is there if it was inserted more often than removed */
		wrong |= remove_key(&w, key) != (balance == 1) || seek(&w, key);
	}
	wrong |= first != 0;
	walk_end(&w);
	lull_hazptr_barrier();
	printf("%d nodes were in the list, of which %d have gone\n", made, gone);
	return wrong || made != gone;
}
