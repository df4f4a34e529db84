C rcu-beside
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER RCU-7
 * A leader (P1) is stopped at some step of a grace period; another thread (P2) makes the same one beside it, for an
 * updater (P3) that asked before either began. P2 finds that `started` has been stored, and makes a fence of its own; a
 * reader may carry the number that P1 stores.
 * Where: gp_raise(), gp_begin(), gp_go_beside(), gp_complete(), lull__rcu_cookie(), gp_scan(), lull_rcu_read_lock()
 *
 * P2's own store of the number, which readers may carry instead, is the one of cookie.tpl.
 * Never: the reader uses the object while or after the updater reuses it.
 *)
{ [gp]=1; [started]=1; [completed]=1; [word]=0; [x]=0; [obj]=1; }

P0 (atomic_int* gp, atomic_int* word, atomic_int* x, int* obj) {
  int r0 = atomic_load_explicit(gp, memory_order_relaxed);
  atomic_store_explicit(word, r0, memory_order_release);
@LIGHT
  int r1 = atomic_load_explicit(x, memory_order_acquire);
  if (r1 == 0) {
    int r2 = *obj;
  }
}

P1 (atomic_int* gp, atomic_int* started) {
  atomic_store_explicit(started, 2, memory_order_relaxed); // RCU-7 late
@HEAVY
  atomic_store_explicit(gp, 2, memory_order_relaxed); // RCU-7 early
}

P2 (atomic_int* started, atomic_int* completed, atomic_int* word) {
  int r5 = atomic_load_explicit(started, memory_order_relaxed); // RCU-7 late
@HEAVY RCU-7
  int r6 = atomic_load_explicit(word, memory_order_acquire);
  if (r5 == 2) {
    if (r6 != 1) {
      atomic_store_explicit(completed, 2, memory_order_release);
    }
  }
}

P3 (atomic_int* started, atomic_int* completed, atomic_int* x, int* obj) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst); // RCU-7
  int r7 = atomic_load_explicit(started, memory_order_relaxed);
  if (r7 == 1) {
    int r8 = atomic_load_explicit(completed, memory_order_acquire);
    if (r8 == 2) {
      *obj = 2;
    }
  }
}

exists (0:r2=2)
