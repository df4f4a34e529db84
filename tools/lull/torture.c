/* SPDX-License-Identifier: MIT */
/*
 * lull torture: tries to break the library. Options, control of the run, report; the parts are in
 * torture_*.c, and what is checked is told in torture.h.
 */
#include "torture.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lull/debug.h>
#include <lull/reclaim.h>

#include "bench.h"
#include "json.h"
#include "main.h"
#include "options.h"

#define DEFAULT_SECONDS 10.0
#define MODE_EVERY_NS 100000000u
#define PAUSE_EVERY_NS 1500000000u
#define PARK_NS 20000000
#define TICK_US 20000
#define MESSAGES 8

/*
 * ThreadSanitizer ends a child that makes threads; AddressSanitizer leaves it with locks that
 * nobody holds.
 */
#if defined(LULL__TSAN) || defined(__SANITIZE_ADDRESS__)
#define SANITIZER_FORBIDS_FORK true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZER_FORBIDS_FORK true
#endif
#endif
#ifndef SANITIZER_FORBIDS_FORK
#define SANITIZER_FORBIDS_FORK false
#endif

struct torture torture;
__thread struct torturer *torture_me;

static const struct part {
	const char *name, *what;
} parts[NR_PARTS] = {
	[PART_ONLINE] = { "no-online", "no quiescent-state threads" },
	[PART_CHURN] = { "no-churn", "no threads that come and go" },
	[PART_FORK] = { "no-fork", "no forked children" },
	[PART_SIGNALS] = { "no-signals", "no signal handlers that read" },
	[PART_SHUFFLE] = { "no-shuffle", "no changes of CPU affinity" },
	[PART_STUTTER] = { "no-stutter", "no pauses in which everything must have come home" },
	[PART_FLOOD] = { "no-flood", "no floods of callbacks" },
	[PART_BARRIER] = { "no-barrier", "no barriers for callbacks of several threads" },
};

/* ---- small things that all parts use ----------------------------------------------------- */

static uint64_t began_ns;

static struct {
	uint32_t count;
	struct {
		uint64_t at_ns;
		char text[200];
		uint32_t is_written;
	} message[MESSAGES];
} failures;

/* Also in signal handlers: nothing is allocated or locked here. */
void torture_fail(const char *fmt, ...)
{
	char text[sizeof(failures.message[0].text)];
	uint32_t nr;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (torture.in_child) {
		if (write(torture.child_fd, text, strlen(text)) < 0)
			_exit(2);
		_exit(1);
	}
	nr = lull_add_relaxed(&failures.count, 1u);
	if (nr < MESSAGES) {
		failures.message[nr].at_ns = bench_now_ns() - began_ns;
		memcpy(failures.message[nr].text, text, sizeof(text));
		lull_store_release(&failures.message[nr].is_written, 1u);
	}
	lull_store_release(&torture.stop, 1u);
}

bool torture_stopped(void)
{
	return lull_load_acquire(&torture.stop);
}

void torture_doing(const char *what)
{
	lull_store_relaxed(&torture_me->doing, what);
}

uint64_t torture_random(uint64_t *rng, uint64_t n)
{
	return n ? (bench_random(rng) >> 16) % n : 0;
}

bool torture_once_in(uint64_t *rng, uint64_t n)
{
	return torture_random(rng, n) == 0;
}

void torture_spin_ns(uint64_t ns)
{
	uint64_t until = bench_now_ns() + ns;

	while (bench_now_ns() < until)
		lull_cpu_relax();
}

void torture_sleep_us(uint64_t us)
{
	struct timespec ts = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };

	/* A signal may cut it short; nobody depends on the length. */
	nanosleep(&ts, NULL);
}

void torture_thread_init(struct torturer *t, const char *role, unsigned index, uint64_t seed)
{
	memset(t, 0, sizeof(*t));
	t->role = role;
	t->index = index;
	t->doing = "starting";
	t->rng = (seed ^ 0x9e3779b97f4a7c15u) | 1;
	t->handler_rng = (seed * 0xbf58476d1ce4e5b9u) | 1;
}

