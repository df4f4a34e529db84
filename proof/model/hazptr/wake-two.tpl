C hazptr-wake-two
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER HAZ-5
 * Two wait for one slot.  The one who finds WAITED set by the other looks at the slot again all the
 * same: the reader's store may be on its way still when both have set WAITED, and the second look of the
 * one who set it first, after his heavy fence, tells nobody else.
 * Where: lull__hazptr_set(), sleep_until_seen(), visit_held()
 *
 * The first waiter is done when it has seen the slot clear, and so is the reader; nobody is left to wake
 * the second one.
 * Never: the second waiter sleeps (saw the address) and the reader wakes nobody (saw no flag).
 *)
{ [slot]=1; [state]=0; }

P0 (atomic_int* slot, atomic_int* state) {
  atomic_store_explicit(slot, 0, memory_order_release);
@LIGHT HAZ-5
  int r0 = atomic_load_explicit(state, memory_order_relaxed);
}

P1 (atomic_int* state) {
  int r1 = atomic_fetch_or_explicit(state, 1, memory_order_acq_rel);
}

P2 (atomic_int* slot, atomic_int* state) {
  int r2 = atomic_fetch_or_explicit(state, 1, memory_order_acq_rel);
@HEAVY HAZ-5
  int r3 = atomic_load_explicit(slot, memory_order_acquire);
}

exists (0:r0=0 /\ 2:r2=1 /\ 2:r3=1)
