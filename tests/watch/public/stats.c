/* SPDX-License-Identifier: MIT */
/*
 * stats.c - stats.h: the page counts what happens, another process sees it and cannot change it, and a child has its
 * own.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <lull/fence.h>

#include "seccomp.h"
#include "watch/page.h"

/* The descriptor of the page in /proc/@pid/fd; -1: none. */
static int find_page(pid_t pid, int flags)
{
	char path[300], link[64];
	struct dirent *entry;
	DIR *dir;
	int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	must(dir);
	while (fd < 0 && (entry = readdir(dir))) {
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)pid, entry->d_name);
		length = readlink(path, link, sizeof(link) - 1);
		link[length > 0 ? length : 0] = '\0';
		if (strcmp(link, "/memfd:" LULL_STATS_NAME " (deleted)") == 0)
			fd = open(path, flags);
	}
	closedir(dir);
	return fd;
}

TEST(header)
{
	const struct lull_stats_page *page = lull_stats_page();

	assert_true(page->magic == LULL_STATS_MAGIC);
	assert_int_equal(page->version, LULL_STATS_VERSION);
	assert_int_equal(page->size, sizeof(*page));
	assert_int_equal(page->pid, getpid());
	assert_int_equal(page->fence, lull_fence_strategy());
	assert_true(page->began_ns <= now_ns());
	assert_true(page->began_ns > 0);
	assert_int_equal(page->hard_items, 1000000);
	assert_int_equal(page->hard_bytes, 1 << 30);
#ifdef LULL_DEBUG
	assert_int_equal(page->debug, 1);
#else
	assert_int_equal(page->debug, 0);
#endif
}

/* A registered thread, so that grace periods make heavy fences. */
static void *registered_run(void *flag)
{
	lull_thread_register();
	lull_store_release((int *)flag, 1);
	await_flag((int *)flag, 2);
	return NULL;
}

TEST(counts)
{
	struct lull_stats_page before;
	int flag = 0;
	pthread_t thread = start_thread(registered_run, &flag);

	await_flag(&flag, 1);
	before.gp_ended = READ(gp_ended);
	before.gp_ns_sum = READ(gp_ns_sum);
	before.heavy_fences = READ(heavy_fences);
	for (int i = 0; i < 10; i++)
		lull_rcu_synchronize();
	assert_true(READ(gp_ended) >= before.gp_ended + 10);
	assert_int_equal(READ(gp_started), READ(gp_ended));
	assert_in_range(in_histogram(), READ(gp_ended) > 8 ? READ(gp_ended) - 8 : 0, READ(gp_ended) + 8);
	assert_true(READ(gp_ns_sum) > before.gp_ns_sum);
	assert_true(READ(gp_ns_max) <= READ(gp_ns_sum));
	if (lull_fence_strategy() == LULL_FENCE_MEMBARRIER)
		assert_true(READ(heavy_fences) >= before.heavy_fences + 10);
	assert_int_equal(READ(threads), lull_thread_count());
	lull_store_release(&flag, 2);
	join_thread(thread);
}

static void nothing(struct lull_rcu_head *head)
{
	free(head);
}

static struct lull_rcu_head *new_head(void)
{
	return (struct lull_rcu_head *)malloc(sizeof(struct lull_rcu_head));
}

TEST(reclaimed)
{
	struct lull_stats_page before;

	lull_rcu_barrier();
	before.queued_items = READ(queued_items);
	before.queued_bytes = READ(queued_bytes);
	before.done_items = READ(done_items);
	before.passes = READ(passes);
	for (int i = 0; i < 1000; i++) {
		lull_rcu_call_sized(new_head(), nothing, 100);
		lull_rcu_free_sized(malloc(50), 50);
	}
	lull_rcu_barrier();
	assert_int_equal(READ(queued_items) - before.queued_items, 2000);
	assert_int_equal(READ(done_items) - before.done_items, 2000);
	assert_int_equal(READ(queued_bytes) - before.queued_bytes, 150 * 1000);
	assert_int_equal(READ(waiting_items), 0);
	assert_int_equal(READ(waiting_bytes), 0);
	assert_true(READ(peak_items) >= 64);
	assert_true(READ(passes) > before.passes);
}

static const struct lull_stats_wait *find_wait(uint32_t waiter)
{
	for (unsigned i = 0; i < LULL_STATS_WAITS; i++) {
		const struct lull_stats_wait *wait = &lull_stats_page()->waits[i];

		if (lull_load_relaxed(&wait->kind) == LULL_WAIT_GP && lull_load_relaxed(&wait->waiter_tid) == waiter)
			return wait;
	}
	return NULL;
}