void torture_timer_start(struct torturer *t, uint64_t most_us)
{
	uint64_t ns = 20000 + torture_random(&t->rng, most_us * 1000);
	struct itimerspec often = { { 0, (long)ns }, { 0, (long)ns } };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };

	if (torture.without[PART_SIGNALS])
		return;
	/* glibc names this member only in later versions. */
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &t->timer) != 0)
		return;
	t->has_timer = true;
	timer_settime(t->timer, 0, &often, NULL);
}

void torture_timer_stop(struct torturer *t)
{
	if (t->has_timer)
		timer_delete(t->timer);
	t->has_timer = false;
}

void *torture_rounds(struct torturer *t, const uint32_t *active, void (*round)(struct torturer *t))
{
	torture_me = t;
	lull_thread_register();
	torture_timer_start(t, TORTURE_SIGNAL_US);
	while (!torture_stopped()) {
		torture_pause_point();
		if (t->index >= lull_load_relaxed(active)) {
			torture_sleep_us(500);
			continue;
		}
		round(t);
		lull_store_relaxed(&t->work, t->work + 1);
	}
	return NULL;
}

/* ---- pauses ------------------------------------------------------------------------------ */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned parked;
} park = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

void torture_pause_point(void)
{
	if (!lull_load_acquire(&torture.pausing))
		return;
	pthread_mutex_lock(&park.lock);
	park.parked++;
	pthread_cond_broadcast(&park.changed);
	while (lull_load_relaxed(&torture.pausing) && !torture_stopped())
		pthread_cond_wait(&park.changed, &park.lock);
	park.parked--;
	pthread_mutex_unlock(&park.lock);
}

/*
 * Nobody holds anything or removes anything any more: what was deferred comes home, and then
 * everything must be where it belongs.
 */
static void settle(const char *when)
{
	if (torture.flavor->settle)
		torture.flavor->settle();
	if (torture.flavor->barrier)
		torture.flavor->barrier();
	torture_pool_check(when);
	if (torture.flavor->check)
		torture.flavor->check(when);
}

/* Somebody has to, where callbacks are left to the program: who waits may wait for one. */
static void poll_callbacks(void)
{
	lull_reclaim_poll(100, 1000000);
}

/* Everybody stops. */
static void pause_all(void)
{
	bool all = false;

	pthread_mutex_lock(&park.lock);
	lull_store_release(&torture.pausing, 1u);
	while (!torture_stopped() && !all) {
		struct timespec soon;

		/* Whoever fails tells nobody here. */
		clock_gettime(CLOCK_REALTIME, &soon);
		soon.tv_nsec += PARK_NS;
		soon.tv_sec += soon.tv_nsec / 1000000000;
		soon.tv_nsec %= 1000000000;
		all = park.parked == torture.nr_threads;
		if (!all && pthread_cond_timedwait(&park.changed, &park.lock, &soon) == ETIMEDOUT) {
			pthread_mutex_unlock(&park.lock);
			poll_callbacks();
			pthread_mutex_lock(&park.lock);
		}
	}
	pthread_mutex_unlock(&park.lock);
	if (all) {
		settle("in a pause");
		lull_store_relaxed(&torture.pauses, torture.pauses + 1);
	}
	pthread_mutex_lock(&park.lock);
	lull_store_release(&torture.pausing, 0u);
	pthread_cond_broadcast(&park.changed);
	pthread_mutex_unlock(&park.lock);
}

/* ---- changing conditions ----------------------------------------------------------------- */

/*
 * Half of the time one reader and one updater have the machine for themselves: only threads that
 * really run at the same time find what needs exact timing. Otherwise any number.
 */
static void change_activity(uint64_t *rng)
{
	bool duet = torture_once_in(rng, 2);

	lull_store_relaxed(&torture.active_readers,
			   duet ? 1u : 1 + (uint32_t)torture_random(rng, torture.readers));
	lull_store_relaxed(&torture.active_updaters,
			   duet ? 1u : 1 + (uint32_t)torture_random(rng, torture.updaters));
}

