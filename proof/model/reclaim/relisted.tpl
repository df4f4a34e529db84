C reclaim-relisted
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER REC-19, REC-2
 * A sweep puts a queue back into the list and says so. Another thread, which has swept as well, takes that up and looks
 * whether the reclaimer sleeps. The reclaimer goes to sleep and looks at the list once more.
 * Where: part_with(), list_now(), lull__notify_relisted(), lull__notify(), go_to_sleep()
 *
 * Never: the thread takes the reclaimer for awake, and that has not found the queue.
 *)
{ [listed]=0; [relisted]=0; [sleep]=0; }

P0 (atomic_int* listed, atomic_int* relisted) {
  atomic_store_explicit(listed, 1, memory_order_release);
  atomic_store_explicit(relisted, 1, memory_order_release); // REC-19
}

P1 (atomic_int* relisted, atomic_int* sleep) {
  int r1 = atomic_load_explicit(relisted, memory_order_relaxed);
@LIGHT REC-2
  int r2 = atomic_load_explicit(sleep, memory_order_relaxed);
}

P2 (atomic_int* listed, atomic_int* sleep) {
  atomic_store_explicit(sleep, 1, memory_order_relaxed);
@HEAVY REC-2
  int r3 = atomic_load_explicit(listed, memory_order_acquire);
}

exists (1:r1=1 /\ 1:r2=0 /\ 2:r3=0)