TEST(who_waits_for_whom)
{
	const struct lull_stats_wait *wait;
	uint64_t began_ns = now_ns(), since_ns;
	pthread_t reader = start_holder(in_section, NULL), waiter = start_waiter(lull_rcu_synchronize);

	AWAIT((wait = find_wait(lull_load_relaxed(&waiter_tid))) && lull_load_relaxed(&wait->tid));
	since_ns = lull_load_relaxed(&wait->since_ns);
	assert_int_equal(lull_load_relaxed(&wait->tid), holder_tid);
	/* Written after the thread's number, in any order. */
	AWAIT(lull_load_relaxed(&wait->holders) && lull_load_relaxed(&wait->depth));
	assert_int_equal(lull_load_relaxed(&wait->holders), 1);
	assert_int_equal(lull_load_relaxed(&wait->depth), 1);
	assert_true(since_ns >= began_ns && since_ns <= now_ns());
	let_go();
	join_thread(waiter);
	join_thread(reader);
	assert_null(find_wait(waiter_tid));
}

/* The parent's counts, in a child that has not touched it. */
static void looks_at_parent(void)
{
	const struct lull_stats_page *page;
	int fd = find_page(getppid(), O_RDONLY), writable = find_page(getppid(), O_RDWR);

	must(fd >= 0);
	page = (const struct lull_stats_page *)mmap(NULL, sizeof(*page), PROT_READ, MAP_SHARED, fd, 0);
	must(page != MAP_FAILED);
	must(page->magic == LULL_STATS_MAGIC && page->pid == (uint32_t)getppid());
	must(page->gp_ended > 0);
	must(ftruncate(writable, 0) != 0);
#ifndef LULL_TEST_EMULATED
	must(mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, writable, 0) == MAP_FAILED);
	must(pwrite(writable, "x", 1, 0) < 0);
#endif
}

TEST(others_look)
{
	lull_rcu_synchronize();
	expect_fine(looks_at_parent);
}

static uint64_t parents_began_ns;
static const struct lull_stats_page *parents_page;

TEST(child)
{
	const struct lull_stats_page *page = lull_stats_page();
	uint64_t ended, queued;
	int flag = 0;
	pthread_t thread = start_thread(registered_run, &flag);

	await_flag(&flag, 1);
	lull_rcu_synchronize();
	ended = lull_load_relaxed(&page->gp_ended);
	queued = lull_load_relaxed(&page->queued_items);
	parents_began_ns = page->began_ns;
	parents_page = page;
	EXPECT_FINE {
		must(lull_load_relaxed(&parents_page->gp_ended) == 0);
		const struct lull_stats_page *own = lull_stats_page();
		struct lull_stats_page seen;
		int fd = find_page(getpid(), O_RDONLY);

		must(own->pid == (uint32_t)getpid());
		must(own->gp_ended == 0 && own->queued_items == 0);
		must(own->began_ns > parents_began_ns);
		must(own->threads == 1 && lull_thread_count() == 1); /* the parent has more */
		must(fd >= 0 && pread(fd, &seen, sizeof(seen), 0) == sizeof(seen));
		must(seen.pid == (uint32_t)getpid());
		lull_rcu_synchronize();
		must(own->gp_ended == 1);
	}
	assert_int_equal(page->pid, getpid());
	assert_true(page->began_ns == parents_began_ns);
	assert_int_equal(lull_load_relaxed(&page->gp_ended), ended);
	assert_int_equal(lull_load_relaxed(&page->queued_items), queued);
	lull_store_release(&flag, 2);
	join_thread(thread);
}

/* A child leaves files of the program's alone that have the numbers which the page may have had. */
static void check_left_alone(int other)
{
	int status;
	pid_t child;

	for (int fd = 3; fd < 100; fd++)
		must(dup2(other, fd) == fd);
	child = fork();
	if (child == 0) {
		for (int fd = 3; fd < 100; fd++)
			must(fcntl(fd, F_GETFD) == 0);
		_exit(0);
	}
	must(waitpid(child, &status, 0) == child && status == 0);
}

TEST(descriptor_closed)
{
	/* The program closes all that it does not know, and has other files then, also one of the same kind. */
	EXPECT_FINE {
		int ends[2], other;

		lull_rcu_synchronize();
		for (int fd = 3; fd < 100; fd++)
			close(fd);
		must(pipe(ends) == 0);
		check_left_alone(fcntl(ends[0], F_DUPFD, 100));
		other = memfd_create("other", 0);
		check_left_alone(fcntl(other, F_DUPFD, 100));
		lull_rcu_synchronize();
		must(lull_stats_page()->gp_ended > 0);
	}
}

TEST(names)
{
	assert_string_equal(lull_wait_kind_name(LULL_WAIT_NONE), "nothing");
	assert_string_equal(lull_wait_kind_name(LULL_WAIT_GP), "rcu grace period");
	assert_string_equal(lull_wait_kind_name(LULL_WAIT_HAZPTR), "hazptr synchronize");
	assert_string_equal(lull_wait_kind_name(LULL_WAIT_HAZPTR_BARRIER), "hazptr barrier");
	assert_string_equal(lull_wait_kind_name(LULL_WAIT_SHAZPTR), "shazptr synchronize");
	assert_string_equal(lull_wait_kind_name(LULL_WAIT_CALLBACK), "callback");
	assert_string_equal(lull_wait_kind_name(LULL_WAIT_LIMIT), "hard limit");
	assert_string_equal(lull_wait_kind_name(LULL_WAIT_KINDS), "?");
	assert_string_equal(lull_wait_kind_name(UINT32_MAX), "?");
}

