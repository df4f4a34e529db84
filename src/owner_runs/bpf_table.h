/* SPDX-License-Identifier: MIT */
/*
 * bpf_table.h - the table of the threads that run on each CPU, if it has been loaded (`lull oracle load`).
 *
 * A program in the kernel writes it at each context switch. It is one for the whole machine: a BPF array
 * that can be mapped, with one 64-bit value for each possible CPU, the thread id as the first PID
 * namespace has it, 0 before the first switch. It was frozen before it was pinned, so that no process
 * writes to it.
 */
#ifndef LULL_BPF_TABLE_H
#define LULL_BPF_TABLE_H

#include <stdint.h>

/*
 * Map the table. Returns its values, and in *@cpus how many there are. Returns NULL if nothing is pinned, if
 * this process may not read it (without privileges that takes Linux 5.19), or if it is not a table of `lull
 * oracle`. Each call maps it anew, for as long as the process lives. errno stays as it was.
 *
 * The values change at any time, so read them with lull_load_relaxed(). They can be out of date: if the
 * program was removed, or if the kernel does not report some switches. A thread that does not find itself in
 * the table knows that they are.
 */
const uint64_t *lull__bpf_running(unsigned *cpus);

#endif /* LULL_BPF_TABLE_H */
