C hazptr-protect
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER HAZ-1
 * A reader names the object in its slot and looks at the pointer again; an updater unlinks the object
 * and looks at the slot.  Either the updater sees the slot or the reader sees the unlinking.
 * Where: lull__hazptr_set(), lull__hazptr_protect(), protect() in lull/hazard_pointer,
 * hold() in lull/held.hpp, visit_slot(), lull__hazptr_fence(),
 * scan_queue(), fence_for(), lull__hazptr_wait()
 *
 * gp is the pointer (1: leads to the object, 2: to another one), obj the object's memory.
 * Never: the reader uses the object while or after the updater reuses it.
 *)
{ [gp]=1; [slot]=0; [obj]=1; }

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

P1 (atomic_int* gp, atomic_int* slot, int* obj) {
  atomic_store_explicit(gp, 2, memory_order_relaxed);
@HEAVY HAZ-1
  int r3 = atomic_load_explicit(slot, memory_order_acquire);
  if (r3 != 1) {
    *obj = 2;
  }
}

exists (0:r2=2)
