/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * The threads that lull starts: how they run, whatever thread needs them first. Each case is a child, in which none has
 * been started yet.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "seccomp.h"

#include <lull/fence.h>
#include <lull/hazptr.h>

#define NAMES 2
static const char *const names[NAMES] = { "lull-reclaim", "lull-watchdog" };

/* ---- support ---------------------------------------------------------------------------------- */

static void comm_of(pid_t tid, char name[32])
{
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", (int)tid);
	fd = open(path, O_RDONLY);
	got = fd < 0 ? 0 : read(fd, name, 31);
	name[got > 0 ? got - 1 : 0] = '\0';
	close(fd);
}

/* The thread of this name; 0: there is none. */
static pid_t tid_of(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	pid_t found = 0;
	char comm[32];

	must(tasks);
	while ((entry = readdir(tasks))) {
		comm_of((pid_t)atoi(entry->d_name), comm);
		if (strcmp(comm, name) == 0)
			found = (pid_t)atoi(entry->d_name);
	}
	closedir(tasks);
	return found;
}

/* One that is there may be missed while another thread exits, and it names itself only when it runs. */
static pid_t await_tid_of(const char *name)
{
	pid_t tid;

	AWAIT((tid = tid_of(name)) != 0);
	return tid;
}

static int ran;

static void count_run(struct lull_head *head)
{
	(void)head;
	lull_add_release(&ran, 1);
}

static struct lull_head heads[8];

/* Defer a callback and wait until it has run, without a barrier, which might run it itself. */
static void have_one_run(struct lull_head *head)
{
	int before = lull_load_acquire(&ran);

	lull_rcu_call(head, count_run);
	AWAIT(lull_load_acquire(&ran) != before);
}

/* All threads of lull's are started by the calling thread: the reclaimer's, and by that the one that watches callbacks. */
static void need_all(void)
{
	have_one_run(&heads[0]);
}

/* ---- policy, nice value, CPUs ----------------------------------------------------------------- */

struct first_user {
	int policy, priority, nice;
	bool pin;
};

static int cpu_count(void)
{
	cpu_set_t set;

	must(sched_getaffinity(0, sizeof(set), &set) == 0);
	return CPU_COUNT(&set);
}

/* The calling thread alone on the last of its CPUs. */
static void pin(void)
{
	cpu_set_t set, one;

	must(sched_getaffinity(0, sizeof(set), &set) == 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
	}
	must(sched_setaffinity(0, sizeof(one), &one) == 0);
}

static void *use_first(void *arg)
{
	const struct first_user *user = arg;
	struct sched_param param = { .sched_priority = user->priority };

	if (user->pin)
		pin();
	must(setpriority(PRIO_PROCESS, 0, user->nice) == 0);
	must(sched_setscheduler(0, user->policy, &param) == 0);
	need_all();
	return NULL;
}

/* Soon the thread may run where it is to run: at this moment it may visit all CPUs, instead of a membarrier. */
static void await_cpus(pid_t tid, const cpu_set_t *wanted)
{
	cpu_set_t its;

	for (int ms = 0; ms < 10000; ms++, nap_ms(1)) {
		must(sched_getaffinity(tid, sizeof(its), &its) == 0);
		if (CPU_EQUAL(wanted, &its))
			return;
	}
	must(!"the thread runs where the main thread does");
}

/* The threads are as the main thread is, with SCHED_OTHER and nice 0. */
static void check_all(void)
{
	cpu_set_t mine;

	must(sched_getaffinity(0, sizeof(mine), &mine) == 0);
	for (int i = 0; i < NAMES; i++) {
		pid_t tid = await_tid_of(names[i]);

		must(sched_getscheduler(tid) == SCHED_OTHER);
		errno = 0;
		must(getpriority(PRIO_PROCESS, (id_t)tid) == 0 && errno == 0);
		await_cpus(tid, &mine);
	}
}

static void start_by(struct first_user user)
{
	pthread_t thread;

	alarm(60);
	must(pthread_create(&thread, NULL, use_first, &user) == 0);
	must(pthread_join(thread, NULL) == 0);
	check_all();
}

/* May this process raise priorities, as root may? Leaving an idle or nice state needs that. */
static bool is_privileged(void)
{
	struct sched_param param = { .sched_priority = 1 }, none = { 0 };

	if (sched_setscheduler(0, SCHED_FIFO, &param) != 0)
		return false;
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &none), 0);
	return true;
}

TEST(first_user_decides_nothing)
{
	NEEDS_THREADS_IN_CHILD();
	if (!is_privileged() || under_valgrind())
		SKIP("for who may make a thread SCHED_FIFO, and not for valgrind");
	EXPECT_FINE
		start_by((struct first_user){ .policy = SCHED_IDLE, .pin = cpu_count() > 1 });
	EXPECT_FINE
		start_by((struct first_user){ .policy = SCHED_FIFO, .priority = 50, .pin = cpu_count() > 1 });
	EXPECT_FINE
		start_by((struct first_user){ .policy = SCHED_OTHER, .nice = 15, .pin = cpu_count() > 1 });
}

