/* SPDX-License-Identifier: MIT */
/*
 * operations.c - count what each operation costs one thread: instructions, heavy fences, futex calls, other system
 * calls, allocations. Nothing is timed, so a busy machine changes nothing. lab/limits/run compares the figures with
 * lab/limits/limits.
 *
 *	operations [WORD]	count the operations with WORD in their names, print JSON
 *	operations --calls	count them all, but no instructions
 *	operations --marked	run those whose instructions are counted, with calls of mark() around the two parts
 *				that an emulator's log has to tell apart
 *	operations --names	print the names of those
 *	operations --about	print what the program was compiled with, and where its code and lull's are
 *
 * Each operation runs in a process of its own. Instructions are counted by single steps (lab/engine), calls by stops
 * at each entry into the kernel. Both are those of the thread that does the operation, and of no other.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lull/percpu_ref.h>
#include <lull/reclaim.h>
#include <lull/thread.h>

#include "common/bench.h"
#include "engine/instructions.h"
#include "operation.h"

#define TIMES	   16u	/* to repeat an operation while calls are counted */
#define PATIENCE_S 120u /* for one operation */
#define FEW	   4u
#define MANY	   20u

static const struct operations *const parts[] = {
	&reading_operations,
	&counting_operations,
	&structure_operations,
	&waiting_operations,
	&update_operations,
};

/* ---- allocations ------------------------------------------------------------------------------- */

/* The C library's. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *ptr);

static unsigned long allocations;

static union {
	char bytes[POOL_BYTES];
	void *next;
} pool[16384], *in_pool;
static size_t pool_used;

void *pool_get(void)
{
	void *got = in_pool;

	if (got)
		in_pool = in_pool->next;
	else if (pool_used < sizeof(pool) / sizeof(pool[0]))
		got = &pool[pool_used++];
	else
		abort();
	return got;
}

static void count_allocation(void)
{
	lull_add_relaxed(&allocations, 1ul);
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
	count_allocation();
	return __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
	count_allocation();
	return __libc_calloc(count, size);
}

__attribute__((visibility("default"))) void *realloc(void *old, size_t size)
{
	count_allocation();
	return __libc_realloc(old, size);
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t size)
{
	count_allocation();
	return __libc_memalign(alignment, size);
}

__attribute__((visibility("default"))) int posix_memalign(void **at, size_t alignment, size_t size)
{
	count_allocation();
	*at = __libc_memalign(alignment, size);
	return *at ? 0 : ENOMEM;
}

static bool is_in_pool(const void *ptr)
{
	return (uintptr_t)ptr - (uintptr_t)pool < sizeof(pool);
}

__attribute__((visibility("default"))) void free(void *ptr)
{
	if (!is_in_pool(ptr)) {
		__libc_free(ptr);
		return;
	}
	*(void **)ptr = in_pool;
	in_pool = ptr;
}

static size_t (*usable_size)(void *ptr); /* the C library's */

__attribute__((visibility("default"))) size_t malloc_usable_size(void *ptr)
{
	return is_in_pool(ptr) ? POOL_BYTES : usable_size(ptr);
}

/* ---- in the process in which it is counted ------------------------------------------------------ */

static const struct operation *current;

void bench_sink(uint64_t value)
{
	keep(value);
}

static void *comes_and_stays(void *there)
{
	lull_thread_register();
	lull_store_release((int *)there, 1);
	for (;;)
		pause();
	return NULL;
}

void another_thread(void)
{
	static int there;
	pthread_t thread;

	if (pthread_create(&thread, NULL, comes_and_stays, &there) != 0)
		abort();
	while (!lull_load_acquire(&there))
		usleep(1000);
}

/* No thread of lull's own comes in between. */
static void enter(void)
{
	struct lull_reclaim_config config;

	alarm(PATIENCE_S);
	*(void **)&usable_size = dlsym(RTLD_NEXT, "malloc_usable_size");
	lull_reclaim_default_config(&config);
	config.mode = LULL_RECLAIM_POLL;
	if (lull_reclaim_configure(&config) != 0)
		abort();
	lull_thread_register();
	if (current->before)
		current->before();
}

