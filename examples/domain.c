/* SPDX-License-Identifier: MIT */
/*
 * A page that requests read for as long as a slow client takes, and that is replaced now and then. They sleep in their
 * read sections. So these are a domain's: nobody but who replaces the page waits for them.
 */
#include <lull/rcu_domain.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { REQUESTS = 3, PAGES = 20, ALIVE = 42 };

struct page {
	struct lull_head head;
	int alive;
};

static struct page *current;
static int over, bad;

static struct lull_rcu_domain pages;

static void serve(void)
{
	int phase = lull_rcu_domain_read_lock(&pages);
	const struct page *page = lull_rcu_dereference(current);

	usleep(300); /* the client is slow: a section of a domain may sleep */
	if (page->alive != ALIVE)
		lull_store_relaxed(&bad, 1);
	lull_rcu_domain_read_unlock(&pages, phase);
}

static void page_gone(struct lull_head *head)
{
	struct page *page = lull_container_of(head, struct page, head);

	page->alive = 0;
	free(page);
}

static void replace(struct page *now)
{
	struct page *old = lull_rcu_replace(current, now);

	lull_rcu_domain_call(&pages, &old->head, page_gone); /* or synchronize, and free it here */
}

static void *serves(void *unused)
{
	while (!lull_load_relaxed(&over))
		serve();
	return unused;
}

static struct page *new_page(void)
{
	struct page *page = malloc(sizeof(*page));

	if (!page)
		abort();
	page->alive = ALIVE;
	return page;
}

int main(void)
{
	pthread_t threads[REQUESTS];

	if (lull_rcu_domain_init(&pages, "pages") != 0)
		return 1;
	lull_rcu_assign(current, new_page());
	for (int i = 0; i < REQUESTS; i++)
		if (pthread_create(&threads[i], NULL, serves, NULL))
			return 1;
	for (int i = 0; i < PAGES; i++) {
		replace(new_page());
		usleep(1000);
	}
	lull_store_relaxed(&over, 1);
	for (int i = 0; i < REQUESTS; i++)
		pthread_join(threads[i], NULL);
	lull_rcu_domain_destroy(&pages); /* calls what still waits */
	free(current);
	printf("%d pages, %s\n", PAGES, bad ? "and a request had one that was gone" : "no request had one that was gone");
	return bad;
}
