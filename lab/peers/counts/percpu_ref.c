/* SPDX-License-Identifier: MIT */
/* lull's percpu_ref; and a bare membarrier(2), which ends none. */
#include <linux/membarrier.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <lull/percpu_ref.h>
#include <lull/thread.h>

#include "flavor_lull_rcu.h"
#include "gp_scheme.h"
#include "hash_scheme.h"
#include "ref_scheme.h"

#undef FLAVOR_NAME
#undef FLAVOR_WHAT
#define FLAVOR_NAME "percpu_ref"
#define FLAVOR_WHAT "lull percpu_ref: get and put of an object that is known to be there"

/*
 * ---- the read section ------------------------------------------------------------------------
 *
 * A reference is got and put. The object is there anyway, as with "refcount". Where this process has
 * no restartable sequences (GLIBC_TUNABLES=glibc.pthread.rseq=0, say) the same row shows counters
 * shared out among threads.
 */

static void released(struct lull_percpu_ref *ref)
{
	(void)ref;
	abort(); /* the ring's own reference is never put */
}

const char *bench_ref_percpu_setup(const struct bench_ref_scheme *scheme,
				   struct bench_ref_data *data)
{
	size_t i;

	(void)scheme;
	for (i = 0; i < BENCH_REF_OBJECTS; i++)
		if (!data->object[i].percpu.data &&
		    lull_percpu_ref_init(&data->object[i].percpu, released, 0) != 0)
			return "there is no memory for counters";
	return NULL;
}

#define READ_STATE struct bench_ref_object *read_held
#define READ_BEGIN(p) \
	(read_held = lull_load_relaxed(&(p)), lull_percpu_ref_get(&read_held->percpu), read_held)
#define READ_END() lull_percpu_ref_put(&read_held->percpu)

#define REF_SETUP bench_ref_percpu_setup
#define REF_BODY bench_ref_percpu_ref
#define REF_NESTS 1
#include "ref_body.h"

/*
 * ---- the hash table --------------------------------------------------------------------------
 *
 * An element is found in an RCU section, counted per CPU in it, read after it. Each element has
 * counters of its own on each CPU, and ends with a membarrier: not what percpu_ref is for, and here
 * to show it.
 */

#undef FLAVOR_WHAT
#define FLAVOR_WHAT "lull RCU for the lookup, then a per-CPU reference count of the element"

static void hash_release(struct lull_percpu_ref *ref)
{
	struct bench_hash_element *element =
		lull_container_of(ref, struct bench_hash_element, percpu);

	lull_percpu_ref_exit(ref);
	flavor_free_sized(element, sizeof(*element));
}

static void hash_make(struct bench_hash_element *element)
{
	if (lull_percpu_ref_init(&element->percpu, hash_release, 0) != 0)
		bench_hash_no_memory();
}

#define HASH_BODY bench_hash_percpu_ref
#define HASH_SECTION "percpu_ref-rcu"
#define HASH_HOLDS_UP "its element"
#define HASH_READER_MAY_BLOCK true
#define HASH_OBJECT_BYTES sizeof(struct lull_percpu_ref)
/* The memory that a ref takes from the heap is measured in the heap; it may be much more than a lock. */
#define HASH_BUCKET_BYTES BENCH_HASH_MEASURED
#define HASH_CPU_BYTES (2 * sizeof(intptr_t))
#define HASH_THREAD_BYTES sizeof(struct lull__thread)
#define HASH_DEFERRED bench_hash_lull_deferred
#define HASH_MAKE(element) hash_make(element)
#define HASH_UNMAKE(element) lull_percpu_ref_exit(&(element)->percpu)
#define HASH_HOLD(element) lull_percpu_ref_tryget_live(&(element)->percpu)
#define HASH_DROP(element) lull_percpu_ref_put(&(element)->percpu)
#define HASH_RETIRE(element) lull_percpu_ref_kill(&(element)->percpu)
/* Counters shared out among threads are summed up in a callback, which frees by another. */
#define HASH_BARRIER() (flavor_barrier(), flavor_barrier())

