// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Torture of hazard pointers, judged as rcutorture judges RCU.
 *
 * Writers replace elements of a pool, and get rid of the old ones the way that is under test.
 * An element that was replaced has a pipe count of 1; each time that nobody may name it any more
 * the count goes up, and at 10 the element is free again. A reader that sees more than 1 used an
 * element after its end. A reader also checks what a writer put into the element before it
 * could be found, and took away when nobody named it.
 *
 * Readers hold several objects at once, more than a CPU has slots; they delay, sleep, let other
 * tasks release what they acquired, and acquire in interrupt handlers of other CPUs. CPUs go
 * offline and come back. Now and then all stop, and then every element must be free again.
 *
 * It begins with insmod and ends with rmmod, which prints what happened.
 */
#include <linux/atomic.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "hazptr.h"

#define TAG "hazptr-torture: "
#define POOL 1000
#define PIPE 10
#define SOURCES 3	/* pointers through which readers find elements */
#define HOLD_MOST 7
#define SOUND 0x600dL
#define THREADS_MOST 64
#define PENDING_MOST 50	/* handed over and not released */

static char *type = "context";
module_param(type, charp, 0444);
MODULE_PARM_DESC(type, "context (slots, call_hazptr) or acquire (acquire, synchronize)");
static int nreaders = -1;
module_param(nreaders, int, 0444);
MODULE_PARM_DESC(nreaders, "-1: two for each CPU");
static int nwriters = 8;
module_param(nwriters, int, 0444);
MODULE_PARM_DESC(nwriters, "0, with acquire and faults: only the one of the pair, which nobody holds up");
static int stutter_ms = 2000;
module_param(stutter_ms, int, 0444);
MODULE_PARM_DESC(stutter_ms, "how long they run between two stops; 0: no stops");
static int onoff_ms;
module_param(onoff_ms, int, 0444);
MODULE_PARM_DESC(onoff_ms, "between two changes of a CPU; 0: none");

struct element {
	struct callback_head head;
	struct list_head entry;
	int pipe;
	long sound;
};

static struct element pool[POOL];
static LIST_HEAD(free_elements);
static DEFINE_SPINLOCK(free_lock);
static struct element *source[SOURCES + 1]; /* the last is that of the pair, below */

static bool by_acquire;
static struct task_struct *thread[THREADS_MOST];
static int threads;
static bool paused;
static atomic_t running; /* readers and writers that are not paused */
static DECLARE_WAIT_QUEUE_HEAD(go_on);

static atomic_long_t reads, sleeps, handovers, remote, writes, misses, stutters, onoffs;
static atomic_long_t unsound, leaks;
static atomic_long_t reader_pipe[PIPE + 1], circulation[PIPE + 1];

/* ---- elements ---- */

static struct element *take_free(void)
{
	struct element *e;

	spin_lock_bh(&free_lock);
	e = list_first_entry_or_null(&free_elements, struct element, entry);
	if (e)
		list_del(&e->entry);
	spin_unlock_bh(&free_lock);
	if (e)
		atomic_long_inc(&circulation[0]);
	return e;
}

/* Nobody names @e, as far as the thing under test can say. Returns whether it is free now. */
static bool age(struct element *e)
{
	int pipe = READ_ONCE(e->pipe) + 1;

	WRITE_ONCE(e->pipe, pipe);
	WRITE_ONCE(e->sound, 0);
	atomic_long_inc(&circulation[min(pipe - 1, PIPE)]);
	if (pipe <= PIPE)
		return false;
	spin_lock_bh(&free_lock);
	list_add_tail(&e->entry, &free_elements);
	spin_unlock_bh(&free_lock);
	return true;
}

static void age_by_call(struct callback_head *head)
{
	struct element *e = container_of(head, struct element, head);

	if (!age(e))
		call_hazptr(head, age_by_call);
}

static void get_rid_of(struct element *e)
{
	WRITE_ONCE(e->pipe, 1);
	if (!by_acquire) {
		call_hazptr(&e->head, age_by_call);
		return;
	}
	do {
		hazptr_synchronize(e);
	} while (!age(e));
}

