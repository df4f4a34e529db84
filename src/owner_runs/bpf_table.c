/* SPDX-License-Identifier: MIT */
/*
 * bpf_table.c - map the table of the threads that run on each CPU, if it exists and can be trusted.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lull/mutex.h>

#include "bpf_table.h"

#define CPUS_MAX 65536 /* more than any kernel can be built for */

/*
 * Can only root have put the pin there? Checked first, because no bpf(2) call may be made if there is no
 * table: sandboxes kill for that.
 */
static bool of_root(const char *dir, const char *pin)
{
	struct stat st;

	if (lstat(dir, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != 0 || st.st_mode & (S_IWGRP | S_IWOTH))
		return false;
	return lstat(pin, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0;
}

/*
 * Open the pin for writing too, though lull never writes: the kernel maps nothing that was opened for
 * reading only. A map refuses all writes from user space once it is frozen.
 */
static int open_pin(const char *pin)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.pathname = (uint64_t)(uintptr_t)pin;
	return (int)syscall(SYS_bpf, BPF_OBJ_GET, &attr, sizeof(attr));
}

/* Return how many values the map has; 0: this is another kind of map, or no map. */
static unsigned count_of(int fd)
{
	struct bpf_map_info info;
	union bpf_attr attr;

	memset(&info, 0, sizeof(info));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uint64_t)(uintptr_t)&info;
	if (syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) != 0)
		return 0;
	if (info.type != BPF_MAP_TYPE_ARRAY || info.key_size != sizeof(uint32_t) ||
	    info.value_size != sizeof(uint64_t) || info.map_flags != BPF_F_MMAPABLE ||
	    info.max_entries > CPUS_MAX)
		return 0;
	return info.max_entries;
}

static const uint64_t *map_values(int fd, unsigned count)
{
	size_t size = count * sizeof(uint64_t);
	void *values = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (values != MAP_FAILED) {
		munmap(values, size); /* not frozen: any process may have written to it */
		return NULL;
	}
	values = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	return values == MAP_FAILED ? NULL : (const uint64_t *)values;
}

static const uint64_t *running_in(const char *dir, const char *pin, unsigned *cpus)
{
	const uint64_t *values = NULL;
	int saved = errno, fd;

	if (of_root(dir, pin) && (fd = open_pin(pin)) >= 0) {
		*cpus = count_of(fd);
		if (*cpus)
			values = map_values(fd, *cpus);
		close(fd);
	}
	errno = saved;
	return values;
}

const uint64_t *lull__bpf_running(unsigned *cpus)
{
	return running_in(LULL_MUTEX_TABLE_DIR, LULL_MUTEX_TABLE, cpus);
}
