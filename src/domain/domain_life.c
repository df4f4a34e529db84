/* SPDX-License-Identifier: MIT */
/*
 * domain_life.c - domains come and go, and what a forked child makes of them.
 */
#include <errno.h>
#include <stdlib.h>

#include <lull/percpu_ref.h>

#include "../base/message.h"
#include "../base/process.h"
#include "domain.h"
#include "domain_life.h"

static struct {
	struct lull__lock lock;
	struct lull__domain *all; /* a forked child walks it as it is at any moment: each change is one store */
} domains;

/* Signal handlers read: in debug builds each dereference takes this lock. */
static void lock_list(sigset_t *saved)
{
	lull__block_signals(saved);
	lull__lock(&domains.lock);
}

static void unlock_list(const sigset_t *saved)
{
	lull__unlock(&domains.lock);
	lull__restore_signals(saved);
}

/* Show sections of @phase where to count. */
static void show_cells(const struct lull__domain *data, unsigned phase)
{
	data->domain->cells[phase] = (uintptr_t)data->phase[phase].cell.first | data->slow;
}

static void free_phases(struct lull__domain *data)
{
	for (unsigned phase = 0; phase < LULL__DOMAIN_PHASES; phase++)
		if (data->phase[phase].cell.chunk)
			lull__percpu_free(&data->phase[phase].cell);
	free(data);
}

int lull_rcu_domain_init(struct lull_rcu_domain *d, const char *name)
{
	struct lull__domain *data = calloc(1, sizeof(*data));
	sigset_t saved;

	lull__init();
	if (!data)
		return -ENOMEM;
	for (unsigned phase = 0; phase < LULL__DOMAIN_PHASES; phase++)
		if (!lull__percpu_alloc(&data->phase[phase].cell)) {
			free_phases(data);
			return -ENOMEM;
		}
	data->domain = d;
	data->name = name;
	data->slow = lull_percpu_ref_per_cpu() ? 0 : LULL__DOMAIN_SLOW;
	lull__domain_calls_init(data);
	d->phase = 0;
	d->data = data;
	for (unsigned phase = 0; phase < LULL__DOMAIN_PHASES; phase++)
		show_cells(data, phase);
	lock_list(&saved);
	data->next = domains.all;
	lull_compiler_barrier();
	lull_store_relaxed(&domains.all, data);
	unlock_list(&saved);
	return 0;
}

static void unlist_domain(const struct lull__domain *data)
{
	struct lull__domain **at = &domains.all;
	sigset_t saved;

	lock_list(&saved);
	while (*at != data)
		at = &(*at)->next;
	lull_store_relaxed(at, data->next);
	unlock_list(&saved);
}

void lull_rcu_domain_destroy(struct lull_rcu_domain *d)
{
	struct lull__domain *data = lull__domain_of(d, "lull_rcu_domain_destroy");
	unsigned sections;

	lull_rcu_domain_barrier(d);
	sections = lull__domain_open_sections(data);
	if (sections)
		lull__die("lull_rcu_domain_destroy: domain \"%s\" has %u open section%s", data->name, sections,
			  sections == 1 ? "" : "s");
	lull__domain_calls_end(data);
	unlist_domain(data);
	for (unsigned phase = 0; phase < LULL__DOMAIN_PHASES; phase++)
		d->cells[phase] = LULL__DOMAIN_SLOW;
	d->data = NULL;
	free_phases(data);
}

/*
 * Begin afresh in the child, which has none of the threads whose sections were open. Which of them are those of
 * the calling thread nobody knows, so they end here too: new sections count in the other two phases, and ends
 * in these two mean nothing. A child's child has no other two: there all sections go out of line, where ends of
 * another process are told by the number of forks.
 */
static void domain_fork_one(struct lull__domain *data)
{
	uint32_t forks = (data->domain->phase >> 2) + 1, base = forks % 2 * 2;

	data->leader.word = 0;
	data->stage = DOMAIN_IDLE;
	data->wait = (struct lull__wait){ .kind = LULL_WAIT_NONE };
	lull_store_relaxed(&data->completed, data->started);
	if (forks >= 2)
		data->slow = LULL__DOMAIN_SLOW;
	for (unsigned phase = base; phase < base + 2; phase++) {
		show_cells(data, phase);
		lull__percpu_zero(&data->phase[phase].cell);
		data->phase[phase].begins = data->phase[phase].ends = 0;
	}
	data->domain->cells[base ^ 2u] |= LULL__DOMAIN_SLOW;
	data->domain->cells[base ^ 3u] |= LULL__DOMAIN_SLOW;
	data->domain->phase = forks << 2 | base;
	lull__domain_calls_fork_child(data);
}

#ifdef LULL_DEBUG
bool lull__domain_any_open(void)
{
	bool open = false;
	sigset_t saved;

	lock_list(&saved);
	for (const struct lull__domain *data = domains.all; data && !open; data = data->next)
		open = lull__domain_open_sections(data) != 0;
	unlock_list(&saved);
	return open;
}
#endif

void lull__domain_fork_child(uint32_t old_tid)
{
	(void)old_tid;
	domains.lock.word = 0;
	for (struct lull__domain *data = domains.all; data; data = data->next)
		domain_fork_one(data);
}
