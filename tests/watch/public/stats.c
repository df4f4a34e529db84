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

static void wait_for_grace_period(void)
{
	lull_rcu_gp_wait(lull_rcu_gp_start());
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
	wait_for_grace_period();
	expect_fine(looks_at_parent);
}

TEST(child)
{
	const struct lull_stats_page *page = lull_stats_page();
	struct lull_stats_page before, after;
	int flag = 0;
	pthread_t thread = start_thread(registered_run, &flag);

	lull_thread_register();
	await_flag(&flag, 1);
	wait_for_grace_period();
	assert_int_equal(READ(threads), lull_thread_count());
	if (lull_fence_strategy() == LULL_FENCE_MEMBARRIER)
		assert_true(READ(heavy_fences) > 0);
	before = *page;
	EXPECT_FINE {
		must(READ(gp_ended) == 0);
		struct lull_stats_page seen;
		int fd = find_page(getpid(), O_RDONLY);

		must(READ(pid) == (uint32_t)getpid());
		must(READ(gp_ended) == 0 && READ(queued_items) == 0);
		must(READ(began_ns) > before.began_ns);
		must(READ(threads) == 1 && lull_thread_count() == 1); /* the parent has more */
		must(fd >= 0 && pread(fd, &seen, sizeof(seen), 0) == sizeof(seen));
		must(seen.pid == (uint32_t)getpid());
		wait_for_grace_period();
		must(READ(gp_ended) == 1);
	}
	after = *page;
	assert_true(after.pid == before.pid && after.began_ns == before.began_ns);
	assert_true(after.gp_ended == before.gp_ended && after.queued_items == before.queued_items);
	lull_store_release(&flag, 2);
	join_thread(thread);
}

/* A child leaves files of the program's alone that have the numbers which the page may have had. */
static void check_left_alone(int other)
{
	for (int fd = 3; fd < 100; fd++)
		must(dup2(other, fd) == fd);
	EXPECT_FINE
		for (int fd = 3; fd < 100; fd++)
			must(fcntl(fd, F_GETFD) == 0);
}

TEST(descriptor_closed)
{
	/* The program closes all that it does not know, and has other files then, also one of the same kind. */
	EXPECT_FINE {
		int ends[2], other;

		wait_for_grace_period();
		for (int fd = 3; fd < 100; fd++)
			close(fd);
		must(pipe(ends) == 0);
		check_left_alone(fcntl(ends[0], F_DUPFD, 100));
		other = memfd_create("other", 0);
		check_left_alone(fcntl(other, F_DUPFD, 100));
		wait_for_grace_period();
		must(lull_stats_page()->gp_ended > 0);
	}
}

TEST(names)
{
	static const char *const names[] = { "nothing",	 "rcu grace period", "hazptr synchronize", "hazptr barrier",
					     "shazptr synchronize", "callback", "hard limit", "rcu domain", "?" };

	for (unsigned kind = LULL_WAIT_NONE; kind <= LULL_WAIT_KINDS; kind++)
		assert_string_equal(lull_wait_kind_name(kind), names[kind]);
	assert_string_equal(lull_wait_kind_name(UINT32_MAX), "?");
}

/* ---- this program again, which begins in another way ------------------------------------------------------- */

static bool has_file(void)
{
	return find_page(getpid(), O_RDONLY) >= 0;
}

static void counts(void)
{
	wait_for_grace_period();
	must(READ(gp_ended) == 1);
}

static void counts_without_file(void)
{
	counts();
	must(!has_file());
}

static void counts_in_file(void)
{
	counts();
	must(has_file());
}

static void has_full_fences(void)
{
	counts();
	must(lull_fence_strategy() == LULL_FENCE_FULL && READ(fence) == LULL_FENCE_FULL);
}

/* There is no page before the first event, which a read section is not. */
static void reads_first(void)
{
	lull_rcu_read_lock();
	lull_rcu_read_unlock();
	must(!has_file());
	counts_in_file();
}

/* A descriptor that it was started without is still not there. */
static void lacks_standard_files(void)
{
	wait_for_grace_period();
	for (int fd = 0; fd <= 2; fd++)
		must(fcntl(fd, F_GETFD) < 0);
	must(has_file());
}

static void close_standard_files(void)
{
	for (int fd = 0; fd <= 2; fd++)
		close(fd);
}

/* Less may be written than a page. */
static void limit_files(void)
{
	struct rlimit none = { 0, 0 };

	must(setrlimit(RLIMIT_FSIZE, &none) == 0);
}

static const struct beginning {
	const char *name, *stats, *fence; /* LULL_STATS, LULL_FENCE */
	void (*prepare)(void), (*look)(void);
	const char *says;
} beginnings[] = {
	{ "off", "off", NULL, NULL, counts_without_file, "" },
	{ "a wrong word", "maybe", NULL, NULL, counts_in_file,
	  "lull: LULL_STATS is \"maybe\", which is ignored; it can be on or off\n" },
	{ "reads", "on", NULL, NULL, reads_first, "" },
	{ "full fences", "on", "full", NULL, has_full_fences, "" },
	{ "no standard files", "on", NULL, close_standard_files, lacks_standard_files, "" },
	{ "small files", "on", NULL, limit_files, counts_without_file, "" },
};
enum { BEGINNINGS = sizeof(beginnings) / sizeof(beginnings[0]) };

static const struct beginning *how;

static void begin_again(void)
{
	setenv("LULL_STATS", how->stats, 1);
	if (how->fence)
		setenv("LULL_FENCE", how->fence, 1);
	if (how->prepare)
		how->prepare();
	execl(test_program, test_program, "--file", test_file_here.name, how->name, (char *)NULL);
	_exit(1);
}

TEST(begins)
{
	char text[4096];

#ifdef LULL_TEST_EMULATED
	SKIP("the emulator does not start programs of its own kind");
#endif
	for (how = beginnings; how < beginnings + BEGINNINGS; how++) {
		if (UNDER_TSAN && how->prepare == limit_files)
			continue; /* it writes a file of its own when it begins */
		if (run_child(begin_again, text, sizeof(text)) != 0 || strcmp(text, how->says) != 0)
			fail_msg("%s: wrote: %s", how->name, text);
	}
}

WITH_ARGUMENTS(argc, argv)
{
	(void)argc;
	for (how = beginnings; how < beginnings + BEGINNINGS; how++)
		if (strcmp(argv[0], how->name) == 0)
			how->look();
	return 0;
}

/* A process of which less may be written than a page goes on, and its child does. */
TEST(file_size_limit)
{
	EXPECT_FINE {
		limit_files();
		wait_for_grace_period();
		must(READ(gp_ended) > 0);
		expect_fine(counts_without_file);
	}
}

TEST(no_memfd)
{
#ifdef LULL_TEST_EMULATED
	SKIP("the emulator is what /proc shows");
#endif
	if (under_valgrind())
		SKIP("valgrind is what /proc shows");
	wait_for_grace_period(); /* the parent has a page */
	/* A child whose kernel refuses a page counts all the same. */
	EXPECT_FINE {
		filter(SYS_memfd_create, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW);
		counts_without_file();
	}
	/* One that is killed for asking has asked before. */
	EXPECT_FINE {
		const struct lull_stats_page *page = lull_stats_page();

		filter(SYS_memfd_create, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
		counts();
		must(lull_stats_page() == page);
	}
}
