/* SPDX-License-Identifier: MIT */
/*
 * rseq.h - one addition to a counter of the CPU that this runs on, whole or not at all.
 *
 * "Which CPU am I on?" is answered too late: the thread may have been moved before it uses the
 * answer, and two threads then add to one counter with plain instructions. A restartable sequence
 * (rseq(2)) is a stretch of code that says where it begins and ends; when the kernel preempts or
 * moves the thread, or delivers a signal to it, in the middle of that, it goes on at another place instead.
 * The last instruction of the stretch is the only one that anybody sees. So each sequence has
 * happened, on one CPU, or has not, and membarrier(2) can end all that are under way
 * (MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ).
 *
 * The kernel has to know where each thread keeps the address of its stretch. glibc registers such
 * a place for each thread since 2.35; there is one per thread, so nobody else may. What there is
 * for a thread is read from that place: the number of its CPU, or a negative one.
 *
 * The other place with assembly beside atomic.h and fence.h; used by percpu_ref.h alone. Ideas:
 * rseq(2), P. Turner's restartable sequences, the librseq library.
 */
#ifndef LULL_RSEQ_H
#define LULL_RSEQ_H

#include <lull/atomic.h>

/*
 * ThreadSanitizer does not see what assembly stores, and would report what it orders. LULL_NO_RSEQ
 * does the same for whoever wants the other path.
 */
#if defined(__linux__) && defined(__GLIBC__) && defined(__LP64__) && !defined(LULL__TSAN) &&       \
	!defined(LULL_NO_RSEQ) && (defined(__x86_64__) || defined(__aarch64__))
#if __GLIBC_PREREQ(2, 35)
#define LULL__RSEQ 1
#include <sys/rseq.h>
#endif
#endif

/* A word that leads to per-CPU counters has these bits clear. */
#define LULL__RSEQ_NOT	 7
#define LULL__RSEQ_SHIFT 12 /* from one CPU's counter to the next CPU's */

#ifdef LULL__RSEQ

#define LULL__RSEQ_TEXT2(x) #x
#define LULL__RSEQ_TEXT(x)  LULL__RSEQ_TEXT2(x)

/*
 * The descriptor of the sequence 1..2 whose other way out is 4. "?": a template's or inline
 * function's text may be one of many copies, of which the linker keeps one; the descriptor goes
 * with it.
 */
#define LULL__RSEQ_DESCRIPTOR                                                                      \
	".pushsection __rseq_cs, \"aw?\"\n\t"                                                      \
	".balign 32\n"                                                                             \
	"3:\n\t"                                                                                   \
	".long 0, 0\n\t"                                                                           \
	".quad 1f, 2f - 1f, 4f\n\t"                                                                \
	".popsection\n\t"

/*
 * The sequence, for lull__rseq_add(); goes on at `interrupted` when it is not done. On x86 the signature is
 * the operand of an ud1; a negative number keeps its sign over the shift. On AArch64 it is a brk.
 */
#if defined(__x86_64__)
#define LULL__RSEQ_SEQUENCE(word, n, at)                                                                \
	__asm__ goto(LULL__RSEQ_DESCRIPTOR                                                         \
		     "leaq 3b(%%rip), %%rax\n\t"                                                   \
		     "movq %%rax, %%fs:8(%[rseq])\n"                                               \
		     "1:\n\t"                                                                      \
		     "movq %[from], %%rax\n\t"                                                     \
		     "testb $7, %%al\n\t"                                                          \
		     "jnz 5f\n\t"                                                                  \
		     "movl %%fs:4(%[rseq]), %%ecx\n\t"                                             \
		     "shll $12, %%ecx\n\t"                                                         \
		     "js 5f\n\t"                                                                   \
		     "addq %[by], " at "(%%rax,%%rcx)\n"                                           \
		     "2:\n\t"                                                                      \
		     "movq $0, %%fs:8(%[rseq])\n\t"                                                \
		     ".pushsection __rseq_failure, \"ax?\"\n\t"                                    \
		     ".byte 0x0f, 0xb9, 0x3d\n\t"                                                  \
		     ".long " LULL__RSEQ_TEXT(RSEQ_SIG) "\n"                                       \
		     "4:\n\t"                                                                      \
		     "jmp %l[interrupted]\n"                                                       \
		     "5:\n\t"                                                                      \
		     "movq $0, %%fs:8(%[rseq])\n\t"                                                \
		     "jmp %l[interrupted]\n\t"                                                     \
		     ".popsection"                                                                 \
		     :                                                                             \
		     : [from] "m"(*(word)), [rseq] "r"(__rseq_offset), [by] "er"(n)                \
		     : "memory", "cc", "rax", "rcx"                                                \
		     : interrupted)
