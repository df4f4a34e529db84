C reclaim-bag-walk
(* SPDX-License-Identifier: MIT *)
(*
 * ORDER REC-14
 * A thread counts itself as a walker and follows the list of queues; another takes a queue out of the list and
 * looks whether anybody walks it.
 * Where: lull__walk_enter(), lull__for_each_queue(), unlist(), lull__sweep(), sum_up(), lull__anything_unparked(),
 * take_in_walk(), find_helping_owner(), sample_owner_progress(), something_due(), lull__queues_heed(), dump_queues(),
 * check_all()
 *
 * linked: 1 the list leads to the queue.
 * Never: the walker has found the queue, and the other thread has seen no walker and frees its bag.
 *)
{ [linked]=1; [walkers]=0; }

P0 (atomic_int* linked, atomic_int* walkers) {
  int r9 = atomic_fetch_add_explicit(walkers, 1, memory_order_relaxed);
@LIGHT REC-14
  int r0 = atomic_load_explicit(linked, memory_order_acquire);
}

P1 (atomic_int* linked, atomic_int* walkers) {
  int r8 = atomic_exchange_explicit(linked, 0, memory_order_relaxed);
@HEAVY REC-14
  int r1 = atomic_load_explicit(walkers, memory_order_acquire);
}

exists (0:r0=1 /\ 1:r1=0)