/* A reader is about to let go of @e. */
static void check(const struct element *e)
{
	int pipe = READ_ONCE(e->pipe);

	atomic_long_inc(&reads);
	atomic_long_inc(&reader_pipe[clamp(pipe, 0, PIPE)]);
	if (READ_ONCE(e->sound) != SOUND)
		atomic_long_inc(&unsound);
}

/* ---- all threads ---- */

static void pause_here(void)
{
	if (!READ_ONCE(paused))
		return;
	atomic_dec(&running);
	wait_event_idle(go_on, !READ_ONCE(paused));
	atomic_inc(&running);
}

static u32 below(struct rnd_state *random, u32 limit)
{
	return prandom_u32_state(random) % limit;
}

static void seed(struct rnd_state *random)
{
	prandom_seed_state(random, local_clock() ^ (unsigned long)current);
}

static void delay(struct rnd_state *random)
{
	u32 dice = below(random, 3000);

	if (dice < 4) {
		atomic_long_inc(&sleeps);
		msleep(60 + below(random, 60));
	} else if (dice < 60) {
		atomic_long_inc(&sleeps);
		usleep_range(100, 2000);
	} else if (dice < 120) {
		udelay(below(random, 150));
	} else if (dice < 200) {
		cond_resched();
	}
}

/* ---- readers with contexts ---- */

static void read_context(struct hazptr_context *ctx, struct rnd_state *random)
{
	int n = 1 + below(random, HOLD_MOST), i, tries;
	struct element *held[HOLD_MOST];
	hazptr_t *slot[HOLD_MOST];

	for (i = 0; i < n; i++) {
		struct element **from = &source[below(random, SOURCES)];

		held[i] = NULL;
		slot[i] = hazptr_alloc(ctx);
		for (tries = 0; tries < 100 && !held[i]; tries++)
			held[i] = hazptr_tryprotect(slot[i], *from, head);
		if (!held[i])
			atomic_long_inc(&misses);
		if (!below(random, 4))
			delay(random);
	}
	delay(random);
	for (i = 0; i < n; i++) {
		int j = i + below(random, n - i);

		if (held[j])
			check(held[j]);
		hazptr_free(ctx, slot[j]);
		held[j] = held[i];
		slot[j] = slot[i];
	}
}

/* ---- readers that acquire ---- */

struct pending {
	struct list_head entry;
	struct hazptr_ctx ctx;
	struct element *e;
};

static LIST_HEAD(pendings);
static DEFINE_SPINLOCK(pending_lock);
static int npending;

static bool hand_over(struct element **from)
{
	struct pending *it;
	bool full;

	it = kzalloc(sizeof(*it), GFP_KERNEL);
	if (!it)
		return false;
	it->e = hazptr_acquire(&it->ctx, (void **)from);
	hazptr_detach(&it->ctx);
	spin_lock(&pending_lock);
	full = !it->e || npending >= PENDING_MOST;
	if (!full) {
		npending++;
		list_add_tail(&it->entry, &pendings);
	}
	spin_unlock(&pending_lock);
	if (full) {
		hazptr_release(&it->ctx, it->e);
		kfree(it);
	}
	return !full;
}

static bool release_pending(void)
{
	struct pending *it;

	spin_lock(&pending_lock);
	it = list_first_entry_or_null(&pendings, struct pending, entry);
	if (it) {
		list_del(&it->entry);
		npending--;
	}
	spin_unlock(&pending_lock);
	if (!it)
		return false;
	check(it->e);
	hazptr_release(&it->ctx, it->e);
	kfree(it);
	return true;
}

struct interrupt {
	struct hazptr_ctx ctx;
	struct element **from, *e;
};

static void acquire_in_interrupt(void *arg)
{
	struct interrupt *it = arg;

	it->e = hazptr_acquire(&it->ctx, (void **)it->from);
	hazptr_detach(&it->ctx);
}

static void release_in_interrupt(void *arg)
{
	struct interrupt *it = arg;

	check(it->e);
	hazptr_release(&it->ctx, it->e);
}

