/* SPDX-License-Identifier: MIT */
/*
 * rseq.h - one addition to a counter of the CPU that this runs on, whole or not at all.
 *
 * "Which CPU am I on?" is answered too late: the thread may have been moved before it uses the
 * answer, and two threads then add to one counter with plain instructions. A restartable sequence
 * (rseq(2)) is a stretch of code that says where it begins and ends; when the kernel preempts or
 * moves the thread, or delivers a signal to it, in the middle of the stretch, the thread goes on at
 * another place instead. Only the last instruction of the stretch has an effect that others see. So
 * each sequence has happened, on one CPU, or has not, and membarrier(2) can end all that are under
 * way (MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ).
 *
 * The kernel has to know where each thread keeps the address of its stretch. glibc registers such
 * a place for each thread since 2.35; there is one per thread, so nobody else may register one. In
 * that place stands the number of the thread's CPU, or a negative one if it has no sequences.
 *
 * Used by percpu_ref.h, percpu_rwsem.h and rcu_domain.h; the instructions are in arch/. Ideas: rseq(2), P. Turner's
 * restartable sequences, the librseq library.
 */
#ifndef LULL_RSEQ_H
#define LULL_RSEQ_H

#include <lull/atomic.h>

/*
 * ThreadSanitizer does not see what assembly stores, and would report accesses that it orders.
 * LULL_NO_RSEQ chooses the other path as well.
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

#ifdef __x86_64__
#include <lull/detail/arch/rseq_x86_64.h>
#else
#include <lull/detail/arch/rseq_aarch64.h>
#endif

/*
 * Add @n to this CPU's counter among those that *@word leads to, at the offset @at (0 or 8, a
 * constant). Returns false if nothing was done: a low bit of the word forbids it, this thread has no
 * restartable sequences, or the sequence was interrupted. It is not tried again here: under a
 * debugger's single steps it would never end. No ordering but the compiler's. Any context.
 *
 * Some accesses are ordered all the same: those before the sequence, and the sequence, before a
 * barrier whose mark it does not see (PCR-1, RSY-1: that barrier is a fence here); the load of the
 * word before the counter that it leads to (PCR-3: the address is made of it) and before a later store
 * or release (PCR-2: the branch); and a load that no longer sees a mark before all that comes later,
 * if a barrier was made before the mark was taken back (RSY-4).
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
	/* Written as text: to a compiler that does not optimise, the parameter is no constant. */
	if (at)
		LULL__RSEQ_SEQUENCE(LULL__RSEQ_LOADED, *word, n, "8");
	else
		LULL__RSEQ_SEQUENCE(LULL__RSEQ_LOADED, *word, n, "0");
	return true;
interrupted:
	return false;
}

/* As lull__rseq_add(), with a word that the caller has loaded: the sequence does not see it change. */
LULL_INLINE bool lull__rseq_add_to(uintptr_t word, intptr_t n, const int at)
{
	if (at)
		LULL__RSEQ_SEQUENCE(LULL__RSEQ_VALUE, word, n, "8");
	else
		LULL__RSEQ_SEQUENCE(LULL__RSEQ_VALUE, word, n, "0");
	return true;
interrupted:
	return false;
}

#else

LULL_INLINE bool lull__rseq_add_to(uintptr_t word, intptr_t n, const int at)
{
	(void)word;
	(void)n;
	(void)at;
	return false;
}

LULL_INLINE bool lull__rseq_add(const uintptr_t *word, intptr_t n, const int at)
{
	(void)word;
	(void)n;
	(void)at;
	return false;
}

#endif

#endif /* LULL_RSEQ_H */
