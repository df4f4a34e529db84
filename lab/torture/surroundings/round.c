/* SPDX-License-Identifier: MIT */
/* lull torture --flavor wild: a round, in its own process. See surroundings.h. */
#include "torture/surroundings/surroundings.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lull/debug.h>
#include <lull/reclaim.h>

#include "common/clock.h"
#include "common/options.h"
#include "torture/flavors.h"

#define WORK_US 120000u
#define PRESS_USES 200u
#define STALL_MS 20
#define FLAVOR_S 0.3
#define FLAVOR_STUTTER_MS 150

wild_set wild_on;
static const char data[] = "data of the program's own\n";

bool wild_has(enum wild_condition c)
{
	return wild_on & WILD_BIT(c);
}

bool wild_is_overdue(uint64_t since_ns)
{
	return bench_now_ns() - since_ns > torture.patience_s * UINT64_C(500000000);
}

/* ---- conditions that have to be met from inside ------------------------------------------------ */

/* The supervisor sends it to a round that hangs. */
static void on_quit(int signal)
{
	(void)signal;
	lull_debug_dump(STDOUT_FILENO);
}

/* The next number is that of standard error. */
static void reuse_stderr(void)
{
	int fd;

	if (wild_has(WILD_STDERR_REUSED))
		close(STDERR_FILENO);
	if (!wild_has(WILD_STDERR_REUSED) && !wild_has(WILD_STDERR_CLOSED))
		return;
	fd = (int)syscall(SYS_memfd_create, "data", 0u);
	if (fd < 0)
		fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	if (fd != STDERR_FILENO)
		torture_fail("the data file is %d, and should be standard error's", fd);
	else if (!wild_has(WILD_FSIZE) && write(fd, data, strlen(data)) != (ssize_t)strlen(data))
		torture_fail("the data file cannot be written: %s", strerror(errno));
}

static void check_data(void)
{
	struct stat seen;

	if (!wild_has(WILD_STDERR_REUSED) && !wild_has(WILD_STDERR_CLOSED))
		return;
	if (torture.use_fault == FAULT_WRITES_DATA && write(STDERR_FILENO, "lull: ", 6) != 6)
		return;
	if (fstat(STDERR_FILENO, &seen) != 0 || seen.st_size != (wild_has(WILD_FSIZE) ? 0 : (off_t)strlen(data)))
		torture_fail("somebody has written to the program's data file, whose number is standard error's");
	wild_took_effect(WILD_STDERR_REUSED, 1);
	wild_took_effect(WILD_STDERR_CLOSED, 1);
}

static void set_mode(void)
{
	struct lull_reclaim_config config;

	lull_reclaim_default_config(&config);
	if (wild_has(WILD_POLL))
		config.mode = LULL_RECLAIM_POLL;
	if (wild_has(WILD_CALLER))
		config.mode = LULL_RECLAIM_CALLER;
	if (wild_has(WILD_NO_CLONE))
		config.idle_ms = UINT32_MAX;
	if (wild_has(WILD_POLL) || wild_has(WILD_CALLER) || wild_has(WILD_NO_CLONE))
		lull_reclaim_configure(&config);
	wild_took_effect(WILD_POLL, 1);
	wild_took_effect(WILD_CALLER, 1);
}

/* ---- faults of the program's own, each for one of the checks ------------------------------------ */

static void play_fault(void)
{
	static int *volatile nowhere;

	switch (torture.use_fault) {
	case FAULT_HANGS:
		for (;;)
			pause();
	case FAULT_DIES:
		*nowhere = 1;
		break;
	case FAULT_EXITS:
		exit(3);
	case FAULT_SAYS:
		fputs("what nobody expects\n", stderr);
		break;
	case FAULT_LEAVES_CHILD:
		if (fork() == 0)
			for (;;)
				pause();
		break;
	default:
		break;
	}
}

static void *odd_thread(void *unused)
{
	const struct sched_param zero = { 0 };

	prctl(PR_SET_NAME, "lull-odd");
	sched_setscheduler(0, SCHED_IDLE, &zero);
	pause();
	return unused;
}

/* ---- its course ------------------------------------------------------------------------------ */

/* While the limits are met, only what needs nothing more is done. */
static void press(uint64_t *rng)
{
	wild_press(true);
	wild_mix(rng, PRESS_USES);
	torture_sleep_us(torture_random(rng, WORK_US / 2));
	wild_mix(rng, PRESS_USES);
	wild_press(false);
}

