C rcu-two-periods
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER RCU-2
 * Two grace periods, two leaders.  P1 begins number 2; P2 unlinks too late for it, ends it, and begins number 3.
 * A reader may carry 1, 2 or 3; P2 passes one that carries 2 for the one grace period, not for the other.
 * Where: lull__rcu_advance(), gp_push(), gp_open(), gp_begin(), gp_scan(), lull_rcu_read_lock()
 *
 * leader is the lock: 1 held by P1, 0 given back.
 * Never: the reader finds the object and P2 takes no notice of the reader's word (0, or 3).
 *)
{ [leader]=1; [gp]=1; [word]=0; [x]=0; }

P0 (atomic_int* gp, atomic_int* word, atomic_int* x) {
  int r0 = atomic_load_explicit(gp, memory_order_relaxed);
  atomic_store_explicit(word, r0, memory_order_release);
@LIGHT
  int r1 = atomic_load_explicit(x, memory_order_acquire);
}

P1 (atomic_int* leader, atomic_int* gp) {
@HEAVY
  atomic_store_explicit(gp, 2, memory_order_relaxed);
  int r3 = atomic_exchange_explicit(leader, 0, memory_order_release);
}

P2 (atomic_int* leader, atomic_int* gp, atomic_int* word, atomic_int* x) {
  int r5 = 9;
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int r4 = atomic_exchange_explicit(leader, 1, memory_order_acquire);
  if (r4 == 0) {
    int r6 = atomic_load_explicit(word, memory_order_acquire);
    if (r6 != 1) {
@HEAVY RCU-2
      atomic_store_explicit(gp, 3, memory_order_relaxed); // RCU-2 early
      r5 = atomic_load_explicit(word, memory_order_acquire);
    }
  }
}

exists (0:r1=0 /\ (2:r5=0 \/ 2:r5=3))
