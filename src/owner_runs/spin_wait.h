/* SPDX-License-Identifier: MIT */
/*
 * spin_wait.h - sleep until a lock's owner unlocks, in a kernel that spins while that owner runs.
 *
 * A kernel with the flag FUTEX2_SPIN (the folder kernel/ has the patch) takes the thread id in the futex word for that of
 * the owner. It puts the caller into the queue, as ever, and spins while the owner is on a CPU; then the caller
 * sleeps. No released kernel has it.
 */
#ifndef LULL_SPIN_WAIT_H
#define LULL_SPIN_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Does the kernel have it? One system call, which never waits, and which kernels before 6.7 do not know. errno stays as
 * it was.
 */
bool lull__spin_wait_offered(void);

/*
 * Sleep on @word as lull__futex_wait_bits() does, with the same results, and spin first. Where the kernel refuses the
 * owner or the call, only sleep.
 */
int lull__spin_wait(uint32_t *word, uint32_t value, uint32_t bitset, uint64_t deadline_ns, bool shared);

#endif /* LULL_SPIN_WAIT_H */
