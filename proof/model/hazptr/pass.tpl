C hazptr-pass
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER HAZ-11, HAZ-1, RCU-7
 * A pass of the reclaimer looks at the slots while the grace period that it has asked for is still
 * going on: its heavy fence is over, that is all that is needed. Another thread may lead it.
 * Where: ask_for_gp(), fence_for(), lull__rcu_cookie(), gp_begin(), lull__rcu_has_fenced(), lull__hazptr_set(),
 * visit_slot(), ask_for_slots(), pass_until_report(), lull__pass()
 *
 * Never: the reader uses the object while or after the pass reuses it.
 *)
{ [gp]=1; [slot]=0; [started]=1; [number]=1; [obj]=1; }

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

P1 (atomic_int* started, atomic_int* number) {
  atomic_store_explicit(started, 2, memory_order_relaxed);
@HEAVY HAZ-11 (membarrier)
  atomic_store_explicit(number, 2, memory_order_relaxed);
}

P2 (atomic_int* gp, atomic_int* slot, atomic_int* started, atomic_int* number, int* obj) {
  atomic_store_explicit(gp, 2, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst); // RCU-7
  int r3 = atomic_load_explicit(started, memory_order_relaxed);
  if (r3 == 1) {
    int r4 = atomic_load_explicit(number, memory_order_acquire); // HAZ-11 (membarrier)
    if (r4 == 2) {
      int r5 = atomic_load_explicit(slot, memory_order_acquire);
      if (r5 != 1) {
        *obj = 2;
      }
    }
  }
}

exists (0:r2=2)
