/* SPDX-License-Identifier: MIT */
/* lull rcuscale: running one block; see rcuscale.h. */
#include "instruments/rcu/rcuscale.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lull/fence.h>

#include "common/clock.h"
#include "common/cpus.h"
#include "common/options.h"
#include "engine/peers.h"

#define SLEEPERS 64u
#define SLEEPER_STACK (64u * 1024)
#define SECTION_NS 20000u
#define STUCK_NS 200000000u
#define STUCK_BEFORE_NS 2000000u /* for the reader to be in its section */
#define COST_OBJECTS 50000u

/* ---- threads beside the measuring one -------------------------------------------------------- */

/* Threads that run beside a block. */
struct company {
	const struct bench_gp_scheme *scheme;
	uint64_t hold_ns;
	uint32_t stop;
	sem_t ready, go;
	pthread_t thread[SLEEPERS];
	unsigned count, pinned;
};

static void *reader_main(void *arg)
{
	struct company *c = arg;

	bench_pin(lull_add_relaxed(&c->pinned, 1u) + 1);
	c->scheme->thread_enter();
	sem_post(&c->ready);
	c->scheme->read(&c->stop, c->hold_ns);
	c->scheme->thread_leave();
	return NULL;
}

static void sem_wait_for(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		;
}

static void *sleeper_main(void *arg)
{
	struct company *c = arg;

	c->scheme->sleeper_enter();
	sem_post(&c->ready);
	sem_wait_for(&c->go);
	c->scheme->sleeper_leave();
	return NULL;
}

/* One reader, or for what they are all to feel one on each CPU but the first. */
static unsigned company_size(const struct rcuscale_job *job)
{
	unsigned others = bench_cpus() - 1;

	if (job->setup == SETUP_IDLE)
		return 0;
	if (job->setup == SETUP_THREADS64)
		return SLEEPERS;
	if (job->what != WHAT_INTERRUPTS || others < 1)
		return 1;
	return others < SLEEPERS ? others : SLEEPERS;
}

static void company_comes(struct company *c, const struct bench_gp_scheme *scheme,
			  const struct rcuscale_job *job)
{
	unsigned count = company_size(job), i;
	pthread_attr_t attr;
	int err;

	memset(c, 0, sizeof(*c));
	c->scheme = scheme;
	c->hold_ns = job->setup == SETUP_SECTIONS ? SECTION_NS :
		     job->setup == SETUP_STUCK	  ? STUCK_NS :
						    0;
	sem_init(&c->ready, 0, 0);
	sem_init(&c->go, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, SLEEPER_STACK);
	for (i = 0; i < count; i++) {
		err = pthread_create(&c->thread[i], &attr,
				     job->setup == SETUP_THREADS64 ? sleeper_main : reader_main, c);
		if (err)
			options_bad("cannot make %u threads: %s", count, strerror(err));
	}
	pthread_attr_destroy(&attr);
	c->count = count;
	for (i = 0; i < count; i++)
		sem_wait_for(&c->ready);
	if (job->setup == SETUP_STUCK)
		bench_sleep_ns(STUCK_BEFORE_NS);
}

static void company_leaves(struct company *c)
{
	unsigned i;

	lull_store_relaxed(&c->stop, 1u);
	for (i = 0; i < c->count; i++)
		sem_post(&c->go);
	for (i = 0; i < c->count; i++)
		pthread_join(c->thread[i], NULL);
	sem_destroy(&c->ready);
	sem_destroy(&c->go);
}

/* ---- the measuring thread -------------------------------------------------------------------- */

struct measuring {
	const struct bench_gp_scheme *scheme;
	const struct rcuscale_job *job;
	struct rcuscale_block *out;
};

static unsigned run_calls(const struct measuring *m, uint64_t *ns, unsigned most,
			  uint64_t deadline_ns)
{
	const struct bench_gp_scheme *s = m->scheme;

	switch (m->job->what) {
	case WHAT_SYNCHRONIZE:
		return s->synchronize(ns, most, deadline_ns);
	case WHAT_CALL:
		return s->call(ns, most, deadline_ns);
	case WHAT_KILL:
		return s->kill(ns, most, deadline_ns);
	default:
		return s->barrier(ns, most, deadline_ns, m->job->what == WHAT_BARRIER_QUEUED);
	}
}

