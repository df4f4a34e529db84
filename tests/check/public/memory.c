/* SPDX-License-Identifier: MIT */
/* runs: full-fences */
/*
 * memory.c - the checks of debug builds when there is no memory for them, in a signal handler that interrupts
 * them, and in a child that was made by _Fork().
 */
#include <ucontext.h>

#include "check/support.h"
#include "seccomp.h"

#include <lull/check.h>
#include <lull/mutex.h>

#define BLOCK_BYTES 65536 /* src/check/ranges.c asks for memory in blocks of this size */

#if defined(LULL_DEBUG) && defined(__x86_64__)
#define CAN_REFUSE 1
#else
#define CAN_REFUSE 0
#endif

#if defined(LULL_DEBUG) && defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 34)
#define HAS_UNDERSCORE_FORK 1
#endif
#endif

#if CAN_REFUSE || defined(HAS_UNDERSCORE_FORK)
static struct lull_mutex lock;
static int *pointer, object;
#endif

#if CAN_REFUSE
static int refused;

/* From here on a mmap() of a block is a SIGSYS. */
static void trap_blocks(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BLOCK_BYTES, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/*
 * There is no memory. And a handler that interrupts its thread in the middle of a declaration gives up: nothing is checked,
 * and no thread waits for another.
 */
static void refuse(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = -ENOMEM;
	refused++;
	lull_rcu_assign(pointer, &object);
}

static void begin(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = refuse;
	action.sa_flags = SA_SIGINFO;
	must(sigaction(SIGSYS, &action, NULL) == 0);
	trap_blocks();
}

#endif

TEST(no_memory)
{
	NEEDS_DEBUG();
	NEEDS_THREADS_IN_CHILD();
#if CAN_REFUSE
	if (SANITIZED || under_valgrind())
		SKIP(OWN_MEMORY);
	/* With one declared, others are until there is no memory. */
	EXPECT_SAID {
		static char many[BLOCK_BYTES];

		lull_mutex_lock(&lock);
		lull_check_guarded_by(&pointer, sizeof(pointer), lull_check_mutex_held, &lock);
		lull_rcu_assign(pointer, NULL);
		lull_mutex_unlock(&lock);
		begin();
		for (char *at = many; !refused && at < many + sizeof(many); at++) {
			want("lull_check_guarded_by: no memory: %p is not checked", (void *)at);
			lull_check_guarded_by(at, 1, lull_check_mutex_held, &lock);
		}
		must(refused == 1 && pointer == &object);
		/* Memory that was declared before is still checked. */
		lull_check_unguarded(many, sizeof(many));
		lull_check_guarded_by(many, 1, lull_check_mutex_held, &lock);
		must(refused == 1);
	}
	/* An object that is not checked is reclaimed like others, and the line comes once. */
	EXPECT_SAID {
		begin();
		want("no memory to check deferred objects: some are not checked");
		for (int i = 0; i < 100; i++)
			lull_rcu_free(malloc(16));
		lull_rcu_barrier();
		must(waiting() == 0);
		must(refused > 0);
	}
#else
	SKIP("the signal handler knows one processor alone");
#endif
}

#ifdef HAS_UNDERSCORE_FORK
/*
 * A thread may have been in the middle of a change when _Fork(), which runs no fork handler, made this child. So all
 * that was declared is forgotten here.
 */
static void is_forgotten_in_child(void)
{
	int status = 0;
	pid_t child = _Fork();

	must(child >= 0);
	if (child == 0) {
		lull_rcu_synchronize(); /* the child is noticed */
		lull_rcu_assign(pointer, &object);
		_exit(pointer == &object ? 0 : 1);
	}
	must(waitpid(child, &status, 0) == child && status == 0);
}

#endif

TEST(underscore_fork)
{
	NEEDS_DEBUG();
#ifdef HAS_UNDERSCORE_FORK
	if (UNDER_TSAN)
		SKIP(TSAN_OVER_FORK);
	/* Also after a fork() that asked; in the parent, and in the child. */
	EXPECT_NOTHING {
		lull_rcu_synchronize();
		lull_check_guarded_by(&pointer, sizeof(pointer), lull_check_mutex_held, &lock);
		is_forgotten_in_child();
		expect_fine(is_forgotten_in_child);
		is_forgotten_in_child();
	}
#else
	SKIP("this C library has no _Fork()");
#endif
}
