/* SPDX-License-Identifier: MIT */
/*
 * shared_file.c - the file that the page of stats.h is, from the inside: it is closed only if it still is what it was.
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "../src/watch/shared_file.h"

#define SIZE 4096

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Make a file, change what is known of it, and drop it. Returns whether that closed it. */
static bool is_closed_with(uint64_t more_device, uint64_t more_inode)
{
	struct lull__shared_file file;
	char *at = lull__shared_file_make(&file, "lull-test", SIZE);
	int fd = file.fd;
	bool closed;

	assert_non_null(at);
	assert_true(fd > 2 && is_open(fd));
	at[0] = at[SIZE - 1] = 7;
	file.device += more_device;
	file.inode += more_inode;
	errno = 77;
	lull__shared_file_drop(&file, at, SIZE);
	assert_int_equal(errno, 77);
	assert_int_equal(file.fd, -1);
	/* Private memory, with zeros: a late writer's words reach no reader. */
	assert_int_equal(at[0] | at[SIZE - 1], 0);
	at[0] = 8;
	closed = !is_open(fd);
	if (!closed) {
		char byte;

		assert_int_equal(pread(fd, &byte, 1, 0), 1);
		assert_int_equal(byte, 7);
		close(fd);
	}
	munmap(at, SIZE);
	return closed;
}

TEST(drop)
{
	assert_true(is_closed_with(0, 0));
	assert_false(is_closed_with(1, 0));
	assert_false(is_closed_with(0, 1));
	assert_false(is_closed_with(1, 1));
}

/* One that has been closed, too. */
TEST(drop_closed)
{
	struct lull__shared_file file;
	char *at = lull__shared_file_make(&file, "lull-test", SIZE);

	assert_non_null(at);
	close(file.fd);
	lull__shared_file_drop(&file, at, SIZE);
	assert_int_equal(file.fd, -1);
	munmap(at, SIZE);
}