static void measure_calls(const struct measuring *m)
{
	struct rcuscale_block *out = m->out;
	uint64_t before = 0, after = 0, began;
	struct bench_counters counters;

	out->ns = options_alloc(m->job->most, sizeof(*out->ns));
	run_calls(m, out->ns, 1, UINT64_MAX); /* faults the code in */
	out->interrupts_known = bench_call_interrupts(&before, NULL, 0);
	bench_counters_open(&counters);
	began = bench_now_ns();
	out->count = run_calls(m, out->ns, m->job->most, began + m->job->budget_ns);
	out->elapsed_ns = bench_now_ns() - began;
	out->counted = bench_counters_end(&counters, out->count);
	out->interrupts_known = out->interrupts_known && bench_call_interrupts(&after, NULL, 0);
	out->interrupts = after - before;
}

static void measure_replace(const struct measuring *m)
{
	struct rcuscale_block *out = m->out;
	struct bench_counters counters;
	uint32_t objects;

	bench_counters_open(&counters);
	m->scheme->replace(m->job->way, m->job->most, &out->replaced);
	out->counted = bench_counters_end(&counters, m->job->most);
	if (!m->scheme->retire_cost)
		return;
	/* Few objects, where there is little time for more. */
	objects = m->job->most < COST_OBJECTS ? m->job->most : COST_OBJECTS;
	out->count = objects < BENCH_GP_COST_BATCH ? 1 : objects / BENCH_GP_COST_BATCH;
	out->cost = options_alloc(out->count, sizeof(*out->cost));
	out->cpu_ns = m->scheme->retire_cost(m->job->way, out->count * BENCH_GP_COST_BATCH, out->cost);
}

/*
 * One update at a time at a fixed rate, asleep between them, and what all processors were
 * interrupted meanwhile.
 */
static void measure_interrupts(const struct measuring *m)
{
	struct rcuscale_block *out = m->out;
	uint64_t before = 0, after = 0, began, next, sample;
	struct timespec ts;
	uint32_t i;

	if (!m->job->quiet)
		m->scheme->synchronize(&sample, 1, UINT64_MAX); /* faults the code in */
	out->interrupts_known = bench_call_interrupts(&before, NULL, 0);
	out->heavy = lull_fence_heavy_count();
	next = began = bench_now_ns();
	for (i = 0; i < m->job->most; i++) {
		next += 1000000000u / RCUSCALE_RATE;
		ts.tv_sec = (time_t)(next / 1000000000u);
		ts.tv_nsec = (long)(next % 1000000000u);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
			;
		if (!m->job->quiet)
			m->scheme->synchronize(&sample, 1, UINT64_MAX);
	}
	out->elapsed_ns = bench_now_ns() - began;
	out->heavy = lull_fence_heavy_count() - out->heavy;
	out->interrupts_known = out->interrupts_known && bench_call_interrupts(&after, NULL, 0);
	out->interrupts = after - before;
}

static uint64_t process_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

static void measure_paced(const struct measuring *m)
{
	struct rcuscale_block *out = m->out;
	uint64_t before, began;

	out->count = m->job->most;
	out->ns = options_alloc(out->count, sizeof(*out->ns));
	out->until_ns = options_alloc(out->count, sizeof(*out->until_ns));
	m->scheme->paced(1, m->job->period_ns, out->ns, out->until_ns); /* faults the code in */
	out->heavy = lull_fence_heavy_count();
	before = process_switches();
	began = bench_now_ns();
	m->scheme->paced(out->count, m->job->period_ns, out->ns, out->until_ns);
	out->elapsed_ns = bench_now_ns() - began;
	out->switches = process_switches() - before;
	out->heavy = lull_fence_heavy_count() - out->heavy;
}

/* ---- a reader that sleeps, and one who waits for it ------------------------------------------ */

