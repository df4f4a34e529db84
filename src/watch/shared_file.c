/* SPDX-License-Identifier: MIT */
/*
 * shared_file.c - memory that other processes can read but not change: a sealed memfd.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../os/os.h"
#include "shared_file.h"

#ifndef F_SEAL_FUTURE_WRITE /* Linux 5.1 */
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/*
 * Replace @fd if its number is that of standard input, output or error: a program that begins without one
 * of these must not find this file there.
 */
static int not_standard(int fd)
{
	int higher;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return higher;
}

/* Past the limit of a file's size the kernel also sends SIGXFSZ, which kills. Signals are blocked: take it. */
static bool set_size(int fd, size_t size)
{
	static const struct timespec at_once;
	sigset_t before, limit;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	sigpending(&before);
	if (ftruncate(fd, (off_t)size) == 0)
		return true;
	if (errno == EFBIG && !sigismember(&before, SIGXFSZ))
		sigtimedwait(&limit, NULL, &at_once);
	return false;
}

void *lull__shared_file_make(struct lull__shared_file *file, const char *name, size_t size)
{
	int saved = errno, cancel, fd;
	void *at = MAP_FAILED;
	struct stat st;

	lull__no_cancel(&cancel);
	fd = not_standard(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
	file->fd = -1;
	if (fd >= 0 && set_size(fd, size) && fstat(fd, &st) == 0)
		at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	/*
	 * A process that opens the file later must not write to it, nor shrink it while it is mapped. An
	 * old kernel that does not know the seal against writing refuses them all: then seal without it,
	 * as only this user can open the file.
	 */
	if (at != MAP_FAILED && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) != 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
		munmap(at, size);
		at = MAP_FAILED;
	}
	if (at != MAP_FAILED) {
		file->fd = fd;
		file->device = (uint64_t)st.st_dev;
		file->inode = (uint64_t)st.st_ino;
	} else if (fd >= 0) {
		close(fd);
	}
	lull__may_cancel(cancel);
	errno = saved;
	return at == MAP_FAILED ? NULL : at;
}

void lull__shared_file_drop(struct lull__shared_file *file, void *at, size_t size)
{
	int saved = errno, cancel;
	struct stat st;

	lull__no_cancel(&cancel);
	/* Not munmap(): a signal handler may have forked, and the code that it interrupted may yet write here. */
	if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		munmap(at, size); /* rather than write to the parent's */
	/*
	 * The program may have closed files that it did not know, and the number may be another file's now.
	 */
	if (file->fd >= 0 && fstat(file->fd, &st) == 0 && (uint64_t)st.st_dev == file->device &&
	    (uint64_t)st.st_ino == file->inode)
		close(file->fd);
	file->fd = -1;
	lull__may_cancel(cancel);
	errno = saved;
}
