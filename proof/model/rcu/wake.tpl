C rcu-wake
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER RCU-5
 * A reader leaves and looks whether somebody waits for it; the leader of a grace period says so and
 * looks at the word again before it sleeps.
 * Where: lull_rcu_read_unlock(), lull__rcu_end_section(),
 * lull__rcu_quiescent_slow(), gp_wait_holdouts()
 *
 * Never: the leader sleeps (saw the word) and the reader wakes nobody (saw no flag).
 *)
{ [word]=1; [flag]=0; }

P0 (atomic_int* word, atomic_int* flag) {
  atomic_store_explicit(word, 0, memory_order_release);
@LIGHT RCU-5
  int r0 = atomic_load_explicit(flag, memory_order_relaxed);
}

P1 (atomic_int* word, atomic_int* flag) {
  int r1 = atomic_exchange_explicit(flag, 1, memory_order_relaxed);
@HEAVY RCU-5
  int r2 = atomic_load_explicit(word, memory_order_acquire);
}

exists (0:r0=0 /\ 1:r2=1)
