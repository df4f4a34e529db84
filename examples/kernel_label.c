/* SPDX-License-Identifier: MIT */
/*
 * kernel_label.c - AppArmor's walk to the newest label, with the kernel's names for hazard pointers.
 *
 * Every file that nginx opens takes and puts a reference to one label, and with many workers its count is what they
 * wait for. (B. Feng, N. Upadhyay, P. McKenney, "Hazard pointers in the Linux kernel", 2024.) A hazard pointer keeps
 * the label as well, and shares its cache line with no other thread. In words of our own:
 *
 *	a task's credentials have a label, and a reference to it
 *	the label may be stale: its proxy leads to the newest one
 *	file_open() looks at the newest label, for a moment, through a hazard pointer
 *	whoever wants to keep it takes a reference under that hazard pointer
 *	the last put: call_hazptr(), and after that call_rcu(), since RCU readers find labels too
 *
 * In that order an RCU reader that finds a label must look twice (tryprotect in a loop, or a reference) before it may
 * leave the section.
 */
#include <lull/compat/kernel.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct aa_label;

struct aa_proxy {
	struct kref count;
	struct aa_label __rcu *label; /* the newest, with a reference */
};

struct aa_label {
	struct kref count;
	struct rcu_head rcu;
	struct aa_proxy *proxy; /* with a reference */
	int stale;
	unsigned long serial, check; /* check is ~serial as long as the label lives */
};

struct cred {
	struct aa_label *label; /* with a reference */
};

static struct cred nginx;
static int made, gone;

/* ---- the end of a label ---------------------------------------------------------------------------- */

static void proxy_kref(struct kref *kref)
{
	free(container_of(kref, struct aa_proxy, count));
}

static void label_free_rcu(struct rcu_head *head)
{
	struct aa_label *label = container_of(head, struct aa_label, rcu);

	label->check = 0;
	kref_put(&label->proxy->count, proxy_kref);
	free(label);
	gone++;
}

/* No hazard pointer names it any more. */
static void label_hazptr_func(struct callback_head *head)
{
	call_rcu(head, label_free_rcu);
}

static void aa_label_kref(struct kref *kref)
{
	struct aa_label *label = container_of(kref, struct aa_label, count);

	call_hazptr(&label->rcu, label_hazptr_func);
}

static void aa_put_label(struct aa_label *label)
{
	if (label)
		kref_put(&label->count, aa_label_kref);
}

/* ---- the walk ---------------------------------------------------------------------------------------- */

/* Protect the label that *@l leads to. It may change under us, and then we try again. */
static struct aa_label *aa_get_label_try_hazptr(struct aa_label __rcu **l, hazptr_t *hptr)
{
	struct aa_label *c;

	do {
		c = hazptr_tryprotect(hptr, *l, rcu);
	} while (!c);
	return c;
}

/* The caller has a reference to @l by its credentials; so @l itself cannot change or go. */
static struct aa_label *aa_get_newest_label_hazptr(struct aa_label *l, hazptr_t *hptr)
{
	if (!l)
		return NULL;
	if (READ_ONCE(l->stale))
		return aa_get_label_try_hazptr(&l->proxy->label, hptr);
	return hazptr_protect(hptr, l, rcu);
}

/* A reference, by hazard pointer: zero means that it has been replaced meanwhile. */
static struct aa_label *aa_get_newest_label(struct aa_label *l, hazptr_t *hptr)
{
	struct aa_label *c;

	do {
		c = aa_get_newest_label_hazptr(l, hptr);
	} while (c && !kref_get_unless_zero(&c->count));
	hazptr_clear(hptr);
	return c;
}

/* A reader of RCU, beside the others: it may look while the section lasts, and take a reference, not a hazard pointer. */
static struct aa_label *aa_get_label_rcu(struct aa_label __rcu **l)
{
	struct aa_label *c;

	guard(rcu)();
	do {
		c = rcu_dereference(*l);
	} while (c && !kref_get_unless_zero(&c->count));
	return c;
}

static int apparmor_file_open(const struct cred *cred)
{
	struct hazptr_context ctx;
	struct aa_label *label;
	hazptr_t *hptr;
	int error;

	init_hazptr_context(&ctx);
	hptr = hazptr_alloc(&ctx);
	label = aa_get_newest_label_hazptr(cred->label, hptr);
	error = label->check == ~label->serial ? 0 : -1;
	hazptr_clear(hptr);
	cleanup_hazptr_context(&ctx);
	return error;
}

/* ---- policies come and go --------------------------------------------------------------------------- */

static struct aa_label *label_alloc(struct aa_proxy *proxy, unsigned long serial)
{
	struct aa_label *label = calloc(1, sizeof(*label));

	if (!label)
		abort();
	kref_init(&label->count);
	if (!proxy) {
		proxy = calloc(1, sizeof(*proxy));
		if (!proxy)
			abort();
		kref_init(&proxy->count);
	} else {
		kref_get(&proxy->count);
	}
	label->proxy = proxy;
	label->serial = serial;
	label->check = ~serial;
	made++;
	return label;
}

/* main() alone calls this. The reference of the new label goes to the proxy, which gives its last one back. */
static void label_replace(struct aa_proxy *proxy, unsigned long serial)
{
	struct aa_label *fresh = label_alloc(proxy, serial);
	struct aa_label *old = rcu_replace_pointer(proxy->label, fresh, true);

	if (old)
		WRITE_ONCE(old->stale, 1);
	aa_put_label(old);
}

/* ---- workers ------------------------------------------------------------------------------------------ */

static int finished;

struct worker {
	pthread_t thread;
	unsigned long opens;
	int wrong;
};

static void *worker_run(void *arg)
{
	struct worker *worker = arg;
	struct hazptr_context ctx;
	hazptr_t *hptr;

	init_hazptr_context(&ctx);
	hptr = hazptr_alloc(&ctx);
	while (!READ_ONCE(finished)) {
		worker->wrong |= apparmor_file_open(&nginx);
		if (worker->opens++ % 8 == 0) {
			struct aa_label *kept = aa_get_newest_label(nginx.label, hptr);
			struct aa_label *found = aa_get_label_rcu(&nginx.label->proxy->label);

			worker->wrong |= kept->check != ~kept->serial || found->check != ~found->serial;
			aa_put_label(kept);
			aa_put_label(found);
		}
	}
	cleanup_hazptr_context(&ctx);
	return NULL;
}

int main(void)
{
	struct worker worker[2] = { { 0 }, { 0 } };
	struct aa_proxy *proxy;
	int wrong = 0;

	/* The credentials keep the first label, which is stale from the first replacement on. */
	nginx.label = label_alloc(NULL, 0);
	proxy = nginx.label->proxy;
	kref_get(&nginx.label->count);
	rcu_assign_pointer(proxy->label, nginx.label);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&worker[i].thread, NULL, worker_run, &worker[i]))
			abort();
	for (unsigned long serial = 1; serial <= 20000; serial++)
		label_replace(proxy, serial);
	WRITE_ONCE(finished, 1);
	for (int i = 0; i < 2; i++) {
		pthread_join(worker[i].thread, NULL);
		wrong |= worker[i].wrong;
	}
	/* The proxy outlives its labels by their references, so its own one goes first. */
	aa_put_label(rcu_replace_pointer(proxy->label, NULL, true));
	aa_put_label(nginx.label);
	lull_hazptr_barrier(); /* callbacks of hazard pointers, and those of RCU that they have called */
	printf("%lu files opened, %d labels made, %d gone\n", worker[0].opens + worker[1].opens, made, gone);
	return wrong || made != gone;
}
