C hazptr-retire
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER HAZ-1, REC-1
 * One thread unlinks and retires; another, who consumes its queue, makes the heavy fence and looks at
 * the slots.
 * Where: lull__queue_append(), lull__queue_put(), visit_slot(), lull__hazptr_fence(), scan_queue(),
 * fence_for(), collect_slots(), lull__hazptr_set(), lull__advance(), make_ready(), ask_for_slots(),
 * reclaim_for_slots(), pass_until_report(), lull__free_retired(), lull__partition()
 *
 * Never: the reader uses the object while or after the consumer reuses it.
 *)
{ [gp]=1; [slot]=0; [put]=0; [obj]=1; }

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

P1 (atomic_int* gp, atomic_int* put) {
  atomic_store_explicit(gp, 2, memory_order_relaxed);
  atomic_store_explicit(put, 1, memory_order_release); // REC-1
}

P2 (atomic_int* put, atomic_int* slot, int* obj) {
  int r4 = atomic_load_explicit(put, memory_order_acquire);
  if (r4 == 1) {
@HEAVY HAZ-1
    int r3 = atomic_load_explicit(slot, memory_order_acquire);
    if (r3 != 1) {
      *obj = 2;
    }
  }
}

exists (0:r2=2)
