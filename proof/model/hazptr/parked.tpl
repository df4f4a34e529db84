C hazptr-parked
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER HAZ-10
 * The reclaimer leaves an object because a slot names it.  It takes the count of such slots that have
 * said something else (unpark_event), says PARKED in the slot's state, looks at the slot again, and goes to
 * sleep unless the count is another one by then.  The reader clears the slot, takes PARKED off, counts,
 * and looks whether the reclaimer sleeps.
 * Where: lull__hazptr_slow(), park_locked(), visit_park(), lull__notify_from_reader(),
 * lull__queue_is_parked(), go_to_sleep()
 *
 * That the reader does not miss PARKED is HAZ-5, and needs a heavy fence that is not in here; that PARKED is
 * not lost in the clearing of an older one is event.tpl.
 * Never: the reclaimer sleeps with the object left, and the reader has not woken it.
 *)
{ [slot]=1; [state]=1; [unpark_event]=0; [sleep]=0; [asleep]=0; }

P0 (atomic_int* slot, atomic_int* state, atomic_int* unpark_event, atomic_int* sleep) {
  atomic_store_explicit(slot, 0, memory_order_release);
  int r0 = atomic_exchange_explicit(state, 0, memory_order_relaxed);
  int r1 = atomic_fetch_add_explicit(unpark_event, 1, memory_order_release);
@LIGHT HAZ-10
  int r2 = atomic_load_explicit(sleep, memory_order_relaxed);
}

P1 (atomic_int* slot, atomic_int* state, atomic_int* unpark_event, atomic_int* sleep, atomic_int* asleep) {
  int r3 = atomic_load_explicit(unpark_event, memory_order_acquire);
  int r4 = atomic_fetch_or_explicit(state, 1, memory_order_relaxed);
  int r5 = atomic_load_explicit(slot, memory_order_acquire);
  if (r5 == 1) {
    atomic_store_explicit(sleep, 1, memory_order_relaxed);
@HEAVY HAZ-10
    int r6 = atomic_load_explicit(unpark_event, memory_order_relaxed);
    if (r6 == r3) {
      atomic_store_explicit(asleep, 1, memory_order_relaxed);
    }
  }
}

exists (asleep=1 /\ 0:r2=0)
