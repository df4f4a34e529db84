/* SPDX-License-Identifier: MIT */
/*
 * domain.c - sections out of line, and grace periods.
 *
 * One thread at a time leads a domain's grace period; others sleep on the leader's lock, or poll and go away. A
 * grace period goes through the stages of domain.h, and each leader takes it on from where the last one left
 * it. Sections wake nobody, so the leader naps between two looks.
 *
 * Threads that cannot count on their CPU (a sequence that was interrupted, a thread without rseq) count in two
 * words that all share. In a process without restartable sequences each thread counts in one of the CPUs'
 * counters, with atomic additions.
 */
#include <limits.h>

#include "../base/fault.h"
#include "../base/message.h"
#include "../base/process.h"
#include "../rcu/section.h"
#include "domain.h"

#define DOMAIN_SPINS 64u /* looks before the first nap: a few microseconds */
#define DOMAIN_NAP_LEAST_NS 50000u
#define DOMAIN_NAP_MOST_NS  10000000u

struct lull__domain *lull__domain_of(const struct lull_rcu_domain *d, const char *call)
{
	struct lull__domain *data = d->data;

	lull__init();
	if (!data)
		lull__die("%s: domain %p is used after lull_rcu_domain_destroy(), or before init", call,
			  (const void *)d);
	return data;
}

/* ---- sections out of line ------------------------------------------------------------------------ */

