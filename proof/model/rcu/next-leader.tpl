C rcu-next-leader
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER RCU-7
 * Two leaders, one grace period.  P1 begins it and leaves; P2, which unlinked and took its cookie
 * before that, gets the leader's lock next, makes no fence, and scans.
 * Where: lull__rcu_advance(), gp_push(), gp_open(), gp_begin(), lull__rcu_cookie(), gp_scan(),
 * lull_rcu_read_lock(), lull__urcu_poll(), lull__urcu_synchronize() in domain.c, urcu_advance(), open_and_look(),
 * urcu_begin(), lull__urcu_cookie(), urcu_scan()
 *
 * leader is the lock: 1 held by P1, 0 given back.
 * Never: the reader finds the object and P2 takes no notice of the reader's word (0, or 2).
 *)
{ [leader]=1; [gp]=1; [started]=1; [word]=0; [x]=0; }

P0 (atomic_int* gp, atomic_int* word, atomic_int* x) {
  int r0 = atomic_load_explicit(gp, memory_order_relaxed);
  atomic_store_explicit(word, r0, memory_order_release);
@LIGHT
  int r1 = atomic_load_explicit(x, memory_order_acquire);
}

P1 (atomic_int* leader, atomic_int* gp, atomic_int* started) {
  atomic_store_explicit(started, 2, memory_order_relaxed); // RCU-7 late
@HEAVY RCU-7
  atomic_store_explicit(gp, 2, memory_order_relaxed); // RCU-7 early
  int r3 = atomic_exchange_explicit(leader, 0, memory_order_release);
}

P2 (atomic_int* leader, atomic_int* started, atomic_int* word, atomic_int* x) {
  int r6 = 1;
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst); // RCU-7
  int r4 = atomic_load_explicit(started, memory_order_relaxed);
  if (r4 == 1) {
    int r5 = atomic_exchange_explicit(leader, 1, memory_order_acquire);
    if (r5 == 0) {
      r6 = atomic_load_explicit(word, memory_order_acquire);
    }
  }
}

exists (0:r1=0 /\ (2:r6=0 \/ 2:r6=2))
