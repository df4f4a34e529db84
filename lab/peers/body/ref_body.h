/* SPDX-License-Identifier: MIT */
/*
 * The measured read loops. Included once per .c file, after a flavor header; defines the scheme
 * REF_BODY.
 *
 * A scheme that holds the object itself (refcount) or reads again (seqlock) defines its own
 * REF_READ(cell, sum, following): in one section, read the object behind the cell, add its value to
 * sum, call REF_HOLD(). REF_NESTS says that a thread can be in several sections at a time, or have
 * several references, each with a READ_STATE of its own. REF_SETUP is the function `setup` of
 * struct bench_ref_scheme.
 */
#include "flavor_read.h"
#include "ref_scheme.h"

#ifndef REF_READ
#define REF_READ(cell, sum, following)                   \
	do {                                             \
		struct bench_ref_object *ref_object;     \
                                                         \
		ref_object = READ_BEGIN((cell)->object); \
		(sum) += ref_object->value;              \
		(following) = ref_object->next;          \
		REF_HOLD();                              \
		READ_END();                              \
	} while (0)
#endif

#define REF_HOLD() ((void)0)

static uint64_t ref_read(struct bench_ref_data *data, uint64_t n)
{
	struct bench_ref_cell *cell = &data->cell[0], *following;
	READ_STATE;
	uint64_t sum = 0;

	while (n) {
		uint64_t burst = n < FLAVOR_QUIESCENT_EVERY ? n : FLAVOR_QUIESCENT_EVERY;

		n -= burst;
		for (; burst; burst--) {
			REF_READ(cell, sum, following);
		}
		flavor_quiescent();
	}
	(void)following;
	return sum;
}

static uint64_t ref_chain(struct bench_ref_data *data, uint64_t n)
{
	struct bench_ref_cell *cell = &data->cell[0], *following;
	READ_STATE;
	uint64_t sum = 0; /* not returned: the chain reads one field, where it goes on */

	while (n) {
		uint64_t burst = n < FLAVOR_QUIESCENT_EVERY ? n : FLAVOR_QUIESCENT_EVERY;

		n -= burst;
		for (; burst; burst--) {
			REF_READ(cell, sum, following);
			cell = following;
		}
		flavor_quiescent();
	}
	return (uint64_t)(uintptr_t)cell;
}

#undef REF_HOLD
#define REF_HOLD() bench_ref_delay(hold_ns)

static uint64_t ref_hold(struct bench_ref_data *data, uint64_t n, uint64_t hold_ns)
{
	struct bench_ref_cell *cell = &data->cell[0], *following;
	READ_STATE;
	uint64_t sum = 0;

	for (; n; n--) {
		REF_READ(cell, sum, following);
		cell = following;
		flavor_quiescent();
	}
	return sum;
}

#ifdef REF_NESTS
#undef REF_HOLD
#define REF_HOLD()                                         \
	do {                                               \
		if (depth > 1)                             \
			sum += ref_nest(cell, depth - 1);  \
		lull_compiler_barrier();                   \
	} while (0)

/*
 * The call is the same for all schemes, and never inlined. It is no loop either: without the barrier the compiler makes
 * one of it where nothing comes after the call, in "none" alone.
 */
static __attribute__((noinline)) uint64_t ref_nest(struct bench_ref_cell *cell, unsigned depth)
{
	struct bench_ref_cell *following;
	READ_STATE;
	uint64_t sum = 0;

	REF_READ(cell, sum, following);
	(void)following;
	return sum;
}

static uint64_t ref_nested(struct bench_ref_data *data, uint64_t n, unsigned depth)
{
	uint64_t sum = 0;

	while (n) {
		uint64_t burst = n < FLAVOR_QUIESCENT_EVERY ? n : FLAVOR_QUIESCENT_EVERY;

		n -= burst;
		for (; burst; burst--)
			sum += ref_nest(&data->cell[0], depth);
		flavor_quiescent();
	}
	return sum;
}
#else
#define ref_nested NULL
#endif

#ifndef REF_SETUP
#define REF_SETUP NULL
#endif

const struct bench_ref_scheme REF_BODY = {
	.name = FLAVOR_NAME,
	.what = FLAVOR_WHAT,
	.thread_enter = flavor_thread_enter,
	.thread_leave = flavor_thread_leave,
	.read = ref_read,
	.chain = ref_chain,
	.hold = ref_hold,
	.nested = ref_nested,
	.setup = REF_SETUP,
};
