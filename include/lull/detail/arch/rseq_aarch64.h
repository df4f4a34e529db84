/* SPDX-License-Identifier: MIT */
/*
 * arch/rseq_aarch64.h - the restartable sequence of rseq.h in the instructions of AArch64.
 *
 * LULL__RSEQ_SEQUENCE(how, from, n, at), for rseq.h alone: the steps that lull__rseq_add() tells, @at
 * as text, with the word at @from: LULL__RSEQ_LOADED, or LULL__RSEQ_VALUE that is no address;
 * goes on at the label `interrupted` when it is not done. The signature in front of 4 is
 * a brk; it stands in the text, because conditional branches do not reach into other sections.
 */
#ifndef LULL_ARCH_RSEQ_AARCH64_H
#define LULL_ARCH_RSEQ_AARCH64_H

#include <lull/detail/base.h>

#define LULL__RSEQ_LOADED "ldr", "Q"
#define LULL__RSEQ_VALUE  "mov", "r"
#define LULL__RSEQ_SEQUENCE(how, from, n, at) LULL__RSEQ_STEPS(how, from, n, at)
#define LULL__RSEQ_STEPS(take, where, word, n, at)						\
	__asm__ goto(LULL__RSEQ_DESCRIPTOR							\
		     "adrp x9, 3b\n\t"								\
		     "add x9, x9, :lo12:3b\n\t"							\
		     "str x9, [%[rseq], #8]\n"							\
		     "1:\n\t"									\
		     take " x9, %[from]\n\t"							\
		     "tst x9, #7\n\t"								\
		     "b.ne 5f\n\t"								\
		     "ldr w10, [%[rseq], #4]\n\t"						\
		     "tbnz w10, #31, 5f\n\t"							\
		     "add x9, x9, x10, lsl #12\n\t"						\
		     "ldr x10, [x9, #" at "]\n\t"						\
		     "add x10, x10, %[by]\n\t"							\
		     "str x10, [x9, #" at "]\n"							\
		     "2:\n\t"									\
		     "str xzr, [%[rseq], #8]\n\t"						\
		     "b 6f\n\t"									\
		     ".inst 0xd428bc00\n"							\
		     "4:\n\t"									\
		     "b %l[interrupted]\n"							\
		     "5:\n\t"									\
		     "str xzr, [%[rseq], #8]\n\t"						\
		     "b %l[interrupted]\n"							\
		     "6:"									\
		     :										\
		     : [from] where(word),								\
		       [rseq] "r"(LULL__CAST(char *, __builtin_thread_pointer()) + __rseq_offset), [by] "r"(n) \
		     : "memory", "cc", "x9", "x10"						\
		     : interrupted)

#endif /* LULL_ARCH_RSEQ_AARCH64_H */
