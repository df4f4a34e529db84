C rcu-event
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER RCU-1
 * A reader leaves its section and answers a flag that an earlier grace period left set: it clears it,
 * counts the event, and enters another section with an old number.  Meanwhile a leader takes the
 * count, sees the first section, sets the flag, and sees the second section.  If its flag is the one
 * that is being cleared, the count that it took must be the old one: futex_wait() then does
 * not sleep.
 * Where: lull__rcu_wake(), gp_wait_holdouts(), gp_scan(), gp_wait()
 *
 * word is 1 in the first section, 2 in the second.
 * Never: the leader has taken the new count and sleeps for the second section, and the flag ends up
 * cleared, so that nobody wakes it.
 *)
{ [word]=1; [flag]=1; [event]=0; }

P0 (atomic_int* word, atomic_int* flag, atomic_int* event) {
  atomic_store_explicit(word, 0, memory_order_release);
@LIGHT
  int r0 = atomic_exchange_explicit(flag, 0, memory_order_relaxed);
  int r1 = atomic_fetch_add_explicit(event, 1, memory_order_release); // RCU-1 (membarrier)
  atomic_store_explicit(word, 2, memory_order_release);
}

P1 (atomic_int* word, atomic_int* flag, atomic_int* event) {
  int r3 = atomic_load_explicit(event, memory_order_acquire); // RCU-1
  int r4 = atomic_load_explicit(word, memory_order_acquire);
  int r5 = atomic_exchange_explicit(flag, 1, memory_order_relaxed);
@HEAVY
  int r6 = atomic_load_explicit(word, memory_order_acquire);
}

exists (1:r3=1 /\ 1:r4=1 /\ 1:r6=2 /\ flag=0)
