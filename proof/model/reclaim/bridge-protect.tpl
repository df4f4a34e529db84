C reclaim-bridge-protect
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER HAZ-1, RCU-7, RCU-8
 * A reader without a section protects, by a second look, what is reclaimed after a grace period
 * and a look at the slots.  The heavy fence between unlinking and look is that of the grace period,
 * which another thread leads; the updater makes a full one when it takes its cookie, and none before
 * it looks.
 * Where: lull__hazptr_set(), lull__hazptr_protect(), lull__rcu_cookie(), gp_begin(), gp_end(),
 * gp_is_over(), visit_slot()
 *
 * No thread is in a section: the grace period is its heavy fence.
 * Never: the reader uses the object while or after the updater reuses it.
 *)
{ [gp]=1; [slot]=0; [started]=1; [completed]=1; [obj]=1; }

P0 (atomic_int* gp, atomic_int* slot, int* obj) {
  int r0 = atomic_load_explicit(gp, memory_order_relaxed);
  atomic_store_explicit(slot, r0, memory_order_release);
@LIGHT HAZ-1
  int r1 = atomic_load_explicit(gp, memory_order_acquire);
  if (r1 == r0) {
    if (r1 == 1) {
      int r2 = *obj;
    }
  }
}

P1 (atomic_int* started, atomic_int* completed) {
  atomic_store_explicit(started, 2, memory_order_relaxed);
@HEAVY HAZ-1 (membarrier)
  atomic_store_explicit(completed, 2, memory_order_release);
}

P2 (atomic_int* gp, atomic_int* slot, atomic_int* started, atomic_int* completed, int* obj) {
  atomic_store_explicit(gp, 2, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst); // RCU-7
  int r3 = atomic_load_explicit(started, memory_order_relaxed);
  if (r3 == 1) {
    int r4 = atomic_load_explicit(completed, memory_order_acquire); // RCU-8 (membarrier)
    if (r4 == 2) {
      int r5 = atomic_load_explicit(slot, memory_order_acquire);
      if (r5 != 1) {
        *obj = 2;
      }
    }
  }
}

exists (0:r2=2)
