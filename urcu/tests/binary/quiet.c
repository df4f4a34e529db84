/* SPDX-License-Identifier: MIT */
/*
 * quiet.c - a process that only loads the library: no file, no thread, no membarrier. usage: quiet LIBRARY
 *
 * It runs itself with the library preloaded, where the kernel ends whoever makes a file in memory, a thread or a
 * membarrier: once doing nothing, and once using liburcu, which must be noticed.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENDS(call)                                                                                                     \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static void forbid(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ENDS(SYS_membarrier), ENDS(SYS_memfd_create), ENDS(SYS_clone), ENDS(SYS_clone3),
		ENDS(SYS_eventfd2), ENDS(SYS_mlock),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(77);
}

static int count(const char *folder)
{
	DIR *dir = opendir(folder);
	int entries = 0;

	while (dir && readdir(dir))
		entries++;
	if (dir)
		closedir(dir);
	return entries;
}

/* Returns the wait status of this program, run with @what and @library preloaded. */
static int run(const char *self, const char *library, const char *what)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		setenv("LD_PRELOAD", library, 1);
		forbid();
		execl(self, self, library, what, (char *)NULL);
		_exit(78);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return status;
}

static int in_child(const char *what)
{
	void *(*use)(void) = NULL;

	*(void **)&use = dlsym(RTLD_DEFAULT, "urcu_memb_register_thread");
	if (!use) {
		fprintf(stderr, "the library is not preloaded\n");
		return 1;
	}
	if (count("/proc/self/task") != 3 || count("/proc/self/fd") > 6) { /* with . and .., and the folder itself */
		fprintf(stderr, "%d threads, %d files\n", count("/proc/self/task") - 2, count("/proc/self/fd") - 3);
		return 1;
	}
	if (!strcmp(what, "use"))
		use();
	return 0;
}

int main(int argc, char **argv)
{
	int idle, used;

	if (argc == 3)
		return in_child(argv[2]);
	for (int fd = 3; fd < 1024; fd++) /* a test runner's */
		close(fd);
	idle = run("/proc/self/exe", argv[1], "nothing");
	used = run("/proc/self/exe", argv[1], "use");
	if (WIFEXITED(idle) && WEXITSTATUS(idle) == 77) {
		printf("skipped: no seccomp filters here\n");
		return 77;
	}
	printf("idle: status %#x; used: status %#x\n", (unsigned)idle, (unsigned)used);
	return !(idle == 0 && WIFSIGNALED(used) && WTERMSIG(used) == SIGSYS);
}
