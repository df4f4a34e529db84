// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A label as a security module has it: all tasks share one, each open of a file looks at it, and
 * now and then it is replaced. Threads open a real file, over and over, and do with the label what
 * apparmor_file_open() does: find the newest, keep it while the open is checked, let it go. What
 * is compared is how they keep it:
 *
 *	kref		a reference count in the label
 *	none		not at all; what "disabled" costs. Labels are freed at the end.
 *	hazptr		a context on the stack, a slot, tryprotect, clear
 *	hazptr_ready	the same, with a context that the thread has already
 *	percpu_ref	a reference count for each CPU in the label
 *	acquire		hazptr_acquire() and hazptr_release()
 *
 * A label that was replaced is stale and points to a proxy, which points to the newest. Threads
 * keep the label that they began with, as a task keeps its credentials, so they go through the
 * proxy from the first replacement on.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/percpu-refcount.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../hazptr/hazptr.h"

#define TAG "label: "
#define THREADS_MOST 64

static char *keep = "kref";
module_param(keep, charp, 0444);
MODULE_PARM_DESC(keep, "kref, none, hazptr, hazptr_ready, percpu_ref, acquire");
static char *path = "/init";
module_param(path, charp, 0444);
MODULE_PARM_DESC(path, "the file that is opened; \"\": none, only the label is used");
static int nthreads = -1;
module_param(nthreads, int, 0444);
static int duration_ms = 1000;
module_param(duration_ms, int, 0444);
static int replace_ms = 50;
module_param(replace_ms, int, 0444);
MODULE_PARM_DESC(replace_ms, "between two replacements; 0: none");

#define RULES 16

struct proxy;

struct label {
	struct kref kref;
	struct percpu_ref ref;
	struct rcu_head rcu;
	struct callback_head hazptr;
	struct proxy *proxy;
	struct label *kept;	/* of "none", until the end */
	bool stale;
	u32 allowed[RULES];	/* which opens, by a hash of who asks */
};

struct proxy {
	struct label *label;
};

struct kept {
	struct hazptr_context context;
	struct hazptr_ctx ctx;
	hazptr_t *slot;
};

struct way {
	const char *name;
	struct label *(*get)(struct label *mine, struct kept *kept);
	void (*put)(struct label *label, struct kept *kept);
	void (*retire)(struct label *label);
};

static struct proxy proxy;
static struct label *first; /* what threads began with; stays until the end */
static const struct way *way;
static struct task_struct *thread[THREADS_MOST];
static unsigned long opens[THREADS_MOST];
static atomic_t alive = ATOMIC_INIT(0), live_at_once = ATOMIC_INIT(0);
static bool stop;
static struct label *all_kept;
static atomic_long_t failures;

/* ---- labels ---- */

static void free_label_rcu(struct rcu_head *rcu)
{
	struct label *label = container_of(rcu, struct label, rcu);

	memset(label->allowed, 0, sizeof(label->allowed)); /* whoever still looks is refused */
	kfree(label);
	atomic_dec(&alive);
}

static void free_label_kref(struct kref *kref)
{
	call_rcu(&container_of(kref, struct label, kref)->rcu, free_label_rcu);
}

static void free_label_hazptr(struct callback_head *head)
{
	call_rcu(&container_of(head, struct label, hazptr)->rcu, free_label_rcu);
}

static void exit_label(struct rcu_head *rcu)
{
	percpu_ref_exit(&container_of(rcu, struct label, rcu)->ref);
	free_label_rcu(rcu);
}

static void free_label_ref(struct percpu_ref *ref)
{
	call_rcu(&container_of(ref, struct label, ref)->rcu, exit_label);
}

static bool is_percpu(void);

static struct label *make_label(void)
{
	struct label *label = kzalloc(sizeof(*label), GFP_KERNEL);