static void set_affinity(uint32_t tid, int cpu)
{
	cpu_set_t set;
	unsigned i;

	CPU_ZERO(&set);
	for (i = 0; i < bench_cpus(); i++)
		if ((cpu < 0 || bench_cpu(i) == cpu) && bench_cpu(i) >= 0 &&
		    bench_cpu(i) < CPU_SETSIZE)
			CPU_SET((size_t)bench_cpu(i), &set);
	/* Refused, or too many CPUs for the set: then it stays where it is. */
	sched_setaffinity((pid_t)tid, sizeof(set), &set);
}

/* Everybody on one CPU, each thread on one of its own choice, or all free again. */
static void shuffle(uint64_t *rng)
{
	uint64_t how = torture_random(rng, 4);
	int one = bench_cpu((unsigned)torture_random(rng, bench_cpus()));
	unsigned i;

	for (i = 0; i < torture.nr_threads; i++) {
		uint32_t tid = lull_load_relaxed(&torture.threads[i].tid);

		if (!tid)
			continue;
		if (how == 0)
			set_affinity(tid, one);
		else if (how == 1)
			set_affinity(tid, bench_cpu((unsigned)torture_random(rng, bench_cpus())));
		else
			set_affinity(tid, -1);
	}
}

static void change_reclaim(uint64_t *rng)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	config.mode = (enum lull_reclaim_mode)torture_random(rng, 3);
	if (torture_once_in(rng, 2)) {
		config.on_hard = LULL_RECLAIM_HELP;
		config.soft_items = 100 + (size_t)torture_random(rng, 1000);
		config.hard_items = config.soft_items * 2;
	}
	config.linger_ms = 1 + (uint32_t)torture_random(rng, 20);
	if (lull_reclaim_configure(&config) != 0)
		torture_fail("lull_reclaim_configure() refuses a configuration that is in order");
}

/* ---- a run that hangs -------------------------------------------------------------------- */

static void report(void);

static uint64_t all_work(void)
{
	uint64_t sum = lull_load_relaxed(&torture.pauses);
	unsigned i;

	for (i = 0; i < torture.nr_threads; i++)
		sum += lull_load_relaxed(&torture.threads[i].work);
	return sum;
}

_Noreturn void torture_give_up(void)
{
	report();
	/* Not of all files: their list may be locked by a fork that hangs. */
	fflush(stdout);
	_exit(EXIT_FAILURE);
}

static _Noreturn void hang(void)
{
	unsigned i;

	torture_fail("nothing has moved for %d s", TORTURE_PATIENCE_S);
	for (i = 0; i < torture.nr_threads; i++) {
		const struct torturer *t = &torture.threads[i];

		if (lull_load_relaxed(&t->is_running))
			printf("still there: %s %u (tid %u), %s\n", t->role, t->index, t->tid,
			       lull_load_relaxed(&t->doing));
	}
	torture_give_up();
}

static void *watchdog(void *unused)
{
	uint64_t last = 0;
	int still = 0;

	(void)unused;
	for (;;) {
		uint64_t now = all_work();

		still = now == last ? still + 1 : 0;
		last = now;
		if (still == TORTURE_PATIENCE_S)
			hang();
		sleep(1);
	}
	return NULL;
}

/* ---- the run ----------------------------------------------------------------------------- */

struct start {
	struct torturer *t;
	void *(*run)(void *);
};

static void *thread_main(void *arg)
{
	struct start start = *(struct start *)arg;
	void *result;

	free(arg);
	lull_store_relaxed(&start.t->tid, (uint32_t)syscall(SYS_gettid));
	result = start.run(start.t);
	lull_store_relaxed(&start.t->is_running, false);
	return result;
}

static void start_thread(struct torturer *t, const char *role, unsigned index, void *(*run)(void *),
			 uint64_t *rng)
{
	struct start *start = options_alloc(1, sizeof(*start));
	int err;

	torture_thread_init(t, role, index, bench_random(rng));
	*start = (struct start){ t, run };
	t->is_running = true;
	err = pthread_create(&t->thread, NULL, thread_main, start);
	if (err)
		options_bad("cannot make thread %u: %s", torture.nr_threads + 1, strerror(err));
}

