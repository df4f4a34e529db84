/* SPDX-License-Identifier: MIT */
/*
 * The table of who runs on each CPU, as the library maps it: what it takes, and what it refuses. Tables
 * of this test are pinned in a file system of its own that no other process sees; a table that is loaded on
 * this machine is left alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>

#include "seccomp.h"

#include <sys/stat.h>

static int noted_lstat(const char *path, struct stat *st);
#define lstat(path, st) noted_lstat(path, st)
#include "../src/owner_runs/bpf_table.c"
#undef lstat

static bool notes;
static char noted[200];

/* The folder of the table is there, and the table is not; or all is as it is. */
static int noted_lstat(const char *path, struct stat *st)
{
	if (!notes)
		return lstat(path, st);
	strcat(strcat(noted, path), " ");
	memset(st, 0, sizeof(*st));
	st->st_mode = S_IFDIR | 0755;
	errno = ENOENT;
	return strcmp(path, "/sys/fs/bpf/lull") == 0 ? 0 : -1;
}

/* First the folder, which is root's alone, and then its content. */
TEST(where_it_looks)
{
	unsigned cpus;

	notes = true;
	errno = 44;
	assert_null(lull__bpf_running(&cpus));
	notes = false;
	assert_string_equal(noted, "/sys/fs/bpf/lull /sys/fs/bpf/lull/running ");
	assert_int_equal(errno, 44);
}

#define NOBODY 65534

static char root[64], dir[80], pin[96];
static const char *cannot; /* why no table can be made here */

static int bpf(int command, union bpf_attr attr)
{
	return (int)syscall(SYS_bpf, command, &attr, sizeof(attr));
}

static int make_map(unsigned type, unsigned value_size, unsigned entries, unsigned flags)
{
	return bpf(BPF_MAP_CREATE, (union bpf_attr){ .map_type = type, .key_size = sizeof(uint32_t), .value_size = value_size,
						     .max_entries = entries, .map_flags = flags });
}

static int set_value(int map, uint32_t key, uint64_t value)
{
	return bpf(BPF_MAP_UPDATE_ELEM, (union bpf_attr){ .map_fd = (uint32_t)map, .key = (uint64_t)(uintptr_t)&key,
							  .value = (uint64_t)(uintptr_t)&value });
}

static const char *try_setup(void)
{
	int map;

	if (geteuid() != 0)
		return "only root can load a table";
	strcpy(root, "/tmp/lull-bpf-XXXXXX");
	if (!mkdtemp(root))
		return "no folder in /tmp";
	snprintf(dir, sizeof(dir), "%s/lull", root);
	snprintf(pin, sizeof(pin), "%s/running", dir);
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0)
		return "no file systems of its own";
	if (mount("bpf", root, "bpf", 0, "mode=0755") != 0 || mkdir(dir, 0755) != 0 || chmod(dir, 0755) != 0)
		return "no BPF file system";
	map = make_map(BPF_MAP_TYPE_ARRAY, 8, 1, BPF_F_MMAPABLE);
	if (map < 0)
		return "the kernel makes no such table";
	close(map);
	return NULL;
}

#define NEEDS_TABLES()                                                                             \
	do {                                                                                       \
		if (cannot)                                                                        \
			SKIP(cannot);                                                              \
	} while (0)

/* Load it as `lull oracle` makes it, with CPU 0 running 10, CPU 1 20, ... */
static void load(unsigned type, unsigned value_size, unsigned cpus, unsigned flags, bool frozen)
{
	int map = make_map(type, value_size, cpus, flags);

	assert_true(map >= 0);
	for (unsigned i = 0; i < cpus && value_size == 8; i++)
		assert_int_equal(set_value(map, i, 10 * (i + 1)), 0);
	if (frozen)
		assert_int_equal(bpf(BPF_MAP_FREEZE, (union bpf_attr){ .map_fd = (uint32_t)map }), 0);
	assert_int_equal(bpf(BPF_OBJ_PIN, (union bpf_attr){ .bpf_fd = (uint32_t)map, .pathname = (uint64_t)(uintptr_t)pin }), 0);
	assert_int_equal(chmod(pin, 0666), 0);
	close(map);
}

static void unload(void)
{
	assert_int_equal(unlink(pin), 0);
}

static bool taken(void)
{
	const uint64_t *values;
	unsigned cpus = 0;

	errno = EDOM;
	values = running_in(dir, pin, &cpus);
	assert_int_equal(errno, EDOM);
	if (values)
		assert_int_equal(munmap((void *)(uintptr_t)values, cpus * sizeof(*values)), 0);
	return values != NULL;
}

TEST(values_are_seen)
{
	const uint64_t *values;
	unsigned cpus = 0;

	NEEDS_TABLES();
	load(BPF_MAP_TYPE_ARRAY, 8, 3, BPF_F_MMAPABLE, true);
	values = running_in(dir, pin, &cpus);
	assert_non_null(values);
	assert_int_equal(cpus, 3);
	assert_int_equal(values[0], 10);
	assert_int_equal(values[1], 20);
	assert_int_equal(values[2], 30);
	unload();
	assert_int_equal(values[2], 30); /* for as long as the process lives */
	assert_false(taken());
}