#include "hash_body.h"

/*
 * ---- the end of a count ----------------------------------------------------------------------
 *
 * From kill to its confirmation, while a reader gets and puts references. And a bare membarrier(2)
 * of the kind that it needs, with the same reader: what there is to be had.
 */

/* Static: a reader may look at it at any time, it finds it dead or alive. */
static struct {
	struct lull_percpu_ref ref;
} shared __attribute__((aligned(128)));

static struct {
	uint64_t at_ns;
	sem_t confirmed, released;
} event __attribute__((aligned(128)));

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void confirm(struct lull_percpu_ref *ref)
{
	(void)ref;
	event.at_ns = now_ns();
	sem_post(&event.confirmed);
}

static void release(struct lull_percpu_ref *ref)
{
	(void)ref;
	sem_post(&event.released);
}

static void await(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		;
}

static void make(void)
{
	sem_init(&event.confirmed, 0, 0);
	sem_init(&event.released, 0, 0);
	if (lull_percpu_ref_init(&shared.ref, release, LULL_PERCPU_REF_ALLOW_REINIT) != 0)
		abort();
}

/* Prepare a thread of any kind; a reader may come first. */
static void thread_enter(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	lull_thread_register();
	pthread_once(&once, make);
}

static void thread_leave(void)
{
}

static void reader(const uint32_t *stop, uint64_t hold_ns)
{
	struct timespec ts = { 0, (long)hold_ns };

	while (!lull_load_relaxed(stop)) {
		if (!lull_percpu_ref_tryget_live(&shared.ref))
			continue;
		if (hold_ns >= BENCH_GP_SLEEP_NS)
			nanosleep(&ts, NULL);
		else if (hold_ns)
			bench_ref_delay(hold_ns);
		lull_percpu_ref_put(&shared.ref);
	}
}

/* The reader may hold a reference meanwhile: released, and alive again, outside the time. */
static unsigned kill_it(uint64_t *ns, unsigned most, uint64_t deadline_ns)
{
	uint64_t before = 0;
	unsigned n;

	for (n = 0; n < most && before < deadline_ns; n++) {
		before = now_ns();
		lull_percpu_ref_kill_and_confirm(&shared.ref, confirm);
		await(&event.confirmed);
		ns[n] = event.at_ns - before;
		await(&event.released);
		lull_percpu_ref_reinit(&shared.ref);
	}
	return n;
}

static int barrier_command(void)
{
#ifdef MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ
	if (lull_percpu_ref_per_cpu())
		return MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ;
#endif
	return MEMBARRIER_CMD_PRIVATE_EXPEDITED;
}

/* Time membarrier alone, @most times at most; return how often: 0 where the system refuses. */
static unsigned bare(uint64_t *ns, unsigned most, uint64_t deadline_ns)
{
	int command = barrier_command();
	uint64_t before, after = 0;
	unsigned n;

	if (command == MEMBARRIER_CMD_PRIVATE_EXPEDITED)
		syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	for (n = 0; n < most && after < deadline_ns; n++) {
		before = now_ns();
		if (syscall(SYS_membarrier, command, 0, 0) != 0)
			return 0;
		after = now_ns();
		ns[n] = after - before;
	}
	return n;
}

const struct bench_gp_scheme bench_gp_percpu_ref = {
	.name = "percpu_ref",
	.what = "lull percpu_ref, killed",
	.thread_enter = thread_enter,
	.thread_leave = thread_leave,
	.sleeper_enter = thread_enter,
	.sleeper_leave = thread_leave,
	.read = reader,
	.kill = kill_it,
};

const struct bench_gp_scheme bench_gp_membarrier = {
	.name = "membarrier",
	.what = "a bare membarrier",
	.thread_enter = thread_enter,
	.thread_leave = thread_leave,
	.sleeper_enter = thread_enter,
	.sleeper_leave = thread_leave,
	.read = reader,
	.kill = bare,
};