#else
#define LULL__RSEQ_SEQUENCE(word, n, at)                                                                \
	__asm__ goto(LULL__RSEQ_DESCRIPTOR                                                         \
		     "adrp x9, 3b\n\t"                                                             \
		     "add x9, x9, :lo12:3b\n\t"                                                    \
		     "str x9, [%[rseq], #8]\n"                                                     \
		     "1:\n\t"                                                                      \
		     "ldr x9, %[from]\n\t"                                                         \
		     "tst x9, #7\n\t"                                                              \
		     "b.ne 5f\n\t"                                                                 \
		     "ldr w10, [%[rseq], #4]\n\t"                                                  \
		     "tbnz w10, #31, 5f\n\t"                                                       \
		     "add x9, x9, x10, lsl #12\n\t"                                                \
		     "ldr x10, [x9, #" at "]\n\t"                                                  \
		     "add x10, x10, %[by]\n\t"                                                     \
		     "str x10, [x9, #" at "]\n"                                                    \
		     "2:\n\t"                                                                      \
		     "str xzr, [%[rseq], #8]\n\t"                                                  \
		     "b 6f\n\t"                                                                    \
		     ".inst 0xd428bc00\n"                                                          \
		     "4:\n\t"                                                                      \
		     "b %l[interrupted]\n"                                                         \
		     "5:\n\t"                                                                      \
		     "str xzr, [%[rseq], #8]\n\t"                                                  \
		     "b %l[interrupted]\n"                                                         \
		     "6:"                                                                          \
		     :                                                                             \
		     : [from] "Q"(*(word)),                                                        \
		       [rseq] "r"((char *)__builtin_thread_pointer() + __rseq_offset), [by] "r"(n) \
		     : "memory", "cc", "x9", "x10"                                                 \
		     : interrupted)
#endif

/*
 * Add @n to this CPU's counter of those that *@word leads to, @at bytes further on (0 or 8, a
 * constant). False: nothing was done, because a low bit of the word says not to, this thread has no
 * restartable sequences, or the sequence was interrupted. It is not tried again here: under a debugger's single steps it would never end.
 * No ordering but the compiler's. Any context.
 *
 * What is ordered all the same: what comes before the sequence, and the sequence, before a barrier
 * that it does not see the mark of (PCR-1: that barrier is a fence here); the word before the counter
 * that it leads to (PCR-3: the address is made of it) and before a store or release that comes after
 * (PCR-2: the branch).
 *
 *	3: from 1, to 2, else 4
 *	my sequence = 3
 *   1:	p = *word
 *	if (p & 7) give up
 *	cpu = my cpu
 *	if (cpu < 0) give up
 *	*(p + (cpu << 12) + at) += n
 *   2:	my sequence = none		(its text may be unmapped some day)
 *   4: (entered by the kernel, which has set my sequence to none) return false
 */
LULL_INLINE bool lull__rseq_add(const uintptr_t *word, intptr_t n, const int at)
{
	/* As text: to a compiler that does not optimise, the parameter is no constant. */
	if (at)
		LULL__RSEQ_SEQUENCE(word, n, "8");
	else
		LULL__RSEQ_SEQUENCE(word, n, "0");
	return true;
interrupted:
	return false;
}

#else

LULL_INLINE bool lull__rseq_add(const uintptr_t *word, intptr_t n, const int at)
{
	(void)word;
	(void)n;
	(void)at;
	return false;
}

#endif

#endif /* LULL_RSEQ_H */
