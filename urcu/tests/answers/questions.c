/* SPDX-License-Identifier: MIT */
/*
 * questions.c - ask all questions, or the one that is named. A process that ends otherwise than by 0 says so in its answer.
 */
#include "question.h"

#include <dirent.h>
#include <stdarg.h>
#include <sys/wait.h>

#define LONG_S 100 /* a question that has no answer by then gets none */

static struct question *first;
static bool has_answer;
_Atomic int called;

void add_question(struct question *q)
{
	struct question **at = &first;

	while (*at)
		at = &(*at)->next;
	*at = q;
}

void answer(const char *format, ...)
{
	va_list args;

	if (has_answer)
		printf(", ");
	has_answer = true;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	fflush(stdout); /* the next part may be the end of the process */
}

struct rcu_head *new_head(void)
{
	struct rcu_head *head = calloc(1, sizeof(*head));

	MUST(head);
	return head;
}

void count_call(struct rcu_head *head)
{
	free(head);
	atomic_fetch_add(&called, 1);
}

void in_thread(void *(*function)(void *), void *arg)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, function, arg) == 0);
	MUST(pthread_join(thread, NULL) == 0);
}

unsigned threads_now(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned count = 0;

	MUST(tasks);
	for (struct dirent *task; (task = readdir(tasks));)
		count += task->d_name[0] != '.';
	closedir(tasks);
	return count;
}

static void ask(const struct question *q)
{
	alarm(LONG_S);
	q->ask();
	exit(0);
}

/* In a new process, so that nothing is left of the questions before. */
static void ask_apart(const struct question *q)
{
	int status;
	pid_t child;

	printf("%s: ", q->name);
	fflush(stdout);
	child = fork();
	MUST(child >= 0);
	if (child == 0) {
		execl("/proc/self/exe", q->name, q->name, (char *)NULL);
		_exit(126);
	}
	MUST(waitpid(child, &status, 0) == child);
	if (WIFSIGNALED(status))
		printf(" (ends by signal %d)", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		printf(" (ends with %d)", WEXITSTATUS(status));
	printf("\n");
}

int main(int argc, char **argv)
{
	for (const struct question *q = first; q; q = q->next) {
		if (argc < 2)
			ask_apart(q);
		else if (!strcmp(argv[1], q->name))
			ask(q);
	}
	return argc > 1;
}