static uint64_t body(void *unused, uint64_t n)
{
	(void)unused;
	current->run(n);
	return n;
}

/* ---- calls ------------------------------------------------------------------------------------- */

struct calls {
	long fences, futexes, others, allocations; /* of `times` operations */
	unsigned times;
	long other[8]; /* the different numbers of the others */
	unsigned differ;
};

static void stop_here(pid_t self)
{
	syscall(SYS_tgkill, self, self, SIGSTOP);
}

static _Noreturn void traced_child(void)
{
	pid_t self = getpid();

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(77);
	enter();
	if (!(current->flags & ONCE))
		current->run(TIMES); /* first use, lazy binding, and the warmth of every pool */
	stop_here(self);
	current->run(current->flags & ONCE ? 1 : TIMES);
	stop_here(self);
	_exit(0);
}

static void note_number(struct calls *c, long number)
{
	for (unsigned i = 0; i < c->differ; i++)
		if (c->other[i] == number)
			return;
	if (c->differ < sizeof(c->other) / sizeof(c->other[0]))
		c->other[c->differ++] = number;
}

static void count_call(struct calls *c, long number)
{
	if (number == SYS_membarrier)
		c->fences++;
	else if (number == SYS_futex)
		c->futexes++;
	/* The vDSO's, where the machine's clock can be read without the kernel; and the child's own stop. */
	else if (number == SYS_clock_gettime || number == SYS_tgkill)
		return;
#ifdef LULL_DEBUG
	/* Not counted: debug builds map a page now and then, to remember deferred objects. */
	else if (number == SYS_mmap)
		return;
#endif
	else {
		c->others++;
		note_number(c, number);
	}
}

/* Let the child go on until it stops itself, and count in @c, if not NULL. Returns 0, or -1: it has not stopped. */
static int to_next_stop(pid_t pid, struct calls *c)
{
	struct __ptrace_syscall_info info;
	int status;

	for (;;) {
		if (ptrace(c ? PTRACE_SYSCALL : PTRACE_CONT, pid, NULL, NULL) != 0 || waitpid(pid, &status, 0) != pid ||
		    !WIFSTOPPED(status))
			return -1;
		if (WSTOPSIG(status) == SIGSTOP)
			return 0;
		if (WSTOPSIG(status) != (SIGTRAP | 0x80))
			return -1;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info) < 0)
			return -1;
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
			count_call(c, (long)info.entry.nr);
	}
}

/* The child has our memory's addresses. */
static long allocations_of(pid_t pid)
{
	errno = 0;
	return ptrace(PTRACE_PEEKDATA, pid, &allocations, NULL);
}

static int count_in(pid_t pid, struct calls *c)
{
	int status;

	*c = (struct calls){ .times = current->flags & ONCE ? 1 : TIMES };
	/* It begins at its first stop: it traces itself, and stops for nothing else before. */
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGSTOP)
		return -1;
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_TRACESYSGOOD) != 0)
		return -1;
	c->allocations = -allocations_of(pid);
	if (errno || to_next_stop(pid, c) != 0)
		return -1;
	c->allocations += allocations_of(pid);
	return errno ? -1 : 0;
}

static int count_calls(struct calls *c)
{
	pid_t pid = fork();
	int result;

	if (pid == 0)
		traced_child();
	if (pid < 0)
		return -1;
	result = count_in(pid, c);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return result;
}

/* ---- for an emulator's log ---------------------------------------------------------------------- */

__attribute__((noinline)) void mark(void);
__attribute__((noinline)) void mark(void)
{
	__asm__ __volatile__("");
}

static int run_marked(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	/* No fork handlers: they would fill the log, and there is nothing yet that they would be for. */
	pid = _Fork();
	if (pid == 0) {
		enter();
		current->run(MANY);
		mark();
		current->run(FEW);
		mark();
		current->run(MANY);
		mark();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
		fprintf(stderr, "operations: %s has failed\n", current->name);
		return 1;
	}
	return 0;
}