struct holder {
	const struct bench_gp_scheme *scheme;
	uint32_t stop;
	uint64_t left_ns;
	sem_t go, held, done;
};

static void *holder_main(void *arg)
{
	struct holder *h = arg;

	bench_pin(1);
	h->scheme->sleeper_enter();
	for (;;) {
		sem_wait_for(&h->go);
		if (lull_load_relaxed(&h->stop))
			break;
		h->scheme->hold(RCUSCALE_SLEEP_NS, &h->held, &h->left_ns);
		sem_post(&h->done);
	}
	h->scheme->sleeper_leave();
	return NULL;
}

/* Return the time from the reader's leave until the call has returned; *@cpu_ns is the processor time of the call. */
static uint64_t wait_once(struct holder *h, uint64_t *cpu_ns)
{
	uint64_t left, back, cpu;

	lull_store_relaxed(&h->left_ns, (uint64_t)0);
	sem_post(&h->go);
	sem_wait_for(&h->held);
	cpu = bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	h->scheme->await_holder();
	back = bench_now_ns();
	*cpu_ns += bench_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	left = lull_load_relaxed(&h->left_ns);
	if (!left)
		options_fail("%s did not wait for the reader", h->scheme->name);
	sem_wait_for(&h->done);
	return back - left;
}

static void measure_wake(const struct measuring *m)
{
	struct rcuscale_block *out = m->out;
	struct holder h = { .scheme = m->scheme };
	uint64_t own = 0, all, deadline;
	pthread_t thread;
	int err;

	sem_init(&h.go, 0, 0);
	sem_init(&h.held, 0, 0);
	sem_init(&h.done, 0, 0);
	err = pthread_create(&thread, NULL, holder_main, &h);
	if (err)
		options_bad("cannot make a thread: %s", strerror(err));
	out->ns = options_alloc(m->job->most, sizeof(*out->ns));
	wait_once(&h, &own); /* faults the code in */
	own = 0;
	all = bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	deadline = bench_now_ns() + m->job->budget_ns;
	do
		out->ns[out->count++] = wait_once(&h, &own);
	while (out->count < m->job->most && bench_now_ns() < deadline);
	out->own_cpu_ns = (double)own / out->count;
	out->cpu_ns = (double)(bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - all) / out->count;
	lull_store_relaxed(&h.stop, 1u);
	sem_post(&h.go);
	pthread_join(thread, NULL);
	sem_destroy(&h.go);
	sem_destroy(&h.held);
	sem_destroy(&h.done);
}

static void *measuring_main(void *arg)
{
	const struct measuring *m = arg;

	bench_pin(0);
	m->scheme->thread_enter();
	if (m->job->what == WHAT_REPLACE)
		measure_replace(m);
	else if (m->job->what == WHAT_INTERRUPTS)
		measure_interrupts(m);
	else if (m->job->what == WHAT_WAKE)
		measure_wake(m);
	else if (m->job->what == WHAT_PACED)
		measure_paced(m);
	else
		measure_calls(m);
	m->scheme->thread_leave();
	return NULL;
}

void rcuscale_run(const struct bench_gp_scheme *scheme, const struct rcuscale_job *job,
		  struct rcuscale_block *out)
{
	struct measuring m = { scheme, job, out };
	struct company company;
	pthread_t thread;
	int err;

	memset(out, 0, sizeof(*out));
	company_comes(&company, scheme, job);
	err = pthread_create(&thread, NULL, measuring_main, &m);
	if (err)
		options_bad("cannot make a thread: %s", strerror(err));
	pthread_join(thread, NULL);
	company_leaves(&company);
}

void rcuscale_prime(const struct bench_gp_scheme *scheme)
{
	uint64_t ns;

	if (!scheme->call)
		return;
	scheme->thread_enter();
	scheme->call(&ns, 1, UINT64_MAX);
	scheme->thread_leave();
}

/* ---- a block in another process -------------------------------------------------------------- */

#define BLOCK_FORMAT "%u,%u,%u,%" PRIu32 ",%" PRIu64