static void make_thread(const char *role, unsigned index, void *(*run)(void *), uint64_t *rng)
{
	start_thread(&torture.threads[torture.nr_threads], role, index, run, rng);
	torture.nr_threads++;
}

static void make_threads(uint64_t *rng)
{
	unsigned i;

	torture.threads =
		aligned_alloc(TORTURE_LINE, (torture.readers + torture.updaters + NR_PARTS) *
						    sizeof(*torture.threads));
	if (!torture.threads)
		options_fail("out of memory");
	for (i = 0; i < torture.readers; i++)
		make_thread("reader", i, torture.flavor->reader, rng);
	for (i = 0; i < torture.updaters; i++)
		make_thread("updater", i, torture.flavor->updater, rng);
	if (!torture.without[PART_CHURN])
		make_thread("churner", 0, torture_churner, rng);
	if (!torture.without[PART_FORK])
		make_thread("forker", 0, torture_forker, rng);
	if (torture.flavor->call && !torture.without[PART_FLOOD])
		make_thread("flooder", 0, torture_flooder, rng);
	if (torture.flavor->call && !torture.without[PART_BARRIER])
		make_thread("barrier tester", 0, torture_barrier_tester, rng);
}

static void status_line(uint64_t now_ns)
{
	static uint64_t last_ns, last_count;
	uint64_t count = torture.flavor->count ? torture.flavor->count()
					       : lull_load_relaxed(&lull__rcu_gp) / LULL__RCU_STEP;

	if (now_ns - last_ns < 1000000000u)
		return;
	bench_progress("torture: %.0f of %.0f s, %.0f %s per second, %u threads", (double)(now_ns - began_ns) / 1e9,
		       torture.seconds,
		       last_ns ? (double)(count - last_count) * 1e9 / (double)(now_ns - last_ns) : 0.0,
		       torture.flavor->unit ? torture.flavor->unit : "grace periods", lull_thread_count());
	last_ns = now_ns;
	last_count = count;
}

static void control(uint64_t *rng)
{
	uint64_t end_ns = began_ns + (uint64_t)(torture.seconds * 1e9), now_ns = began_ns;
	uint64_t mode_ns = began_ns, pause_ns = began_ns + PAUSE_EVERY_NS;

	while (!torture_stopped() && now_ns < end_ns) {
		if (now_ns >= mode_ns) {
			mode_ns = now_ns + MODE_EVERY_NS;
			change_activity(rng);
			if (!torture.without[PART_SHUFFLE])
				shuffle(rng);
			if (torture.mixed_reclaim)
				change_reclaim(rng);
			if (torture.flavor->change)
				torture.flavor->change(rng);
		}
		if (!torture.without[PART_STUTTER] && now_ns >= pause_ns) {
			pause_all();
			pause_ns = bench_now_ns() + PAUSE_EVERY_NS;
		}
		poll_callbacks();
		status_line(now_ns);
		torture_sleep_us(TICK_US);
		now_ns = bench_now_ns();
	}
	bench_progress_clear();
}

/* It may have interrupted anything, the library's own functions and the exit of a thread too. */
static void on_signal(int signal)
{
	int saved = errno;

	(void)signal;
	if (torture_me)
		torture.flavor->handler(torture_me);
	errno = saved;
}

/*
 * After what was found the library may have found it, too, and give up. Whoever reads this wants to
 * know what came first.
 */
static void on_abort(int signal)
{
	(void)signal;
	if (!lull_load_relaxed(&failures.count) || torture.in_child)
		return;
	torture_give_up();
}

/*
 * Threads that exit while they hold something are meant to, counts that go wrong are not; all else
 * is for people.
 */
static void on_message(const char *line)
{
	if (strstr(line, "refcount ") || strstr(line, "percpu_ref "))
		torture_fail("a count went wrong that was used as it should: %s", line);
	else if (strstr(line, "mutex ") || strstr(line, "deadlock"))
		torture_fail("a lock went wrong that was used as it should: %s", line);
	else if (!strstr(line, "exit"))
		fprintf(stderr, "lull: %s\n", line);
}