/* The kernel lets no thread without rights leave SCHED_IDLE: then the threads run as their starter does. */
static void *use_idle_without_rights(void *unused)
{
	struct sched_param param = { 0 };

	(void)unused;
	must(sched_setscheduler(0, SCHED_IDLE, &param) == 0);
	must(syscall(SYS_setresuid, 65534, 65534, 65534) == 0);
	need_all();
	must(sched_getscheduler(await_tid_of("lull-reclaim")) == SCHED_IDLE);
	return NULL;
}

static void *need_all_and_say(void *done)
{
	need_all();
	lull_store_release((int *)done, 1);
	return NULL;
}

TEST(main_visits)
{
	NEEDS_THREADS_IN_CHILD();
	if (cpu_count() < 2 || under_valgrind())
		SKIP("on one CPU, and under valgrind, threads visit no other");
	for (int i = 0; i < 3; i++)
		/* They also leave the one CPU where the main thread is while it visits all, instead of a membarrier. */
		EXPECT_FINE {
			pthread_t thread;
			int done = 0;

			alarm(60);
			lull_fence_heavy();
			forbid_membarrier(EPERM);
			must(pthread_create(&thread, NULL, need_all_and_say, &done) == 0);
			while (!lull_load_acquire(&done))
				lull_fence_heavy();
			must(pthread_join(thread, NULL) == 0);
			check_all();
		}
}

/*
 * Where all is as it is to be, lull asks for nothing: a sandbox that forbids to change priorities, policies or CPUs may kill
 * who tries.
 */
