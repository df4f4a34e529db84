C urcu-flag
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER URCU-4
 * A called reader, or a thread of qsbr, looks at a flag of its own before it looks at the futex.
 * flag-stale.litmus is about one that an earlier sleep has set.
 * Where: urcu_leave(), set_word(), URCU() in qsbr.c, sleep_for()
 *
 * Never: the leader sleeps (saw the word) and the reader wakes nobody (saw no sleeper).
 *)
{ [word]=1; [futex]=0; [flag]=0; }

P0 (atomic_int* word, atomic_int* futex, atomic_int* flag) {
  int r1 = 0;
  atomic_store_explicit(word, 0, memory_order_relaxed);
@LIGHT URCU-4
  int r0 = atomic_load_explicit(flag, memory_order_relaxed);
  if (r0 == 1) {
    atomic_store_explicit(flag, 0, memory_order_relaxed);
    r1 = atomic_load_explicit(futex, memory_order_relaxed);
  }
}

P1 (atomic_int* word, atomic_int* futex, atomic_int* flag) {
  atomic_store_explicit(futex, 1, memory_order_relaxed);
  atomic_store_explicit(flag, 1, memory_order_relaxed);
@HEAVY URCU-4
  int r2 = atomic_load_explicit(word, memory_order_acquire);
}

exists (0:r1=0 /\ 1:r2=1)