static void read_remotely(struct element **from, struct rnd_state *random)
{
	struct interrupt it = { .from = from };
	int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());

	if (cpu >= nr_cpu_ids || smp_call_function_single(cpu, acquire_in_interrupt, &it, 1))
		return;
	if (!it.e)
		return;
	atomic_long_inc(&remote);
	delay(random);
	cpu = raw_smp_processor_id();
	if (below(random, 2) || smp_call_function_single(cpu, release_in_interrupt, &it, 1))
		release_in_interrupt(&it);
}

static void read_acquire(struct rnd_state *random)
{
	int n = 1 + below(random, HOLD_MOST), i;
	struct hazptr_ctx ctx[HOLD_MOST] = {}, *mine[HOLD_MOST];
	struct element *held[HOLD_MOST];

	for (i = 0; i < n; i++) {
		mine[i] = &ctx[i];
		held[i] = hazptr_acquire(mine[i], (void **)&source[below(random, SOURCES)]);
		if (!below(random, 4))
			delay(random);
		if (!below(random, 16))
			hazptr_detach(mine[i]);
	}
	if (!below(random, 32) && hand_over(&source[below(random, SOURCES)]))
		atomic_long_inc(&handovers);
	if (!below(random, 64))
		read_remotely(&source[below(random, SOURCES)], random);
	delay(random);
	for (i = 0; i < n; i++) {
		int j = i + below(random, n - i);

		if (held[j])
			check(held[j]);
		hazptr_release(mine[j], held[j]);
		held[j] = held[i];
		mine[j] = mine[i];
	}
}

/* ---- threads ---- */

static int reader(void *unused)
{
	struct hazptr_context ctx, *lasting = NULL;
	struct rnd_state random;

	seed(&random);
	if (!by_acquire) {
		lasting = kmalloc(sizeof(*lasting), GFP_KERNEL);
		if (lasting)
			init_hazptr_context(lasting);
	}
	while (!kthread_should_stop()) {
		pause_here();
		if (by_acquire) {
			read_acquire(&random);
		} else if (lasting && below(&random, 4)) {
			read_context(lasting, &random);
		} else {
			init_hazptr_context(&ctx);
			read_context(&ctx, &random);
			cleanup_hazptr_context(&ctx);
		}
		cond_resched();
	}
	if (lasting)
		cleanup_hazptr_context(lasting);
	kfree(lasting);
	return 0;
}

static int writer(void *unused)
{
	struct rnd_state random;
	struct element *e;

	seed(&random);
	while (!kthread_should_stop()) {
		pause_here();
		e = take_free();
		if (!e) {
			usleep_range(500, 1000);
			continue;
		}
		WRITE_ONCE(e->pipe, 0);
		WRITE_ONCE(e->sound, SOUND);
		e = xchg(&source[below(&random, SOURCES)], e);
		atomic_long_inc(&writes);
		if (e)
			get_rid_of(e);
		if (!below(&random, 8))
			usleep_range(50, 500);
		cond_resched();
	}
	return 0;
}

static int releaser(void *unused)
{
	while (!kthread_should_stop()) {
		usleep_range(1000, 5000);
		while (release_pending())
			cond_resched();
	}
	while (release_pending())
		;
	return 0;
}

/*
 * Take @cpu away, or bring it back. What an interrupt handler acquires on a CPU that goes stays
 * named, and is released when the CPU is gone.
 */
static bool change_cpu(int cpu, struct rnd_state *random)
{
	struct interrupt it = { .from = &source[below(random, SOURCES)] };
	bool failed;

	if (!cpu_online(cpu))
		return !add_cpu(cpu);
	if (by_acquire && smp_call_function_single(cpu, acquire_in_interrupt, &it, 1))
		it.e = NULL;
	failed = remove_cpu(cpu);
	if (it.e) {
		usleep_range(1000, 20000);
		release_in_interrupt(&it);
	}
	return !failed;
}