static void started_in_sandbox(void)
{
	alarm(60);
	/* This program may have been started so. */
	if (getpriority(PRIO_PROCESS, 0) != 0 && setpriority(PRIO_PROCESS, 0, 0) != 0)
		return;
	if (sched_getscheduler(0) != SCHED_OTHER)
		return;
	filter(SYS_setpriority, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
	filter(SYS_sched_setscheduler, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
	if (lull_fence_strategy() == LULL_FENCE_MEMBARRIER) /* else a thread may visit all CPUs */
		filter(SYS_sched_setaffinity, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
	need_all();
	have_one_run(&heads[1]);
	for (int i = 0; i < NAMES; i++)
		await_tid_of(names[i]);
}

TEST(process_decides)
{
	NEEDS_THREADS_IN_CHILD();
	if (under_valgrind())
		SKIP(VALGRIND_THREADS);
	/* A process that was started on one CPU keeps lull's threads there. */
	EXPECT_FINE {
		pin();
		start_by((struct first_user){ .policy = SCHED_OTHER });
	}
	expect_fine(started_in_sandbox);
	if (is_privileged())
		EXPECT_FINE {
			struct rlimit none = { 0, 0 };
			pthread_t thread;

			alarm(60);
			must(setrlimit(RLIMIT_NICE, &none) == 0);
			must(pthread_create(&thread, NULL, use_idle_without_rights, NULL) == 0);
			must(pthread_join(thread, NULL) == 0);
		}
}

/* ---- what a callback finds: signals, its stack ------------------------------------------------ */

static bool is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP || sig == SIGSYS;
}

static char *guarded;
static size_t page_bytes;
static int faults;

static void open_page(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	faults++;
	must(mprotect(guarded, page_bytes, PROT_READ | PROT_WRITE) == 0);
}

static void write_guarded(struct lull_head *head)
{
	sigset_t mask;

	must(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0);
	for (int sig = 1; sig < SIGRTMAX; sig++)
		if (sig != SIGKILL && sig != SIGSTOP && (sig < 32 || sig >= SIGRTMIN))
			must(sigismember(&mask, sig) == !is_fault(sig));
	*(volatile char *)guarded = 1;
	count_run(head);
}

TEST(faults_in_callbacks)
{
	NEEDS_THREADS_IN_CHILD();
	if (under_valgrind())
		SKIP(VALGRIND_THREADS);
	EXPECT_FINE {
		struct sigaction action = { .sa_sigaction = open_page, .sa_flags = SA_SIGINFO };

		alarm(60);
		page_bytes = (size_t)sysconf(_SC_PAGESIZE);
		guarded = mmap(NULL, page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		must(guarded != MAP_FAILED);
		must(sigaction(SIGSEGV, &action, NULL) == 0);
		lull_rcu_call(&heads[0], write_guarded);
		AWAIT(lull_load_acquire(&ran));
		must(faults == 1);
	}
}

static size_t stack_bytes;

static void note_stack(struct lull_head *head)
{
	pthread_attr_t attr;

	must(pthread_getattr_np(pthread_self(), &attr) == 0);
	must(pthread_attr_getstacksize(&attr, &stack_bytes) == 0);
	must(pthread_attr_destroy(&attr) == 0);
	count_run(head);
}

/* ---- a hook ------------------------------------------------------------------------------------ */

static int hooked[NAMES];

static void choose_priority(const char *name)
{
	struct sched_param param = { 0 };

	must(sched_setscheduler(0, SCHED_BATCH, &param) == 0);
	for (int i = 0; i < NAMES; i++)
		if (strcmp(name, names[i]) == 0)
			lull_add_release(&hooked[i], 1);
}

TEST(hook)
{
	NEEDS_THREADS_IN_CHILD();
	if (under_valgrind())
		SKIP(VALGRIND_THREADS);
	EXPECT_FINE {
		struct lull_reclaim_config config;

		alarm(60);
		lull_reclaim_default_config(&config);
		config.thread_start = choose_priority;
		config.stack_bytes = (size_t)1 << 20;
		must(lull_reclaim_configure(&config) == 0);
		need_all();
		/* First all, then their policies: one that another of them has just started still has the other's name. */
		for (int i = 0; i < NAMES; i++)
			AWAIT(lull_load_acquire(&hooked[i]) == 1);
		for (int i = 0; i < NAMES; i++)
			must(sched_getscheduler(await_tid_of(names[i])) == SCHED_BATCH);
		lull_rcu_call(&heads[1], note_stack);
		AWAIT(lull_load_acquire(&ran) == 2);
		must(stack_bytes >= (size_t)1 << 20);
	}
}

/* ---- the end ----------------------------------------------------------------------------------- */

static void await_none(void)
{
	for (int i = 0; i < NAMES; i++)
		while (tid_of(names[i]))
			nap_ms(10);
}

static void say_exit(void)
{
	must(write(2, "exits\n", 6) == 6);
}

/* The program's last thread ends: so does the process, as it would without lull. */
static void main_ends(void)
{
	alarm(60);
	must(atexit(say_exit) == 0);
	need_all();
	pthread_exit(NULL);
}

static void protect_for_ever(void)
{
	static void *shared;
	struct lull_hazptr_hold *hold = malloc(sizeof(*hold)); /* not on a stack that goes */

	shared = malloc(1);
	must(lull_hazptr_acquire(hold, &shared) != NULL);
	lull_hazptr_detach(hold);
	lull_hazptr_retire(shared);
}

/* Even though an object is retired that will always be protected. */
static void main_ends_and_protects(void)
{
	alarm(60);
	must(atexit(say_exit) == 0);
	protect_for_ever();
	need_all();
	pthread_exit(NULL);
}

static uint64_t end_by_ns;

/* No alarm would end the process earlier: lull's threads, the only ones left, block its signal. */
static void say_in_time(void)
{
	must(now_ns() < end_by_ns);
	say_exit();
}

static void free_head(struct lull_head *head)
{
	free(head);
}

/* However often the reclaimer was woken meanwhile: only a sleep that nothing ended makes the next one longer. */
static void main_ends_after_wakeups(void)
{
	struct lull_reclaim_counts before, now;

	protect_for_ever();
	lull_reclaim_stats(&before);
	do {
		lull_rcu_call(malloc(sizeof(struct lull_head)), free_head);
		nap_ms(100);
		lull_reclaim_stats(&now);
	} while (now.wakeups < before.wakeups + 12);
	end_by_ns = now_ns() + 45000000000u;
	must(atexit(say_in_time) == 0);
	need_all();
	pthread_exit(NULL);
}

static void check_ends(void (*func)(void))
{
	char text[256];
	int status = run_child(func, text, sizeof(text));

	if (status || strcmp(text, "exits\n") != 0)
		print_error("status %x, wrote: %s\n", (unsigned)status, text);
	assert_int_equal(status, 0);
	assert_string_equal(text, "exits\n");
}

TEST(end)
{
	NEEDS_THREADS_IN_CHILD();
	if (under_valgrind() || UNDER_ASAN)
		SKIP("leak checkers count what is protected for ever, and threads of their own");
	/* Idle threads end, and are started again when they are needed: nothing is lost in between. */
	EXPECT_FINE {
		alarm(60);
		for (int i = 0; i < 2; i++) {
			need_all();
			await_none();
		}
		lull_rcu_free(malloc(1));
		lull_rcu_barrier();
		must(waiting() == 0);
	}
	/* A thread also ends if something waits, once the program reclaims by itself. */
	EXPECT_FINE {
		struct lull_reclaim_config config;

		alarm(60);
		need_all();
		lull_reclaim_default_config(&config);
		config.mode = LULL_RECLAIM_POLL;
		must(lull_reclaim_configure(&config) == 0);
		nap_ms(100); /* the thread sleeps, and is not what a deferral wakes now */
		lull_rcu_call(&heads[0], count_run);
		await_none();
		must(lull_load_acquire(&ran) == 1);
		while (lull_load_acquire(&ran) == 1)
			lull_reclaim_poll(SIZE_MAX, 1000000);
	}
	/* A thread that frees now and then, with no reader in the way, frees at once, and needs no other thread. */
	EXPECT_FINE {
		alarm(60);
		for (int i = 0; i < 20; i++) {
			lull_rcu_free(malloc(16));
			must(waiting() == 0);
		}
		must(tid_of(names[0]) == 0);
	}
	check_ends(main_ends);
	check_ends(main_ends_and_protects);
	check_ends(main_ends_after_wakeups);
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
}