	if (!label)
		return NULL;
	if (is_percpu() && percpu_ref_init(&label->ref, free_label_ref, 0, GFP_KERNEL)) {
		kfree(label);
		return NULL;
	}
	kref_init(&label->kref);
	label->proxy = &proxy;
	memset(label->allowed, 0xff, sizeof(label->allowed));
	atomic_inc(&alive);
	return label;
}

/* ---- ways to keep a label ---- */

static struct label *newest(struct label *mine)
{
	return READ_ONCE(mine->stale) ? READ_ONCE(mine->proxy->label) : mine;
}

static struct label *get_kref(struct label *mine, struct kept *kept)
{
	struct label *label;

	rcu_read_lock();
	do {
		label = newest(mine);
	} while (!kref_get_unless_zero(&label->kref));
	rcu_read_unlock();
	return label;
}

static void put_kref(struct label *label, struct kept *kept)
{
	kref_put(&label->kref, free_label_kref);
}

static void retire_kref(struct label *label)
{
	kref_put(&label->kref, free_label_kref);
}

static struct label *get_none(struct label *mine, struct kept *kept)
{
	return newest(mine);
}

static void put_none(struct label *label, struct kept *kept)
{
}

static void retire_none(struct label *label)
{
	label->kept = all_kept;
	all_kept = label;
}

static struct label *get_ready(struct label *mine, struct kept *kept)
{
	struct label *label;

	if (!READ_ONCE(mine->stale))
		return hazptr_protect(kept->slot, mine, hazptr);
	do {
		label = hazptr_tryprotect(kept->slot, mine->proxy->label, hazptr);
	} while (!label);
	return label;
}

static void put_ready(struct label *label, struct kept *kept)
{
	hazptr_clear(kept->slot);
}

static struct label *get_hazptr(struct label *mine, struct kept *kept)
{
	init_hazptr_context(&kept->context);
	kept->slot = hazptr_alloc(&kept->context);
	return get_ready(mine, kept);
}

static void put_hazptr(struct label *label, struct kept *kept)
{
	hazptr_clear(kept->slot);
	cleanup_hazptr_context(&kept->context);
}

static void retire_hazptr(struct label *label)
{
	call_hazptr(&label->hazptr, free_label_hazptr);
}

static struct label *get_percpu(struct label *mine, struct kept *kept)
{
	struct label *label;

	rcu_read_lock();
	do {
		label = newest(mine);
	} while (!percpu_ref_tryget_live(&label->ref));
	rcu_read_unlock();
	return label;
}

static void put_percpu(struct label *label, struct kept *kept)
{
	percpu_ref_put(&label->ref);
}

static void retire_percpu(struct label *label)
{
	percpu_ref_kill(&label->ref);
}

static struct label *get_acquire(struct label *mine, struct kept *kept)
{
	struct label **from = READ_ONCE(mine->stale) ? &mine->proxy->label : &mine;

	return hazptr_acquire(&kept->ctx, (void **)from);
}

static void put_acquire(struct label *label, struct kept *kept)
{
	hazptr_release(&kept->ctx, label);
}

static void retire_acquire(struct label *label)
{
	hazptr_synchronize(label);
	free_label_rcu(&label->rcu);
}

static const struct way ways[] = {
	{ "kref", get_kref, put_kref, retire_kref },
	{ "none", get_none, put_none, retire_none },
	{ "hazptr", get_hazptr, put_hazptr, retire_hazptr },
	{ "hazptr_ready", get_ready, put_ready, retire_hazptr },
	{ "percpu_ref", get_percpu, put_percpu, retire_percpu },
	{ "acquire", get_acquire, put_acquire, retire_acquire },
};

static bool is_percpu(void)
{
	return way->get == get_percpu;
}

/* ---- threads ---- */

