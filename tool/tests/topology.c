/* SPDX-License-Identifier: MIT */
/* The order in which the instruments place threads on CPUs, over machines made of files. */
#include "test.h"

#include "common/topology.c"

#include <ftw.h>
#include <sys/stat.h>

static char root[64];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

SETUP
{
	strcpy(root, "/tmp/lull-topology-XXXXXX");
	must(mkdtemp(root));
}

TEARDOWN
{
	must(nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

static void write_file(int cpu, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/cpu%d", root, cpu);
	(void)mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/cpu%d/topology", root, cpu);
	(void)mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/cpu%d/topology/%s", root, cpu, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void add_cpu(int cpu, int socket, const char *siblings)
{
	char text[16];

	snprintf(text, sizeof(text), "%d\n", socket);
	write_file(cpu, "physical_package_id", text);
	write_file(cpu, "thread_siblings_list", siblings);
}

static void assert_order(const int *in, const int *want, size_t count, unsigned cores,
			 unsigned sockets)
{
	int cpu[16];
	struct topology t;
	size_t i;

	memcpy(cpu, in, count * sizeof(*in));
	t = topology_sort(root, cpu, count);
	for (i = 0; i < count; i++)
		assert_int_equal(cpu[i], want[i]);
	assert_int_equal(t.cores, cores);
	assert_int_equal(t.sockets, sockets);
}

/* Two sockets of two cores of two threads, numbered as Linux does on most servers. */
TEST(two_sockets)
{
	static const int in[] = { 0, 1, 2, 3, 4, 5, 6, 7 }, want[] = { 0, 2, 1, 3, 4, 6, 5, 7 };
	static const char *const siblings[] = { "0,4\n", "1,5\n", "2,6\n", "3,7\n" };
	int cpu;

	for (cpu = 0; cpu < 8; cpu++)
		add_cpu(cpu, cpu % 2, siblings[cpu % 4]);
	assert_order(in, want, 8, 4, 2);
}

/* Threads of a core are neighbours in number, and the list is a range. */
TEST(neighbours)
{
	static const int in[] = { 0, 1, 2, 3 }, want[] = { 0, 2, 1, 3 };

	add_cpu(0, 0, "0-1\n");
	add_cpu(1, 0, "0-1\n");
	add_cpu(2, 0, "2-3\n");
	add_cpu(3, 0, "2-3\n");
	assert_order(in, want, 4, 2, 1);
}

/* Only some of the CPUs may be used: a core whose first thread may not is still one core. */
TEST(part_of_a_machine)
{
	static const int in[] = { 1, 2, 3 }, want[] = { 1, 2, 3 };

	add_cpu(0, 0, "0-1\n");
	add_cpu(1, 0, "0-1\n");
	add_cpu(2, 0, "2-3\n");
	add_cpu(3, 0, "2-3\n");
	assert_order(in, want, 3, 2, 1);
}

/* Sockets, cores and CPUs in no order, four to a core: each core's first, then its second, and so on. */
TEST(no_order)
{
	static const int in[] = { 7, 13, 2, 11, 0, 9, 5, 4, 1, 8, 3, 6, 10, 12 },
			 want[] = { 4, 12, 0, 8, 5, 13, 1, 9, 6, 2, 10, 7, 3, 11 };
	int cpu;

	for (cpu = 0; cpu < 14; cpu++)
		add_cpu(cpu, cpu / 4 % 2 ? 0 : 2, cpu < 4 ? "0-3\n" : cpu < 8 ? "4-7\n" : cpu < 12 ? "8-11\n" : "12-15\n");
	assert_order(in, want, 14, 4, 2);
}

/* Files that are not there, or say nothing of use. */
TEST(nothing_known)
{
	static const int in[] = { 5, 3, 9 }, want[] = { 3, 5, 9 };

	assert_order(in, want, 3, 3, 1);
	write_file(3, "physical_package_id", "nonsense\n");
	write_file(5, "physical_package_id", "-1\n");
	write_file(9, "thread_siblings_list", "\n");
	assert_order(in, want, 3, 3, 1);
}
