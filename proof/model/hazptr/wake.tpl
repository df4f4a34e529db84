C hazptr-wake
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER HAZ-5
 * A reader lets its slot say something else and looks whether somebody waits for that; who waits says
 * so in the slot's state and looks at the slot again before it sleeps.
 * Where: lull__hazptr_set(), lull_hazptr_fenced_clear(), sleep_until_seen(), park_locked(),
 * lull__hazptr_park()
 *
 * Never: the waiter sleeps (saw the address) and the reader wakes nobody (saw no flag).
 *)
{ [slot]=1; [state]=0; }

P0 (atomic_int* slot, atomic_int* state) {
  atomic_store_explicit(slot, 0, memory_order_release);
@LIGHT HAZ-5
  int r0 = atomic_load_explicit(state, memory_order_relaxed);
}

P1 (atomic_int* slot, atomic_int* state) {
  int r1 = atomic_fetch_or_explicit(state, 1, memory_order_relaxed);
@HEAVY HAZ-5
  int r2 = atomic_load_explicit(slot, memory_order_acquire);
}

exists (0:r0=0 /\ 1:r2=1)
