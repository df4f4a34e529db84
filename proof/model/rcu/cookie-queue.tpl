C rcu-cookie-queue
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER REC-1, RCU-7
 * A thread unlinks and defers; the consumer of its queue takes the cookie for it, and another thread
 * leads the grace period.
 * Where: lull__queue_append(), lull__queue_put(), lull__queue_ask(), lull__rcu_cookie(), gp_begin(), gp_scan(),
 * lull_rcu_read_lock(), lull__queue_new(), ask_for_gp(), help(), lull__queue_poll(), await_own_gp(), await_gp(),
 * pass_until_report()
 *
 * Never: the reader uses the object while or after the consumer frees it.
 *)
{ [gp]=1; [started]=1; [completed]=1; [word]=0; [put]=0; [x]=0; [obj]=1; }

P0 (atomic_int* gp, atomic_int* word, atomic_int* x, int* obj) {
  int r0 = atomic_load_explicit(gp, memory_order_relaxed);
  atomic_store_explicit(word, r0, memory_order_release);
@LIGHT
  int r1 = atomic_load_explicit(x, memory_order_acquire);
  if (r1 == 0) {
    int r2 = *obj;
  }
}

P1 (atomic_int* gp, atomic_int* started, atomic_int* completed, atomic_int* word) {
  atomic_store_explicit(started, 2, memory_order_relaxed);
@HEAVY
  atomic_store_explicit(gp, 2, memory_order_relaxed);
  int r3 = atomic_load_explicit(word, memory_order_acquire);
  if (r3 != 1) {
    atomic_store_explicit(completed, 2, memory_order_release);
  }
}

P2 (atomic_int* put, atomic_int* x) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_store_explicit(put, 1, memory_order_release); // REC-1
}

P3 (atomic_int* started, atomic_int* completed, atomic_int* put, int* obj) {
  int r4 = atomic_load_explicit(put, memory_order_acquire);
  if (r4 == 1) {
    atomic_thread_fence(memory_order_seq_cst); // RCU-7
    int r5 = atomic_load_explicit(started, memory_order_relaxed);
    if (r5 == 1) {
      int r6 = atomic_load_explicit(completed, memory_order_acquire);
      if (r6 == 2) {
        *obj = 2;
      }
    }
  }
}

exists (0:r2=2)