static int hotplugger(void *unused)
{
	struct rnd_state random;
	int cpu;

	seed(&random);
	while (!kthread_should_stop()) {
		msleep(onoff_ms);
		cpu = 1 + below(&random, max(nr_cpu_ids - 1, 1u));
		if (cpu_possible(cpu) && change_cpu(cpu, &random))
			atomic_long_inc(&onoffs);
	}
	for_each_present_cpu(cpu)
		if (!cpu_online(cpu))
			add_cpu(cpu);
	return 0;
}

/* Elements that are neither free nor to be found. */
static int elements_under_way(void)
{
	struct list_head *entry;
	int n = POOL, i;

	for (i = 0; i <= SOURCES; i++)
		n -= !!source[i];
	spin_lock_bh(&free_lock);
	list_for_each(entry, &free_elements)
		n--;
	spin_unlock_bh(&free_lock);
	return n;
}

static void stop_all_once(void)
{
	int tries;

	WRITE_ONCE(paused, true);
	/* A reader's longest sleeps are a second, a writer's wait for several of them. */
	for (tries = 0; tries < 1500 && atomic_read(&running); tries++)
		msleep(20);
	if (atomic_read(&running)) {
		pr_alert(TAG "%d threads did not stop in 30 s\n", atomic_read(&running));
		atomic_long_inc(&leaks);
	}
	for (tries = 0; tries < 2 * PIPE && elements_under_way(); tries++) {
		if (by_acquire)
			msleep(20);
		else
			hazptr_barrier();
	}
	if (elements_under_way()) {
		pr_alert(TAG "%d elements did not come back\n", elements_under_way());
		atomic_long_inc(&leaks);
	}
	atomic_long_inc(&stutters);
	WRITE_ONCE(paused, false);
	wake_up_all(&go_on);
}

static int stutterer(void *unused)
{
	int waited;

	while (!kthread_should_stop()) {
		for (waited = 0; waited < stutter_ms && !kthread_should_stop(); waited += 100)
			msleep(100);
		stop_all_once();
	}
	return 0;
}

#ifdef HAZPTR_FAULTS
/*
 * A reader and a writer with a pointer of their own. When it has loaded the pointer, the reader
 * stops in hazptr_acquire(): in one half of its turns until the writer's hazptr_synchronize() has
 * returned, which it must not do, in the other until it has changed the wildcard. Then the reader
 * detaches, and the writer waits for that before it goes on. No stop is longer than PAIR_US. The
 * reader holds up to five other objects, so it acquires in a slot of the CPU, or in a list.
 */
#define PAIR_US 3000
#define PAIR_OTHERS 5

static struct {
	struct task_struct *reader, *writer;
	bool ready;		/* the writer waits until the reader stops */
	bool for_the_flip;	/* what the reader will stop for */
	bool armed;		/* the next acquire is the one that stops */
	bool loaded;		/* the reader stops */
	unsigned long passed, flips, detached;
} pair;

static void pair_reader_stops(void)
{
	unsigned long *count = READ_ONCE(pair.for_the_flip) ? &pair.flips : &pair.passed;
	unsigned long before = READ_ONCE(*count);
	int us;

	pair.armed = false;
	WRITE_ONCE(pair.loaded, true);
	for (us = 0; us < PAIR_US && READ_ONCE(*count) == before; us += 5)
		udelay(5);
	WRITE_ONCE(pair.loaded, false);
}

static void pair_writer_stops(void)
{
	bool stops = READ_ONCE(pair.loaded) && READ_ONCE(pair.for_the_flip);
	unsigned long before = READ_ONCE(pair.detached);
	int us;

	WRITE_ONCE(pair.flips, pair.flips + 1);
	if (!stops)
		return;
	for (us = 0; us < PAIR_US && READ_ONCE(pair.detached) == before; us += 100)
		usleep_range(50, 100);
}

