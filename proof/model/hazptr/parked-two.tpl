C hazptr-parked-two
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER HAZ-5
 * Two threads park, one at a time.  A late reader's slot names the object of the one (P2), which has said PARKED in
 * other slots; the other one (P1) says PARKED in this slot, for what it named before.  The reader clears the slot.
 * Where: lull__hazptr_set(), lull__park_named(), park_locked(), visit_park(), lull__hazptr_park(), visit_insert_parked()
 *
 * mutex is park_lock (who fails to get it gives up here).
 * Never: the one finds the object named, and PARKED, and the reader does not.
 *)
{ [slot]=1; [state]=0; [mutex]=0; }

P0 (atomic_int* slot, atomic_int* state) {
  atomic_store_explicit(slot, 0, memory_order_release);
@LIGHT HAZ-5
  int r0 = atomic_load_explicit(state, memory_order_relaxed);
}

P1 (atomic_int* state, atomic_int* mutex) {
  int r1 = atomic_exchange_explicit(mutex, 1, memory_order_acquire); // HAZ-5
  if (r1 == 0) {
    int r2 = atomic_fetch_or_explicit(state, 1, memory_order_relaxed);
    atomic_store_explicit(mutex, 0, memory_order_release); // HAZ-5
  }
}

P2 (atomic_int* slot, atomic_int* state, atomic_int* mutex) {
  int r3 = atomic_exchange_explicit(mutex, 1, memory_order_acquire);
  if (r3 == 0) {
@HEAVY HAZ-5
    int r4 = atomic_load_explicit(slot, memory_order_acquire);
    int r5 = atomic_load_explicit(state, memory_order_relaxed);
    atomic_store_explicit(mutex, 0, memory_order_release); // HAZ-5
  }
}

exists (0:r0=0 /\ 2:r4=1 /\ 2:r5=1)