/* This program again, with LULL_STATS set to @wish. */
static const char *wish;
static const char *as_what = "without";

static bool without_standard;

static void begins_again(void)
{
	setenv("LULL_STATS", wish, 1);
	for (int fd = 0; without_standard && fd <= 2; fd++)
		close(fd);
	execl(test_program, test_program, "--file", test_file_here.name, without_standard ? "standard" : as_what, (char *)NULL);
	_exit(1);
}

static int without(void)
{
	lull_rcu_synchronize();
	must(lull_stats_page()->gp_ended == 1);
	must(find_page(getpid(), O_RDONLY) < 0);
	return 0;
}

static int with_full_fences(void)
{
	lull_rcu_synchronize();
	must(lull_fence_strategy() == LULL_FENCE_FULL);
	must(lull_stats_page()->fence == LULL_FENCE_FULL);
	return 0;
}

/* There is no page before the first event, which a read section is not. */
static int reads_first(void)
{
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	must(find_page(getpid(), O_RDONLY) < 0);
	lull_rcu_synchronize();
	must(find_page(getpid(), O_RDONLY) >= 0);
	return 0;
}

/* A descriptor that it was started without is still not there. */
static int standard(void)
{
	lull_rcu_synchronize();
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return 1;
	return find_page(getpid(), O_RDONLY) >= 0 ? 0 : 1;
}

TEST(file_size_limit)
{
#ifdef LULL_TEST_EMULATED
	SKIP("the emulator does not start programs of its own kind");
#endif
	/* A process of which less may be written than a page: it goes on, and its child does. */
	EXPECT_FINE {
		struct rlimit none = { 0, 0 };
		int status = 0;
		pid_t child;

		must(setrlimit(RLIMIT_FSIZE, &none) == 0);
		lull_rcu_synchronize();
		must(lull_stats_page()->gp_ended > 0);
		child = fork();
		must(child >= 0);
		if (child == 0) {
			lull_rcu_synchronize();
			_exit(lull_stats_page()->gp_ended == 1 && find_page(getpid(), O_RDONLY) < 0 ? 0 : 1);
		}
		must(waitpid(child, &status, 0) == child && status == 0);
	}
	wish = "on";
	if (!UNDER_TSAN) /* which writes a file of its own when it begins */
		/* The same, if it begins so. */
		EXPECT_FINE {
			struct rlimit none = { 0, 0 };

			must(setrlimit(RLIMIT_FSIZE, &none) == 0);
			begins_again();
		}
}

TEST(made_at_first_event)
{
#ifdef LULL_TEST_EMULATED
	SKIP("the emulator is what /proc shows");
#endif
	wish = "on";
	as_what = "reads";
	expect_fine(begins_again);
	as_what = "without";
}

TEST(full_fences)
{
#ifdef LULL_TEST_EMULATED
	SKIP("the emulator does not start programs of its own kind");
#endif
	wish = "on";
	as_what = "full";
	/* Which fences a process has is on its page. */
	EXPECT_FINE {
		setenv("LULL_FENCE", "full", 1);
		begins_again();
	}
	as_what = "without";
}

TEST(no_memfd)
{
#ifdef LULL_TEST_EMULATED
	SKIP("the emulator is what /proc shows");
#endif
	if (under_valgrind())
		SKIP("valgrind is what /proc shows");
	lull_rcu_synchronize(); /* the parent has a page */
	/* A child whose kernel refuses a page counts all the same. */
	EXPECT_FINE {
		filter(SYS_memfd_create, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW);
		lull_rcu_synchronize();
		must(lull_stats_page()->gp_ended == 1);
		must(find_page(getpid(), O_RDONLY) < 0);
	}
	/* One that is killed for asking has asked before. */
	EXPECT_FINE {
		const struct lull_stats_page *page = lull_stats_page();

		filter(SYS_memfd_create, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
		lull_rcu_synchronize();
		must(lull_stats_page() == page && page->gp_ended == 1);
	}
}

TEST(no_standard_files)
{
#ifdef LULL_TEST_EMULATED
	SKIP("the emulator does not start programs of its own kind");
#endif
	wish = "on";
	without_standard = true;
	expect_fine(begins_again);
	without_standard = false;
}

TEST(off)
{
	char text[4096];
	int status;

#ifdef LULL_TEST_EMULATED
	SKIP("the emulator does not start programs of its own kind");
#endif
	wish = "off";
	expect_fine(begins_again);
	wish = "maybe";
	status = run_child(begins_again, text, sizeof(text));
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1); /* there is a page then */
	assert_non_null(strstr(text, "lull: LULL_STATS is \"maybe\", which is ignored; it can be on or off\n"));
}

WITH_ARGUMENTS(argc, argv)
{
	const char *what = argv[0];

	(void)argc;
	return strcmp(what, "standard") == 0 ? standard() :
	       strcmp(what, "reads") == 0    ? reads_first() :
	       strcmp(what, "full") == 0     ? with_full_fences() :
					       without();
}