TEST(unprivileged)
{
	NEEDS_TABLES();
	load(BPF_MAP_TYPE_ARRAY, 8, 3, BPF_F_MMAPABLE, true);
	/* Without rights, and then without write access, too. */
	EXPECT_FINE {
		unsigned cpus = 0;
		int map;

		must(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
		map = open_pin(pin);
		if (map < 0 && errno == EPERM)
			_exit(0); /* before Linux 5.19, where bpf(2) as a whole can be forbidden */
		must(map >= 0);
		must(running_in(dir, pin, &cpus) != NULL && cpus == 3);
		must(set_value(map, 0, 99) == -1 && errno == EPERM);
		must(mmap(NULL, 24, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0) == MAP_FAILED && errno == EPERM);
		must(unlink(pin) == -1);
	}
	assert_true(taken());
	assert_int_equal(chmod(pin, 0660), 0);
	EXPECT_FINE {
		unsigned cpus = 0;

		must(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
		must(running_in(dir, pin, &cpus) == NULL);
	}
	unload();
}

TEST(other_tables_are_refused)
{
	static const struct {
		unsigned type, value_size, cpus, flags;
		bool frozen, taken;
	} maps[] = {
		{ BPF_MAP_TYPE_ARRAY, 8, 2, BPF_F_MMAPABLE, true, true },
		{ BPF_MAP_TYPE_ARRAY, 8, 2, BPF_F_MMAPABLE, false, false },
		{ BPF_MAP_TYPE_ARRAY, 4, 2, BPF_F_MMAPABLE, true, false },
		{ BPF_MAP_TYPE_ARRAY, 16, 2, BPF_F_MMAPABLE, true, false },
		{ BPF_MAP_TYPE_ARRAY, 8, 2, 0, true, false },
		{ BPF_MAP_TYPE_ARRAY, 8, 2, BPF_F_MMAPABLE | BPF_F_RDONLY_PROG, true, false },
		{ BPF_MAP_TYPE_ARRAY, 8, CPUS_MAX + 1, BPF_F_MMAPABLE, true, false },
		{ BPF_MAP_TYPE_HASH, 8, 2, 0, true, false },
	};

	NEEDS_TABLES();
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		load(maps[i].type, maps[i].value_size, maps[i].cpus, maps[i].flags, maps[i].frozen);
		if (taken() != maps[i].taken)
			fail_msg("map %zu was %s", i, maps[i].taken ? "refused" : "taken");
		unload();
	}
}

/* Another user who could have put it there could have put anything there. */
TEST(of_others_are_refused)
{
	static const struct {
		uid_t of_pin, of_dir;
		gid_t group;
		mode_t mode;
		bool taken;
	} cases[] = {
		{ 0, 0, 0, 0755, true }, { NOBODY, 0, 0, 0755, false }, { 0, 0, NOBODY, 0755, true },
		{ 0, NOBODY, 0, 0755, false }, { 0, 0, 0, 0775, false }, { 0, 0, 0, 0757, false },
		{ 0, 0, 0, 0755, true },
	};

	NEEDS_TABLES();
	load(BPF_MAP_TYPE_ARRAY, 8, 2, BPF_F_MMAPABLE, true);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(chown(pin, cases[i].of_pin, cases[i].group), 0);
		assert_int_equal(chown(dir, cases[i].of_dir, 0), 0);
		assert_int_equal(chmod(dir, cases[i].mode), 0);
		if (taken() != cases[i].taken)
			fail_msg("table %zu was %s", i, cases[i].taken ? "refused" : "taken");
	}
	unload();
}

TEST(no_tables_at_all)
{
	char file[] = "/tmp/lull-bpf-file-XXXXXX";
	unsigned cpus = 0;
	int fd = mkstemp(file);

	assert_true(fd >= 0);
	errno = EDOM;
	assert_null(running_in("/tmp", "/tmp/lull/nowhere", &cpus));
	assert_null(running_in("/", file, &cpus)); /* a plain file */
	assert_null(running_in("/", "/tmp", &cpus));
	assert_null(running_in(file, file, &cpus));
	assert_int_equal(errno, EDOM);
	close(fd);
	unlink(file);
}

TEST(no_call_without_a_pin)
{
	if (!may_filter())
		SKIP(NO_FILTERS);
	/* Sandboxes kill for bpf(2); those have no table. */
	EXPECT_FINE {
		unsigned cpus = 0;

		filter(SYS_bpf, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
		must(running_in("/", "/nowhere/lull/running", &cpus) == NULL);
		must(access(LULL_MUTEX_TABLE, F_OK) == 0 || lull__bpf_running(&cpus) == NULL);
	}
}

BEFORE_ALL
{
	set_stall_ms(0); /* a slow machine is not worth a line */
	cannot = try_setup();
	if (cannot)
		print_message("most of this is skipped: %s (%s)\n", cannot, strerror(errno));
}

AFTER_ALL
{
	umount(root);
	if (root[0])
		rmdir(root);
}
