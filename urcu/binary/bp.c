/* SPDX-License-Identifier: MIT */
/*
 * bp.c - liburcu-bp: threads register when they first read. Inlined readers that leave a section wake no thread.
 */
#define URCU(name)	urcu_bp_##name
#define URCU_TEXT(name) "urcu_bp_" #name
#define DOMAIN		lull__urcu_bp

#include "domain.h"

#include <lull/fence.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../src/base/message.h"

URCU_API void URCU(register)(void);
URCU_API void URCU(register_thread)(void);
URCU_API void URCU(unregister_thread)(void);
URCU_API void URCU(read_lock)(void);
URCU_API void URCU(read_unlock)(void);
URCU_API int URCU(read_ongoing)(void);
URCU_API void URCU(before_fork)(void);
URCU_API void URCU(after_fork_parent)(void);
URCU_API void URCU(after_fork_child)(void);

extern URCU_API struct urcu_gp URCU(gp);
extern URCU_API int urcu_bp_has_sys_membarrier;
extern __thread URCU_API struct urcu_bp_reader *URCU(reader) __attribute__((tls_model("initial-exec")));

struct urcu_gp URCU(gp) = { .ctr = URCU_FIRST };
int urcu_bp_has_sys_membarrier;
__thread struct urcu_bp_reader *URCU(reader) __attribute__((tls_model("initial-exec")));

/*
 * The words of a thread. They outlive it: a destructor that reads when all others have run registers again, and that is
 * not taken back. Where places are wanted, those of such threads are found by their tids, which are gone.
 */
struct place {
	struct urcu_bp_reader reader;
	struct urcu_record record;
	struct place *next_free;
} __attribute__((aligned(URCU_LINE)));

#define PLACES 31 /* that are made at once: a page */

struct places {
	struct places *next;
	struct place each[PLACES];
};

static struct places *all_places;
static struct place *free_places;
static struct lull__lock places_lock;

static struct place *own_place(void)
{
	return (struct place *)(void *)URCU(reader); /* its first member */
}

static struct urcu_record *record(void)
{
	return URCU(reader) ? &own_place()->record : NULL;
}

static void push_place(struct place *place)
{
	place->next_free = free_places;
	free_places = place;
}

/* The tid of the thread that has @place; 0: none. */
static uint32_t holder_of(const struct place *place)
{
	uint32_t tid;

	lull__lock(&lull__urcu_bp.registry);
	tid = place->record.registered ? place->record.tid : 0;
	lull__unlock(&lull__urcu_bp.registry);
	return tid;
}

static bool is_gone(uint32_t tid)
{
	int saved = errno;
	bool gone = syscall(SYS_tgkill, getpid(), (pid_t)tid, 0) != 0 && errno == ESRCH;

	errno = saved;
	return gone;
}

/*
 * Take back the places of threads that are gone. With places_lock: so none is taken meanwhile, and a tid that was
 * gone once is not that of a new thread which has the same place.
 */
static void find_left_places(void)
{
	for (struct places *some = all_places; some; some = some->next)
		for (int i = 0; i < PLACES; i++) {
			uint32_t tid = holder_of(&some->each[i]);

			if (tid && is_gone(tid)) { /* and so are its loads, for URCU-11 */
				lull__urcu_unregister(&lull__urcu_bp, &some->each[i].record);
				push_place(&some->each[i]);
			}
		}
}