static int opener(void *arg)
{
	unsigned long number = (unsigned long)arg, n = 0;
	struct kept kept = {};

	if (way->get == get_ready) {
		init_hazptr_context(&kept.context);
		kept.slot = hazptr_alloc(&kept.context);
	}
	while (!READ_ONCE(stop)) {
		struct label *label = way->get(first, &kept);
		struct file *file = NULL;

		if (*path)
			file = filp_open(path, O_RDONLY, 0);
		if (IS_ERR(file) || label->allowed[n % RULES] != ~0U)
			atomic_long_inc(&failures);
		way->put(label, &kept);
		if (!IS_ERR_OR_NULL(file))
			filp_close(file, NULL);
		n++;
		cond_resched();
	}
	if (way->get == get_ready)
		cleanup_hazptr_context(&kept.context);
	opens[number] = n;
	while (!kthread_should_stop())
		usleep_range(1000, 2000);
	return 0;
}

/* Replace the label until the time is over. Returns how often. */
static int replace_for_a_while(void)
{
	ktime_t end = ktime_add_ms(ktime_get(), duration_ms);
	int times = 0;

	while (ktime_before(ktime_get(), end)) {
		struct label *old = proxy.label, *new;

		msleep(replace_ms ?: duration_ms);
		new = replace_ms ? make_label() : NULL;
		if (!new)
			continue;
		smp_store_release(&proxy.label, new); /* its contents before it is found */
		WRITE_ONCE(old->stale, true);
		if (old != first) /* threads have a reference to that */
			way->retire(old);
		times++;
		atomic_set(&live_at_once, max(atomic_read(&live_at_once), atomic_read(&alive)));
	}
	return times;
}

static void free_all(void)
{
	struct label *label;

	if (proxy.label != first)
		way->retire(proxy.label);
	way->retire(first);
	hazptr_barrier();
	while ((label = all_kept)) {
		all_kept = label->kept;
		call_rcu(&label->rcu, free_label_rcu);
	}
	rcu_barrier(); /* until killed references are shared, and labels put for the last time */
	rcu_barrier(); /* until these are freed */
}

static int run(void)
{
	unsigned long total = 0, us;
	int n, times, started;
	ktime_t since;

	for (started = 0; started < nthreads; started++) {
		void *number = (void *)(unsigned long)started;

		thread[started] = kthread_create(opener, number, "label/%d", started);
		if (IS_ERR(thread[started]))
			break;
		kthread_bind(thread[started], started % num_online_cpus());
	}
	since = ktime_get();
	for (n = 0; n < started; n++)
		wake_up_process(thread[n]);
	times = replace_for_a_while();
	WRITE_ONCE(stop, true);
	us = ktime_us_delta(ktime_get(), since);
	for (n = 0; n < started; n++) {
		kthread_stop(thread[n]);
		total += opens[n];
	}
	free_all();
	pr_alert(TAG "keep=%s threads=%d opens=%lu us=%lu replaced=%d\n", keep, started, total, us,
		 times);
	pr_alert(TAG "keep=%s failures=%ld most-at-once=%d left=%d\n", keep,
		 atomic_long_read(&failures), atomic_read(&live_at_once), atomic_read(&alive));
	return started == nthreads ? 0 : -ENOMEM;
}

static int __init label_init(void)
{
	size_t n;

	for (n = 0; n < ARRAY_SIZE(ways); n++)
		if (!strcmp(ways[n].name, keep))
			way = &ways[n];
	if (!way) {
		pr_err(TAG "there is no way %s to keep a label\n", keep);
		return -EINVAL;
	}
	if (nthreads < 0)
		nthreads = num_online_cpus();
	nthreads = clamp(nthreads, 1, THREADS_MOST);
	first = make_label();
	if (!first)
		return -ENOMEM;
	proxy.label = first;
	return run();
}

static void __exit label_exit(void)
{
}

module_init(label_init);
module_exit(label_exit);
MODULE_DESCRIPTION("What it costs to keep a label that all share, at each open of a file");
MODULE_AUTHOR("The lull authors");
MODULE_LICENSE("Dual MIT/GPL");