static void run(void)
{
	uint64_t rng = torture.seed * 0x9e3779b97f4a7c15u | 1;
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t dog;
	unsigned i;

	/* No stall reports: their timeouts would wake a grace period that was never woken. */
	lull_debug_set_stall_ms(0);
	lull_debug_set_message_hook(on_message);
	sigaction(SIGUSR1, &action, NULL);
	signal(SIGABRT, on_abort);
	torture_pool_init();
	torture_read_init();
	torture_life_init();
	if (torture.flavor->init)
		torture.flavor->init();
	began_ns = bench_now_ns();
	make_threads(&rng);
	if (torture.flavor->releaser)
		start_thread(&torture.releaser, "releaser", 0, torture.flavor->releaser, &rng);
	if (pthread_create(&dog, NULL, watchdog, NULL) != 0)
		options_bad("cannot make the watchdog's thread");
	control(&rng);
	lull_store_release(&torture.stop, 1u);
	for (i = 0; i < torture.nr_threads; i++) {
		while (lull_load_relaxed(&torture.threads[i].is_running)) {
			poll_callbacks();
			torture_sleep_us(1000);
		}
		pthread_join(torture.threads[i].thread, NULL);
		torture_timer_stop(&torture.threads[i]);
	}
	lull_store_release(&torture.over, 1u);
	if (torture.flavor->releaser)
		pthread_join(torture.releaser.thread, NULL);
	settle("at the end");
	pthread_cancel(dog);
	pthread_join(dog, NULL);
}

/* ---- report ------------------------------------------------------------------------------ */

static struct torture_tally total_tally(void)
{
	struct torture_tally sum = torture.releaser.tally;
	unsigned i, k;

	for (i = 0; i < torture.nr_threads; i++) {
		const struct torture_tally *both[] = { &torture.threads[i].tally,
						       &torture.threads[i].handler_tally };

		for (k = 0; k < 2 * (TORTURE_AGES + 1); k++) {
			sum.age[k / 2] += both[k & 1]->age[k / 2];
			sum.batch[k / 2] += both[k & 1]->batch[k / 2];
		}
		sum.sections += both[0]->sections + both[1]->sections;
	}
	return sum;
}

static void print_ages(const char *title, const uint64_t *count)
{
	unsigned i;

	printf("%-24s", title);
	for (i = 0; i <= TORTURE_AGES; i++)
		printf(" %llu", (unsigned long long)count[i]);
	putchar('\n');
}

static void print_parts(void)
{
	uint64_t handlers = 0;
	unsigned i;

	for (i = 0; i < torture.nr_threads; i++)
		handlers += torture.threads[i].handler_tally.sections;

	printf("%-24s", "Updates:");
	for (i = 0; i < TORTURE_FORMS && torture.flavor->form[i]; i++)
		printf(" %s %llu,", torture.flavor->form[i], (unsigned long long)torture.forms[i]);
	printf(" other objects %llu\n", (unsigned long long)torture.blobs);
	printf("%-24s %llu threads came and went, %llu forked children, %llu uses in signal "
	       "handlers,\n",
	       "Parts:", (unsigned long long)torture.churned, (unsigned long long)torture.forked,
	       (unsigned long long)handlers);
	printf("%-24s %llu floods, %llu counted barriers, %llu pauses, %llu callbacks of "
	       "updaters\n",
	       "", (unsigned long long)torture.floods, (unsigned long long)torture.barriers,
	       (unsigned long long)torture.pauses, (unsigned long long)torture.callbacks);
	if (torture.flavor->die)
		printf("%-24s %llu handed over to another thread, %llu threads that exited while "
		       "they held something\n",
		       "", (unsigned long long)torture.handed, (unsigned long long)torture.dropped);
}

static void print_pipe(const struct torture_tally *sum)
{
	bool early = false;
	unsigned i;

	for (i = 2; i <= TORTURE_AGES; i++)
		early = early || sum->age[i];
	print_ages(early ? "Reader Pipe: !!!" : "Reader Pipe:", sum->age);
	if (torture.flavor == &torture_rcu)
		print_ages("Reader Batch:", sum->batch);
	torture.circulation[0] = torture.circulation[1] + TORTURE_SLOTS;
	print_ages("Free-Block Circulation:", torture.circulation);
}

