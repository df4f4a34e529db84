/* SPDX-License-Identifier: MIT */
/*
 * bpf.h - the table of which thread runs on each CPU, where somebody has loaded it (`lull oracle load`).
 *
 * A program in the kernel writes it at each context switch. It is one for the whole machine: a BPF array
 * that can be mapped, with one 64-bit value for each possible CPU, the thread id as the first PID
 * namespace has it, 0 before the first switch. It was frozen before it was pinned, so that no process
 * writes to it.
 */
#ifndef LULL_OS_BPF_H
#define LULL_OS_BPF_H

#include <stdint.h>

/*
 * Map the table: its values, and in *@cpus how many there are. NULL: nothing is pinned, this process may
 * not have it (without privileges that takes Linux 5.19), or what is pinned is not what `lull oracle`
 * makes. Each call maps it anew, for as long as the process lives. errno stays as it was.
 *
 * The values change at any time, so read them with lull_load_relaxed(). They can be old: those of a table
 * whose program was taken away, and where a kernel does not report some switches. A thread that does not
 * find itself in it has learned that.
 */
const uint64_t *lull__bpf_running(unsigned *cpus);

#endif /* LULL_OS_BPF_H */