/* Return this thread's counter of @what in @phase; NULL: threads have none. */
static uint64_t *thread_counter(const struct lull_rcu_domain *d, unsigned phase, unsigned what)
{
	uintptr_t cells = d->cells[phase & 3u];
	uint64_t cpu = ((uint64_t)(uintptr_t)&lull__self >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 32; /* any */

	if (!(cells & LULL__DOMAIN_SLOW))
		return NULL;
	cpu %= lull__percpu_count();
	return (uint64_t *)(cells - LULL__DOMAIN_SLOW + (cpu << LULL__RSEQ_SHIFT) + what);
}

void lull__rcu_domain_begin_slow(struct lull_rcu_domain *d, unsigned phase)
{
	struct lull__domain *data = lull__domain_of(d, "lull_rcu_domain_read_lock");
	uint64_t *counter = thread_counter(d, phase, LULL__DOMAIN_BEGINS);

	lull_add_relaxed(counter ? counter : &data->phase[phase & 3u].begins, (uint64_t)1);
	lull_fence_light(); /* DOM-1, as a real fence where light ones are */
}

void lull__rcu_domain_end_slow(struct lull_rcu_domain *d, unsigned phase)
{
	struct lull__domain *data = lull__domain_of(d, "lull_rcu_domain_read_unlock");
	uint64_t *counter = thread_counter(d, phase, LULL__DOMAIN_ENDS);

	if ((phase ^ lull_load_relaxed(&d->phase)) & ~1u)
		return; /* begun before a fork */
	/*
	 * ORDER DOM-2: the section's loads, and its begin, before the end; pairs with DOM-2 in is_drained();
	 * without it the object is freed while its last reader reads; model/domain/exit-fenced.litmus
	 */
	lull_add_release(counter ? counter : &data->phase[phase & 3u].ends, (uint64_t)1);
}

/* ---- sums ---------------------------------------------------------------------------------------- */

static uint64_t sum_begins(const struct lull__domain *data, unsigned phase)
{
	const struct lull__domain_phase *p = &data->phase[phase];

	return lull__percpu_sum_of(&p->cell, 0) + lull_load_relaxed(&p->begins);
}

/*
 * Have as many sections of @phase ended as have begun? The ends first. So each end that is in the sum has its
 * begin in the other sum, and where the two are equal no section that the grace period must wait for is open.
 */
static bool is_drained(const struct lull__domain *data, unsigned phase)
{
	const struct lull__domain_phase *p = &data->phase[phase];
	/*
	 * ORDER DOM-2: the ends before the begins, and before whatever the caller frees; pairs with DOM-2 in
	 * lull_rcu_domain_read_unlock() and lull__rcu_domain_end_slow(); without it as there, or an end is in the
	 * sum and its begin is not, and hides a section that is open; model/domain/sums.tpl
	 */
	uint64_t ends = lull__percpu_sum_of(&p->cell, 1) + lull_load_acquire(&p->ends);

	if (sum_begins(data, phase) != ends)
		return LULL__BUSTED(DOMAIN_NO_WAIT);
#if !defined(__x86_64__) /* whose loads do not come after later stores, nor stores after later stores */
	lull_fence_heavy();
	return sum_begins(data, phase) == ends;
#else
	return true;
#endif
}

/* The ends first, as in is_drained(): none is counted without its begin. */
unsigned lull__domain_open_sections(const struct lull__domain *data)
{
	unsigned base = lull_load_relaxed(&data->domain->phase) & 2u;
	uint64_t ends = 0, begins = 0;

	for (unsigned phase = base; phase < base + 2; phase++)
		ends += lull__percpu_sum_of(&data->phase[phase].cell, 1) +
			lull_load_acquire(&data->phase[phase].ends); /* DOM-2 */
	for (unsigned phase = base; phase < base + 2; phase++)
		begins += sum_begins(data, phase);
	return begins - ends > UINT_MAX ? UINT_MAX : (unsigned)(begins - ends);
}

/* ---- grace periods ------------------------------------------------------------------------------- */

lull_rcu_cookie lull__domain_cookie(struct lull__domain *data)
{
	/*
	 * ORDER DOM-3: the caller's unlinking before the load of `started`; pairs with DOM-3 in domain_begin();
	 * without it a grace period that began before the unlinking is taken for one that covers it;
	 * model/domain/cookie.tpl
	 */
	lull_fence_full();
	return lull_load_relaxed(&data->started) + 1;
}

static bool domain_is_over(const struct lull__domain *data, lull_rcu_cookie cookie)
{
	/*
	 * ORDER DOM-4: `completed` before the caller's free; pairs with DOM-4 in domain_push(); without it a
	 * thread that shares or polls a grace period frees too early; model/domain/completed.litmus
	 */
	return lull_load_acquire(&data->completed) >= cookie;
}

static void domain_begin(struct lull__domain *data)
{
	lull_store_relaxed(&data->started, data->started + 1);
	/*
	 * ORDER DOM-1: unlinking before the sums; pairs with DOM-1 in lull_rcu_domain_read_lock(); without it
	 * the sum has no begin of a reader that found the object; model/domain/enter.tpl
	 * ORDER DOM-3: `started` before the sums; pairs with DOM-3 in lull__domain_cookie(); without it as there;
	 * model/domain/cookie.tpl
	 */
	if (!LULL__BUSTED(DOMAIN_NO_FENCE))
		lull_fence_heavy();
	data->stage = DOMAIN_STRAGGLERS;
}

/* Take the open grace period on, or begin one, without a wait. Returns whether one has ended. Leader only. */
static bool domain_push(struct lull__domain *data)
{
	uint32_t phase;

	if (data->stage == DOMAIN_IDLE)
		domain_begin(data);
	phase = data->domain->phase;
	if (!is_drained(data, (phase ^ 1u) & 3u) && !LULL__BUSTED(DOMAIN_ONE_PHASE))
		return false;
	if (data->stage == DOMAIN_STRAGGLERS) {
		lull_store_relaxed(&data->domain->phase, phase ^ 1u);
		data->stage = DOMAIN_FLIPPED;
		if (!is_drained(data, phase & 3u))
			return false;
	}
	data->stage = DOMAIN_IDLE;
	/*
	 * ORDER DOM-4: all that the sums showed before `completed`; pairs with DOM-4 in domain_is_over();
	 * without it as there; model/domain/completed.litmus
	 */
	lull_store_release(&data->completed, data->completed + 1);
	if (data->wait.kind != LULL_WAIT_NONE)
		lull__wait_end(&data->wait);
	return true;
}

uint64_t lull__domain_nap_ns(uint64_t since_ns)
{
	uint64_t eighth_ns = since_ns ? (lull__now_ns() - since_ns) / 8 : 0;

	return lull__earlier(eighth_ns > DOMAIN_NAP_LEAST_NS ? eighth_ns : DOMAIN_NAP_LEAST_NS, DOMAIN_NAP_MOST_NS);
}

static unsigned domain_blame(void *arg, struct lull_stall *first, unsigned *holders)
{
	const struct lull__domain *data = arg;

	*first = (struct lull_stall){ .slots = lull__domain_open_sections(data), .site = data->name };
	first->waiting_items = lull_load_relaxed(&data->called) - lull_load_relaxed(&data->returned);
	*holders = first->slots;
	return 1;
}

/* Look whether the wait for sections is to be reported; if not, take a nap, with @naps. Leader only. */
static bool domain_sleep(struct lull__domain *data, bool naps, struct lull__report *report)
{
	static uint32_t nobody_wakes;
	uint64_t again_ns;

	if (data->wait.kind == LULL_WAIT_NONE)
		lull__wait_begin(&data->wait, LULL_WAIT_DOMAIN, 0);
	again_ns = naps ? lull__now_ns() + lull__domain_nap_ns(data->wait.since_ns) : 0;
	return lull__wait_sleep(&data->wait, &nobody_wakes, 0, LULL__NEVER, again_ns, domain_blame, data, report);
}

/* Take grace periods on until that of @cookie is over. Returns early when there is something to report. Leader only. */
static void domain_lead(struct lull__domain *data, lull_rcu_cookie cookie, struct lull__report *report)
{
	bool goes_on = true;

	for (unsigned spins = 0; spins < DOMAIN_SPINS && !domain_is_over(data, cookie); spins++)
		if (!domain_push(data))
			lull_cpu_relax();
	while (goes_on && !domain_is_over(data, cookie))
		if (!domain_push(data))
			goes_on = domain_sleep(data, true, report);
}

bool lull__domain_advance(struct lull__domain *data, lull_rcu_cookie cookie, bool waits)
{
	struct lull__report report = { .named = 0 };

	if (domain_is_over(data, cookie))
		return true;
	if (!lull__trylock(&data->leader))
		return false;
	/* The open one may have begun before the cookie was taken: then push the next one, too. */
	if (!domain_is_over(data, cookie) && domain_push(data) && !domain_is_over(data, cookie))
		domain_push(data);
	if (waits && !domain_is_over(data, cookie))
		domain_sleep(data, false, &report);
	lull__unlock_wake(&data->leader, INT_MAX);
	lull__wait_report(&report);
	return domain_is_over(data, cookie);
}

static void domain_wait(struct lull__domain *data, lull_rcu_cookie cookie)
{
	bool online = (lull__self.state & LULL__STATE_ONLINE) && !lull__rcu_in_section();
	struct lull__report report;

	if (online)
		lull_rcu_offline();
	while (!domain_is_over(data, cookie)) {
		if (!lull__trylock(&data->leader)) {
			lull__lock_await(&data->leader, LULL__NEVER);
			continue;
		}
		report.named = 0;
		domain_lead(data, cookie, &report);
		lull__unlock_wake(&data->leader, INT_MAX);
		lull__wait_report(&report);
	}
	if (online)
		lull_rcu_online();
	lull__retry();
}

void lull_rcu_domain_synchronize(struct lull_rcu_domain *d)
{
	struct lull__domain *data = lull__domain_of(d, "lull_rcu_domain_synchronize");

	domain_wait(data, lull__domain_cookie(data));
}

lull_rcu_cookie lull_rcu_domain_gp_start(struct lull_rcu_domain *d)
{
	struct lull__domain *data = lull__domain_of(d, "lull_rcu_domain_gp_start");
	lull_rcu_cookie cookie = lull__domain_cookie(data);

	lull__domain_advance(data, cookie, false);
	return cookie;
}

bool lull_rcu_domain_gp_poll(struct lull_rcu_domain *d, lull_rcu_cookie cookie)
{
	return lull__domain_advance(lull__domain_of(d, "lull_rcu_domain_gp_poll"), cookie, false);
}

void lull_rcu_domain_gp_wait(struct lull_rcu_domain *d, lull_rcu_cookie cookie)
{
	domain_wait(lull__domain_of(d, "lull_rcu_domain_gp_wait"), cookie);
}
