C urcu-wake
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER URCU-3
 * A reader that was compiled elsewhere leaves and looks whether somebody sleeps at the futex; the leader of a grace
 * period says so and looks at the word again before it sleeps.
 * Where: urcu_leave(), sleep_for(), urcu_await()
 *
 * Never: the leader sleeps (saw the word) and the reader wakes nobody (saw no sleeper).
 *)
{ [word]=1; [futex]=0; }

P0 (atomic_int* word, atomic_int* futex) {
  atomic_store_explicit(word, 0, memory_order_relaxed);
@LIGHT URCU-3
  int r0 = atomic_load_explicit(futex, memory_order_relaxed);
}

P1 (atomic_int* word, atomic_int* futex) {
  atomic_store_explicit(futex, 1, memory_order_relaxed);
@HEAVY URCU-3
  int r1 = atomic_load_explicit(word, memory_order_acquire);
}

exists (0:r0=0 /\ 1:r1=1)