static void report(void)
{
	struct torture_tally sum = total_tally();
	uint32_t failed = lull_load_relaxed(&failures.count), i;

	if (torture.flavor->report)
		torture.flavor->report(&sum);
	else
		print_pipe(&sum);
	print_parts();
	printf("%-24s %llu, with %llu heavy fences\n", "Grace periods:",
	       (unsigned long long)(lull_load_relaxed(&lull__rcu_gp) / LULL__RCU_STEP),
	       (unsigned long long)lull_fence_heavy_count());
	for (i = 0; i < failed && i < MESSAGES; i++)
		if (lull_load_acquire(&failures.message[i].is_written))
			printf("failure after %.3f s: %s\n",
			       (double)failures.message[i].at_ns / 1e9, failures.message[i].text);
	if (failed > MESSAGES)
		printf("... and %u more\n", failed - MESSAGES);
	printf("--- End of test: %s\n", failed ? "FAILURE" : "SUCCESS");
}

static json_t *json_counts(const uint64_t *count)
{
	json_t *array = json_array();
	unsigned i;

	for (i = 0; i <= TORTURE_AGES; i++)
		json_array_append_new(array, json_integer((json_int_t)count[i]));
	return array;
}

static void write_json(struct jsonout *json)
{
	struct torture_tally sum = total_tally();
	json_t *root = jsonout_root(json);

	jsonout_set(root, "flavor", json_string(torture.flavor->name));
	jsonout_set(root, "seed", json_integer((json_int_t)torture.seed));
	jsonout_set(root, "failures", json_integer(lull_load_relaxed(&failures.count)));
	jsonout_set(root, "reader_pipe", json_counts(sum.age));
	jsonout_set(root, "reader_batch", json_counts(sum.batch));
	jsonout_set(root, "circulation", json_counts(torture.circulation));
	jsonout_set(root, "grace_periods",
		    json_integer((json_int_t)(lull_load_relaxed(&lull__rcu_gp) / LULL__RCU_STEP)));
	jsonout_close(json);
}

/* ---- options ----------------------------------------------------------------------------- */

enum {
	OPT_FLAVOR = OPTIONS_OWN_KEYS,
	OPT_READERS,
	OPT_UPDATERS,
	OPT_OVERSUBSCRIBE,
	OPT_SEED,
	OPT_RECLAIM,
	OPT_BUSTED,
	OPT_PART
};

static const char *const reclaim_words[] = { "thread", "poll", "caller", "mixed", NULL };

static void set_reclaim(const char *arg)
{
	size_t word = options_word("--reclaim", arg, reclaim_words);
	struct lull_reclaim_config config;

	torture.mixed_reclaim = word == 3;
	lull_reclaim_default_config(&config);
	config.mode = torture.mixed_reclaim ? LULL_RECLAIM_THREAD : (enum lull_reclaim_mode)word;
	lull_reclaim_configure(&config);
}

static void set_flavor(const char *arg)
{
	static const char *const words[] = { "rcu", "hazptr", "shazptr", "bridge", "percpu_ref", "mutex", NULL };

	torture.flavor = torture_flavors[options_word("--flavor", arg, words)];
}

static void own_option(int key, char *arg, struct options *opt)
{
	(void)opt;
	if (key == OPT_FLAVOR)
		set_flavor(arg);
	else if (key == OPT_READERS)
		torture.readers = (unsigned)options_unsigned("--readers", arg, 1, 1000);
	else if (key == OPT_UPDATERS)
		torture.updaters = (unsigned)options_unsigned("--updaters", arg, 1, 1000);
	else if (key == OPT_OVERSUBSCRIBE)
		torture.readers = bench_cpus() * (unsigned)options_unsigned("--oversubscribe", arg, 1, 64);
	else if (key == OPT_SEED)
		torture.seed = options_unsigned("--seed", arg, 1, INT64_MAX);
	else if (key == OPT_RECLAIM)
		set_reclaim(arg);
	else if (key == OPT_BUSTED)
		torture.busted = arg;
	else
		torture.without[key - OPT_PART] = true;
}