static void make_places(void)
{
	struct places *more = mmap(NULL, sizeof(*more), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (more == MAP_FAILED)
		lull__die("no memory to register a thread that reads");
	for (int i = 0; i < PLACES; i++)
		push_place(&more->each[i]);
	more->next = all_places;
	lull_compiler_barrier(); /* a child may be forked in between */
	all_places = more;
}

/* With signals blocked: a handler may read. Not by malloc, whose lock the thread may have. */
static struct place *take_place(void)
{
	struct place *place;

	lull__lock(&places_lock);
	if (!free_places)
		find_left_places();
	if (!free_places)
		make_places();
	place = free_places;
	free_places = place->next_free;
	lull__unlock(&places_lock);
	return place;
}

static void give_place(struct place *place)
{
	lull__lock(&places_lock);
	push_place(place);
	lull__unlock(&places_lock);
}

/* The child has one thread: all places but its own are free. */
void lull__urcu_bp_fork_child(void)
{
	places_lock.word = 0;
	free_places = NULL;
	for (struct places *some = all_places; some; some = some->next)
		for (int i = 0; i < PLACES; i++)
			if (&some->each[i] != own_place()) {
				some->each[i].record.registered = false;
				some->each[i].reader.ctr = 0;
				push_place(&some->each[i]);
			}
}

static void reads(bool begins)
{
	begins ? URCU(register_thread)() : URCU(unregister_thread)();
}

/* With signals blocked: a handler that reads would be in an unseen section, or wait for places_lock for ever. */
static void leave(void)
{
	struct place *place = own_place();
	sigset_t saved;

	lull__block_signals(&saved);
	lull__urcu_unregister(&lull__urcu_bp, &place->record);
	URCU(reader) = NULL;
	give_place(place);
	lull__restore_signals(&saved);
}

void URCU(register)(void)
{
	struct place *place;
	sigset_t saved;

	lull__urcu_init();
	lull__block_signals(&saved);
	if (!URCU(reader)) {
		place = take_place();
		place->record.word = &place->reader.ctr;
		lull__urcu_register(&DOMAIN, &place->record, true);
		URCU(reader) = &place->reader;
	}
	lull__restore_signals(&saved);
}

void URCU(register_thread)(void)
{
	if (!URCU(reader))
		URCU(register)();
}

/* liburcu's does nothing: the thread is registered until it exits. */
void URCU(unregister_thread)(void)
{
}

void URCU(read_lock)(void)
{
	struct urcu_bp_reader *reader;
	unsigned long word;

	if (lull_unlikely(!URCU(reader)))
		URCU(register)();
	reader = URCU(reader);
	word = reader->ctr;
	if (lull_likely(!(uint32_t)word)) {
		urcu_enter(&reader->ctr, &DOMAIN.number);
		if (lull_unlikely(lull__fence_full_mode))
			lull_fence_full(); /* URCU-1, as a real fence */
	} else {
		urcu_leave(&reader->ctr, word + 1); /* RCU-6: nested */
	}
}

void URCU(read_unlock)(void)
{
	struct urcu_bp_reader *reader = URCU(reader);

	urcu_leave(&reader->ctr, reader->ctr - 1);
}

int URCU(read_ongoing)(void)
{
	return URCU(reader) ? (int)(URCU(reader)->ctr & URCU_NEST_MASK) : 0;
}

/* fork needs no help; liburcu's block signals in between. */
static __thread sigset_t at_fork;

void URCU(before_fork)(void)
{
	lull__block_signals(&at_fork);
}

void URCU(after_fork_parent)(void)
{
	lull__restore_signals(&at_fork);
}

void URCU(after_fork_child)(void)
{
	lull__urcu_init();
	lull__restore_signals(&at_fork);
}

#define IN_SECTION()	(URCU(reader) && (uint32_t)URCU(reader)->ctr != 0)
#define ENROL()		((void)0) /* as liburcu's, it blocks signals */
#define OFFLINE()	false
#define ONLINE()	((void)0)
#define QUIESCENT_STATE nothing
#define THREAD_OFFLINE	nothing
#define THREAD_ONLINE	nothing

static void nothing(void)
{
}

#include "calls.h"

struct urcu_domain lull__urcu_bp = {
	.name = "bp",
	.readers = URCU_LIGHT,
	.ctr = &urcu_bp_gp.ctr,
	.has_light = &urcu_bp_has_sys_membarrier,
	.number = URCU_FIRST,
	.started = 1,
	.completed = 1,
	.record = record,
	.workers = URCU_WORKERS(chosen, reads),
	.leave = leave,
};
