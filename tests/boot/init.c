/* SPDX-License-Identifier: MIT */
/* The first process of a booted kernel: runs what /tests lists, says how each ended, and powers off. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

static void run(const char *path)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	waitpid(child, &status, 0);
	printf("boot: %s %d\n", path, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	fflush(stdout);
}

int main(void)
{
	char line[256];
	FILE *tests;
	int console;

	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
	console = open("/dev/console", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		dup2(console, fd);
	setenv("LD_LIBRARY_PATH", "/lib", 1);
	tests = fopen("/tests", "r");
	while (tests && fgets(line, sizeof(line), tests)) {
		line[strcspn(line, "\n")] = '\0';
		run(line);
	}
	reboot(RB_POWER_OFF);
	return 1;
}