#define FIXED_OPTIONS 7

static const struct argp_option *own_options(void)
{
	static struct argp_option all[FIXED_OPTIONS + NR_PARTS + 1] = {
		{ "flavor", OPT_FLAVOR, "rcu|hazptr|shazptr|bridge|percpu_ref|mutex", 0, "what to torture (rcu)", 0 },
		{ "readers", OPT_READERS, "N", 0, "reader threads (2 per CPU)", 0 },
		{ "oversubscribe", OPT_OVERSUBSCRIBE, "N", 0, "N reader threads per CPU", 0 },
		{ "updaters", OPT_UPDATERS, "N", 0, "updater threads (2)", 0 },
		{ "seed", OPT_SEED, "N", 0, "seed of all that is random (another one each time)",
		  0 },
		{ "reclaim", OPT_RECLAIM, "thread|poll|caller|mixed", 0,
		  "who reclaims; mixed: changes all the time (thread)", 0 },
		{ "busted", OPT_BUSTED, "NAME", 0,
		  "run a library with this fault; --list names them", 0 },
	};
	unsigned i;

	for (i = 0; i < NR_PARTS; i++)
		all[FIXED_OPTIONS + i] = (struct argp_option){ parts[i].name, OPT_PART + (int)i,
							       NULL,	      0,
							       parts[i].what, 0 };
	return all;
}

/* What was typed, with the seed at the end if it was not given. */
static void print_seed(const struct options *opt)
{
	bool given = strstr(opt->command, " --seed") != NULL;

	printf("seed %llu; replay with: %s", (unsigned long long)torture.seed, opt->command);
	if (!given)
		printf(" --seed %llu", (unsigned long long)torture.seed);
	putchar('\n');
	fflush(stdout);
}

static uint64_t any_seed(void)
{
	uint64_t mix = bench_now_ns() ^ (uint64_t)getpid() << 32;

	bench_random(&mix);
	return bench_random(&mix) % 1000000000u + 1;
}

/* ---- the command ------------------------------------------------------------------------- */

int lull_cmd_torture(int argc, char **argv)
{
	struct options opt = OPTIONS_INIT("torture");
	struct jsonout *json;
	int status;

	torture.readers = 2 * bench_cpus();
	torture.updaters = 2;
	options_parse(&opt, own_options(), own_option,
		      "Tries to break the library, and says so when it could.", argc, argv);
	if (opt.list) {
		torture_faults_list();
		options_free(&opt);
		return 0;
	}
	if (opt.schemes || opt.runs)
		options_bad("%s: torture has none; see --help",
			    opt.schemes ? "--schemes" : "--runs");
	if (torture.busted)
		torture_fault_set(torture.busted, argv);
	if (!torture.flavor)
		torture.flavor = &torture_rcu;
	json = jsonout_open(&opt);
	torture.seconds = opt.seconds > 0 ? opt.seconds : DEFAULT_SECONDS;
	if (!torture.seed)
		torture.seed = any_seed();
	if (SANITIZER_FORBIDS_FORK && !torture.without[PART_FORK]) {
		printf("no forked children: this sanitizer cannot stand threads in them\n");
		torture.without[PART_FORK] = true;
	}
	printf("--- Start of test: flavor %s, %u readers, %u updaters, %g s, fence %s, %u "
	       "CPUs%s%s\n",
	       torture.flavor->name, torture.readers, torture.updaters, torture.seconds, lull_fence_strategy_name(),
	       bench_cpus(), torture.busted ? ", busted " : "",
	       torture.busted ? torture.busted : "");
	print_seed(&opt);
	run();
	report();
	status = lull_load_relaxed(&failures.count) ? EXIT_FAILURE : EXIT_SUCCESS;
	write_json(json);
	torture_pool_free();
	free(torture.threads);
	options_free(&opt);
	return status;
}
