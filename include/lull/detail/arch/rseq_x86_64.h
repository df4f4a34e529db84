/* SPDX-License-Identifier: MIT */
/*
 * arch/rseq_x86_64.h - the restartable sequence of rseq.h in the instructions of x86-64.
 *
 * LULL__RSEQ_SEQUENCE(how, from, n, at), for rseq.h alone: the steps that lull__rseq_add() tells, @at
 * as text, with the word at @from: LULL__RSEQ_LOADED, or LULL__RSEQ_VALUE that is no address;
 * goes on at the label `interrupted` when it is not done. The signature in front of 4 is
 * the operand of an ud1, out of the way in a section of its own; a negative CPU number keeps its
 * sign over the shift.
 */
#ifndef LULL_ARCH_RSEQ_X86_64_H
#define LULL_ARCH_RSEQ_X86_64_H

#include <lull/detail/base.h>

#define LULL__RSEQ_LOADED "movq", "m"
#define LULL__RSEQ_VALUE  "movq", "r"
#define LULL__RSEQ_SEQUENCE(how, from, n, at) LULL__RSEQ_STEPS(how, from, n, at)
#define LULL__RSEQ_STEPS(take, where, word, n, at)						\
	__asm__ goto(LULL__RSEQ_DESCRIPTOR							\
		     "leaq 3b(%%rip), %%rax\n\t"						\
		     "movq %%rax, %%fs:8(%[rseq])\n"						\
		     "1:\n\t"									\
		     "movq %[from], %%rax\n\t"							\
		     "testb $7, %%al\n\t"							\
		     "jnz 5f\n\t"								\
		     "movl %%fs:4(%[rseq]), %%ecx\n\t"						\
		     "shll $12, %%ecx\n\t"							\
		     "js 5f\n\t"								\
		     "addq %[by], " at "(%%rax,%%rcx)\n"					\
		     "2:\n\t"									\
		     "movq $0, %%fs:8(%[rseq])\n\t"						\
		     ".pushsection __rseq_failure, \"ax?\"\n\t"					\
		     ".byte 0x0f, 0xb9, 0x3d\n\t"						\
		     ".long " LULL__RSEQ_TEXT(RSEQ_SIG) "\n"					\
		     "4:\n\t"									\
		     "jmp %l[interrupted]\n"							\
		     "5:\n\t"									\
		     "movq $0, %%fs:8(%[rseq])\n\t"						\
		     "jmp %l[interrupted]\n\t"							\
		     ".popsection"								\
		     :										\
		     : [from] where(word), [rseq] "r"(__rseq_offset), [by] "er"(n)		\
		     : "memory", "cc", "rax", "rcx"						\
		     : interrupted)

#endif /* LULL_ARCH_RSEQ_X86_64_H */