static int pair_reader(void *unused)
{
	struct rnd_state random;

	seed(&random);
	WRITE_ONCE(pair.reader, current);
	while (!kthread_should_stop()) {
		struct hazptr_ctx others[PAIR_OTHERS] = {}, ctx = {};
		int n = below(&random, 2) ? PAIR_OTHERS : below(&random, PAIR_OTHERS), i;
		struct element *held[PAIR_OTHERS], *e;

		pause_here();
		for (i = 0; i < 100 && !READ_ONCE(pair.ready); i++)
			usleep_range(50, 100);
		WRITE_ONCE(pair.for_the_flip, below(&random, 2));
		preempt_disable(); /* they stay in the slots */
		for (i = 0; i < n; i++) {
			struct element **from = &source[below(&random, SOURCES)];

			held[i] = hazptr_acquire(&others[i], (void **)from);
		}
		pair.armed = true;
		e = hazptr_acquire(&ctx, (void **)&source[SOURCES]);
		if (pair.for_the_flip)
			hazptr_detach(&ctx);
		WRITE_ONCE(pair.detached, pair.detached + 1);
		preempt_enable();
		usleep_range(100, 2000);
		if (e)
			check(e);
		hazptr_release(&ctx, e);
		for (i = 0; i < n; i++) {
			if (held[i])
				check(held[i]);
			hazptr_release(&others[i], held[i]);
		}
	}
	return 0;
}

static int pair_writer(void *unused)
{
	struct element *e;
	bool over;
	int us;

	WRITE_ONCE(pair.writer, current);
	sched_set_fifo_low(current); /* the reader stops for a short time only */
	while (!kthread_should_stop()) {
		pause_here();
		WRITE_ONCE(pair.ready, true);
		for (us = 0; us < 10000 && !READ_ONCE(pair.loaded); us += 20)
			usleep_range(10, 20);
		WRITE_ONCE(pair.ready, false);
		e = take_free();
		if (!e)
			continue;
		WRITE_ONCE(e->pipe, 0);
		WRITE_ONCE(e->sound, SOUND);
		e = xchg(&source[SOURCES], e);
		atomic_long_inc(&writes);
		if (!e)
			continue;
		WRITE_ONCE(e->pipe, 1);
		do {
			hazptr_synchronize(e);
			over = age(e);
			WRITE_ONCE(pair.passed, pair.passed + 1);
		} while (!over);
	}
	return 0;
}

/*
 * Make short steps of the code under test last longer now and then. Once in a thousand times, a
 * reader without preemption stays for longer than a whole synchronize takes, so that one passes
 * meanwhile.
 */
static bool stretch(enum hazptr_step step)
{
	u32 dice = (u32)local_clock() >> 3;

	if (step == HAZPTR_STEP_LOADED && current == READ_ONCE(pair.reader) && pair.armed &&
	    !in_hardirq()) {
		pair_reader_stops();
		return false;
	}
	switch (step) {
	case HAZPTR_STEP_LOOKED:
	case HAZPTR_STEP_NAMED:
	case HAZPTR_STEP_MARKED:
	case HAZPTR_STEP_LOADED:
		if (!(dice % 61))
			udelay(dice % 397);
		else if (!(dice % 997))
			mdelay(1 + dice % 5);
		break;
	case HAZPTR_STEP_FLIPPED:
		if (current == READ_ONCE(pair.writer))
			pair_writer_stops();
		break;
	case HAZPTR_STEP_TAKEN:
	case HAZPTR_STEP_SEEN:
	case HAZPTR_STEP_HALF:
		if (!(dice % 3))
			usleep_range(200, 2000);
		break;
	default:
		break;
	}
	return false;
}

static void stretch_steps(bool on)
{
	WRITE_ONCE(hazptr_on_step, on ? stretch : NULL);
}

static int start(int (*function)(void *unused), const char *name);

static int start_pair(void)
{
	int error;

	if (!by_acquire)
		return 0;
	atomic_add(2, &running);
	error = start(pair_writer, "pair_writer");
	return error ? error : start(pair_reader, "pair_reader");
}
#else
static void stretch_steps(bool on)
{
}

static int start_pair(void)
{
	return 0;
}
#endif

static int start(int (*function)(void *unused), const char *name)
{
	struct task_struct *task;

	if (threads >= THREADS_MOST)
		return -ENOSPC;
	task = kthread_run(function, NULL, "hazptr_%s", name);
	if (IS_ERR(task))
		return PTR_ERR(task);
	thread[threads++] = task;
	return 0;
}