/* ---- the command ------------------------------------------------------------------------------- */

static int count_and_print(bool first, bool instructions)
{
	double steps = instructions && (current->flags & STEPS) ? step_count(enter, NULL, body, NULL) : -1;
	struct calls c;

	if (count_calls(&c) != 0) {
		fprintf(stderr, "operations: %s cannot be traced here, or has failed\n", current->name);
		return 1;
	}
	printf("%s\n{\"name\": \"%s\", \"instructions\": ", first ? "" : ",", current->name);
	if (steps < 0)
		printf("null");
	else
		printf("%.4f", steps);
	printf(", \"times\": %u, \"fences\": %ld, \"futexes\": %ld, \"calls\": %ld, \"allocations\": %ld, \"numbers\": [",
	       c.times, c.fences, c.futexes, c.others, c.allocations);
	for (unsigned i = 0; i < c.differ; i++)
		printf("%s%ld", i ? ", " : "", c.other[i]);
	printf("]}");
	return 0;
}

static void print_head(void)
{
	struct utsname system;

	uname(&system);
#ifdef __clang__
	printf("{\"compiler\": \"clang %s\", ", __clang_version__);
#else
	printf("{\"compiler\": \"gcc %s\", ", __VERSION__);
#endif
#if defined(__OPTIMIZE__) && !defined(LULL_DEBUG)
	printf("\"optimised\": true, ");
#else
	printf("\"optimised\": false, ");
#endif
	printf("\"machine\": \"%s\"", system.machine);
}

static int print_code_of(struct dl_phdr_info *object, size_t size, void *comma)
{
	(void)size;
	/* The program has no name here. */
	for (int i = 0; i < object->dlpi_phnum && (!object->dlpi_name[0] || strstr(object->dlpi_name, "liblull")); i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
			continue;
		printf("%s\"0x%lx+0x%lx\"", *(const char **)comma, (unsigned long)(object->dlpi_addr + part->p_vaddr),
		       (unsigned long)part->p_memsz);
		*(const char **)comma = ", ";
	}
	return 0;
}

static void print_code(void)
{
	const char *comma = "";

	printf(", \"code\": [");
	dl_iterate_phdr(print_code_of, &comma);
	printf("]");
}

enum command { COUNT, CALLS, MARKED, NAMES, ABOUT, COMMANDS };

static int each(enum command command, const char *word)
{
	bool first = true;
	int failed = 0;

	for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]) && !failed; p++)
		for (size_t i = 0; i < parts[p]->count && !failed; i++) {
			current = &parts[p]->first[i];
			if (!strstr(current->name, word) || (command > CALLS && (current->flags & (STEPS | NATIVE)) != STEPS))
				continue;
			if (command == NAMES)
				puts(current->name);
			else
				failed = command == MARKED ? run_marked() : count_and_print(first, command == COUNT);
			first = false;
		}
	return failed;
}

int main(int argc, char **argv)
{
	static const char *const option[COMMANDS] = { "", "--calls", "--marked", "--names", "--about" };
	const char *word = argc > 1 ? argv[1] : "";
	int command = COUNT, failed = 0;

	for (int i = 1; i < COMMANDS; i++)
		if (strcmp(word, option[i]) == 0)
			command = i;
	if (argc > 2 || (command == COUNT && word[0] == '-')) {
		fprintf(stderr, "usage: operations [WORD | --calls | --marked | --names | --about]\n");
		return 2;
	}
	if (command == NAMES)
		return each(NAMES, "");
	print_head();
	if (command == ABOUT || command == MARKED)
		print_code();
	if (command <= CALLS) {
		/* Once for the process: while single steps are counted, this thread seems to have no restartable sequences. */
		(void)lull_percpu_ref_per_cpu();
		printf(", \"operations\": [");
		failed = each((enum command)command, command == COUNT ? word : "");
		printf("]");
	}
	puts("}");
	return command == MARKED ? each(MARKED, "") : failed;
}
