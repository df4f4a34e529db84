C hazptr-event
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER HAZ-9, HAZ-10
 * A reader clears its slot and answers a WAITED that an earlier waiter left set, or another one set
 * just now: it takes it off, counts the event, and protects the same address again, with a stamp that
 * is too old for the waiter.  Meanwhile that waiter takes the count, sees the slot, sets WAITED,
 * and sees the slot again.  If its WAITED is the one that is being taken off, the count
 * that it took must be the old one: futex_wait() then does not sleep.
 * The same with PARKED for WAITED and unpark_event for event: then it is the reclaimer who does not look
 * again.
 * Where: lull__hazptr_slow(), wake_event(), sleep_until_seen(), visit_held(), park_locked(),
 * visit_park()
 *
 * slot is 1 for the first protection, 2 for the second of the same address.  What is done to the state
 * is relaxed here; in the source it is not, for HAZ-8's sake.
 * Never: the waiter has taken the new count and sleeps for the second protection, and the state ends
 * without WAITED, so that nobody wakes it.
 *)
{ [slot]=1; [state]=1; [event]=0; }

P0 (atomic_int* slot, atomic_int* state, atomic_int* event) {
  atomic_store_explicit(slot, 0, memory_order_release);
@LIGHT
  int r0 = atomic_exchange_explicit(state, 0, memory_order_relaxed);
  int r1 = atomic_fetch_add_explicit(event, 1, memory_order_release); // HAZ-9, HAZ-10 (membarrier)
  atomic_store_explicit(slot, 2, memory_order_release);
}

P1 (atomic_int* slot, atomic_int* state, atomic_int* event) {
  int r3 = atomic_load_explicit(event, memory_order_acquire); // HAZ-9, HAZ-10
  int r4 = atomic_load_explicit(slot, memory_order_acquire);
  int r5 = atomic_fetch_or_explicit(state, 1, memory_order_relaxed);
@HEAVY
  int r6 = atomic_load_explicit(slot, memory_order_acquire);
}

exists (1:r3=1 /\ 1:r4=1 /\ 1:r6=2 /\ state=0)