/* It was there, and has been used. */
static void lose_membarrier(uint64_t *rng)
{
	if (!wild_has(WILD_LOST_MEMBARRIER))
		return;
	lull_rcu_synchronize();
	wild_forbid_membarrier(torture_once_in(rng, 2) ? ENOMEM : EPERM);
}

static void *nothing(void *unused)
{
	return unused;
}

/* The library says nothing of it: it has what it needs. */
static void lose_clone(void)
{
	pthread_t thread;

	if (!wild_has(WILD_NO_CLONE))
		return;
	if (lull_reclaim_start() != 0)
		torture_fail("the library's threads cannot be started");
	if (!wild_forbid_threads(EAGAIN))
		return;
	if (pthread_create(&thread, NULL, nothing, NULL) != 0)
		wild_took_effect(WILD_NO_CLONE, 1);
	else
		pthread_join(thread, NULL);
}

static void work(uint64_t *rng)
{
	uint64_t until_ns, polls = 0;

	wild_workers_start(rng);
	wild_load_start();
	lose_clone();
	until_ns = bench_now_ns() + WORK_US * UINT64_C(1000);
	wild_forks(rng);
	if (torture_once_in(rng, 2))
		press(rng);
	lose_membarrier(rng);
	while (!torture_failed() && (bench_now_ns() < until_ns || !polls++)) {
		lull_reclaim_poll(wild_has(WILD_POLL) ? 1000 : 0, 1000000);
		wild_mix(rng, 10);
		torture_sleep_us(500);
	}
	wild_load_stop();
	wild_workers_stop();
}

static void run_mix(uint64_t *rng)
{
	pthread_t odd;

	wild_mix_init();
	if (torture_once_in(rng, 2))
		press(rng);
	wild_first_use(rng);
	if (torture.use_fault == FAULT_ODD_THREAD)
		pthread_create(&odd, NULL, odd_thread, NULL);
	wild_burst(rng);
	wild_cookies();
	work(rng);
	wild_press(false);
	play_fault();
	wild_check_guests();
	wild_fault_in_callback();
	wild_mix_settle(true);
	wild_mix_end();
	/* Leave something that waits at the end. */
	wild_mix(rng, PRESS_USES);
}

/* The flavor that the condition is named after. */
static const struct torture_flavor *flavor_of(enum wild_condition c)
{
	const char *name = wild_row(c)->name + strlen("work-");
	unsigned i = 0;

	while (torture_flavors[i] && strcmp(torture_flavors[i]->name, name))
		i++;
	if (!torture_flavors[i])
		options_fail("there is no flavor %s", name);
	return torture_flavors[i];
}

static void run_flavor(enum wild_condition c, uint64_t *rng)
{
	wild_first_use(rng);
	lose_membarrier(rng);
	torture.flavor = flavor_of(c);
	torture.readers = 2;
	torture.seconds = FLAVOR_S;
	torture.stutter_ms = FLAVOR_STUTTER_MS;
	torture_options_check();
	torture_run();
	torture.flavor = &torture_wild;
	lull_debug_set_message_hook(NULL);
	wild_check_guests();
	wild_took_effect(c, 1);
}

/* Before anything has been used: its memory, its threads, its descriptors are not there yet. */
static void begin(void)
{
	wild_on = torture.conditions ? wild_parse(torture.conditions) : 0;
	prctl(PR_SET_NAME, "wild");
	signal(SIGQUIT, on_quit);
	torture.began_ns = bench_now_ns();
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	wild_become_limited();
	reuse_stderr();
	set_mode();
	if (wild_has(WILD_STALL))
		lull_debug_set_stall_ms(STALL_MS);
	if (wild_has(WILD_NO_OPENAT))
		wild_forbid_open(EPERM);
}

int torture_wild_round(void)
{
	uint64_t rng = torture.seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	unsigned i;

	begin();
	for (i = WILD_WORK; i < NR_WILD && !wild_has((enum wild_condition)i); i++)
		;
	if (i < NR_WILD)
		run_flavor((enum wild_condition)i, &rng);
	else
		run_mix(&rng);
	check_data();
	wild_check_effects();
	torture_print_failures();
	fflush(stdout);
	if (torture_failed())
		_exit(EXIT_FAILURE);
	wild_end_round(&rng);
}
