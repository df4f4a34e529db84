/* SPDX-License-Identifier: MIT */
/*
 * write.c - write to a descriptor that belongs to the program: raise no signal, and do not block unless asked to.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os.h"

/*
 * Write to a pipe or a terminal. Whether it blocks is a property of what others share with @fd, so it is opened
 * once more (not in /proc/self: the first thread may have ended). Where that is not possible, @fd is written to if it
 * has room, which is a page in a pipe. Then only another writer that takes all of it in between makes this one wait.
 */
static ssize_t write_if_room(int fd, const char *buf, size_t len)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	ssize_t done = -1;
	char path[40];
	int own;

	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own >= 0) {
		done = write(own, buf, len);
		close(own);
	} else if (poll(&room, 1, 0) == 1 && room.revents & POLLOUT) {
		done = write(fd, buf, len);
	}
	return done;
}

static ssize_t write_some(int fd, const char *buf, size_t len, bool may_wait)
{
	struct stat st;

	if (may_wait || fstat(fd, &st) != 0 || S_ISREG(st.st_mode) || fcntl(fd, F_GETFL) & O_NONBLOCK)
		return write(fd, buf, len);
	if (S_ISSOCK(st.st_mode))
		return send(fd, buf, len, MSG_DONTWAIT);
	return write_if_room(fd, buf, len);
}

int lull__write(int fd, const char *buf, size_t len, bool may_wait)
{
	static const struct timespec now;
	int saved = errno, err, cancel, number;
	sigset_t ours, before, pending;
	ssize_t done;

	lull__no_cancel(&cancel);
	sigemptyset(&ours);
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGXFSZ);
	sigaddset(&ours, SIGTTOU); /* to a process in the background; not sent to a thread that blocks it */
	pthread_sigmask(SIG_BLOCK, &ours, &before);
	sigpending(&pending);
	do {
		done = write_some(fd, buf, len, may_wait);
		err = done < 0 ? -errno : 0;
		buf += done > 0 ? done : 0;
		len -= done > 0 ? (size_t)done : 0;
	} while (may_wait && len && (done > 0 || err == -EINTR));
	/* Take back what that has sent to this thread. */
	number = err == -EPIPE ? SIGPIPE : SIGXFSZ;
	if ((err == -EPIPE || err == -EFBIG) && !sigismember(&pending, number)) {
		sigemptyset(&ours);
		sigaddset(&ours, number);
		sigtimedwait(&ours, NULL, &now);
	}
	lull__restore_signals(&before);
	lull__may_cancel(cancel);
	errno = saved;
	return err ? err : len ? -ENOSPC : 0;
}