/*
 * Who was started last is stopped first: who stops all, then who takes CPUs away, readers, writers,
 * which may wait for objects that were handed over, and last who releases these.
 */
static void stop_all(void)
{
	while (threads > 0)
		kthread_stop(thread[--threads]);
}

static void print_counts(const char *name, const atomic_long_t *count)
{
	char line[(PIPE + 1) * 21 + 1];
	int i, at = 0;

	for (i = 0; i <= PIPE; i++)
		at += scnprintf(line + at, sizeof(line) - at, " %ld", atomic_long_read(&count[i]));
	pr_alert(TAG "%s:%s\n", name, line);
}

static void print_end(void)
{
	long late = 0;
	bool failed;
	int i;

	for (i = 2; i <= PIPE; i++)
		late += atomic_long_read(&reader_pipe[i]);
	failed = late || atomic_long_read(&unsound) || atomic_long_read(&leaks) ||
		 !atomic_long_read(&reads) || !atomic_long_read(&circulation[PIPE]);
	pr_alert(TAG "type=%s reads=%ld writes=%ld misses=%ld sleeps=%ld handed-over=%ld\n", type,
		 atomic_long_read(&reads), atomic_long_read(&writes), atomic_long_read(&misses),
		 atomic_long_read(&sleeps), atomic_long_read(&handovers));
	pr_alert(TAG "remote=%ld stutters=%ld onoff=%ld\n", atomic_long_read(&remote),
		 atomic_long_read(&stutters), atomic_long_read(&onoffs));
	pr_alert(TAG "late=%ld unsound=%ld leaks=%ld\n", late, atomic_long_read(&unsound),
		 atomic_long_read(&leaks));
	print_counts("Reader Pipe", reader_pipe);
	print_counts("Free-Block Circulation", circulation);
	pr_alert(TAG "--- End of test: %s\n", failed ? "FAILURE" : "SUCCESS");
}

static void end_all(void)
{
	int i;

	stop_all();
	stretch_steps(false);
	while (release_pending())
		;
	/* Each barrier is one step of the pipe for the last elements. */
	for (i = 0; i < 2 * PIPE; i++)
		hazptr_barrier();
}

static int __init torture_init(void)
{
	int error, i;

	by_acquire = !strcmp(type, "acquire");
	if (!by_acquire && strcmp(type, "context")) {
		pr_err(TAG "there is no type %s\n", type);
		return -EINVAL;
	}
	if (nreaders < 0)
		nreaders = 2 * num_online_cpus();
	nreaders = clamp(nreaders, 1, THREADS_MOST / 2);
	nwriters = clamp(nwriters, 0, THREADS_MOST / 4);
	for (i = 0; i < POOL; i++)
		list_add_tail(&pool[i].entry, &free_elements);
	stretch_steps(true);
	atomic_set(&running, nreaders + nwriters);
	error = start(releaser, "releaser");
	for (i = 0; !error && i < nwriters; i++)
		error = start(writer, "writer");
	for (i = 0; !error && i < nreaders; i++)
		error = start(reader, "reader");
	if (!error)
		error = start_pair();
	if (!error && onoff_ms)
		error = start(hotplugger, "onoff");
	if (!error && stutter_ms)
		error = start(stutterer, "stutter");
	pr_alert(TAG "--- Start of test: type=%s nreaders=%d nwriters=%d stutter_ms=%d onoff_ms=%d\n",
		 type, nreaders, nwriters, stutter_ms, onoff_ms);
	if (error)
		end_all();
	return error;
}

static void __exit torture_exit(void)
{
	end_all();
	if (elements_under_way()) {
		pr_alert(TAG "%d elements did not come back\n", elements_under_way());
		atomic_long_inc(&leaks);
	}
	print_end();
}

module_init(torture_init);
module_exit(torture_exit);
MODULE_DESCRIPTION("Torture of hazard pointers");
MODULE_AUTHOR("The lull authors");
MODULE_LICENSE("Dual MIT/GPL");