static void write_all(const void *data, size_t size)
{
	if (size && fwrite(data, 1, size, stdout) != size)
		options_fail("cannot write the block: %s", strerror(errno));
}

static size_t samples_size(const struct rcuscale_job *job, const struct rcuscale_block *block)
{
	return block->count *
	       (job->what == WHAT_REPLACE ? sizeof(*block->cost) : sizeof(*block->ns));
}

const struct bench_gp_scheme *rcuscale_gp(const struct rcuscale_scheme *scheme)
{
	return scheme && scheme->gp ? scheme->gp : peers_need(PEER_GP, "rcu");
}

void rcuscale_serve_block(const char *arg)
{
	const struct bench_gp_scheme *scheme = rcuscale_gp(NULL);
	struct rcuscale_job job;
	struct rcuscale_block block;
	unsigned what, setup, way;

	if (sscanf(arg, BLOCK_FORMAT, &what, &setup, &way, &job.most, &job.budget_ns) != 5 ||
	    what >= NR_WHATS || setup >= NR_SETUPS || way >= BENCH_GP_WAYS || !job.most ||
	    job.most > INT32_MAX)
		options_bad("--block: '%s' is not a block", arg);
	job.what = (enum rcuscale_what)what;
	job.setup = (enum rcuscale_setup)setup;
	job.way = (enum bench_gp_way)way;
	rcuscale_prime(scheme);
	rcuscale_run(scheme, &job, &block);
	write_all(&block, sizeof(block));
	write_all(block.ns, samples_size(&job, &block));
	if (fflush(stdout) != 0)
		options_fail("cannot write the block: %s", strerror(errno));
}

static pid_t start_child(const struct rcuscale_job *job, int out_fd)
{
	char block[128], command[] = "rcuscale", option[] = "--block", name[] = "lull";
	char *argv[] = { name, command, option, block, NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int err;

	snprintf(block, sizeof(block), BLOCK_FORMAT, (unsigned)job->what, (unsigned)job->setup,
		 (unsigned)job->way, job->most, job->budget_ns);
	/* For children only: here the strategy was chosen when the program began. */
	setenv("LULL_FENCE", "full", 1);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
	err = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (err)
		options_fail("cannot start a process with full fences: %s", strerror(err));
	return pid;
}

void rcuscale_run_full(const struct rcuscale_job *job, struct rcuscale_block *out)
{
	int fds[2], status = 0;
	bool complete;
	FILE *file;
	pid_t pid;

	if (pipe(fds) != 0 || !(file = fdopen(fds[0], "r")))
		options_fail("no pipe: %s", strerror(errno));
	pid = start_child(job, fds[1]);
	close(fds[1]);
	complete = fread(out, sizeof(*out), 1, file) == 1;
	out->ns = NULL;
	if (complete && out->count) {
		out->ns = options_alloc(out->count, sizeof(*out->ns));
		complete = fread(out->ns, samples_size(job, out), 1, file) == 1;
	}
	fclose(file);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!complete || status != 0)
		options_fail("the process with full fences failed");
}

void rcuscale_run_scheme(const struct rcuscale_scheme *scheme, const struct rcuscale_job *job,
			 struct rcuscale_block *out)
{
	if (scheme->gp)
		rcuscale_run(scheme->gp, job, out);
	else
		rcuscale_run_full(job, out);
}

bool rcuscale_can(const struct rcuscale_scheme *scheme, enum rcuscale_what what)
{
	const struct bench_gp_scheme *gp = rcuscale_gp(scheme);

	switch (what) {
	case WHAT_SYNCHRONIZE:
	case WHAT_INTERRUPTS:
		return gp->synchronize != NULL;
	case WHAT_CALL:
	case WHAT_BARRIER:
	case WHAT_BARRIER_QUEUED:
		return gp->call != NULL;
	case WHAT_KILL:
		return gp->kill != NULL;
	case WHAT_WAKE:
		return gp->hold != NULL;
	case WHAT_PACED:
		return gp->paced && scheme->gp;
	case WHAT_UPDATERS:
		return gp->replace_own && scheme->gp;
	default:
		return gp->replace != NULL;
	}
}
