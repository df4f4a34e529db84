/* SPDX-License-Identifier: MIT */
/* Prediction of the cost for more readers, and cost of a cache line's transfer here; see predict.h. */
#include "instruments/read/predict.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lull/atomic.h>

#include "common/clock.h"
#include "common/cpus.h"
#include "common/figures.h"
#include "common/machine.h"
#include "common/options.h"
#include "engine/text_table.h"
#include "common/bench.h"

bool predict_is_shared(const char *scheme)
{
	static const char *const shared[] = { "refcount",	 "refcount-lock", "refcount-rcu",
					      "refcount-hazptr", "c11-atomic",	  "shared_ptr",
					      "spinlock",	 "mutex",	  "rwlock", "atomic-shared_ptr" };
	size_t i;

	for (i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		if (!strcmp(shared[i], scheme))
			return true;
	return false;
}

double predict_read_ns(bool shared, double ns, unsigned measured, unsigned readers)
{
	return shared ? ns * readers / measured : ns;
}

/* ---- one line, two CPUs ---------------------------------------------------------------------- */

#define HANDOVERS 20000u
#define ROUNDS 9
#define SPINS 100000u

struct ball {
	unsigned turn __attribute__((aligned(BENCH_LINE))); /* whose: even or odd */
	pthread_barrier_t start __attribute__((aligned(BENCH_LINE)));
	double ns[ROUNDS];
};

struct player {
	struct ball *ball;
	unsigned side;
};

static void play(struct ball *ball, unsigned side)
{
	unsigned i, spins;

	for (i = side; i < HANDOVERS; i += 2) {
		for (spins = 0; lull_load_relaxed(&ball->turn) != i; spins++)
			if (spins > SPINS)
				sched_yield(); /* the other one may need this CPU */
		lull_add_relaxed(&ball->turn, 1u);
	}
}

static void *player_main(void *arg)
{
	struct player *p = arg;
	unsigned round;

	bench_pin(p->side);
	for (round = 0; round < ROUNDS; round++) {
		uint64_t begin;

		/* The first one has nothing to wait for before the second one is there as well. */
		pthread_barrier_wait(&p->ball->start);
		if (!p->side)
			lull_store_relaxed(&p->ball->turn, 0u);
		pthread_barrier_wait(&p->ball->start);
		begin = bench_now_ns();
		play(p->ball, p->side);
		if (!p->side)
			p->ball->ns[round] = (double)(bench_now_ns() - begin) / HANDOVERS;
	}
	return NULL;
}

struct bench_stat predict_handover(void)
{
	struct bench_stat none = { 0 };
	struct player player[2];
	struct ball *ball;
	pthread_t thread[2];
	unsigned i;

	if (bench_cpus() < 2)
		return none;
	ball = aligned_alloc(BENCH_LINE,
			     (sizeof(*ball) + BENCH_LINE - 1) / BENCH_LINE * BENCH_LINE);
	if (!ball)
		options_fail("out of memory");
	memset(ball, 0, sizeof(*ball));
	pthread_barrier_init(&ball->start, NULL, 2);
	for (i = 0; i < 2; i++) {
		player[i] = (struct player){ ball, i };
		if (pthread_create(&thread[i], NULL, player_main, &player[i]))
			options_fail("cannot make a thread");
	}
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	none = bench_stat_of(ball->ns, ROUNDS);
	pthread_barrier_destroy(&ball->start);
	free(ball);
	return none;
}

/* ---- the table ------------------------------------------------------------------------------- */

static char *table_head(unsigned measured, const unsigned *readers, size_t nr_readers)
{
	char *head = options_printf("scheme|line|ns, 1 reader|%u readers", measured);
	size_t i;

	for (i = 0; i < nr_readers; i++) {
		char *longer = options_printf("%s|%u, prediction", head, readers[i]);

		free(head);
		head = longer;
	}
	return head;
}

static void predict_row(struct jsonout *json, struct bench_table *table, const struct machine *machine,
			const struct predict_row *row, unsigned measured, const unsigned *readers,
			size_t nr_readers)
{
	bool shared = predict_is_shared(row->scheme);
	size_t i;

	bench_cell(table, "%s", row->scheme);
	bench_cell(table, "%s", shared ? "shared" : "private");
	bench_cell(table, "%.2f", row->one);
	bench_cell(table, "%.2f", row->many);
	for (i = 0; i < nr_readers; i++) {
		double ns = predict_read_ns(shared, row->many, measured, readers[i]);
		struct bench_stat stat = { ns, ns, ns, 1 };
		json_t *to = jsonout_stat(json, row->scheme, readers[i], "read_section_prediction",
					  "ns", &stat);

		jsonout_set(to, "measured_threads", json_integer(measured));
		jsonout_set(to, "measured_cpu", jsonout_string(machine->cpu_model));
		jsonout_set(to, "measured_cpus", json_integer(machine->cpus_allowed));
		bench_cell(table, "%.*f", ns < 9.995 ? 2 : ns < 99.95 ? 1 : 0, ns);
	}
}

void predict_print(struct jsonout *json, const struct predict_row *row, size_t count,
		   unsigned measured, const unsigned *readers, size_t nr_readers)
{
	struct bench_stat handover = predict_handover();
	char *head = table_head(measured, readers, nr_readers);
	struct bench_table *table = bench_table_new(head);
	struct machine machine;
	size_t i;

	machine_read(&machine);

	for (i = 0; i < count; i++)
		if (row[i].one > 0 && row[i].many > 0)
			predict_row(json, table, &machine, &row[i], measured, readers, nr_readers);
	printf("\nmore readers: a prediction, not a measurement. From CPU %d to CPU %d a cache "
	       "line "
	       "takes %.0f ns\n[%.0f..%.0f]. A shared line is in one place at a time, so all of its readers together\n"
	       "get no more done than %u of them, and each takes longer, the more there are. Private lines stay\n"
	       "where they are. It holds for a machine like this one with a core for each reader: %s,\n"
	       "with %u CPUs here. Another processor, or a second socket, has other times.\n",
	       bench_cpu(0), bench_cpu(1), handover.median, handover.min, handover.max, measured, machine.cpu_model,
	       machine.cpus_allowed);
	bench_table_print(table);
	jsonout_stat(json, "line", 2, "handover", "ns", &handover);
	free(head);
}
